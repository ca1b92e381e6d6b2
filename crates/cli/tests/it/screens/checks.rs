//! Screens of `check`, `try` and `eval`.

use insta::assert_snapshot;

use super::{screen, skills};
use crate::BAD;

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
