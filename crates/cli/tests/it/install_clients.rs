//! What clients get of installed skills: never a link to nothing, never the edits of a skill.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Place;
use crate::install::{place, read, skill};
use crate::shelf::{json_of, run};

/// A clone of a project with `pdf` in its records, whose skills are not installed yet, and a client with these settings.
fn fresh_clone(link: &str) -> Place {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--link", link]);
    for folder in [".agents", ".claude", "state", "cache"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    place
}

#[test]
fn adding_in_a_fresh_clone_gives_clients_only_what_is_installed() {
    for link in ["symlink", "copy"] {
        let place = fresh_clone(link);
        let said = run(&place, &["add", "./from/notes", "--yes"]);
        assert!(said.starts_with("exit 0") && said.contains("+ notes"), "{link}: {said}");
        assert!(said.contains("! pdf (not installed; install it with: prowess sync)"), "{link}: {said}");
        assert!(place.path().join(".claude/skills/notes/SKILL.md").exists(), "{link}");
        assert!(place.path().join(".claude/skills/pdf").symlink_metadata().is_err(), "{link}");
        // Another skill with the same files does not stand in for it.
        let said = run(&place, &["add", "./from/pdf", "--as", "same", "--yes"]);
        assert!(said.starts_with("exit 0") && said.contains("! pdf (not installed; "), "{link}: {said}");
        assert!(place.path().join(".claude/skills/same/SKILL.md").exists(), "{link}");
        assert!(place.path().join(".claude/skills/pdf").symlink_metadata().is_err(), "{link}");
        run(&place, &["remove", "same"]);
        let json = json_of(&place, &["add", "./from/notes", "--yes", "--json"]);
        crate::schemas::assert_fits("add", &json);
        assert_eq!(json["skills"][1]["action"], "not-installed", "{json}");
        assert!(run(&place, &["sync", "--yes"]).starts_with("exit 0"));
        assert!(place.path().join(".claude/skills/pdf/SKILL.md").exists(), "{link}");
        assert!(run(&place, &["verify"]).starts_with("exit 0"), "{link}");
    }
}

#[test]
fn a_copy_for_a_client_never_has_the_edits_of_a_skill() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let add = ["add", "./from/notes", "--yes", "--client", "claude-code", "--link", "copy"];
    // The store has what was installed.
    let said = run(&place, &add);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(read(&place, ".claude/skills/pdf/SKILL.md").contains("one"));
    // Without it there is nothing to copy, which is said.
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    fs::remove_dir_all(place.path().join(".claude/skills/pdf")).unwrap();
    let said = run(&place, &add);
    assert!(said.starts_with("exit 0") && said.contains("= pdf (not as installed, kept)"), "{said}");
    assert!(said.contains("left alone, so claude-code does not get the installed files: "), "{said}");
    assert!(!place.path().join(".claude/skills/pdf").exists());
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("edited"));
}

#[test]
fn links_of_a_client_that_skills_toml_no_longer_names_go_with_their_skill() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes", "--client", "claude-code"]);
    let toml = read(&place, "skills.toml");
    place.write("skills.toml", toml.replace("\"claude-code\"", "").as_bytes());
    assert!(run(&place, &["remove", "pdf"]).starts_with("exit 0"));
    assert!(place.path().join(".claude/skills/pdf").symlink_metadata().is_err());
    // Those of installed skills work, and what is not a link of ours stays.
    assert!(place.path().join(".claude/skills/notes/SKILL.md").exists());
    fs::remove_file(place.path().join(".claude/skills/notes")).unwrap();
    place.write(".claude/skills/notes/SKILL.md", skill("notes", "own").as_bytes());
    assert!(run(&place, &["remove", "notes"]).starts_with("exit 0"));
    assert!(read(&place, ".claude/skills/notes/SKILL.md").contains("own"));
}

#[test]
fn frozen_and_a_client_are_refused_together() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    for option in [["--client", "claude-code"], ["--link", "copy"]] {
        let said = run(&place, &[&["sync", "--frozen"][..], &option].concat());
        assert!(said.starts_with("exit 2") && said.contains("--frozen writes no record"), "{said}");
    }
    assert!(!place.path().join(".claude").exists());
}

