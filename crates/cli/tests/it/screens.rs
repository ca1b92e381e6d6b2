//! What commands show on a terminal of a given width. `PROWESS_COLUMNS` asks for the layout of a terminal, without one.
//! Longer than 400 lines because it is one list of screens, which are compared with each other.

use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr as _;

use crate::shelf::{self, json_of};
use crate::{BAD, Place};

const MINUTES: &str = "---\nname: meeting-minutes\ndescription: Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes, a protocol or a summary.\n---\n# Minutes\n\nRead the notes first.\n";
const KANJI: &str = "---\nname: 議事録\ndescription: 会議のメモから議事録を作ります。会議の後で、決定事項と担当者をまとめるときに使います。\n---\n書く。\n";
const PDF: &str = "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when a form has fields.\n---\nFill in each field.\n";
const DEPLOY: &str =
    "---\nname: deploy\ndescription: Deploys the service. Use when the user wants a release.\n---\nDeploy.\n";

/// A project and a home with skills in every state.
fn skills() -> Place {
    Place::with(&[
        ("home/.claude/skills/meeting-minutes/SKILL.md", MINUTES),
        ("home/.claude/skills/pdf-forms/SKILL.md", PDF),
        ("home/.claude/skills/torn/SKILL.md", "---\nname: torn\nname: again\ndescription: d\n---\n"),
        ("home/.claude/skills/draft/SKILL.md", "---\nname: draft\ndescription: Not ready.\n---\n"),
        ("home/.codex/skills/pdf-forms/SKILL.md", PDF),
        ("home/.codex/skills/議事録/SKILL.md", KANJI),
        (".claude/skills/deploy/SKILL.md", DEPLOY),
        (
            ".claude/skills/meeting-minutes/SKILL.md",
            &MINUTES.replace("Read the notes first.", "Read.\n\nWrite."),
        ),
        ("config/prowess/prowess.toml", "[skills]\ndisable = [\"draft\"]\n"),
    ])
}

/// Runs a command for a screen with this many columns.
pub(crate) fn screen(place: &Place, columns: usize, args: &[&str]) -> String {
    let output =
        shelf::command(place).args(args).env("PROWESS_COLUMNS", columns.to_string()).output().unwrap();
    place.transcript(&output)
}

