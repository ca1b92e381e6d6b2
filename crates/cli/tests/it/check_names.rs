//! `prowess check NAME`, and words that are neither names nor skills.

use crate::{BAD, GOOD, Place, code};

#[test]
fn a_listed_skill_is_checked_by_its_name() {
    let place = Place::with(&[(".claude/skills/bad/SKILL.md", BAD)]);
    let text = place.run(&["check", "Bad"]);
    assert!(text.contains(".claude/skills/bad/SKILL.md:2:7"), "{text}");
    assert_eq!(code(&place.output(&["check", "nothing-of-the-kind"])), 2);
    let fixed = place.run(&["check", "Bad", "--unsafe-fixes", "--quiet"]);
    assert!(fixed.contains("2 fixed"), "{fixed}");
}

#[test]
fn a_file_that_is_no_skill_file_is_refused_and_its_folder_is_not_read() {
    let place = Place::with(&[("notes/passwd", "root:x:0:0\n"), ("notes/other", "x")]);
    insta::assert_snapshot!(place.run(&["check", "notes/passwd"]), @"
    exit 2
    --- stdout
    0 skills checked; 1 could not be checked
    --- stderr
    error: this is not a SKILL.md: notes/passwd
      hint: give the SKILL.md or the folder of a skill, or its name
    ");
}

#[test]
fn a_name_that_no_skill_has_is_no_missing_file_and_a_built_in_one_is_said_to_be() {
    let place = Place::with(&[]);
    let said = place.run(&["check", "nosuchskill"]);
    assert!(said.contains("error: there is no such file, folder or skill: nosuchskill\n"), "{said}");
    let said = place.run(&["check", "meeting-minutes"]);
    assert!(said.contains("it is built into prowess: meeting-minutes\n"), "{said}");
}

#[test]
fn a_name_that_several_skills_have_is_checked_once_and_the_others_are_counted() {
    let place = Place::with(&[
        ("home/.claude/skills/good/SKILL.md", GOOD),
        ("home/.agents/skills/good/SKILL.md", GOOD),
        ("home/.codex/skills/other/SKILL.md", GOOD),
    ]);
    let said = crate::shelf::run(&place, &["check", "good"]);
    assert!(said.contains("good/SKILL.md; 2 others have this name: prowess why good\n"), "{said}");
}

/// A skill whose name has a dot, which no specification allows and agents list.
const DOTTED: &str = "---\nname: a.b\ndescription: Does it well when asked.\n---\n# Good\n";

#[test]
fn every_command_that_takes_a_skill_reads_its_argument_the_same_way() {
    let place =
        Place::with(&[(".claude/skills/a.b/SKILL.md", DOTTED), ("home/.claude/skills/a.b/SKILL.md", DOTTED)]);
    let run = |args: &[&str]| crate::shelf::run(&place, args);
    let absolute = place.path().join("home/.claude/skills/a.b/SKILL.md");
    let names = [
        "a.b",
        "A.B",
        "./home/.claude/skills/a.b",
        "home/.claude/skills/a.b/SKILL.md",
        absolute.to_str().unwrap(),
    ];
    for name in names {
        for verb in ["show", "why", "cat", "activate", "check"] {
            let said = run(&[verb, name]);
            assert!(!said.starts_with("exit 2") && !said.contains("no such"), "{verb} {name}: {said}");
        }
    }
    let said = run(&["eval", "a.b"]);
    assert!(
        said.contains("this is the name of a skill; compare it with those beside it: prowess eval"),
        "{said}"
    );
    // A bare word that is a file here is that file to commands about files, and a name to those about skills.
    place.write("a.b", b"x");
    assert!(run(&["check", "a.b"]).contains("this is not a SKILL.md: a.b"));
    assert!(run(&["why", "a.b"]).contains("a.b: offered"));
}

#[test]
fn a_skill_that_only_the_configuration_leads_to_is_checked_by_its_name() {
    let place = Place::with(&[
        ("shared/tool/SKILL.md", "---\nname: tool\ndescription: Does it well when asked.\n---\n# Good\n"),
        ("config/prowess/prowess.toml", "[[skills.sources]]\ndir = \"../../shared\"\n"),
    ]);
    let said = crate::shelf::run(&place, &["check", "tool"]);
    assert!(said.contains("1 skill checked"), "{said}");
    let said = crate::shelf::run(&place, &["check", "tol"]);
    assert!(said.contains("no such file, folder or skill: tol; did you mean tool?"), "{said}");
}
