//! What `remove`, `sync` and `add` delete: only what Prowess placed, only what was shown, only with consent.

use std::fs;

use insta::assert_snapshot;

use crate::Place;
use crate::install::{place, read, say, skill};
use crate::shelf::{json_of, run};
use crate::terminal::Terminal;

/// The edits that a command would lose in a skill and in its copy for a client.
const LOST: &str =
    "pdf\n  changed  SKILL.md\n  added  mine.txt\n  [DIR]/.claude/skills/pdf\n    added  also.txt\n";
const OWN: &str = "---\nname: pdf\ndescription: My own.\n---\nMine.\n";

fn edit(place: &Place) {
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
}

#[test]
fn remove_overwrite_leaves_a_folder_that_prowess_never_placed() {
    let place = place();
    place.write(".claude/skills/pdf/SKILL.md", OWN.as_bytes());
    let added = run(&place, &["add", "./from/pdf", "--client", "claude-code", "--keep", "--yes"]);
    assert!(added.contains("left alone"), "{added}");
    edit(&place);
    assert_snapshot!(say(&place, &["remove", "pdf", "--overwrite", "--yes"]), @"
    exit 0
    --- stdout
    - pdf  from/pdf
      deleted: [DIR]/.agents/skills/pdf
      left alone: [DIR]/.claude/skills/pdf
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    --- stderr
    pdf
      changed  SKILL.md
    ");
    assert_eq!(read(&place, ".claude/skills/pdf/SKILL.md"), OWN);
}

#[test]
fn remove_overwrite_leaves_a_folder_that_replaced_the_link() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--client", "claude-code", "--yes"]);
    fs::remove_file(place.path().join(".claude/skills/pdf")).unwrap();
    place.write(".claude/skills/pdf/SKILL.md", OWN.as_bytes());
    edit(&place);
    let said = run(&place, &["remove", "pdf", "--overwrite", "--yes"]);
    assert!(said.contains("left alone: [DIR]/.claude/skills/pdf"), "{said}");
    assert_eq!(read(&place, ".claude/skills/pdf/SKILL.md"), OWN);
    assert!(!place.path().join(".agents/skills/pdf").exists());
}

/// What a command says beside the edits that it would lose.
fn losing(place: &Place, args: &[&str]) -> String {
    let said = say(place, args);
    assert!(said.contains(LOST), "{said}");
    said.replace(LOST, "")
}

