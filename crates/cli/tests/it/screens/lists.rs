//! Screens of `list`.

use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr as _;

use super::{screen, skills};
use crate::Place;
use crate::shelf::{self, json_of};

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
    on this machine are Claude Code, Codex; what each lists:
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
    on this machine are Claude Code, Codex; what each lists:
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
    on this machine are Claude Code, Codex; what each lists: prowess list --client installed
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
    on this machine are Claude Code, Codex; what each lists: prowess list --client installed
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
    what each lists:
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
fn agents_that_list_the_same_skills_are_not_said_to_list_different_ones() {
    let place = Place::with(&[
        ("home/kept/deploy/SKILL.md", super::DEPLOY),
        ("home/kept/pdf-forms/SKILL.md", super::PDF),
    ]);
    for agent in [".claude", ".codex"] {
        let skills = place.path().join("home").join(agent).join("skills");
        std::fs::create_dir_all(&skills).unwrap();
        for name in ["deploy", "pdf-forms"] {
            let kept = place.path().join("home/kept").join(name);
            std::os::unix::fs::symlink(kept, skills.join(name)).unwrap();
        }
    }
    for client in ["claude-code", "codex"] {
        let listed = json_of(&place, &["list", "--client", client, "--json"]);
        let names: Vec<_> = listed["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
        assert_eq!(names, ["deploy", "pdf-forms"], "{client}");
    }
    let said = screen(&place, 80, &["list"]);
    let foot = "on this machine are Claude Code, Codex; what each lists:\nprowess list --client installed\n";
    assert!(said.contains("2 skills") && said.ends_with(foot), "{said}");
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
    on this machine are Claude Code, Codex; what each lists:
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
    on this machine are Claude Code, Codex; what each lists:
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
    on this machine are Claude Code, Codex; what each lists:
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
    what each lists:
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