#[test]
fn a_list_is_a_table_by_folder_with_totals() {
    let place = skills();
    assert_snapshot!(screen(&place, 80, &["list"]), @"
    exit 0
    --- stdout
    .claude/skills  1 skill, read by Claude Code, Amp, Cursor and 8 more
      deploy           not trusted: Deploys the service. Use when the user wants a…

    ~/.codex/skills  2 skills, read by Codex, Cursor
      pdf-forms        Fills in PDF forms. Use when a form has fields.
      議事録           会議のメモから議事録を作ります。会議の後で、決定事項と担当者…

    ~/.claude/skills  1 skill, read by Claude Code, Amp, Cursor and 6 more
      meeting-minutes  Turns raw notes of a meeting into minutes with decisions, ow…

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed): prowess list --all,
    prowess why NAME
    on this machine are Claude Code, Codex; each lists a part:
    prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 80, &["list", "--all"]), @"
    exit 0
    --- stdout
    .claude/skills  2 skills, read by Claude Code, Amp, Cursor and 8 more
      deploy           not trusted: Deploys the service. Use when the user wants a…
      meeting-minutes  shadowed, differs in 3 lines from ~/.claude/skills/meeting-m…

    ~/.codex/skills  2 skills, read by Codex, Cursor
      pdf-forms        Fills in PDF forms. Use when a form has fields.
      議事録           会議のメモから議事録を作ります。会議の後で、決定事項と担当者…

    ~/.claude/skills  4 skills, read by Claude Code, Amp, Cursor and 6 more
      meeting-minutes  Turns raw notes of a meeting into minutes with decisions, ow…
      again            broken: the key appears twice: name, and 1 more problem
      draft            turned off by config/prowess/prowess.toml: Not ready.
      pdf-forms        shadowed, identical copy of ~/.codex/skills/pdf-forms: Fills…

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed)
    on this machine are Claude Code, Codex; each lists a part:
    prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 120, &["list", "--all"]), @"
    exit 0
    --- stdout
    .claude/skills  2 skills, read by Claude Code, Amp, Cursor and 8 more
      deploy           not trusted: Deploys the service. Use when the user wants a release.
      meeting-minutes  shadowed, differs in 3 lines from ~/.claude/skills/meeting-minutes: not trusted: Turns raw notes of…

    ~/.codex/skills  2 skills, read by Codex, Cursor
      pdf-forms        Fills in PDF forms. Use when a form has fields.
      議事録           会議のメモから議事録を作ります。会議の後で、決定事項と担当者をまとめるときに使います。

    ~/.claude/skills  4 skills, read by Claude Code, Amp, Cursor and 6 more
      meeting-minutes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has no…
      again            broken: the key appears twice: name, and 1 more problem
      draft            turned off by config/prowess/prowess.toml: Not ready.
      pdf-forms        shadowed, identical copy of ~/.codex/skills/pdf-forms: Fills in PDF forms. Use when a form has field…

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed)
    on this machine are Claude Code, Codex; each lists a part: prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 200, &["list", "--all"]), @"
    exit 0
    --- stdout
    .claude/skills  2 skills, read by Claude Code, Amp, Cursor and 8 more
      deploy           not trusted: Deploys the service. Use when the user wants a release.
      meeting-minutes  shadowed, differs in 3 lines from ~/.claude/skills/meeting-minutes: not trusted: Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has n…

    ~/.codex/skills  2 skills, read by Codex, Cursor
      pdf-forms        Fills in PDF forms. Use when a form has fields.
      議事録           会議のメモから議事録を作ります。会議の後で、決定事項と担当者をまとめるときに使います。

    ~/.claude/skills  4 skills, read by Claude Code, Amp, Cursor and 6 more
      meeting-minutes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes, a protocol or a summary.
      again            broken: the key appears twice: name, and 1 more problem
      draft            turned off by config/prowess/prowess.toml: Not ready.
      pdf-forms        shadowed, identical copy of ~/.codex/skills/pdf-forms: Fills in PDF forms. Use when a form has fields.

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed)
    on this machine are Claude Code, Codex; each lists a part: prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 20, &["list"]), @"
    exit 0
    --- stdout
    .claude/skills  1 s…
      deploy
        not trusted: De…

    ~/.codex/skills  2…
      pdf-forms
        Fills in PDF fo…
      議事録
        会議のメモから…

    ~/.claude/skills  1…
      meeting-minutes
        Turns raw notes…

    4 skills; 1 not
    trusted:
    prowess trust
    4 left out (1
    broken, 1 turned
    off, 2 shadowed):
    prowess list --all,
    prowess why NAME
    on this machine are
    Claude Code, Codex;
    each lists a part:
    prowess list --client installed
    ");
}

