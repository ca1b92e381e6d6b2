//! A skill that one scope installed from the other: each scope updates and removes its own, and no refusal is a dead end.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Place;
use crate::install::skill;
use crate::install_kept::{fine, refused};
use crate::install_sources::{NOTES, in_project, world, written};

/// A skill that the project installed from a folder, and the user from where it is installed or copied for a client; or
/// the other way round. Returns the options of the first scope, and those of the second.
fn chained(user_first: bool, from_client: bool) -> (Place, [&'static str; 2]) {
    let (place, base) = world(user_first);
    written(place.path().join("hand/mine"));
    let scopes = if user_first { [" --user", ""] } else { ["", " --user"] };
    let client = if from_client { " --client claude-code --link copy" } else { "" };
    fine(&place, &format!("add ../hand/mine --yes{client}{}", scopes[0]));
    let source = base.join(if from_client { ".claude/skills/mine" } else { ".agents/skills/mine" });
    fine(&place, &format!("add {} --yes{}", source.display(), scopes[1]));
    (place, scopes)
}

fn installed(place: &Place, scope: &str) -> std::path::PathBuf {
    place.path().join(if scope.is_empty() { "project" } else { "home" }).join(".agents/skills/mine")
}

#[test]
fn a_skill_that_the_other_scope_has_a_copy_of_is_updated_and_removed_by_its_own() {
    for (user_first, from_client) in [(false, false), (false, true), (true, false), (true, true)] {
        let (place, [first, second]) = chained(user_first, from_client);
        place.write("hand/mine/SKILL.md", skill("mine", "newer").as_bytes());
        fine(&place, &format!("add ../hand/mine --yes{first}"));
        let text = |scope: &str| fs::read_to_string(installed(&place, scope).join("SKILL.md")).unwrap();
        assert_eq!([text(first), text(second)], [skill("mine", "newer"), skill("mine", "by hand")]);
        fine(&place, &format!("remove mine{first}"));
        assert!(!installed(&place, first).exists());
        for args in ["verify", "sync --yes", "remove mine"] {
            fine(&place, &format!("{args}{second}"));
        }
        assert_eq!(fs::read_to_string(place.path().join("hand/mine/notes.txt")).unwrap(), NOTES);
    }
}

#[test]
fn a_skill_that_is_the_only_copy_for_the_other_scope_stays_and_keep_leaves_it() {
    let update = "add ../hand/mine --yes";
    for way in ["gone", "edited", "link"] {
        let (place, [first, second]) = chained(false, false);
        let (own, copy) = (installed(&place, first), installed(&place, second));
        match way {
            "edited" => fs::write(copy.join("SKILL.md"), "edited").unwrap(),
            way => {
                fs::remove_dir_all(&copy).unwrap();
                if way == "link" {
                    symlink(&own, &copy).unwrap();
                }
            }
        }
        place.write("hand/mine/SKILL.md", skill("mine", "newer").as_bytes());
        for args in
            [update, "add ../hand/mine --yes --overwrite", "remove mine", "remove mine --overwrite --yes"]
        {
            let said = refused(&place, args);
            assert!(
                said.contains("an installed skill comes from this folder") && said.contains("--keep"),
                "{said}"
            );
        }
        fine(&place, &format!("{update} --keep"));
        assert_eq!(fs::read_to_string(own.join("SKILL.md")).unwrap(), skill("mine", "by hand"), "{way}");
        if way == "gone" {
            // With a copy of its own, the other scope needs it no longer.
            fine(&place, "sync --user --yes");
            fine(&place, update);
            fine(&place, "remove mine");
        } else {
            fine(&place, "remove mine --keep");
            assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES, "{way}");
            fine(&place, "verify");
        }
    }
}

#[test]
fn an_edit_in_a_skill_that_the_other_scope_installed_from_stays() {
    let (place, [first, _]) = chained(false, false);
    let own = installed(&place, first);
    fs::write(own.join("notes.txt"), "mine").unwrap();
    for args in ["remove mine", "remove mine --overwrite --yes", "add ../hand/mine --yes --overwrite"] {
        let said = in_project(&place, &args.split(' ').collect::<Vec<_>>());
        assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), "mine", "{args}: {said}");
    }
    fine(&place, "remove mine --keep");
    assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), "mine");
}

/// Records that name a source, and that cannot be read: the record by its name, and how it was damaged.
const UNREADABLE: [(&str, &str); 3] =
    [("skills.lock", "<<<<<<< HEAD\n"), ("skills.lock", "version = 999\n"), ("skills.toml", "[skills\n")];

#[test]
fn nothing_is_replaced_or_removed_while_the_records_of_the_other_scope_cannot_be_read() {
    for (user_first, from_client) in [(false, false), (false, true), (true, false)] {
        for (name, damage) in UNREADABLE {
            let (place, [first, second]) = chained(user_first, from_client);
            let (own, copy) = (installed(&place, first), installed(&place, second));
            // Without a copy of its own, the other scope needs what is here.
            fs::remove_dir_all(&copy).unwrap();
            let records = if second.is_empty() { "project" } else { "home/.agents" };
            let file = place.path().join(records).join(name);
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, format!("{damage}{text}")).unwrap();
            place.write("hand/mine/SKILL.md", skill("mine", "newer").as_bytes());
            place.write("hand/other/SKILL.md", skill("other", "x").as_bytes());
            for args in [
                "remove mine",
                "remove mine --dry-run",
                "remove mine --overwrite --yes",
                "add ../hand/mine --yes",
                "add ../hand/mine --yes --overwrite",
                "sync --yes --overwrite",
            ] {
                if args.starts_with("sync") {
                    fs::write(own.join("SKILL.md"), "edited").unwrap();
                }
                let before = fs::read_to_string(own.join("SKILL.md")).unwrap();
                let said = refused(&place, &format!("{args}{first}"));
                assert!(
                    said.contains(name) && said.contains("hint: nothing was changed; "),
                    "{args}: {said}"
                );
                assert_eq!(fs::read_to_string(own.join("SKILL.md")).unwrap(), before, "{args}");
            }
            fs::write(own.join("SKILL.md"), skill("mine", "by hand")).unwrap();
            for args in ["verify", "add ../hand/other --yes", "sync --yes", "verify"] {
                fine(&place, &format!("{args}{first}"));
            }
            fine(&place, "list");
            fs::write(&file, text).unwrap();
            let said = in_project(&place, &format!("remove mine{first}").split(' ').collect::<Vec<_>>());
            let said_why = ["an installed skill comes from this folder", "since mine comes from there"];
            assert!(said.contains(said_why[usize::from(from_client)]), "{said}");
            let client = place.path().join("project/.claude/skills/mine");
            let source = if from_client { client } else { own };
            assert_eq!(fs::read_to_string(source.join("notes.txt")).unwrap(), NOTES);
        }
    }
}
