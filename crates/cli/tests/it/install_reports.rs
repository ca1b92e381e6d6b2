//! What the installer says: every link, copy and record that changes, every skill that is not installed, and hints that
//! help.

use std::fs;

use insta::assert_snapshot;

use crate::Place;
use crate::install::{place, read, skill};
use crate::shelf::{command, json_of, run, run_bound};

/// A command whose JSON fits its schema.
fn fitting(place: &Place, args: &[&str]) -> serde_json::Value {
    let json = json_of(place, &[args, &["--json"]].concat());
    crate::schemas::assert_fits(args[0], &json);
    json
}

#[test]
fn the_hint_for_an_installed_skill_that_changed_restores_it_or_trusts_it_alone() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--user"]);
    place.write("home/.agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let hint = "1 not trusted: prowess sync --overwrite --user or prowess trust pdf\n";
    for folder in ["home", "from"] {
        let output = command(&place).arg("list").current_dir(place.path().join(folder)).output().unwrap();
        let said = place.transcript(&output);
        assert!(said.contains(hint), "{folder}: {said}");
    }
    let said = run(&place, &["prompt"]);
    assert!(said.contains("left out: prowess sync --overwrite --user or prowess trust pdf"), "{said}");
    assert!(run(&place, &["sync", "--overwrite", "--user", "--yes"]).starts_with("exit 0"));
    assert!(!run(&place, &["list"]).contains("not trusted"));
}

#[test]
fn in_a_project_the_hint_for_a_changed_skill_never_trusts_the_folder() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let said = run(&place, &["list"]);
    assert!(said.contains("1 not trusted: prowess sync --overwrite or prowess trust pdf\n"), "{said}");
    place.write(".agents/skills/notes/SKILL.md", skill("notes", "edited").as_bytes());
    let said = run(&place, &["list"]);
    assert!(said.contains("2 not trusted: prowess sync --overwrite or prowess trust NAME\n"), "{said}");
    // The second edit of a skill that was accepted by its name is withheld too.
    run(&place, &["trust", "pdf", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "again").as_bytes());
    assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"));
}

#[test]
fn a_link_a_copy_and_a_record_that_change_are_reported() {
    let place = place();
    let said = run(&place, &["add", "./from/pdf", "--yes"]);
    assert!(said.contains("wrote [DIR]/skills.toml\nwrote [DIR]/skills.lock\n"), "{said}");
    // A client more, on an installed skill.
    let said = run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--dry-run"]);
    assert!(said.contains("  would link for claude-code: [DIR]/.claude/skills/pdf\n"), "{said}");
    assert!(said.contains("would write [DIR]/skills.toml\n"), "{said}");
    let json = fitting(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    assert_eq!(json["skills"][0]["action"], "unchanged", "{json}");
    assert_eq!(json["skills"][0]["clients"][0]["action"], "linked", "{json}");
    assert_eq!(json["records"].as_array().unwrap().len(), 1, "{json}");
    // Copies in place of links.
    let said = run(&place, &["sync", "--link", "copy", "--dry-run"]);
    assert!(said.contains("  would copy for claude-code: [DIR]/.claude/skills/pdf\n"), "{said}");
    let said = run(&place, &["sync", "--link", "copy"]);
    assert!(said.contains("  copied for claude-code: [DIR]/.claude/skills/pdf\n"), "{said}");
    assert!(said.contains("wrote [DIR]/skills.toml\n") && !said.contains("as it should be"), "{said}");
    // A folder of a client that was deleted.
    fs::remove_dir_all(place.path().join(".claude")).unwrap();
    let json = fitting(&place, &["sync"]);
    assert_eq!(json["skills"][0]["clients"][0]["action"], "copied", "{json}");
    assert_eq!(json["records"], serde_json::json!([]), "{json}");
    // A lock that was deleted.
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.contains("wrote [DIR]/skills.lock\n") && !said.contains("as it should be"), "{said}");
    let said = run(&place, &["sync"]);
    assert!(said.contains("= pdf  from/pdf\neverything is as it should be\n"), "{said}");
    let json = fitting(&place, &["remove", "pdf"]);
    assert_eq!(json["skills"][0]["clients"][0]["action"], "removed", "{json}");
    assert_eq!(json["skills"][0]["recorded"], false, "{json}");
}

#[test]
fn removing_and_keeping_edits_takes_the_copy_of_a_client_back_and_names_a_link_that_stays() {
    for link in ["copy", "symlink"] {
        let place = place();
        run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--link", link]);
        place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
        let json = fitting(&place, &["remove", "pdf", "--keep"]);
        let (client, change) = (place.path().join(".claude/skills/pdf"), &json["skills"][0]);
        assert_eq!((change["action"].as_str(), &change["recorded"]), (Some("kept"), &false.into()), "{json}");
        if link == "copy" {
            assert_eq!(change["clients"][0]["action"], "removed", "{json}");
            assert!(!client.exists());
        } else {
            assert_eq!(change["left"][0]["client"], "claude-code", "{json}");
            assert!(client.is_symlink());
        }
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{link}");
        assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("edited"));
    }
}