#[test]
fn remove_overwrite_names_the_files_and_needs_consent() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--client", "claude-code", "--link", "copy", "--yes"]);
    edit(&place);
    place.write(".agents/skills/pdf/mine.txt", b"mine");
    place.write(".claude/skills/pdf/also.txt", b"mine");
    assert_snapshot!(losing(&place, &["remove", "pdf", "--overwrite"]), @"
    exit 2
    --- stderr
    error: there is no terminal to ask whether these edits may be lost, so nothing was changed
      hint: keep them with --keep, or lose them with --overwrite --yes
    ");
    assert!(place.path().join(".agents/skills/pdf/mine.txt").exists());
    assert_snapshot!(losing(&place, &["remove", "pdf", "--overwrite", "--yes"]), @"
    exit 0
    --- stdout
    - pdf  from/pdf
      removed for claude-code: [DIR]/.claude/skills/pdf
      deleted: [DIR]/.agents/skills/pdf
      deleted: [DIR]/.claude/skills/pdf
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    --- stderr
    ");
    assert!(!place.path().join(".agents/skills/pdf").exists());
    assert!(!place.path().join(".claude/skills/pdf").exists());
}

#[test]
fn add_overwrite_names_each_file_that_it_deletes() {
    let place = place();
    place.write(".agents/skills/pdf/SKILL.md", OWN.as_bytes());
    place.write(".agents/skills/pdf/notes/mine.txt", b"mine");
    let said = say(&place, &["add", "./from/pdf", "--overwrite"]);
    assert!(said.starts_with("exit 2"), "{said}");
    for file in ["SKILL.md", "notes/mine.txt"] {
        assert!(said.contains(&format!("deletes your file  [DIR]/.agents/skills/pdf/{file}")), "{said}");
    }
    let dry = json_of(&place, &["add", "./from/pdf", "--overwrite", "--dry-run", "--json"]);
    assert_eq!(dry["skills"][0]["preview"]["loses"].as_array().unwrap().len(), 2);
    assert!(place.path().join(".agents/skills/pdf/notes/mine.txt").exists());
}

/// Runs a command on a terminal, does something while its question is open, then agrees.
fn while_asked(place: &Place, args: &str, act: impl FnOnce()) -> Option<String> {
    let mut terminal = Terminal::start(place, args)?;
    terminal.read_until("[y/N]");
    act();
    // A command that asks nothing has ended by now.
    terminal.type_in("y\n");
    Some(terminal.end().replace(&*place.path().to_string_lossy(), "[DIR]"))
}

#[test]
fn a_file_that_is_written_while_the_question_is_open_is_not_deleted() {
    for args in ["sync --overwrite", "add ./from/pdf --overwrite", "remove pdf --overwrite"] {
        let place = place();
        run(&place, &["add", "./from/pdf", "--yes"]);
        edit(&place);
        let said = while_asked(&place, args, || place.write(".agents/skills/pdf/late.txt", b"work"));
        let Some(said) = said else { return };
        assert!(said.contains("this changed after you were asked"), "{args}: {said}");
        assert!(said.contains("[DIR]/.agents/skills/pdf: late.txt"), "{args}: {said}");
        assert_eq!(read(&place, ".agents/skills/pdf/late.txt"), "work", "{args}");
    }
}

#[test]
fn a_dry_run_names_the_edits_that_overwriting_would_lose() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    edit(&place);
    for args in [&["sync", "--overwrite", "--dry-run"][..], &["remove", "pdf", "--overwrite", "--dry-run"]] {
        let said = run(&place, args);
        assert!(said.contains("these edits would be lost:\npdf\n  changed  SKILL.md\n"), "{args:?}: {said}");
        let json = json_of(&place, &[args, &["--json"]].concat());
        let lost = json["skills"][0]["lost_files"].as_array().unwrap();
        assert!(lost[0].as_str().unwrap().ends_with("/.agents/skills/pdf/SKILL.md"), "{lost:?}");
    }
}

#[test]
fn nothing_is_asked_about_a_skill_whose_name_is_taken() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("other/pdf/SKILL.md", skill("pdf", "other").as_bytes());
    let Some(said) = while_asked(&place, "add ./other/pdf", || {}) else { return };
    assert!(said.contains("installed from another source: pdf") && !said.contains("[y/N]"), "{said}");
}

#[test]
fn what_was_shown_is_replaced_after_the_answer() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    edit(&place);
    let Some(said) = while_asked(&place, "sync --overwrite", || {}) else { return };
    assert!(said.contains("changed  SKILL.md") && said.contains("~ pdf"), "{said}");
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("one"));
}

#[test]
fn sync_does_not_trust_files_that_were_exchanged_together_with_the_lock() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let accepted = json_of(&place, &["verify", "--json"])["skills"][0]["digest"].as_str().unwrap().to_owned();
    place.write("other/from/pdf/SKILL.md", skill("pdf", "evil").as_bytes());
    place.write("other/.git/x", b"");
    let evil = run(&place, &["add", "./other/from/pdf", "--dry-run", "--json", "--as", "evil"]);
    let at = evil.find("sha256:").unwrap();
    let evil = evil.get(at..at + accepted.len()).unwrap();
    // A pull brings other files, and a lock that names them.
    fs::remove_dir_all(place.path().join(".agents/skills/pdf")).unwrap();
    fs::create_dir(place.path().join(".agents/skills/pdf")).unwrap();
    edit_as(&place, "evil");
    place.write("skills.lock", read(&place, "skills.lock").replace(&accepted, evil).as_bytes());
    let listed = run(&place, &["list"]);
    assert!(listed.contains("changed since it was trusted"), "{listed}");
    assert!(!listed.contains("sync --overwrite"), "{listed}");
    assert!(listed.contains("the lock changed too"), "{listed}");
    let synced = run(&place, &["sync", "--overwrite", "--yes"]);
    assert!(synced.starts_with("exit 2") && !synced.contains("trusted as it is"), "{synced}");
    assert!(run(&place, &["list"]).contains("1 not trusted"));
}

fn edit_as(place: &Place, text: &str) {
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", text).as_bytes());
}

