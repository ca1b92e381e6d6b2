//! `prowess check`: formats, standard input, exit codes.

use crate::{BAD, GOOD, Place, code};
use insta::assert_snapshot;
use serde_json::json;
use std::os::unix::fs::symlink;

pub(crate) fn two() -> Place {
    Place::with(&[("good/SKILL.md", GOOD), (".claude/skills/bad/SKILL.md", BAD)])
}

#[test]
fn human_output_shows_each_problem_at_its_place() {
    assert_snapshot!(two().run(&["check"]), @"
    exit 1
    --- stdout
    error[name-uppercase, name-folder-mismatch]: the name has upper-case letters: Bad
     --> .claude/skills/bad/SKILL.md:2:7
      |
    2 | name: Bad
      |       ^^^
      |
      = error: the name is not the name of the folder: Bad in bad
      = help: give the folder and the skill the same name
    help: call it bad (unsafe; --unsafe-fixes applies it)
      |
    2 - name: Bad
    2 + name: bad

    warning[link-missing]: there is no such file in the skill: more.md
     --> .claude/skills/bad/SKILL.md:6:1
      |
    6 | [more](more.md)
      | ^^^^^^^^^^^^^^^

    note: .claude/skills/bad/SKILL.md: field-unknown (mood)

    2 skills checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes
    ");
}

#[test]
fn quiet_leaves_out_infos() {
    let text = two().run(&["check", "-q"]);
    assert!(!text.contains("note: ") && text.contains("error[name-uppercase"), "{text}");
}

#[test]
fn a_skill_without_problems_gives_one_line() {
    assert_snapshot!(two().run(&["check", "good"]), @"
    exit 0
    --- stdout
    1 skill checked: no problems
    ");
    assert_snapshot!(two().run(&["check", "good/SKILL.md", "good"]), @"
    exit 0
    --- stdout
    1 skill checked: no problems
    ");
}

#[test]
fn the_github_format_writes_workflow_commands() {
    assert_snapshot!(two().run(&["check", "--format", "github"]), @"
    exit 1
    --- stdout
    ::error file=.claude/skills/bad/SKILL.md,line=2,col=7,endLine=2,endColumn=10,title=name-uppercase::the name has upper-case letters: Bad%0Ahelp: call it `bad`
    ::error file=.claude/skills/bad/SKILL.md,line=2,col=7,endLine=2,endColumn=10,title=name-folder-mismatch::the name is not the name of the folder: Bad in bad%0Ahelp: give the folder and the skill the same name
    ::notice file=.claude/skills/bad/SKILL.md,line=4,col=1,endLine=4,endColumn=5,title=field-unknown::the field is not in the specification: mood%0Ahelp: put it below `metadata:`
    ::warning file=.claude/skills/bad/SKILL.md,line=6,col=1,endLine=6,endColumn=16,title=link-missing::there is no such file in the skill: more.md
    2 skills checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes
    ");
}

#[test]
fn json_lists_every_file_with_its_problems() {
    let place = two();
    let report = place.json(&["check", "--json"]);
    assert_eq!(report, place.json(&["check", "--format", "json"]));
    assert_eq!(report["version"], 1);
    assert_eq!(
        report["summary"],
        json!({
            "files": 2, "errors": 2, "warnings": 1, "infos": 1, "ignored": 0, "fixed": 0, "fixable": 0,
            "unsafe_fixable": 2,
        })
    );
    assert_eq!(report["failures"], json!([]));
    assert_eq!(report["files"][1], json!({ "path": "good/SKILL.md", "problems": [], "fixed": [] }));
    assert_eq!(report["files"][0]["path"], ".claude/skills/bad/SKILL.md");
    assert_snapshot!(report["files"][0]["problems"][0].to_string(), @r#"{"code":"name-uppercase","field":"name","severity":"error","message":"the name has upper-case letters: Bad","line":2,"column":7,"end_line":2,"end_column":10,"span":{"start":10,"end":13},"help":"call it `bad`","related":[],"fix":{"title":"call it bad","edits":[{"span":{"start":10,"end":13},"replacement":"bad"}],"safe":false}}"#);
}

#[test]
fn both_places_of_a_duplicate_key_are_shown() {
    let place = Place::with(&[("a/SKILL.md", "---\nname: a\nname: b\ndescription: d\n---\n")]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 1
    --- stdout
    error[duplicate-identity]: the key appears twice: name
     --> a/SKILL.md:3:1
      |
    2 | name: a
      | ---- first here
    3 | name: b
      | ^^^^
      |
      = help: keep one of them

    error[name-folder-mismatch]: the name is not the name of the folder: b in a
     --> a/SKILL.md:3:7
      |
    3 | name: b
      |       ^
      |
      = help: give the folder and the skill the same name

    note: a/SKILL.md: description-too-short (description)

    1 skill checked: 2 errors, 0 warnings in 1 file, 1 note
    ");
    let report = place.json(&["check", "--json"]);
    assert_eq!(report["files"][0]["problems"][0]["related"][0]["line"], 2);
}

#[test]
fn wrong_usage_says_what_to_do_and_ends_with_two() {
    let place = two();
    for args in [
        &["check", "--allow", "name-uppercas"][..],
        &["check", "--allow", "description-missing"],
        &["check", "--profile", "strict"],
        &["check", "--path", "x"],
        &["check", "--format", "xml"],
        &["chek"],
        &[],
    ] {
        let output = place.output(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
    assert_snapshot!(place.run(&["check", "--allow", "name-uppercas"]), @"
    exit 2
    --- stderr
    error: --allow: no such rule: name-uppercas; did you mean name-uppercase?
      hint: list the rules with: prowess rule
    ");
    assert_snapshot!(place.run(&["check", "--warn", "description-missing"]), @"
    exit 2
    --- stderr
    error: --warn: this rule is always an error, because the skill cannot be loaded: description-missing
      hint: leave the path out of the check instead
    ");
    assert_snapshot!(place.run(&["check", "--path", "x"]), @"
    exit 2
    --- stderr
    error: --path is for standard input, and - is not among the paths
      hint: write: prowess check - --path skills/pdf/SKILL.md
    ");
}

#[test]
fn standard_input_is_checked_as_a_skill() {
    let place = two();
    assert_snapshot!(place.run_with_input(&["check", "-"], BAD.as_bytes()), @"
    exit 1
    --- stdout
    error[name-uppercase]: the name has upper-case letters: Bad
     --> <stdin>:2:7
      |
    2 | name: Bad
      |       ^^^
    help: call it bad (unsafe; --unsafe-fixes applies it)
      |
    2 - name: Bad
    2 + name: bad

    note: <stdin>: field-unknown (mood)

    1 skill checked: 1 error, 0 warnings in 1 file, 1 note; 1 fixable with --unsafe-fixes
    ");
    let text = place.run_with_input(&["check", "-", "--path", "skills/good"], GOOD.as_bytes());
    assert_snapshot!(text, @"
    exit 0
    --- stdout
    1 skill checked: no problems
    ");
    let text = place.run_with_input(&["check", "-", "--path", "skills/other/SKILL.md"], GOOD.as_bytes());
    assert!(
        text.contains("error[name-folder-mismatch]") && text.contains("skills/other/SKILL.md:2:7"),
        "{text}"
    );
}

#[test]
fn the_current_folder_is_checked_by_its_real_name() {
    let place = two();
    let output = place.command().current_dir(place.path().join("good")).arg("check").output().unwrap();
    assert_eq!(code(&output), 0, "{output:?}");
    let args = ["check", "SKILL.md"];
    let output = place.command().current_dir(place.path().join("good")).args(args).output().unwrap();
    assert_eq!(code(&output), 0, "{output:?}");
}

#[test]
fn skill_md_in_capitals_wins_and_lowercase_is_a_warning() {
    let place = Place::with(&[
        ("both/SKILL.md", "---\nname: both\ndescription: d\n---\n"),
        ("both/skill.md", "nothing"),
        ("small/skill.md", "---\nname: small\ndescription: d\n---\n"),
        ("mixed/Skill.md", "nothing"),
    ]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 0
    --- stdout
    warning[file-left-out]: an entry of the folder is not a file of the skill: skill.md: its name and SKILL.md differ only in case
    --> both/SKILL.md
     = help: rename it, or remove it

    note: both/SKILL.md: description-too-short (description)

    warning[file-name-case]: the file is not called SKILL.md: skill.md
    --> small/skill.md
     = help: rename it to SKILL.md

    note: small/skill.md: description-too-short (description)

    2 skills checked: 0 errors, 2 warnings in 2 files, 2 notes
    ");
}

#[test]
fn link_cycles_end_and_a_linked_skill_is_checked_once() {
    let place = two();
    symlink("..", place.path().join("good/up")).unwrap();
    symlink("good", place.path().join("again")).unwrap();
    symlink("loop", place.path().join("loop")).unwrap();
    let report = place.json(&["check", "--json"]);
    assert_eq!((&report["summary"]["files"], &report["failures"]), (&json!(2), &json!([])));
}

#[test]
fn a_closed_standard_input_is_one_message_and_not_a_broken_skill() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    // Without an input, the system gives the null device to a program.
    assert_snapshot!(place.run(&["check", "-"]), @"
    exit 2
    --- stderr
    error: standard input is closed, so there is nothing to read
      hint: pipe a SKILL.md into it, or name a path
    ");
    let mut shell = std::process::Command::new("sh");
    let closed = |args: &str| format!("exec '{}' {args} <&-", env!("CARGO_BIN_EXE_prowess"));
    shell.args(["-c", &closed("check -")]).current_dir(place.path());
    assert_eq!(place.transcript(&shell.output().unwrap()), place.run(&["check", "-"]));
    let show = place.run(&["show", "-"]);
    assert!(show.starts_with("exit 2") && show.contains("standard input is closed"), "{show}");
    // An empty file is a skill without anything in it.
    assert!(place.run_with_input(&["check", "-"], b"").contains("frontmatter-missing"));
}

#[test]
fn colours_appear_only_on_request() {
    let place = two();
    let colored = |command: &mut std::process::Command| {
        command.output().unwrap().stdout.windows(2).any(|pair| pair == b"\x1b[")
    };
    assert!(!colored(place.command().arg("check")));
    assert!(colored(place.command().args(["check", "--color", "always"])));
    assert!(colored(place.command().arg("check").env("CLICOLOR_FORCE", "1")));
    assert!(!colored(place.command().args(["check", "--color", "never"]).env("CLICOLOR_FORCE", "1")));
    assert!(!colored(place.command().arg("check").env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1")));
}

#[test]
fn json_may_be_asked_for_twice_but_not_together_with_another_format() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    assert_eq!(place.json(&["check", "--json", "--format", "json"]), place.json(&["check", "--json"]));
    for format in ["human", "github", "sarif"] {
        assert_eq!(code(&place.output(&["check", "--json", "--format", format])), 2, "{format}");
    }
}

#[test]
fn infos_are_counted_unless_quiet() {
    let place = Place::with(&[("a/SKILL.md", "---\nname: a\ndescription: Does it.\nmood: grim\n---\n# A\n")]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 0
    --- stdout
    note: a/SKILL.md: description-too-short (description), field-unknown (mood)
    1 skill checked: no errors or warnings, 2 notes
    ");
    assert_snapshot!(place.run(&["check", "-q"]), @"
    exit 0
    --- stdout
    1 skill checked: no problems
    ");
}

#[test]
fn a_report_stays_one_document_when_standard_input_cannot_be_read() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    let folder = std::fs::File::open(place.path()).unwrap();
    let output = place.command().args(["check", "good", "-", "--json"]).stdin(folder).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["files"].as_array().unwrap().len(), 1);
    assert_eq!(report["failures"][0]["error"], "could not read standard input");
    assert_eq!(code(&output), 2);
}

#[test]
fn problems_are_one_line_each_in_the_concise_format() {
    let place = Place::with(&[("bad/SKILL.md", BAD)]);
    assert_snapshot!(place.run(&["check", "--format", "concise"]), @"
    exit 1
    --- stdout
    bad/SKILL.md:2:7: error[name-uppercase] the name has upper-case letters: Bad
    bad/SKILL.md:2:7: error[name-folder-mismatch] the name is not the name of the folder: Bad in bad
    bad/SKILL.md:4:1: info[field-unknown] the field is not in the specification: mood
    bad/SKILL.md:6:1: warning[link-missing] there is no such file in the skill: more.md
    1 skill checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes
    ");
}

#[test]
fn statistics_count_the_problems_by_rule() {
    let place = Place::with(&[("bad/SKILL.md", BAD), ("worse/SKILL.md", BAD)]);
    assert_snapshot!(place.run(&["check", "--statistics"]), @"
    exit 1
    --- stdout
    severity  rule                  problems  files  fixable
    error     name-folder-mismatch         2      2        2
    error     name-uppercase               2      2        2
    warning   link-missing                 2      2
    info      field-unknown                2      2

    2 skills checked: 4 errors, 2 warnings in 2 files, 2 notes; 4 fixable with --unsafe-fixes; 4 rules broken
    ");
}

#[test]
fn notes_are_shown_at_their_places_on_request() {
    let place = Place::with(&[("bad/SKILL.md", BAD)]);
    let text = place.run(&["check", "--notes"]);
    assert!(text.contains("info[field-unknown]") && !text.contains("note: bad"), "{text}");
}

#[test]
fn a_note_about_a_clients_field_names_the_clients_that_act_on_it() {
    let place = Place::with(&[(
        "a/SKILL.md",
        "---\nname: a\ndescription: Does it well when asked.\npaths: src/**\nmodel: fast\n---\nDo it.\n",
    )]);
    let report = place.json(&["check", "--json"]);
    let help = |at: usize| report["files"][0]["problems"][at]["help"].clone();
    assert!(help(0).as_str().unwrap().starts_with("known to act on it: Claude Code"), "{report}");
    assert_eq!(help(1), serde_json::Value::Null);
}

#[test]
fn as_many_problems_are_fixed_as_were_said_to_be_fixable() {
    // The tools can be fixed after the YAML.
    let text =
        "---\nname: tidy\ndescription: Use when: asked to tidy up\nallowed-tools: Read, Grep\n---\nTidy.\n";
    let place = Place::with(&[("tidy/SKILL.md", text)]);
    let said = place.run(&["check", "tidy"]);
    assert!(said.contains("; 2 fixable with --fix\n"), "{said}");
    let fixed = place.run(&["check", "tidy", "--fix"]);
    assert!(fixed.contains("; 2 fixed\n"), "{fixed}");
}

#[test]
fn a_hook_or_command_names_the_agents_that_run_it() {
    let text = "---\nname: h\ndescription: Sorts socks. Use when asked.\nhooks:\n  Stop: []\n---\nSort.\n\n!`whoami`\n";
    let place = Place::with(&[("h/SKILL.md", text), ("home/.claude/skills/h/SKILL.md", text)]);
    place.write("home/.augment/skills/h/SKILL.md", text.as_bytes());
    place.write("home/.agents/skills/h/SKILL.md", text.as_bytes());
    let run = |args: &[&str]| crate::shelf::run(&place, args);
    let all = run(&["check", "h", "--notes"]);
    assert!(all.contains("the skill asks for hooks; Prowess never runs them, some agents do"), "{all}");
    assert!(all.contains("known to run it: Claude Code, Qoder, Qwen Code"), "{all}");
    assert!(all.contains("Prowess never runs it, some agents do") && all.contains("OpenHands"), "{all}");
    for (client, said) in [
        ("claude-code", "Claude Code runs it"),
        ("codex", "Codex does not run it"),
        ("augment", "it is not known whether Augment runs it; some agents do"),
    ] {
        let checked = run(&["check", "--client", client, "--notes"]);
        assert!(checked.contains(said), "{client}: {checked}");
        let why = run(&["why", "h", "--client", client]);
        assert!(why.contains(&format!("some agents do; {said}")), "{client}: {why}");
    }
    for said in [all, run(&["show", "h"]), run(&["why", "h"]), run(&["add", "./h", "--dry-run"])] {
        assert!(!said.contains("never run\n") && said.contains("Claude Code"), "{said}");
    }
}
