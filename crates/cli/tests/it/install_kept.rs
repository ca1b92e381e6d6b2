//! What `--keep` left to the user stays so in later commands, which say it and ask no more.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Place;
use crate::install::{place, read, skill};
use crate::install_sources::{NOTES, in_project, world, written};
use crate::shelf::run;

pub(crate) fn fine(place: &Place, args: &str) -> String {
    let said = in_project(place, &args.split(' ').collect::<Vec<_>>());
    assert!(said.starts_with("exit 0"), "{args}: {said}");
    said
}

pub(crate) fn refused(place: &Place, args: &str) -> String {
    let said = in_project(place, &args.split(' ').collect::<Vec<_>>());
    assert!(said.starts_with("exit 2"), "{args}: {said}");
    said
}

#[test]
fn a_source_in_the_folder_of_a_client_stops_no_command_about_another_skill() {
    for mode in ["symlink", "copy"] {
        let (place, base) = world(true);
        let own = written(base.join(".claude/skills/mine"));
        fs::create_dir_all(base.join("work/other")).unwrap();
        fs::write(base.join("work/other/SKILL.md"), skill("other", "x")).unwrap();
        fine(&place, &format!("add {} --user --client codex --yes --link {mode}", own.display()));
        // Where the link would be is the source; a copy would have the same files.
        let other = format!("add {} --user --client claude-code --yes", base.join("work/other").display());
        fine(&place, &other);
        let said = fine(&place, "verify --user");
        assert!(mode == "copy" || said.contains("yours is kept for claude-code"), "{said}");
        for args in ["sync --user --yes", "sync --user --yes --overwrite", "remove --user other"] {
            fine(&place, args);
            fine(&place, "verify --user");
        }
        fine(&place, "remove --user mine");
        fine(&place, "verify --user");
        assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES);
    }
}

#[test]
fn what_keep_left_in_the_folder_of_a_client_is_replaced_only_on_request() {
    for is_link in [false, true] {
        let (place, base) = world(false);
        written(base.join("work/mine"));
        let theirs = written(base.join("elsewhere"));
        fs::write(theirs.join("SKILL.md"), skill("mine", "another")).unwrap();
        let there = base.join(".claude/skills/mine");
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        if is_link {
            symlink(&theirs, &there).unwrap();
        } else {
            fs::rename(&theirs, &there).unwrap();
        }
        let add = "add ./work/mine --client claude-code --yes";
        refused(&place, add);
        fine(&place, &format!("{add} --keep"));
        let is_kept = || fs::read_to_string(there.join("SKILL.md")).unwrap() == skill("mine", "another");
        for args in ["verify", "sync --yes", "add ./work/mine --yes", "verify"] {
            fine(&place, args);
            assert!(is_kept(), "{args}");
        }
        let json = in_project(&place, &["verify", "--json"]);
        assert!(json.contains(r#""state":"left""#), "{json}");
        // A skill that is installed anew is another decision.
        fine(&place, "remove mine");
        refused(&place, add);
        fine(&place, &format!("{add} --keep"));
        let said = fine(&place, &format!("{add} --overwrite"));
        assert!(said.contains("linked for claude-code") && !is_kept(), "{said}");
    }
}

#[test]
fn overwriting_what_was_edited_leaves_what_keep_left() {
    for mode in ["symlink", "copy"] {
        let (place, base) = world(true);
        let team = base.join("team/mine");
        written(base.join("team/other"));
        fs::write(base.join("team/other/SKILL.md"), skill("other", "x")).unwrap();
        written(team.clone());
        let own = base.join(".claude/skills/mine/SKILL.md");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, skill("mine", "my own")).unwrap();
        fine(
            &place,
            &format!("add {} --user --client claude-code --link {mode} --keep --yes", team.display()),
        );
        let installed = base.join(".agents/skills/mine/notes.txt");
        for args in [
            "sync --overwrite --user --yes".to_owned(),
            format!("add {} --overwrite --user --yes", base.join("team/other").display()),
        ] {
            fs::write(&installed, "edited\n").unwrap();
            let said = fine(&place, &args);
            let is_sync = args.starts_with("sync");
            assert_eq!(fs::read_to_string(&installed).unwrap() == NOTES, is_sync, "{args}: {said}");
            assert!(said.contains("left alone") && said.contains(".claude/skills/mine"), "{args}: {said}");
            assert_eq!(fs::read_to_string(&own).unwrap(), skill("mine", "my own"), "{args}");
        }
        let said = fine(&place, &format!("add {} --overwrite --user --yes", team.display()));
        assert!(said.contains("replaced: ") && said.contains(".claude/skills/mine"), "{said}");
        assert_ne!(fs::read_to_string(&own).unwrap(), skill("mine", "my own"));
    }
}

#[test]
fn a_copy_that_keep_left_stays_when_the_record_of_it_cannot_be_used() {
    for damage in ["", "no record", r#"{"version":2,"folders":{}}"#] {
        let (place, base) = world(false);
        written(base.join("work/mine"));
        written(base.join("work/other"));
        fs::write(base.join("work/other/SKILL.md"), skill("other", "x")).unwrap();
        let theirs = written(base.join(".claude/skills/mine"));
        fine(&place, "add ./work/mine --client claude-code --link copy --yes --keep");
        let state = place.path().join("state/prowess/install");
        let is_record = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "placed");
        let records = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
        let records: Vec<_> = records.filter(is_record).collect();
        let [record] = &*records else { panic!("{records:?}") };
        fs::write(record, damage).unwrap();
        assert!(fine(&place, "verify").contains("could not be used"));
        assert_eq!(fs::read_to_string(record).unwrap(), damage, "verify changes nothing");
        let said = fine(&place, "add ./work/other --yes");
        assert!(said.contains("could not be used") && said.contains(".placed-set-aside"), "{said}");
        for args in ["sync --yes", "verify", "remove other"] {
            let said = fine(&place, args);
            assert!(!said.contains("could not be used"), "{args}: {said}");
        }
        let said = fine(&place, "remove mine");
        assert!(said.contains(".claude/skills/mine"), "{said}");
        assert_eq!(fs::read_to_string(theirs.join("notes.txt")).unwrap(), NOTES);
    }
}