#[test]
fn a_skill_that_the_lock_does_not_name_is_listed_and_can_be_removed() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["list", "--installed"]);
    let there = "pdf  not installed; something is there: [DIR]/.agents/skills/pdf; prowess sync records it";
    assert!(said.contains(there), "{said}");
    let json = json_of(&place, &["list", "--installed", "--json"]);
    crate::schemas::assert_fits("installed", &json);
    assert_eq!(json["not_installed"][1]["name"], "pdf", "{json}");
    let said = run(&place, &["remove", "pdf"]);
    assert!(said.starts_with("exit 0") && said.contains("- pdf"), "{said}");
    assert!(!place.path().join(".agents/skills/pdf").exists());
    assert!(!read(&place, "skills.toml").contains("pdf"));
    // Files that were changed stay, and are named.
    place.write(".agents/skills/notes/SKILL.md", skill("notes", "edited").as_bytes());
    let said = run(&place, &["remove", "notes"]);
    assert!(said.starts_with("exit 2") && said.contains("skills/notes"), "{said}");
}

#[test]
fn json_names_what_was_left_out_and_where_a_skill_is_in_its_source() {
    let place = place();
    place.write("from/bad/SKILL.md", b"---\nname: bad\n---\n");
    let json = fitting(&place, &["add", "./from", "--all", "--yes"]);
    assert_eq!(json["left_out"][0]["name"], "bad", "{json}");
    let json = fitting(&place, &["verify"]);
    let skill = json["skills"][0].as_object().unwrap();
    assert!(skill.contains_key("source_path") && skill.contains_key("requested"), "{json}");
}

#[test]
fn a_source_with_several_skills_names_the_entry_to_complete() {
    let place = place();
    place.write("skills.toml", b"[skills]\nmine = { path = \"from\" }\n");
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("in the entry mine"), "{said}");
    assert!(!said.contains("--skill") && !said.contains("--all"), "{said}");
}

#[test]
fn a_lock_that_is_out_of_date_is_a_problem_that_was_found() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("skills.toml", b"[skills]\npdf = { path = \"from/notes\" }\n");
    for option in ["--locked", "--frozen"] {
        let said = run(&place, &["sync", option]);
        assert!(said.starts_with("exit 1") && said.contains("the lock does not fit"), "{said}");
    }
}

#[test]
fn hints_about_the_users_skills_repeat_the_scope() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--user"]);
    place.write("home/.agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let said = run(&place, &["sync", "--user"]);
    assert!(said.contains("see them with: prowess verify --user\n"), "{said}");
    fs::remove_file(place.path().join("home/.agents/skills.lock")).unwrap();
    let said = run(&place, &["verify", "--user"]);
    assert!(said.contains("prowess sync --overwrite --user replaces it\n"), "{said}");
    fs::remove_dir_all(place.path().join("home/.agents/skills")).unwrap();
    let said = run(&place, &["verify", "--user"]);
    assert!(said.contains("install it with: prowess sync --user\n"), "{said}");
}

#[test]
fn a_dry_run_of_sync_says_that_consent_is_missing() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let said = run(&place, &["sync", "--dry-run"]);
    assert!(
        said.contains("this needs your consent") && said.contains("  would be trusted as it is\n"),
        "{said}"
    );
    let said = run(&place, &["sync"]);
    assert!(said.starts_with("exit 2") && said.contains("nothing was installed or trusted"), "{said}");
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.contains("  trusted as it is\n") && !said.contains("as it should be"), "{said}");
}

#[test]
fn a_name_a_client_and_a_lock_are_checked_before_anything_is_fetched() {
    let place = place();
    for (options, error) in
        [(["--as", "a/b"], "cannot be installed under this name"), (["--client", "nobody"], "no such client")]
    {
        let said = run(&place, &[&["add", "./from/none"][..], &options].concat());
        assert!(said.starts_with("exit 2") && said.contains(error), "{said}");
    }
    assert!(run(&place, &["sync", "--client", "nobody"]).contains("claude-code"));
    place.write("skills.lock", b"version = 1\n[[skill]]\n");
    let said = run(&place, &["add", "./from/none"]);
    assert!(said.starts_with("exit 2") && said.contains("skills.lock"), "{said}");
}

