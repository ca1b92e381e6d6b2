//! Installing all skills of a source: one that cannot be installed stops no other, and copies are one skill.

use std::fs;

use insta::assert_snapshot;

use crate::install::{place, say, skill};
use crate::install_git::commit;
use crate::shelf::{json_of, run};

#[test]
fn a_bad_skill_among_all_is_left_out_by_name_and_the_others_are_installed() {
    for git in [false, true] {
        let place = place();
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("from/notes/x")).unwrap();
        place.write("from/large/SKILL.md", skill("large", "x").as_bytes());
        place.write("from/large/data.txt", "x".repeat(3000).as_bytes());
        place.write("from/bad/SKILL.md", b"---\nname: bad\n---\n");
        let from = if git { commit(&place, "from") } else { "./from".to_owned() };
        let args = ["add", &*from, "--all", "--yes", "--max-file-bytes", "2000"];
        let said = run(&place, &args);
        assert!(said.starts_with("exit 1"), "{said}");
        assert!(said.contains("\nleft out: bad: no agent would load it: there is no description"), "{said}");
        assert!(said.contains("\nleft out: large: ") && said.contains("data.txt: 3000 bytes"), "{said}");
        assert!(said.contains("\nleft out: notes: ") && said.contains("notes/x"), "{said}");
        assert!(said.contains("\n+ pdf") && said.contains("\nleft out: 3 skills; see above\n"), "{said}");
        assert!(run(&place, &["verify"]).contains("1 skill as installed"));
        let json = json_of(&place, &[&args[..], &["--json"]].concat());
        crate::schemas::assert_fits("add", &json);
        let names: Vec<&str> = json["left_out"]
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["bad", "large", "notes"], "{json}");
        // One that is named is an error.
        let said = run(&place, &["add", &from, "--skill", "notes", "--skill", "pdf", "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("notes/x") && said.contains("--skill"), "{said}");
    }
}

#[test]
fn if_no_skill_of_all_can_be_installed_that_is_an_error() {
    let place = place();
    for name in ["notes", "pdf"] {
        std::os::unix::fs::symlink("/etc", place.path().join("from").join(name).join("x")).unwrap();
    }
    let said = run(&place, &["add", "./from", "--all", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("error: ") && said.contains("notes/x"), "{said}");
    assert!(!place.path().join(".agents").exists() && !place.path().join("skills.toml").exists());
}

#[test]
fn skills_that_are_installed_already_are_left_out_of_a_project_that_is_its_own_source() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--as", "mine"]);
    let said = run(&place, &["add", ".", "--all", "--yes"]);
    assert!(said.contains("+ pdf  from/pdf") && !said.contains(".agents/skills/mine"), "{said}");
    assert!(said.starts_with("exit 0") && said.contains("+ notes"), "{said}");
}

#[test]
fn identical_copies_in_one_source_are_one_skill() {
    for git in [false, true] {
        let place = place();
        fs::create_dir_all(place.path().join("from/z")).unwrap();
        let done = std::process::Command::new("cp")
            .args(["-a", "from/pdf", "from/z/pdf"])
            .current_dir(place.path())
            .status();
        assert!(done.unwrap().success());
        let from = if git { commit(&place, "from") } else { "./from".to_owned() };
        let said = say(&place, &["add", &from, "--all", "--yes"]);
        assert!(said.starts_with("exit 0"), "{said}");
        assert!(said.contains("one skill, since its copies are identical: pdf: pdf = z/pdf\n"), "{said}");
        assert!(said.contains("resolved 2 skills"), "{said}");
        // By its name, and by either path.
        for (choice, recorded) in [("pdf", "path = \"pdf\""), ("z/pdf", "path = \"z/pdf\"")] {
            let said =
                run(&place, &["add", &from, "--skill", choice, "--yes", "--as", "other", "--overwrite"]);
            assert!(said.starts_with("exit 0"), "{said}");
            let toml = fs::read_to_string(place.path().join("skills.toml")).unwrap();
            assert!(!git || toml.contains(recorded), "{toml}");
        }
        assert!(run(&place, &["sync", "--locked", "--yes"]).starts_with("exit 0"));
    }
}

#[test]
fn copies_that_differ_are_a_clash_that_says_how_to_choose() {
    let place = place();
    place.write("from/z/pdf/SKILL.md", skill("pdf", "one").as_bytes());
    // The same files, and another mode.
    place.write("from/z/pdf/scripts/run.sh", b"#!/bin/sh\necho run\n");
    assert_snapshot!(say(&place, &["add", "./from", "--all", "--yes"]), @"
    exit 2
    --- stderr
    error: two of these skills have one name: pdf: pdf and z/pdf
      hint: name one by its path: --skill PATH; give the other another name: --skill PATH --as NAME
    ");
    let said = run(&place, &["add", "./from", "--skill", "z/pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && !said.contains("identical"), "{said}");
}

#[test]
fn all_leaves_out_what_differs_by_case_or_is_taken_where_a_client_looks() {
    let place = place();
    place.write("other/PDF/SKILL.md", skill("PDF", "mine").as_bytes());
    run(&place, &["add", "./other/PDF", "--yes"]);
    let said = run(&place, &["add", "./from", "--all", "--yes"]);
    assert!(said.starts_with("exit 1") && said.contains("+ notes"), "{said}");
    assert!(said.contains("two skills would be one folder on some systems: pdf: PDF"), "{said}");
    let place = crate::install::place();
    place.write(".claude/skills/pdf/SKILL.md", b"mine");
    let said = run(&place, &["add", "./from", "--all", "--client", "claude-code", "--yes"]);
    assert!(said.starts_with("exit 1") && said.contains("+ notes"), "{said}");
    assert!(said.contains("something else is where a client looks"), "{said}");
    assert!(!place.path().join(".agents/skills/pdf").exists());
}
