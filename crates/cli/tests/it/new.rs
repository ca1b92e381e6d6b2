//! `prowess new`: a skill without errors or warnings, or nothing at all.

use std::fs;

use crate::schemas::assert_fits;
use crate::{Place, code};
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn a_new_skill_has_no_error_or_warning_under_any_profile() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["new", "pdf-forms", "--with", "scripts,references,assets"]), @"
    exit 0
    --- stdout
    made pdf-forms/SKILL.md
    made pdf-forms/scripts/example.sh
    made pdf-forms/references/details.md
    made pdf-forms/assets/template.md

    say in SKILL.md what the skill does and when to use it, then: prowess check pdf-forms
    no agent looks there; install it for them with: prowess add ./pdf-forms
    ");
    fs::create_dir_all(place.path().join(".claude/skills")).unwrap();
    let args =
        ["new", "--json", "b2", "--dir", ".claude/skills", "--description", "Use when: \"asked\" # now"];
    assert_eq!(
        place.json(&args),
        json!({ "version": 1, "name": "b2", "path": ".claude/skills/b2", "files": ["SKILL.md"] })
    );
    for profile in ["spec", "skills-ref", "anthropic", "plugin", "lenient"] {
        let report = place.json(&["check", "--json", "--profile", profile]);
        assert_eq!((&report["summary"]["errors"], &report["summary"]["warnings"]), (&json!(0), &json!(0)));
        assert_eq!(report["summary"]["files"], 2);
    }
    assert_eq!(
        place.json(&["show", "--json", ".claude/skills/b2"])["description"],
        "Use when: \"asked\" # now"
    );
}

#[test]
fn an_untouched_new_skill_has_notes_about_what_is_still_to_be_written() {
    let place = Place::with(&[]);
    place.run(&["new", "pdf-forms"]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 0
    --- stdout
    note: pdf-forms/SKILL.md: body-placeholder, description-placeholder (description)
    1 skill checked: no errors or warnings, 2 notes
    ");
    place.write("helper/SKILL.md", b"---\nname: helper\ndescription: Helper.\n---\nTODO\n");
    assert_snapshot!(place.run(&["check", "helper"]), @"
    exit 0
    --- stdout
    note: helper/SKILL.md: body-placeholder, description-too-short (description)
    1 skill checked: no errors or warnings, 2 notes
    ");
}

#[test]
fn a_new_skill_can_begin_with_queries_that_eval_runs() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["new", "pdf-forms", "--with", "evals"]), @"
    exit 0
    --- stdout
    made pdf-forms/SKILL.md
    made pdf-forms/evals/eval_queries.json

    say in SKILL.md what the skill does and when to use it, then: prowess check pdf-forms
    no agent looks there; install it for them with: prowess add ./pdf-forms
    ");
    let queries = fs::read_to_string(place.path().join("pdf-forms/evals/eval_queries.json")).unwrap();
    assert_fits("eval_queries", &serde_json::from_str(&queries).unwrap());
    assert_snapshot!(queries, @r#"
    [
      {
        "query": "help me with pdf forms",
        "should_trigger": true
      },
      {
        "query": "book a table for dinner",
        "should_trigger": false
      }
    ]
    "#);
    assert_snapshot!(place.run(&["eval"]), @"
    exit 0
    --- stdout
    1 skill, selector bm25
      should be first: 1 of 1 are (100.0 %)
      should not be first: 1 of 1 are not (100.0 %)
    ");
}

#[test]
fn existing_folders_and_invalid_names_are_refused_and_nothing_is_left() {
    let place = Place::with(&[("taken/notes.md", "mine")]);
    fs::create_dir(place.path().join("empty")).unwrap();
    fs::write(place.path().join("file"), "mine").unwrap();
    let listing = || {
        let mut names: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listing();
    assert_snapshot!(place.run(&["new", "taken"]), @"
    exit 2
    --- stderr
    error: there is something of this name already: taken
      hint: choose another name or another folder
    ");
    assert_snapshot!(place.run(&["new", "My_Skill"]), @"
    exit 2
    --- stderr
    error: this name is not valid for a skill: My_Skill
      cause: the name has upper-case letters: My_Skill
      cause: the name has an underscore: My_Skill
      hint: call it my-skill
    ");
    assert_snapshot!(place.run(&["new", "ok", "--description", "<b>"]), @"
    exit 2
    --- stderr
    error: this description is not valid for a skill: <b>
      cause: the description contains an angle bracket
      hint: say in at most 1024 characters what the skill does and when to use it, without angle brackets
    ");
    for args in [
        &["new", "empty"][..],
        &["new", "file"],
        &["new", "../up"],
        &["new", ""],
        &["new", "claude-x"],
        &["new", "x", "--dir", "nowhere"],
        &["new", "x", "--dir", "file"],
        &["new", "x", "--with", "tests"],
    ] {
        let output = place.output(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
        assert_eq!(listing(), before, "{args:?}");
    }
}

#[test]
fn a_name_that_windows_reserves_is_refused_and_the_reason_is_said() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["new", "con"]), @"
    exit 2
    --- stderr
    error: a folder cannot have this name on every system: con
      cause: path has a name that Windows reserves for a device
      hint: choose another name, such as con-skill
    ");
    for name in ["aux", "nul", "prn", "com1", "lpt9"] {
        let said = place.run(&["new", name]);
        assert!(said.starts_with("exit 2") && said.contains("Windows reserves"), "{said}");
        assert!(!place.path().join(name).exists());
    }
    assert_eq!(code(&place.output(&["new", "console"])), 0);
}

#[test]
fn a_skill_in_a_folder_where_no_agent_looks_can_be_installed_as_the_hint_says() {
    let place = Place::with(&[]);
    crate::shelf::run(&place, &["new", "pdf-forms"]);
    assert_snapshot!(crate::shelf::run(&place, &["why", "pdf-forms"]), @"
    exit 1
    --- stderr
    error: no skill of this name was found: pdf-forms
      hint: a folder of this name is here, where no agent looks; install it for them with: prowess add ./pdf-forms
    ");
    let added = crate::shelf::run(&place, &["add", "./pdf-forms", "--yes"]);
    assert!(added.starts_with("exit 0"), "{added}");
    assert!(crate::shelf::run(&place, &["why", "pdf-forms"]).contains("pdf-forms: offered\n"));
    let made = crate::shelf::run(&place, &["new", "notes", "--dir", ".agents/skills"]);
    assert!(made.starts_with("exit 0") && !made.contains("no agent looks there"), "{made}");
}
