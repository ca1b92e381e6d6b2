//! `--client` and trust: what a client lists, and what Prowess withholds until it is trusted.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::client_answers::{skill, with};
use crate::code;
use crate::shelf::{command, json_of, run};

#[test]
fn a_skill_is_trusted_by_the_name_that_the_client_shows() {
    let place = with(&[(".claude/skills/alpha", "Alpha-X"), (".agents/skills/team/deep", "deep")]);
    let why = run(&place, &["why", "Alpha-X", "--client", "claude-code"]);
    assert!(why.contains("prowess trust alpha --client claude-code"), "{why}");
    let done = run(&place, &["trust", "alpha", "--client", "claude-code", "--yes"]);
    assert!(done.starts_with("exit 0"), "{done}");
    let list = json_of(&place, &["list", "--client", "claude-code", "--json"]);
    assert_eq!(list["skills"][0]["trusted"], true);
    // What the client does not list is not served with it, so trust is no advice.
    let why = run(&place, &["why", "deep", "--client", "gemini-cli"]);
    assert!(why.contains("2 folders deep") && !why.contains("prowess trust"), "{why}");
    assert!(run(&place, &["trust", "deep", "--client", "gemini-cli", "--yes"]).starts_with("exit 0"));
}

#[test]
fn a_link_out_of_an_untrusted_project_says_what_the_client_does_and_what_prowess_withholds() {
    let place =
        with(&[("home/store/ext", "ext"), (".agents/skills/own", "own"), (".continue/skills/own", "own")]);
    for folder in [".agents", ".continue"] {
        symlink(place.path().join("home/store/ext"), place.path().join(folder).join("skills/ext")).unwrap();
    }
    // The project is the folder `p`, and the link leads out of it.
    fs::create_dir_all(place.path().join("p/.git")).unwrap();
    for folder in [".agents", ".continue"] {
        fs::rename(place.path().join(folder), place.path().join("p").join(folder)).unwrap();
    }
    let in_project = |args: &[&str]| {
        let output = command(&place).current_dir(place.path().join("p")).args(args).output().unwrap();
        place.transcript(&output)
    };
    let list = in_project(&["list", "--client", "codex"]);
    assert!(
        list.starts_with("exit 2") && list.contains("cause: Codex follows links; Prowess does not"),
        "{list}"
    );
    let why = in_project(&["why", "ext", "--client", "codex"]);
    assert!(why.contains("not read, so it is not known whether this is a skill: ext"), "{why}");
    assert!(why.contains("trust the project's folder with: prowess trust"), "{why}");
    let follows_none = in_project(&["list", "--client", "continue"]);
    assert!(follows_none.starts_with("exit 0"), "{follows_none}");
}

#[test]
fn a_skill_that_is_not_read_is_not_claimed_to_be_known() {
    let place = with(&[("home/.agents/skills/own", "own")]);
    place.write("home/store/other.md", skill("real").as_bytes());
    let linked = place.path().join("home/.agents/skills/linked");
    fs::create_dir(&linked).unwrap();
    symlink(place.path().join("home/store/other.md"), linked.join("SKILL.md")).unwrap();
    let list = run(&place, &["list", "--client", "gemini-cli"]);
    assert!(list.contains("linked  not read, so not known\n"), "{list}");
    let why = run(&place, &["why", "linked", "--client", "gemini-cli"]);
    assert!(
        why.starts_with("exit 1") && why.contains("not read, so it is not known how Gemini CLI"),
        "{why}"
    );
    let prompt = json_of(&place, &["prompt", "--client", "gemini-cli", "--json"]);
    assert_eq!((&prompt["skills"], &prompt["limits"]["not_read"]), (&json!(["own"]), &json!(["linked"])));
}

#[test]
fn several_clients_say_what_is_not_trusted_and_which_of_two_is_meant() {
    let place = with(&[(".agents/skills/u", "u"), ("home/.agents/skills/v", "u")]);
    let list = run(&place, &["list", "--client", "codex,gemini-cli"]);
    assert!(list.contains("  not trusted  [DIR]/.agents/skills/u/SKILL.md\n"), "{list}");
    assert!(list.contains("  [DIR]/home/.agents/skills/v/SKILL.md\n"), "{list}");
    assert!(list.contains("prowess serve withholds 1 not trusted: prowess trust"), "{list}");
}

#[test]
fn the_home_and_the_root_are_not_trusted_as_a_whole() {
    let place = with(&[]);
    let home = place.path().join("home");
    let in_home = command(&place).current_dir(&home).arg("trust").output().unwrap();
    assert_eq!(code(&in_home), 2);
    let root = run(&place, &["trust", "/", "--yes"]);
    assert!(root.starts_with("exit 2") && root.contains("too much to trust: /\n"), "{root}");
    assert!(run(&place, &["trust", "--yes"]).starts_with("exit 0"), "a project");
}