#[test]
fn a_copy_for_a_client_that_is_no_longer_named_is_removed_with_its_skill() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--client", "claude-code", "--link", "copy", "--yes"]);
    let toml = read(&place, "skills.toml").replace("clients = [\"claude-code\"]\n", "");
    place.write("skills.toml", toml.as_bytes());
    place.write(".claude/skills/notes/mine.txt", b"mine");
    assert_snapshot!(say(&place, &["remove", "pdf", "notes"]), @"
    exit 0
    --- stdout
    - pdf  from/pdf
      removed for claude-code: [DIR]/.claude/skills/pdf
    - notes  from/notes
      left alone: [DIR]/.claude/skills/notes
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    ");
    assert!(!place.path().join(".claude/skills/pdf").exists());
    assert!(place.path().join(".claude/skills/notes/mine.txt").exists());
}

#[test]
fn an_edited_copy_that_remove_left_for_a_client_is_named_until_it_is_deleted() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--client", "claude-code", "--link", "copy", "--yes"]);
    place.write(".claude/skills/notes/mine.txt", b"mine");
    // What the user made was never installed.
    fs::remove_dir_all(place.path().join(".claude/skills/pdf")).unwrap();
    place.write(".claude/skills/own/SKILL.md", skill("own", "mine").as_bytes());
    run(&place, &["remove", "pdf"]);
    let said = run(&place, &["remove", "notes", "--keep"]);
    assert!(said.contains("left alone: [DIR]/.claude/skills/notes"), "{said}");
    let name = "in no record now, but agents still use it: [DIR]/.claude/skills/notes; delete the folder";
    for command in ["verify", "sync"] {
        let said = run(&place, &[command]);
        assert!(said.starts_with("exit 0") && said.contains(name), "{command}: {said}");
        assert_eq!(said.matches("in no record now").count(), 1, "{command}: {said}");
    }
    fs::remove_dir_all(place.path().join(".claude/skills/notes")).unwrap();
    assert!(!run(&place, &["verify"]).contains("in no record now"));
}

#[test]
fn a_skill_of_the_user_is_not_named_as_installed_where_one_was_before() {
    let own = skill("own", "mine");
    let silent = |place: &Place| {
        for args in [&["verify"][..], &["sync"], &["list", "--installed"]] {
            let said = run(place, args);
            assert!(said.starts_with("exit 0") && !said.contains("in no record"), "{args:?}: {said}");
        }
    };
    // Where an edited copy or skill was left and deleted, or an unedited copy was deleted before the removal.
    for (left, of, deleted_before) in [
        (".claude/skills/notes", "notes", false),
        (".agents/skills/notes", "notes", false),
        (".claude/skills/pdf", "pdf", true),
    ] {
        let place = place();
        run(&place, &["add", "./from", "--all", "--client", "claude-code", "--link", "copy", "--yes"]);
        if deleted_before {
            fs::remove_dir_all(place.path().join(left)).unwrap();
        } else {
            place.write(&format!("{left}/mine.txt"), b"mine");
        }
        assert!(run(&place, &["remove", of, "--keep"]).starts_with("exit 0"));
        if !deleted_before {
            assert!(run(&place, &["verify"]).contains(&format!("agents still use it: [DIR]/{left};")));
            fs::remove_dir_all(place.path().join(left)).unwrap();
        }
        place.write(&format!("{left}/SKILL.md"), own.as_bytes());
        silent(&place);
    }
    // A folder with the files of a skill that is installed from a folder, which its user trusts.
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--as", "other"]);
    place.write(
        ".agents/skills/pdf/SKILL.md",
        fs::read(place.path().join("from/pdf/SKILL.md")).unwrap().as_slice(),
    );
    run(&place, &["trust", "pdf", "--yes"]);
    silent(&place);
}

#[test]
fn a_folder_that_is_gone_is_forgotten_with_its_skill() {
    let place = place();
    let add = ["add", "./from/pdf", "--client", "claude-code", "--link", "copy", "--yes"];
    run(&place, &add);
    fs::remove_dir_all(place.path().join(".claude/skills/pdf")).unwrap();
    run(&place, &["remove", "pdf"]);
    place.write(".claude/skills/pdf/SKILL.md", skill("pdf", "mine").as_bytes());
    let said = run(&place, &add);
    assert!(said.contains("something else is where a client looks for an installed skill"), "{said}");
    assert!(!said.contains("was edited"), "{said}");
}