#[test]
fn an_empty_list_says_how_to_begin() {
    let place = Place::with(&[]);
    assert_snapshot!(screen(&place, 80, &["list"]), @r#"
    exit 0
    --- stdout
    no skills here
    begin with: prowess try "a task", prowess new NAME or prowess add SOURCE
    "#);
    assert_snapshot!(shelf::run(&place, &["list"]), @"
    exit 0
    --- stdout
    no skills here
    ");
}

#[test]
fn a_list_can_be_sorted_and_shows_costs_with_titles() {
    let place = skills();
    assert_snapshot!(screen(&place, 80, &["list", "--sort", "cost"]), @"
    exit 0
    --- stdout
    about how many tokens: in every prompt, when it is used, in its other files
    prompt  used  files  skill            folder
        66     9      0  meeting-minutes  ~/.claude/skills  Turns raw notes of a me…
        63     3      0  議事録           ~/.codex/skills   会議のメモから議事録を…
        33     2      0  deploy           .claude/skills    not trusted: Deploys th…
        31     5      0  pdf-forms        ~/.codex/skills   Fills in PDF forms. Use…

    4 skills, about 171 tokens in every prompt (skills 160, around them 11, without
    33 not trusted); 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed): prowess list --all,
    prowess why NAME
    on this machine are Claude Code, Codex; each lists a part:
    prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 80, &["list", "--all", "--sort", "state"]), @"
    exit 0
    --- stdout
    meeting-minutes  ~/.claude/skills  Turns raw notes of a meeting into minutes wi…
    pdf-forms        ~/.codex/skills   Fills in PDF forms. Use when a form has fiel…
    議事録           ~/.codex/skills   会議のメモから議事録を作ります。会議の後で、…
    deploy           .claude/skills    not trusted: Deploys the service. Use when t…
    again            ~/.claude/skills  broken: the key appears twice: name, and 1 m…
    draft            ~/.claude/skills  turned off by config/prowess/prowess.toml: N…
    meeting-minutes  .claude/skills    shadowed, differs in 3 lines from ~/.claude/…
    pdf-forms        ~/.claude/skills  shadowed, identical copy of ~/.codex/skills/…

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed)
    on this machine are Claude Code, Codex; each lists a part:
    prowess list --client installed
    ");
    assert_snapshot!(screen(&place, 80, &["list", "--cost"]), @"
    exit 0
    --- stdout
    about how many tokens: in every prompt, when it is used, in its other files
      prompt  used  files  skill
    .claude/skills  1 skill, read by Claude Code, Amp, Cursor and 8 more
          33     2      0  deploy           not trusted: Deploys the service. Use w…

    ~/.codex/skills  2 skills, read by Codex, Cursor
          31     5      0  pdf-forms        Fills in PDF forms. Use when a form has…
          63     3      0  議事録           会議のメモから議事録を作ります。会議の…

    ~/.claude/skills  1 skill, read by Claude Code, Amp, Cursor and 6 more
          66     9      0  meeting-minutes  Turns raw notes of a meeting into minut…

    4 skills, about 171 tokens in every prompt (skills 160, around them 11, without
    33 not trusted); 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed): prowess list --all,
    prowess why NAME
    on this machine are Claude Code, Codex; each lists a part:
    prowess list --client installed
    ");
    assert_snapshot!(shelf::run(&place, &["list", "--all", "--sort", "folder"]), @"
    exit 0
    --- stdout
    deploy  not trusted: Deploys the service. Use when the user wants a release.
    meeting-minutes  shadowed by [DIR]/home/.claude/skills/meeting-minutes/SKILL.md, differs in 3 lines: not trusted: Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes, a protocol or a summary.
    pdf-forms  Fills in PDF forms. Use when a form has fields.
    議事録  会議のメモから議事録を作ります。会議の後で、決定事項と担当者をまとめるときに使います。
    meeting-minutes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes, a protocol or a summary.
    again  broken: the key appears twice: name, and 1 more problem
    draft  turned off by [DIR]/config/prowess/prowess.toml: Not ready.
    pdf-forms  shadowed by [DIR]/home/.codex/skills/pdf-forms/SKILL.md, identical copy: Fills in PDF forms. Use when a form has fields.

    4 skills; 1 not trusted: prowess trust
    4 left out (1 broken, 1 turned off, 2 shadowed)
    ");
    let keys = |sort: &str| -> Vec<String> {
        let list = json_of(&place, &["list", "--all", "--json", "--sort", sort]);
        list["skills"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
    };
    assert!(keys("name").is_sorted());
    assert_eq!(keys("cost")[0], "meeting-minutes");
}

#[test]
fn copies_that_are_identical_and_copies_that_differ_are_told_apart() {
    let place = skills();
    let list = json_of(&place, &["list", "--all", "--json"]);
    let copies: Vec<_> = list["skills"].as_array().unwrap().iter().map(|row| &row["copy"]).collect();
    let copies: Vec<_> = copies.into_iter().filter(|copy| !copy.is_null()).collect();
    assert_eq!(copies.len(), 2, "{list}");
    assert!(copies.iter().any(|copy| copy["identical"] == true && copy["lines"] == 0));
    assert!(copies.iter().any(|copy| copy["identical"] == false && copy["lines"] == 3));
    assert_eq!(list["summary"]["states"]["shadowed"], 2);
    let why = shelf::run(&place, &["why", "pdf-forms"]);
    assert!(
        why.contains("  compared with it: identical copy\n  hint: keep both: Claude Code reads only"),
        "{why}"
    );
    let why = shelf::run(&place, &["why", "meeting-minutes"]);
    assert!(why.contains("  compared with it: differs in 3 lines\n"), "{why}");
}

#[test]
fn several_clients_are_columns_of_words() {
    let place = skills();
    assert_snapshot!(screen(&place, 80, &["list", "--client", "installed"]), @"
    exit 0
    --- stdout
    again            claude-code as torn  broken
    deploy           claude-code  not trusted
    draft            claude-code  turned off
    meeting-minutes  claude-code
    pdf-forms        claude-code  ~/.claude/skills/pdf-forms/SKILL.md
    pdf-forms        codex  ~/.codex/skills/pdf-forms/SKILL.md
    議事録           codex

    7 skills: Claude Code 5, Codex 2
    prowess serve withholds 1 not trusted: prowess trust
    1 that no client lists: prowess list --all --client installed
    ");
}

#[test]
fn a_search_is_one_line_for_each_hit() {
    let place = skills();
    let query = ["search", "turn these meeting notes into a pdf"];
    assert_snapshot!(screen(&place, 80, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting i…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a…

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 120, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and d…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 200, &query), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes…
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 120, &[&query[..], &["--why"]].concat()), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and d…
      in the name: meeting; in the description: turn, meeting, notes; in the instructions: notes; nowhere: pdf
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.
      in the name: pdf; in the description: pdf; nowhere: turn, meeting, notes

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 200, &[&query[..], &["--why", "--why"]].concat()), @"
    exit 0
    --- stdout
    #  skill            score  words                 description
    1  meeting-minutes  2.580  turn, meeting, notes  Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes…
        0.862  note in the description
        0.728  turn in the description
        0.585  meet in the description
        0.378  meet in the name
        0.027  note in the instructions
    2  pdf-forms        0.702  pdf                   Fills in PDF forms. Use when a form has fields.
        0.357  pdf in the name
        0.345  pdf in the description

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 20, &query), @"
    exit 0
    --- stdout
    1  meeting-minutes
      2.580
      turn, meeting, no…
      Turns raw notes o…
    2  pdf-forms  0.702
      pdf
      Fills in PDF form…

    2 of 4 skills
    ");
    assert_snapshot!(screen(&place, 80, &["search", "zebra"]), @"
    exit 0
    --- stdout
    no skill fits, of 4 skills; all of them: prowess list
    ");
}

#[test]
fn why_with_a_query_names_the_rank_the_winner_and_the_words_that_are_missing() {
    let place = skills();
    let why = |columns| {
        let said =
            screen(&place, columns, &["why", "pdf-forms", "--query", "turn meeting notes into pdf minutes"]);
        // The list of clients that read a folder grows with the table of clients.
        said.lines().filter(|line| !line.contains("clients that look there:")).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(why(80), @"
    exit 0
    --- stdout
    pdf-forms: offered
      found: ~/.codex/skills/pdf-forms/SKILL.md
      path for filters: pdf-forms
      for this query: 2 of 2 that fit, score 0.664; the first is meeting-minutes,
        score 3.603
      words in its name or description: pdf
      words missing from its description: turn, meeting, notes, minutes
    pdf-forms: shadowed
      found: ~/.claude/skills/pdf-forms/SKILL.md
      path for filters: pdf-forms
      shadowed by: ~/.codex/skills/pdf-forms/SKILL.md
      compared with it: identical copy
      hint: keep both: Claude Code reads only this one, Codex reads only the other
    ");
    let whole = why(80).replace("minutes,\n    score", "minutes, score");
    assert_eq!([why(120), why(200)], [whole.clone(), whole]);
    let json = json_of(&place, &["why", "--json", "pdf-forms", "--query", "meeting minutes of a form"]);
    let ranked = json["candidates"].as_array().unwrap().iter().find(|one| one["state"] == "active").unwrap();
    assert_eq!(ranked["ranked"]["rank"], 2);
    assert_eq!(ranked["ranked"]["winner"]["key"], "meeting-minutes");
    assert_eq!(ranked["ranked"]["missing"], serde_json::json!(["meeting", "minutes"]));
    let none = shelf::run(&place, &["why", "pdf-forms", "--query", "zebra"]);
    assert!(
        none.contains("  for this query: does not fit\n  words missing from its description: zebra\n"),
        "{none}"
    );
}

#[test]
fn a_check_and_a_trial_fit_the_screen() {
    let place = skills();
    place.write("checked/bad/SKILL.md", BAD.as_bytes());
    assert_snapshot!(screen(&place, 80, &["check", "checked"]), @"
    exit 1
    --- stdout
    error[name-uppercase, name-folder-mismatch]: the name has upper-case letters: Bad
     --> checked/bad/SKILL.md:2:7
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
     --> checked/bad/SKILL.md:6:1
      |
    6 | [more](more.md)
      | ^^^^^^^^^^^^^^^

    note: checked/bad/SKILL.md: field-unknown (mood)

    1 skill checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes
    ");
    assert_snapshot!(screen(&place, 120, &["check", "checked"]), @"
    exit 1
    --- stdout
    error[name-uppercase, name-folder-mismatch]: the name has upper-case letters: Bad
     --> checked/bad/SKILL.md:2:7
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
     --> checked/bad/SKILL.md:6:1
      |
    6 | [more](more.md)
      | ^^^^^^^^^^^^^^^

    note: checked/bad/SKILL.md: field-unknown (mood)

    1 skill checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes
    ");
    assert_eq!(screen(&place, 200, &["check", "checked"]), screen(&place, 120, &["check", "checked"]));
    assert_snapshot!(screen(&place, 200, &["check", "--statistics", "checked"]), @"
    exit 1
    --- stdout
    severity  rule                  problems  files  fixable
    error     name-folder-mismatch         1      1        1
    error     name-uppercase               1      1        1
    warning   link-missing                 1      1
    info      field-unknown                1      1

    1 skill checked: 2 errors, 1 warning in 1 file, 1 note; 2 fixable with --unsafe-fixes; 4 rules broken
    ");
    let task = ["try", "turn these meeting notes into minutes"];
    // The loaded text has the path of this folder.
    let tried = |columns| {
        let said = screen(&place, columns, &task);
        let own = |line: &&str| !line.contains("4. Loaded") && !line.contains("Skill directory");
        said.lines().filter(own).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(tried(80), @r#"
    exit 0
    --- stdout
    task: turn these meeting notes into minutes

    1. Found: 11 skills
       .claude/skills       1  deploy
       ~/.claude/skills     1  meeting-minutes
       ~/.codex/skills      2  pdf-forms, 議事録
       built in             7  code-review, commit-messages, csv-report, debugging,…

    2. In the prompt: the name and description of each
       about 740 tokens; with all instructions about 3,625

    3. Chosen: meeting-minutes
         5.255  meeting-minutes  turn, meeting, notes, minutes
         0.673  writing-skills   turn, notes
         0.503  release-notes    notes
         0.083  code-review      turn
       and 1 more

       | <skill_content name="meeting-minutes">
       | # Minutes
       |
       | Read the notes first.
       |
       | Relative paths in this skill are relative to the skill directory.
       | </skill_content>
    "#);
    assert_snapshot!(tried(120), @r#"
    exit 0
    --- stdout
    task: turn these meeting notes into minutes

    1. Found: 11 skills
       .claude/skills       1  deploy
       ~/.claude/skills     1  meeting-minutes
       ~/.codex/skills      2  pdf-forms, 議事録
       built in             7  code-review, commit-messages, csv-report, debugging, release-notes, using-prowess,…

    2. In the prompt: the name and description of each
       about 740 tokens; with all instructions about 3,625

    3. Chosen: meeting-minutes
         5.255  meeting-minutes  turn, meeting, notes, minutes
         0.673  writing-skills   turn, notes
         0.503  release-notes    notes
         0.083  code-review      turn
       and 1 more

       | <skill_content name="meeting-minutes">
       | # Minutes
       |
       | Read the notes first.
       |
       | Relative paths in this skill are relative to the skill directory.
       | </skill_content>
    "#);
    // Longer lines are hard to read.
    assert_eq!(tried(200), tried(120));
}

#[test]
fn an_evaluation_shows_each_query_and_what_to_add() {
    let place = skills();
    let queries = r#"[{"query":"minutes of the meeting"},{"query":"write the protocol of the standup"},{"query":"summary of notes","should_trigger":false}]"#;
    place.write("home/.claude/skills/meeting-minutes/evals/eval_queries.json", queries.as_bytes());
    place
        .write("home/.claude/skills/pdf-forms/evals/eval_queries.json", br#"[{"query":"notes as a table"}]"#);
    assert_snapshot!(screen(&place, 80, &["eval", "home/.claude/skills"]), @"
    exit 1
    --- stdout
    meeting-minutes  2 of 3 passed
      passed  1  minutes of the meeting
      passed  1  write the protocol of the standup
      FAILED  1  should not be first: summary of notes
        first, but should not be
        its name or description has: summary, notes

    pdf-forms  0 of 1 passed
      FAILED  -  notes as a table
        not found, first is meeting-minutes
        add to the description: notes, table

    3 skills, selector bm25
      should be first: 2 of 3 are (66.7 %)
      should not be first: 0 of 1 are not (0.0 %)
    --- stderr
    warning: this skill does not load: home/.claude/skills/torn/SKILL.md
      hint: see why with: prowess check home/.claude/skills/torn/SKILL.md
    ");
    assert_snapshot!(screen(&place, 20, &["eval", "home/.claude/skills"]), @"
    exit 1
    --- stdout
    meeting-minutes  2…
      passed  1
        minutes of the…
      passed  1
        write the proto…
      FAILED  1
        should not be f…
        first, but
        should not be
        its name or
        description has:
        summary, notes

    pdf-forms  0 of 1 p…
      FAILED  -
        notes as a table
        not found, first
        is
        meeting-minutes
        add to the
        description:
        notes, table

    3 skills, selector bm25
      should be first: 2 of 3 are (66.7 %)
      should not be first: 0 of 1 are not (0.0 %)
    --- stderr
    warning: this skill does not load: home/.claude/skills/torn/SKILL.md
      hint: see why with: prowess check home/.claude/skills/torn/SKILL.md
    ");
}

#[test]
fn no_line_is_wider_than_the_screen_and_none_controls_the_terminal() {
    let place = skills();
    let hostile =
        "---\nname: \"x\\e]0;t\\a\"\ndescription: \"d\\e[2J \\u202E meeting notes\"\n---\n\u{1b}[2J\n";
    place.write("home/.claude/skills/\u{1b}[31mx/SKILL.md", hostile.as_bytes());
    place.write(
        "home/.claude/skills/\u{1b}[31mx/evals/eval_queries.json",
        br#"[{"query":"\u001b[2J \u202e zebra"}]"#,
    );
    // Without one, there is nothing to verify.
    place.write("skills.toml", b"");
    for columns in [1, 20, 33, 80, 120, 200] {
        for args in [
            &["list", "--all"][..],
            &["list", "--all", "--cost"],
            &["list", "--all", "--sort", "name"],
            &["list", "--client", "installed"],
            &["search", "meeting \u{1b}[2J notes", "--why"],
            &["search", "meeting notes", "--why", "--why"],
            &["why", "x\u{1b}]0;t\u{7}", "--query", "\u{1b}[2J"],
            &["eval", "home/.claude/skills"],
            &["rule"],
            &["list", "--installed"],
            &["verify"],
        ] {
            let said = screen(&place, columns, args);
            let hidden = said.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(hidden, None, "{args:?} {columns}: {said:?}");
            // Totals and commands to copy are whole lines, and are not cut.
            let table = said.split("\n\n").next().unwrap().lines().skip(2);
            for line in table.filter(|line| line.starts_with("  ") && args[0] != "why") {
                assert!(line.width() <= columns.max(20), "{args:?} {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_pipe_gets_lines_whatever_columns_says() {
    let place = crate::shelf::shelf();
    let lines = shelf::command(&place).arg("list").output().unwrap().stdout;
    let with_columns = shelf::command(&place).arg("list").env("COLUMNS", "40").output().unwrap().stdout;
    assert_eq!(lines, with_columns);
    assert_ne!(
        lines,
        shelf::command(&place).arg("list").env("PROWESS_COLUMNS", "40").output().unwrap().stdout
    );
}

#[test]
fn a_list_by_cost_keeps_its_columns_and_titles_at_80_columns() {
    let place = Place::with(&[]);
    for name in ["building-a-user-interface-bundle", "reviewing-the-security-of-changes", "tidy"] {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name} when asked for that or the like.\n---\nDo.\n"
        );
        place.write(&format!("home/.claude/skills/{name}/SKILL.md"), text.as_bytes());
        place.write(
            &format!("home/.config/agents/skills/of-another-client/{name}-too/SKILL.md"),
            text.as_bytes(),
        );
    }
    for args in [&["list", "--sort", "cost"][..], &["list", "--cost", "--sort", "state"]] {
        let said = screen(&place, 80, args);
        let title = said
            .lines()
            .find(|line| line.contains("prompt") && line.contains("folder"))
            .unwrap_or_else(|| panic!("{said}"));
        let at = title.find("skill").unwrap();
        for line in said.lines().filter(|line| line.contains("tidy")) {
            assert_eq!(line.find("tidy"), Some(at), "{said}");
        }
    }
}

#[test]
fn the_foot_of_a_list_wraps_between_words_and_keeps_commands_whole() {
    let place = skills();
    assert_snapshot!(screen(&place, 40, &["list", "--cost"]), @"
    exit 0
    --- stdout
    about how many tokens: in every prompt,
    when it is used, in its other files
    .claude/skills  1 skill, read by Claude…
      33  2  0  deploy
        not trusted: Deploys the service. U…

    ~/.codex/skills  2 skills, read by Code…
      31  5  0  pdf-forms
        Fills in PDF forms. Use when a form…
      63  3  0  議事録
        会議のメモから議事録を作ります。会…

    ~/.claude/skills  1 skill, read by Clau…
      66  9  0  meeting-minutes
        Turns raw notes of a meeting into m…

    4 skills, about 171 tokens in every
    prompt (skills 160, around them 11,
    without 33 not trusted); 1 not trusted:
    prowess trust
    4 left out (1 broken, 1 turned off, 2
    shadowed): prowess list --all,
    prowess why NAME
    on this machine are Claude Code, Codex;
    each lists a part:
    prowess list --client installed
    ");
    for columns in [20, 30, 40, 60] {
        for args in [&["list"][..], &["list", "--cost"], &["list", "--client", "installed"]] {
            let (said, wide) = (screen(&place, columns, args), screen(&place, 200, args));
            let foot = |said: &str| said.rsplit("\n\n").next().unwrap().to_owned();
            let words = |said: &str| foot(said).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&said), words(&wide), "{args:?} {columns}");
            for line in foot(&said).lines().filter(|line| line.width() > columns) {
                assert!(line.starts_with("prowess ") && !line.contains(": "), "{args:?} {columns}: {line}");
            }
        }
    }
}