#[test]
fn a_copy_of_a_client_that_skills_toml_no_longer_names_gets_the_new_files_of_its_skill() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes", "--client", "claude-code", "--link", "copy"]);
    let toml = read(&place, "skills.toml");
    place.write("skills.toml", toml.replace("\"claude-code\"", "").as_bytes());
    let copy = ".claude/skills/pdf/SKILL.md";
    for name in ["pdf", "notes"] {
        place.write(&format!("from/{name}/SKILL.md"), skill(name, "two").as_bytes());
    }
    let said = run(&place, &["add", "./from/pdf", "--yes", "--dry-run"]);
    assert!(said.contains("claude-code") && read(&place, copy).contains("one"), "{said}");
    let said = run(&place, &["add", "./from/pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("claude-code"), "{said}");
    assert!(read(&place, copy).contains("two"));
    let listed = json_of(&place, &["list", "--client", "claude-code", "--json"]);
    assert!(listed["skills"].as_array().unwrap().iter().all(|skill| skill["trusted"] == true), "{listed}");
    // An edited one stays, which is said, and so does what the user has there instead.
    place.write(".claude/skills/notes/SKILL.md", skill("notes", "edited").as_bytes());
    let said = run(&place, &["add", "./from/notes", "--yes"]);
    assert!(said.contains("left alone"), "{said}");
    assert!(read(&place, ".claude/skills/notes/SKILL.md").contains("edited"));
}

#[test]
fn the_users_own_link_to_the_source_stays_and_survives_the_removal() {
    let place = place();
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    let link = place.path().join("home/.claude/skills/pdf");
    for target in ["../../../from/pdf".to_owned(), place.path().join("from/pdf").display().to_string()] {
        symlink(&target, &link).unwrap();
        for more in [&["--overwrite"][..], &[], &["--link", "copy", "--overwrite"]] {
            let add = ["add", "./from/pdf", "--user", "--client", "claude-code", "--yes"];
            let said = run(&place, &[&add[..], more].concat());
            let left = "left alone, since pdf comes from there: [DIR]/home/.claude/skills/pdf";
            assert!(said.starts_with("exit 0") && said.contains(left), "{target}: {more:?}: {said}");
            assert_eq!(fs::read_link(&link).unwrap().to_str(), Some(&*target), "{more:?}");
        }
        assert!(run(&place, &["remove", "pdf", "--user"]).starts_with("exit 0"));
        assert_eq!(fs::read_link(&link).unwrap().to_str(), Some(&*target));
        fs::remove_file(&link).unwrap();
        fs::remove_file(place.path().join("home/.agents/skills.toml")).unwrap();
        fs::remove_file(place.path().join("home/.agents/skills.lock")).unwrap();
    }
}

#[test]
fn a_skill_is_not_installed_from_any_folder_in_which_its_client_looks() {
    let place = place();
    for (folder, client) in [(".codex/skills", "codex"), (".claude/skills", "claude-code")] {
        place.write(&format!("home/{folder}/cx/SKILL.md"), skill("cx", "one").as_bytes());
        let from = format!("./home/{folder}/cx");
        let said = run(&place, &["add", &from, "--user", "--client", client, "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("this is where skills are installed"), "{said}");
        assert!(said.contains(&format!("{client} finds it there already")), "{said}");
    }
    // For others it is.
    let said = run(&place, &["add", "./home/.codex/skills/cx", "--user", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn a_remembered_client_that_finds_a_source_says_how_it_is_taken_out() {
    let place = place();
    assert!(
        run(&place, &["add", "./from/pdf", "--user", "--client", "claude-code", "--yes"])
            .starts_with("exit 0")
    );
    assert!(run(&place, &["remove", "pdf", "--user"]).starts_with("exit 0"));
    fs::remove_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../../from", place.path().join("home/.claude/skills")).unwrap();
    let said = run(&place, &["add", "./from", "--all", "--user", "--yes"]);
    let hint = "take claude-code out of clients in [DIR]/home/.agents/skills.toml";
    assert!(said.starts_with("exit 2") && said.contains(hint), "{said}");
    let file = place.path().join("home/.agents/skills.toml");
    let text = fs::read_to_string(&file).unwrap().replace("\"claude-code\"", "");
    fs::write(&file, text).unwrap();
    let said = run(&place, &["add", "./from", "--all", "--user", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
}