#[test]
fn all_edited_skills_are_named_at_once() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    edit(&place);
    place.write(".agents/skills/notes/extra.md", b"mine");
    for args in [&["sync"][..], &["remove", "pdf", "notes"]] {
        let said = run(&place, args);
        assert!(said.contains("2 skills were edited after they were installed"), "{said}");
        assert!(said.contains("skills/pdf: SKILL.md") && said.contains("skills/notes: extra.md"), "{said}");
    }
}

#[test]
fn an_empty_or_missing_skills_toml_beside_a_lock_stops_every_command() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("skills.toml", b"\n");
    for args in [&["verify"][..], &["sync", "--yes"], &["remove", "pdf"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && said.contains("skills.toml is empty"), "{args:?}: {said}");
    }
    fs::remove_file(place.path().join("skills.toml")).unwrap();
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 2
    --- stderr
    error: there is a skills.lock and no skills.toml: [DIR]/skills.toml
      hint: restore skills.toml from version control, or remove skills.lock as well
    ");
    assert!(place.path().join(".agents/skills/pdf/SKILL.md").exists());
}

#[test]
fn hints_repeat_the_project_and_overwrite_only_where_something_would_be_lost() {
    let place = place();
    let project = |args: &[&'static str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--project", "my project"]).collect();
        run(&place, &args)
    };
    fs::create_dir_all(place.path().join("my project")).unwrap();
    project(&["add", "./from/pdf", "--client", "claude-code", "--yes"]);
    fs::remove_file(place.path().join("my project/.claude/skills/pdf")).unwrap();
    let said = project(&["verify"]);
    assert!(said.contains("restore with: prowess sync --project '[DIR]/my project'\n"), "{said}");
    place.write("my project/.agents/skills/pdf/extra.md", b"mine");
    let said = project(&["verify"]);
    assert!(said.contains("prowess sync --overwrite --project '[DIR]/my project'\n"), "{said}");
    for args in [&["sync"][..], &["remove", "pdf"]] {
        let said = project(args);
        assert!(said.contains("prowess verify --project '[DIR]/my project'"), "{said}");
    }
}

/// What to ask for in a scope, and where its skills are.
fn scopes() -> [(&'static [&'static str], &'static str); 2] {
    [(&[], ".agents/skills/pdf"), (&["--user"], "home/.agents/skills/pdf")]
}

#[test]
fn edits_that_the_user_trusted_are_still_edits() {
    for (scope, folder) in scopes() {
        let place = place();
        let in_scope = |args: &[&'static str]| run(&place, &[args, scope].concat());
        in_scope(&["add", "./from/pdf", "--yes"]);
        place.write(&format!("{folder}/mine.txt"), b"work");
        let trusted = run(&place, &["trust", "pdf", "--yes"]);
        assert!(trusted.starts_with("exit 0"), "{trusted}");
        let stops = |args: &[&'static str], files: &str| {
            let said = in_scope(args);
            assert!(said.starts_with("exit 2"), "{args:?} {scope:?}: {said}");
            let is_named = said.contains("was edited after it was installed");
            assert!(is_named || said.contains("it is not known whether it was edited"), "{said}");
            assert!(said.contains(files), "{said}");
            assert_eq!(read(&place, &format!("{folder}/mine.txt")), "work");
        };
        stops(&["sync", "--yes"], ": mine.txt");
        stops(&["remove", "pdf"], ": mine.txt");
        place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
        stops(&["add", "./from/pdf", "--yes"], ": mine.txt");
        // Without its lock, only a source could say what was installed.
        let lock = if scope.is_empty() { "skills.lock" } else { "home/.agents/skills.lock" };
        fs::remove_file(place.path().join(lock)).unwrap();
        stops(&["remove", "pdf"], "");
        let said = in_scope(&["remove", "pdf", "--overwrite", "--yes"]);
        assert!(said.starts_with("exit 0") && said.contains("deleted: "), "{said}");
    }
}

#[test]
fn a_skill_whose_lock_is_lost_is_removed_when_it_was_not_edited() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["remove", "pdf"]);
    assert!(said.starts_with("exit 0") && !place.path().join(".agents/skills/pdf").exists(), "{said}");
}