#[test]
fn a_copy_of_which_the_record_was_lost_does_not_become_the_users_by_an_overwriting_sync() {
    for edits in ["--overwrite", "--keep"] {
        let (place, base) = world(false);
        let source = written(base.join("work/mine"));
        let add = "add ./work/mine --client claude-code --link copy --yes";
        fine(&place, add);
        let lost = place.path().join("state/prowess/install");
        let record = fs::read_dir(lost).unwrap().map(|entry| entry.unwrap().path());
        let record = record.into_iter().find(|path| path.extension().is_some_and(|end| end == "placed"));
        fs::write(record.unwrap(), "no record").unwrap();
        fine(&place, &format!("sync {edits} --yes"));
        fs::write(source.join("notes.txt"), "the next version\n").unwrap();
        fine(&place, &format!("{add} --overwrite"));
        fs::write(source.join("notes.txt"), "the one after it\n").unwrap();
        fine(&place, add);
        let copy = fs::read_to_string(base.join(".claude/skills/mine/notes.txt")).unwrap();
        assert_eq!(copy, "the one after it\n", "{edits}");
    }
}

#[test]
fn a_lock_that_came_from_elsewhere_deletes_and_replaces_nothing_that_the_user_made() {
    for mode in ["symlink", "copy"] {
        let (place, base) = world(false);
        let team = written(base.join("vendor/mine"));
        fine(&place, &format!("add ./vendor/mine --client claude-code --link {mode} --yes"));
        let lock = fs::read(base.join("skills.lock")).unwrap();
        fine(&place, "remove mine");
        // The same files by hand, then records by pull.
        let own = written(base.join(".agents/skills/mine"));
        let copy = written(base.join(".claude/skills/mine"));
        let settings = format!("[settings]\nclients = [\"claude-code\"]\nlink = \"{mode}\"\n\n[skills]\n");
        for args in ["sync", "sync --overwrite --yes"] {
            fs::write(base.join("skills.lock"), &lock).unwrap();
            fs::write(base.join("skills.toml"), &settings).unwrap();
            let said = fine(&place, &format!("{args} --dry-run"));
            assert!(said.contains("would be left, since it is not known"), "{mode} {args}: {said}");
            let said = fine(&place, args);
            assert!(
                said.contains("left, since it is not known that prowess placed it"),
                "{mode} {args}: {said}"
            );
            assert!(
                said.contains("delete the folder yourself: [DIR]/project/.agents/skills/mine"),
                "{mode} {args}: {said}"
            );
            let lock = fs::read_to_string(base.join("skills.lock")).unwrap();
            assert!(!lock.contains("mine"), "{mode} {args}: {lock}");
            for made in [&own, &copy] {
                assert_eq!(fs::read_to_string(made.join("notes.txt")).unwrap(), NOTES, "{mode} {args}");
            }
            assert!(said.contains("left alone: [DIR]/project/.claude/skills/mine"), "{mode} {args}: {said}");
        }
        // It is used as it is, which makes it no folder that Prowess placed.
        fs::remove_dir_all(&copy).unwrap();
        fs::write(base.join("skills.lock"), &lock).unwrap();
        fs::write(base.join("skills.toml"), format!("{settings}mine = {{ path = \"vendor/mine\" }}\n"))
            .unwrap();
        fine(&place, "sync --yes");
        fs::write(team.join("notes.txt"), "the next version\n").unwrap();
        let add = "add ./vendor/mine --yes";
        let said = refused(&place, add);
        assert!(said.contains("only skills.lock says that prowess placed this"), "{mode}: {said}");
        assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES, "{mode}");
        let said = fine(&place, &format!("{add} --overwrite"));
        assert!(said.contains("replaced: [DIR]/project/.agents/skills/mine"), "{mode}: {said}");
        assert_ne!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES, "{mode}");
    }
}

