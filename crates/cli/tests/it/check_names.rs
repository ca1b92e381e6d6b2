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