#[test]
fn lock_only_never_makes_an_installed_skill_one_that_no_record_knows() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    let toml = read(&place, "skills.toml");
    let toml: Vec<&str> = toml.lines().filter(|line| !line.starts_with("pdf")).collect();
    place.write("skills.toml", (toml.join("\n") + "\n").as_bytes());
    assert_snapshot!(say(&place, &["sync", "--lock-only", "--yes"]), @"
    exit 0
    --- stdout
    = notes  from/notes
    ! pdf (still installed, so it stays in the lock; remove it with: prowess sync)  from/pdf
    ");
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.contains("- pdf") && !place.path().join(".agents/skills/pdf").exists(), "{said}");
    assert!(
        !read(&place, "skills.lock").contains("pdf") && !run(&place, &["trust", "--list"]).contains("pdf")
    );
}

#[test]
fn lock_only_drops_a_skill_that_is_not_installed_from_the_lock() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    let toml = read(&place, "skills.toml");
    let toml: Vec<&str> = toml.lines().filter(|line| !line.starts_with("pdf")).collect();
    place.write("skills.toml", (toml.join("\n") + "\n").as_bytes());
    fs::remove_dir_all(place.path().join(".agents/skills/pdf")).unwrap();
    let said = run(&place, &["sync", "--lock-only", "--yes"]);
    assert!(said.contains("- pdf") && !read(&place, "skills.lock").contains("pdf"), "{said}");
    assert!(run(&place, &["sync", "--locked", "--yes"]).starts_with("exit 0"));
}

#[test]
fn overwriting_one_skill_never_replaces_what_a_client_has_of_another() {
    // The user's own folder where a client looks for another skill, and an edited copy of another skill.
    for edited in [false, true] {
        let place = place();
        if edited {
            run(&place, &["add", "./from/notes", "--client", "claude-code", "--link", "copy", "--yes"]);
            place.write(".claude/skills/notes/mine.txt", b"mine");
        } else {
            run(&place, &["add", "./from/notes", "--yes"]);
            place.write(".claude/skills/notes/mine.txt", b"mine");
        }
        let add = ["add", "./from/pdf", "--client", "claude-code", "--overwrite", "--yes"];
        let dry = json_of(&place, &[&add[..], &["--dry-run", "--json"]].concat());
        for skill in dry["skills"].as_array().unwrap() {
            assert_eq!(skill["lost_files"].as_array().map(Vec::len), Some(0), "{dry}");
        }
        let said = run(&place, &add);
        assert!(said.starts_with("exit 0") && said.contains("+ pdf"), "{said}");
        let left = "left alone, so claude-code does not get the installed files: [DIR]/.claude/skills/notes";
        assert!(said.contains(left) && !said.contains("replaced"), "{said}");
        let said = run(&place, &["remove", "pdf", "--overwrite", "--yes"]);
        assert!(said.starts_with("exit 0"), "{said}");
        assert_eq!(read(&place, ".claude/skills/notes/mine.txt"), "mine");
    }
}

#[test]
fn an_edited_copy_of_another_skill_does_not_stop_a_command_and_is_still_restored_by_sync() {
    let place = place();
    run(&place, &["add", "./from/notes", "--client", "claude-code", "--link", "copy", "--yes"]);
    place.write(".claude/skills/notes/mine.txt", b"mine");
    for args in [&["add", "./from/pdf", "--yes"][..], &["remove", "pdf"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0") && said.contains("/.claude/skills/notes"), "{said}");
    }
    assert!(run(&place, &["sync"]).contains("this copy of an installed skill was edited"));
    let said = run(&place, &["sync", "--overwrite", "--yes"]);
    assert!(said.contains("added  mine.txt") && said.contains("replaced: [DIR]/.claude"), "{said}");
}

/// Makes a skill too large to be compared.
fn make_too_large(place: &Place, folder: &str) {
    place.write(&format!("{folder}/mine.txt"), b"mine");
    fs::File::create(place.path().join(folder).join("data.bin")).unwrap().set_len(65 << 20).unwrap();
}

/// The files that a command says it would lose, below the folder of the test.
fn lost_by(place: &Place, args: &[&str]) -> Vec<String> {
    let json = json_of(place, &[args, &["--dry-run", "--json"]].concat());
    let start = format!("{}/", place.path().display());
    let lost = json["skills"].as_array().unwrap().iter().filter_map(|skill| skill["lost_files"].as_array());
    lost.flatten().map(|file| file.as_str().unwrap().replace(&start, "")).collect()
}

#[test]
fn the_files_of_a_folder_that_cannot_be_compared_are_named_before_they_are_lost() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    make_too_large(&place, ".agents/skills/pdf");
    let expected = [".agents/skills/pdf/data.bin", ".agents/skills/pdf/mine.txt"];
    for args in [
        &["remove", "pdf", "--overwrite"][..],
        &["sync", "--overwrite"],
        &["add", "./from/pdf", "--overwrite"],
    ] {
        assert_eq!(lost_by(&place, args), expected, "{args:?}");
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && said.contains("mine.txt"), "{said}");
    }
    let said = run(&place, &["verify"]);
    assert!(said.contains("too large") && said.contains("added  mine.txt"), "{said}");
    // A folder that was never installed.
    place.write(".agents/skills/notes/SKILL.md", OWN.as_bytes());
    make_too_large(&place, ".agents/skills/notes");
    let add = ["add", "./from/notes", "--overwrite"];
    assert_eq!(lost_by(&place, &add).len(), 3);
    let json = json_of(&place, &[&add[..], &["--dry-run", "--json"]].concat());
    assert_eq!(json["skills"][0]["preview"]["loses"].as_array().unwrap().len(), 3);
    assert!(run(&place, &add).contains("deletes your file  [DIR]/.agents/skills/notes/mine.txt"));
}

