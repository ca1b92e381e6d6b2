//! `prowess check` and `eval` where links lead out of a project: they are followed once the project is trusted.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::shelf::command;
use crate::{GOOD, Place, code};

const SECRET: &str = "---\nname: secret\ndescription: CANARY when asked for it.\n---\n";

/// A project beside a folder that is not part of it.
fn place() -> Place {
    Place::with(&[
        ("project/.git/HEAD", ""),
        ("project/.claude/skills/good/SKILL.md", GOOD),
        ("outside/secret/SKILL.md", &SECRET.replace("name: secret", "name: Secret")),
    ])
}

fn link(place: &Place, from: &str, to: &str) {
    symlink(to, place.path().join("project").join(from)).unwrap();
}

fn run(place: &Place, args: &[&str]) -> String {
    place.transcript(&command(place).current_dir(place.path().join("project")).args(args).output().unwrap())
}

#[test]
fn check_does_not_walk_out_of_a_project_that_is_not_trusted() {
    let place = place();
    link(&place, ".agents", "../outside");
    assert_snapshot!(run(&place, &["check"]), @"
    exit 2
    --- stdout
    1 skill checked: no problems; 1 could not be checked
    --- stderr
    error: this leads out of a project that is not trusted, and was not looked into: .agents
      hint: trust the project's folder with: prowess trust
    ");
    for args in
        [&["check", "."][..], &["check", "../project"], &["check", "--json"], &["eval"], &["check", "--fix"]]
    {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && !said.contains("CANARY"), "{args:?}: {said}");
        assert!(said.contains("leads out of a project that is not trusted"), "{args:?}: {said}");
    }
    run(&place, &["trust", "--yes"]);
    let trusted = run(&place, &["check"]);
    assert!(trusted.starts_with("exit 1") && trusted.contains("name-uppercase"), "{trusted}");
}

#[test]
fn check_does_not_walk_the_whole_disk_through_a_link() {
    let place = place();
    link(&place, ".agents", "/");
    let said = run(&place, &["check"]);
    assert!(said.starts_with("exit 2") && said.contains("not looked into: .agents\n"), "{said}");
    assert!(said.contains("1 skill checked: no problems; 1 could not be checked"), "{said}");
}

#[test]
fn a_skill_file_that_leads_out_of_a_project_is_not_checked_unless_it_is_named() {
    let place = place();
    std::fs::create_dir(place.path().join("project/.claude/skills/secret")).unwrap();
    link(&place, ".claude/skills/secret/SKILL.md", "../../../../outside/secret/SKILL.md");
    let said = run(&place, &["check"]);
    assert!(said.starts_with("exit 2") && !said.contains("name-uppercase"), "{said}");
    let said = run(&place, &["check", ".claude/skills/secret/SKILL.md"]);
    assert!(said.starts_with("exit 1") && said.contains("name-uppercase"), "{said}");
}

#[test]
fn a_name_finds_no_skill_through_a_link_out_of_a_project() {
    let place = place();
    std::fs::create_dir(place.path().join("project/.agents")).unwrap();
    link(&place, ".agents/skills", "../../outside");
    place.write("outside/secret/SKILL.md", SECRET.as_bytes());
    for name in ["secret", "secrte"] {
        let said = run(&place, &["check", name]);
        assert!(said.contains("there is no such file, folder or skill"), "{said}");
        assert!(said.starts_with("exit 2") && !said.contains("did you mean"), "{said}");
    }
    run(&place, &["trust", "--yes"]);
    assert!(run(&place, &["check", "secret"]).contains("1 skill checked"));
}

#[test]
fn a_link_to_where_no_skills_are_kept_is_a_warning() {
    let place = place();
    link(&place, "build-output", "../outside");
    assert_snapshot!(run(&place, &["check"]), @"
    exit 0
    --- stdout
    1 skill checked: no problems
    --- stderr
    warning: this leads out of a project that is not trusted, and was not looked into: build-output
      hint: trust the project's folder with: prowess trust
    ");
}

#[test]
fn links_in_the_users_own_folders_are_followed() {
    let place = place();
    std::fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink(place.path().join("outside/secret"), place.path().join("home/.claude/skills/secret")).unwrap();
    for folder in ["../home/.claude/skills", "../home"] {
        let said = run(&place, &["check", folder]);
        assert!(said.starts_with("exit 1") && said.contains("name-uppercase"), "{folder}: {said}");
    }
    // A folder that is named is followed itself.
    link(&place, "elsewhere", "../outside");
    let output = command(&place)
        .current_dir(place.path().join("project"))
        .args(["check", "elsewhere"])
        .output()
        .unwrap();
    assert_eq!(code(&output), 1, "{}", place.transcript(&output));
}

#[test]
fn a_named_folder_of_a_project_that_is_not_trusted_shows_nothing_outside_of_it() {
    let place = place();
    place.write("outside/secret/SKILL.md", SECRET.as_bytes());
    place.write("project/skills/good/SKILL.md", GOOD.as_bytes());
    link(&place, "skills/secret", "../../outside/secret");
    let folder = place.path().join("project/skills").display().to_string();
    for args in [
        &["list", "--in", "./skills"][..],
        &["list", "--in", &folder],
        &["cat", "secret", "--in", "skills"],
        &["search", "secret", "--in", "dir=skills,prefix=a"],
        &["prompt", "--in", "./skills"],
    ] {
        let said = run(&place, args);
        assert!(!said.contains("CANARY"), "{args:?}: {said}");
        let refused = "this leads out of a project that is not trusted, and was not looked into: [DIR]/project/skills/secret";
        assert!(said.contains(refused), "{args:?}: {said}");
        assert!(said.contains("trust the project's folder with: prowess trust\n"), "{args:?}: {said}");
    }
    // What is named itself is meant, and so is a folder that is in no repository.
    assert!(run(&place, &["list", "--in", "skills/secret"]).contains("CANARY"));
    place.write("loose/good/SKILL.md", GOOD.as_bytes());
    std::fs::remove_dir(place.path().join(".git")).unwrap();
    symlink("../outside/secret", place.path().join("loose/secret")).unwrap();
    assert!(run(&place, &["list", "--in", "../loose"]).contains("CANARY"));
    run(&place, &["trust", "--yes"]);
    assert!(run(&place, &["list", "--in", "./skills"]).contains("CANARY"));
}
