//! A SKILL.md that is a link to some other file: every command says so, and none shows what is in that file.

use std::os::unix::fs::symlink;

use crate::{GOOD, Place};

#[test]
fn no_command_shows_a_file_that_a_skill_file_links_to_by_another_name() {
    let key = "---\nname: leak\ndescription: CANARY\nCANARY: [\n---\nCANARY\n";
    let place =
        Place::with(&[("skills/good/SKILL.md", GOOD), ("skills/leak/x.md", "x"), ("skills/raw/x.md", "x")]);
    place.write("key", key.as_bytes());
    place.write("id_rsa", b"CANARY\n");
    symlink("../../key", place.path().join("skills/leak/SKILL.md")).unwrap();
    symlink(place.path().join("id_rsa"), place.path().join("skills/raw/SKILL.md")).unwrap();
    let commands: &[&[&str]] = &[
        &["check", "skills"],
        &["check", "--json", "skills"],
        &["check", "--fix", "skills"],
        &["check", "skills/leak"],
        &["check", "skills/raw/SKILL.md"],
        &["show", "skills/leak"],
        &["show", "--raw", "skills/raw/SKILL.md"],
        &["show", "leak", "--in", "skills"],
        &["list", "--all", "--in", "skills"],
        &["list", "--json", "--in", "skills"],
        &["why", "leak", "--in", "skills"],
        &["why", "raw", "--in", "skills", "--json"],
        &["cat", "leak", "--in", "skills"],
        &["cat", "raw", "SKILL.md", "--in", "skills"],
        &["activate", "leak", "--in", "skills"],
        &["search", "CANAR", "--in", "skills"],
        &["prompt", "--in", "skills"],
    ];
    for command in commands {
        let output = place.run(command);
        assert!(!output.contains("CANARY"), "{command:?}: {output}");
    }
    let why = place.run(&["why", "leak", "--in", "skills"]);
    assert!(why.contains("with another name"), "{why}");
    let check = place.run(&["check", "skills"]);
    assert!(check.contains("leak/SKILL.md") && check.contains("raw/SKILL.md"), "{check}");
    assert_eq!(std::fs::read(place.path().join("key")).unwrap(), key.as_bytes());
}

#[test]
fn a_file_of_terabytes_beside_a_skill_hangs_no_command() {
    let place = Place::with(&[(".claude/skills/good/SKILL.md", GOOD)]);
    let huge = std::fs::File::create(place.path().join(".claude/skills/good/huge.bin")).unwrap();
    assert!([8 << 40, 1 << 40, 200 << 30].iter().any(|size| huge.set_len(*size).is_ok()));
    let home = place.path().join("home");
    let run = |args: &[&str]| {
        let output = place.command().env("HOME", &home).args(args).output().unwrap();
        place.transcript(&output)
    };
    // It is too large to be trusted by digest; trust in its folder needs no digest.
    let refused = run(&["trust", "good", "--yes"]);
    assert!(refused.contains("too large"), "{refused}");
    for command in
        [&["list"][..], &["why", "good"], &["trust", ".", "--yes"], &["list", "--json"], &["prompt"]]
    {
        run(command);
    }
}