#[test]
fn a_skill_that_cannot_be_compared_is_named_after_remove_keep_left_it() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    make_too_large(&place, ".agents/skills/pdf");
    assert!(run(&place, &["remove", "pdf", "--keep"]).starts_with("exit 0"));
    let name = "in no record now, but agents still use it: [DIR]/.agents/skills/pdf;";
    assert!(run(&place, &["verify"]).contains(name));
    assert!(run(&place, &["list", "--installed"]).contains(name));
    // With other files it is the user's own.
    place.write(".agents/skills/pdf/more.txt", b"mine");
    assert!(!run(&place, &["verify"]).contains("in no record now"));
}

#[test]
fn a_repository_in_a_skill_is_named_as_one_before_it_is_lost() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write(".agents/skills/pdf/.git/HEAD", b"ref: refs/heads/main\n");
    assert_eq!(lost_by(&place, &["sync", "--overwrite"]), [".agents/skills/pdf/.git/"]);
    let said = run(&place, &["remove", "pdf", "--overwrite"]);
    assert!(said.contains("added  .git/ (git repository)"), "{said}");
    let said = run(&place, &["add", "./from/pdf", "--overwrite"]);
    assert!(said.contains("deletes your git repository  [DIR]/.agents/skills/pdf/.git/"), "{said}");
}

#[test]
fn an_untouched_file_of_an_edited_copy_is_not_named_as_lost() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--client", "claude-code", "--link", "copy", "--yes"]);
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    place.write(".claude/skills/pdf/mine.txt", b"mine");
    assert_eq!(lost_by(&place, &["add", "./from/pdf", "--overwrite"]), [".claude/skills/pdf/mine.txt"]);
}

#[test]
fn a_folder_with_the_repository_of_a_source_is_not_replaced() {
    for is_clone in [false, true] {
        let place = place();
        let own = place.path().join(".agents/skills/pdf");
        place.write(".agents/skills/pdf/SKILL.md", OWN.as_bytes());
        if is_clone {
            // As `git clone --shared` makes it.
            place.write("other/pdf/.git/HEAD", b"ref: refs/heads/main\n");
            fs::create_dir_all(own.join(".git/objects")).unwrap();
            let objects = format!("{}\n", own.join(".git/objects").display());
            place.write("other/pdf/.git/objects/info/alternates", objects.as_bytes());
        } else {
            // As `git worktree add` makes it.
            place.write(".agents/skills/pdf/.git/worktrees/w/commondir", b"../..\n");
            let git = format!("gitdir: {}\n", own.join(".git/worktrees/w").display());
            place.write("other/.git", git.as_bytes());
        }
        place.write("other/pdf/SKILL.md", skill("pdf", "other").as_bytes());
        let said = run(&place, &["add", "./other/pdf", "--overwrite", "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("comes from this folder"), "{is_clone}: {said}");
        assert_eq!(read(&place, ".agents/skills/pdf/SKILL.md"), OWN);
    }
}