#[test]
fn what_prowess_placed_goes_with_its_entry_in_skills_toml() {
    let (place, base) = world(false);
    written(base.join("vendor/mine"));
    fine(&place, "add ./vendor/mine --yes");
    fs::write(base.join("skills.toml"), "[skills]\n").unwrap();
    fine(&place, "sync");
    assert!(!base.join(".agents/skills/mine").exists());
}

#[test]
fn what_keep_left_is_the_users_own_skill_everywhere() {
    for mode in ["symlink", "copy"] {
        let (place, base) = world(true);
        let team = base.join("team/mine");
        written(team.clone());
        let own = base.join(".claude/skills/mine/SKILL.md");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, skill("mine", "my own")).unwrap();
        let offered = |edited: &str| {
            fs::write(&own, skill("mine", edited)).unwrap();
            let prompt = fine(&place, "prompt --client claude-code");
            assert!(prompt.contains("mine"), "{mode} {edited}: {prompt}");
            fine(&place, "activate mine --client claude-code")
        };
        let before = offered("my own");
        fine(
            &place,
            &format!("add {} --user --client claude-code --link {mode} --keep --yes", team.display()),
        );
        assert_eq!(offered("my own"), before, "{mode}");
        // It needs no consent, also after the user has edited it.
        offered("my own, edited");
        let why = fine(&place, "why mine --client claude-code");
        for false_word in ["prowess made this copy", "installed from", "edited:", "prowess sync"] {
            assert!(!why.contains(false_word), "{mode} {false_word}: {why}");
        }
        let doctor = in_project(&place, &["doctor", "--client", "claude-code"]);
        assert!(!doctor.contains("it was installed") && !doctor.contains("not trusted"), "{mode}: {doctor}");
        // A record that cannot be used makes nothing trusted.
        let state = place.path().join("state/prowess/install");
        let records = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
        for record in records.filter(|path| path.extension().is_some_and(|end| end == "placed")) {
            fs::write(record, "no record").unwrap();
        }
        let prompt = in_project(&place, &["prompt", "--client", "claude-code"]);
        assert!(!prompt.contains("my own"), "{mode}: {prompt}");
    }
}

#[test]
fn a_kept_link_to_installed_files_does_not_make_them_the_users_own() {
    let (place, base) = world(true);
    written(base.join("team/mine"));
    let there = base.join(".claude/skills/mine");
    fs::create_dir_all(there.parent().unwrap()).unwrap();
    // Another link than the one that Prowess makes.
    symlink(base.join(".agents/skills/../skills/mine"), &there).unwrap();
    let add = format!("add {} --user --client claude-code --keep --yes", base.join("team/mine").display());
    fine(&place, &add);
    fs::write(base.join(".agents/skills/mine/SKILL.md"), skill("mine", "changed")).unwrap();
    let prompt = in_project(&place, &["prompt", "--client", "claude-code"]);
    assert!(!prompt.contains("changed"), "{prompt}");
}

#[test]
fn your_own_link_to_the_source_gives_the_client_the_skill() {
    let (place, base) = world(false);
    written(base.join("work/mine"));
    fs::create_dir_all(base.join(".claude/skills")).unwrap();
    symlink(base.join("work/mine"), base.join(".claude/skills/mine")).unwrap();
    let said = fine(&place, "add ./work/mine --client claude-code --keep --yes");
    assert!(said.contains("left alone, since mine comes from there: "), "{said}");
    assert!(!said.contains("does not get the installed files"), "{said}");
}

#[test]
fn an_edited_copy_that_was_kept_stays_in_later_commands_until_its_source_is_added_again() {
    for more in [&["--user"][..], &[]] {
        let place = place();
        let with = |args: &[&str]| run(&place, &[args, more].concat());
        let add = ["add", "./from/pdf", "--yes", "--client", "claude-code", "--link", "copy"];
        assert!(with(&add).starts_with("exit 0"));
        let home = if more.is_empty() { "" } else { "home/" };
        let copy = format!("{home}.claude/skills/pdf/SKILL.md");
        place.write(&copy, skill("pdf", "mine").as_bytes());
        let said = with(&["add", "./from/pdf", "--yes", "--keep"]);
        let left = "left alone, so claude-code does not get the installed files: ";
        assert!(said.starts_with("exit 0") && said.contains(left), "{said}");
        for args in [&["verify"][..], &["sync", "--yes"], &["sync", "--yes", "--overwrite"], &["verify"]] {
            let said = with(args);
            assert!(said.starts_with("exit 0"), "{args:?}: {said}");
            assert_eq!(read(&place, &copy), skill("pdf", "mine"), "{args:?}: {said}");
        }
        // It is no more trusted than before.
        let said = run(&place, &["activate", "pdf", "--client", "claude-code"]);
        assert!(said.starts_with("exit 2"), "{said}");
        let said = with(&["add", "./from/pdf", "--yes", "--overwrite"]);
        assert!(said.starts_with("exit 0"), "{said}");
        assert_eq!(read(&place, &copy), skill("pdf", "one"));
    }
}
