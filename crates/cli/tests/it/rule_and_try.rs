//! `prowess rule`, `prowess try`, the version, and a reader that closes the pipe.

use std::io::Read as _;
use std::process::Stdio;

use crate::{BAD, Place, code};
use insta::assert_snapshot;

#[test]
fn a_rule_explains_itself() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["rule", "description-missing"]), @"
    exit 0
    --- stdout
    description-missing: there is no description

    The description is all an agent sees of a skill before it decides to use it. Without one the skill is not loaded.

    Say what the skill does and when to use it.

    spec        error
    skills-ref  error
    anthropic   error
    plugin      error
    lenient     error

    Always an error: without this there is no skill to load.
    ");
    assert_snapshot!(place.run(&["rule", "name-to-long"]), @"
    exit 2
    --- stderr
    error: no such rule: name-to-long; did you mean name-too-long?
      hint: list the rules with: prowess rule
    ");
    assert_snapshot!(place.run(&["rule", "--json", "name-too-long"]), @r#"
    exit 0
    --- stdout
    {"version":1,"rule":{"code":"name-too-long","summary":"the name has more than 64 characters","explanation":"The specification allows 64 characters, and clients cut or refuse longer names.","levels":{"spec":"error","skills-ref":"error","anthropic":"error","plugin":"error","lenient":"warning"},"always_error":false}}
    "#);
}

#[test]
fn every_rule_is_in_the_list() {
    let place = Place::with(&[]);
    let listed = place.json(&["rule", "--json"]);
    let text = place.run(&["rule"]);
    let rules = listed["rules"].as_array().unwrap();
    assert_eq!(rules.len(), prowess::check::rules().count());
    for rule in rules {
        assert!(text.contains(rule["code"].as_str().unwrap()));
    }
}

#[test]
fn a_task_goes_through_the_stages() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["try", "fill in a pdf form"]), @"
    exit 0
    --- stdout
    task: fill in a pdf form

    1. What the agent sees of every skill

      commit-messages
        Write clear git commit messages from staged changes. Use when the user asks
        for a commit message, wants to commit, or wants an existing message
        improved.

      pdf-forms
        Fill in PDF forms and read the values out of filled ones. Use when the user
        has a PDF with form fields, or asks to complete, sign off or extract data
        from a PDF form.

      about 85 tokens for 2 skills

    2. Which skill fits

      2.249  pdf-forms: fill, form, pdf, fill pdf, pdf form

      by the words in name, description and instructions; prowess search does it with your skills

    3. What is loaded when it is used: pdf-forms

      | # PDF forms
      |
      | ## 1. Look before you fill
      |
      | List the fields, with their types and present values:
      |
      | ```sh
      | python3 -c 'import sys, pypdf
      and 32 more lines: 1388 bytes, about 347 tokens in all
    ");
    let tried = place.json(&["try", "--json", "fill in a pdf form"]);
    assert_eq!(tried["matches"][0]["name"], "pdf-forms");
    assert_eq!(tried["loaded"]["name"], "pdf-forms");
}

#[test]
fn a_task_that_fits_nothing_loads_nothing() {
    let place = Place::with(&[]);
    let text = place.run(&["try", "bake", "bread\u{1b}"]);
    assert!(text.starts_with("exit 0") && text.contains("nothing fits"), "{text}");
    assert!(!text.contains("3. ") && text.contains("task: bake bread\\u{1b}"), "{text}");
    assert!(place.json(&["try", "--json", "bake bread"])["loaded"].is_null());
}

#[test]
fn the_version_is_that_of_the_package() {
    let text = Place::with(&[]).run(&["--version"]);
    assert_eq!(text, format!("exit 0\n--- stdout\nprowess {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = Place::with(&[]);
    for number in 0..400 {
        place.write(&format!("skill-{number}/SKILL.md"), BAD.as_bytes());
    }
    for args in [&["rule"][..], &["check"], &["check", "--json"], &["--help"]] {
        let mut command = place.command();
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        if args[0] == "check" {
            // The reader closes the pipe while the command is working.
            pipe.read_exact(&mut [0]).unwrap();
        }
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(code(&output), 0, "{args:?}");
    }
}