#[test]
fn verify_where_nothing_was_recorded_is_no_success() {
    let place = place();
    assert_snapshot!(run(&place, &["verify"]), @"
    exit 2
    --- stderr
    error: there is no skills.toml for this folder: [DIR]
      hint: run it in the project, or name the project with --project FOLDER; --user is for your own skills
    ");
    let said = run(&place, &["verify", "--user"]);
    assert!(said.starts_with("exit 2") && said.contains("prowess add SOURCE --user"), "{said}");
    assert!(run(&place, &["verify", "--json"]).starts_with("exit 2"));
    place.write("skills.toml", b"");
    assert!(run(&place, &["verify"]).contains("0 skills as installed"));
}

#[test]
fn the_source_of_an_installed_skill_is_right_from_where_the_user_is() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    run(&place, &["add", "./from/notes", "--yes", "--user"]);
    place.write("deep/er/x", b"");
    let say_in = |folder: &str, args: &[&str]| {
        let output = command(&place).args(args).current_dir(place.path().join(folder)).output().unwrap();
        place.transcript(&output)
    };
    let project = ["--project", "../.."];
    for args in [&["list", "--installed"][..], &["list"], &["why", "pdf"]] {
        let here = say_in("", args);
        assert!(here.contains("from/pdf") && !here.contains("[DIR]/from/pdf"), "{here}");
        let said = say_in("deep/er", args);
        // Without a repository, a folder is a project of its own, and sees the user's skills alone.
        assert!(!said.contains("pdf") || said.contains("[DIR]/from/pdf"), "{said}");
    }
    assert!(say_in("", &["list", "--installed"]).contains("from [DIR]/from/notes"));
    let said = say_in("deep/er", &[&["sync", "--yes"][..], &project].concat());
    assert!(said.contains("= pdf  [DIR]/from/pdf"), "{said}");
    crate::install_git::commit(&place, "");
    for args in [&["list", "--installed"][..], &["list"], &["why", "pdf"]] {
        let said = say_in("deep/er", args);
        assert!(said.contains("[DIR]/from/pdf"), "{args:?}: {said}");
    }
}

#[test]
fn a_pointer_of_git_lfs_is_shown_before_it_is_installed() {
    let place = place();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    place.write("from/pdf/model.bin", pointer.as_bytes());
    let said = run(&place, &["add", "./from/pdf", "--dry-run"]);
    assert!(said.contains("only a pointer of git LFS, without the file  model.bin\n"), "{said}");
    let json = fitting(&place, &["add", "./from/pdf", "--yes"]);
    assert_eq!(json["skills"][0]["preview"]["lfs_pointers"][0], "model.bin", "{json}");
}

#[test]
fn an_installed_skill_that_was_replaced_by_a_link_is_called_so() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    fs::remove_dir_all(place.path().join(".agents/skills/pdf")).unwrap();
    std::os::unix::fs::symlink("../../from", place.path().join(".agents/skills/pdf")).unwrap();
    let said = run(&place, &["sync"]);
    assert!(said.contains("this skill was replaced by a link after it was installed"), "{said}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_stops_no_other_skill() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    let file = place.path().join(".agents/skills/notes/SKILL.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let Some(said) = run_bound(&place, &["verify"]) else { return };
    let run_bound = |args: &[&str]| run_bound(&place, args).unwrap();
    assert!(said.starts_with("exit 1") && said.contains("notes/SKILL.md: permission denied"), "{said}");
    assert!(run_bound(&["verify", "pdf"]).starts_with("exit 0"));
    let said = run_bound(&["list", "--installed"]);
    assert!(said.starts_with("exit 0") && said.contains("notes  edited"), "{said}");
    let said = run_bound(&["remove", "notes"]);
    assert!(said.starts_with("exit 2") && said.contains("notes/SKILL.md: permission denied"), "{said}");
    assert!(said.contains("--overwrite"), "{said}");
    let said = run_bound(&["sync", "--overwrite", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(run_bound(&["verify"]).starts_with("exit 0"));
    // Neither can a folder of the user be read or deleted, and both is said.
    let folder = place.path().join(".agents/skills/notes/private");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a"), "mine").unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let said = run_bound(&["verify"]);
    assert!(said.starts_with("exit 1") && said.contains("changed: private: permission denied"), "{said}");
    let said = run_bound(&["sync", "--overwrite", "--yes"]);
    assert!(said.contains("could not be deleted; delete it yourself: "), "{said}");
}

#[test]
fn why_names_the_file_that_ended_the_trust_in_an_installed_skill() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write(".agents/skills/pdf/scripts/__pycache__/x.pyc", b"x");
    let said = run(&place, &["why", "pdf"]);
    assert!(said.contains("  added: scripts/__pycache__/x.pyc\n"), "{said}");
}

#[test]
fn a_skill_file_that_is_a_link_in_a_repository_gives_the_skill_its_name() {
    let place = Place::with(&[("repo/other/SKILL.md", &skill("real-name", "x"))]);
    fs::create_dir(place.path().join("repo/s")).unwrap();
    std::os::unix::fs::symlink("../other/SKILL.md", place.path().join("repo/s/SKILL.md")).unwrap();
    let url = crate::install_git::commit(&place, "repo");
    let said = run(&place, &["add", &url, "--path", "s", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("+ real-name"), "{said}");
}
