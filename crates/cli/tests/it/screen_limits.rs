//! What reaches a screen at its limits: long lines, many marks on a letter, characters that are cut, names that do not exist.

use unicode_width::UnicodeWidthStr as _;

use crate::screens::screen;
use crate::{GOOD, Place, shelf};

#[test]
fn a_problem_late_in_a_long_line_fits_the_screen() {
    let long = "Does it well when asked. ".repeat(12);
    let text = format!("---\nname: long\ndescription: {long}<b>\n---\n# Long\n");
    let place = Place::with(&[("long/SKILL.md", &text)]);
    for columns in [80, 120, 200] {
        let said = screen(&place, columns, &["check", "long", "--profile", "anthropic"]);
        assert!(said.contains("<b>"), "{said}");
        for line in said.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn marks_on_one_letter_are_few_in_a_table() {
    let text = format!("---\nname: marked\ndescription: a{} letter.\n---\n", "\u{301}".repeat(3_000));
    let place = Place::with(&[("home/.claude/skills/marked/SKILL.md", &text)]);
    let said = screen(&place, 80, &["list"]);
    assert!(said.matches('\u{301}').count() <= 8 && said.contains("letter"), "{said}");
}

#[test]
fn a_file_whose_beginning_ends_inside_a_character_is_shown() {
    let notes = format!("a{}", "議".repeat(2_000));
    let place = Place::with(&[
        ("home/.claude/skills/good/SKILL.md", GOOD),
        ("home/.claude/skills/good/references/notes.md", &notes),
    ]);
    let said = shelf::run(&place, &["try", "does it well"]);
    assert!(said.contains("references/notes.md") && said.contains("| a議議"), "{said}");
}

#[test]
fn a_name_that_only_does_not_find_is_not_an_empty_library() {
    let place = Place::with(&[("home/.claude/skills/good/SKILL.md", GOOD)]);
    for args in [&["list"][..], &["search", "well"], &["prompt"], &["try", "does it well"]] {
        for (name, is_near) in [("godo", true), ("GOOD", true), ("zzzzqqqq", false)] {
            let said = shelf::run(&place, &[args, &["--only", name]].concat());
            assert!(said.contains(&format!("warning: no skill has this name of --only: {name}\n")), "{said}");
            assert_eq!(said.contains("did you mean good?"), is_near, "{said}");
            assert!(!said.contains("no skills here"), "{said}");
        }
        // The others are still offered.
        let said = shelf::run(&place, &[args, &["--only", "good,godo", "--except", "zzz"]].concat());
        assert!(said.contains("no skill has this name of --only: godo\n"), "{said}");
        assert!(said.contains("no skill has this name of --except: zzz\n"), "{said}");
        assert!(!said.contains("--only: good\n") && !said.contains("that --only takes"), "{said}");
    }
    let empty = Place::with(&[]);
    assert!(shelf::run(&empty, &["list", "--only", "godo"]).contains("no skills here"));
}

#[test]
fn an_empty_query_is_refused_and_a_miss_says_what_is_next() {
    let place = Place::with(&[("home/.claude/skills/good/SKILL.md", GOOD)]);
    for query in ["", "  "] {
        let said = shelf::run(&place, &["search", query]);
        assert!(said.starts_with("exit 2") && said.contains("the query is empty"), "{said}");
    }
    let said = shelf::run(&place, &["search", "qqqq"]);
    assert!(said.starts_with("exit 0") && said.contains("all of them: prowess list"), "{said}");
}
