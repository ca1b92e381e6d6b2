//! `prowess rule`, `prowess try`, the version, and a reader that closes the pipe.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use crate::{BAD, Place, code};
use insta::assert_snapshot;
use serde_json::json;

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
    assert_snapshot!(place.run(&["try", "turn these meeting notes into minutes"]), @r#"
    exit 0
    --- stdout
    task: turn these meeting notes into minutes

    1. Found: 9 skills
       built in     9  code-review, commit-messages, csv-report, debugging, meeting…

    2. In the prompt: the name and description of each
       about 722 tokens; with all instructions about 4,345

    3. Chosen: meeting-minutes
         5.709  meeting-minutes  turn, meeting, notes, minutes
         0.585  writing-skills   turn, notes
         0.404  release-notes    notes
         0.088  code-review      turn
       and 1 more

    4. Loaded when it is used: about 511 tokens
       | <skill_content name="meeting-minutes">
       | # Meeting minutes
       |
       | Minutes answer three questions for someone who was not there: what was dec…
       |
       | ## 1. Read everything once
       |
       | Note the date, the people and the subjects as you read. Do not write yet:…
       and 38 more lines: prowess activate meeting-minutes

    5. Read when it is needed: 1 file
       assets/minutes.md (315 B)
       | # TITLE, DATE
       |
       | Present: NAMES
       | Absent: NAMES
       all of it: prowess cat meeting-minutes assets/minutes.md
    "#);
    let tried = place.json(&["try", "--json", "fill in a pdf form"]);
    assert_eq!(tried["matches"][0]["name"], "pdf-forms");
    assert_eq!(tried["loaded"]["name"], "pdf-forms");
}

#[test]
fn a_task_that_fits_nothing_loads_nothing() {
    let place = Place::with(&[]);
    let text = place.run(&["try", "bake", "bread\u{1b}"]);
    assert!(text.starts_with("exit 0") && text.contains("3. Chosen: none"), "{text}");
    assert!(!text.contains("4. ") && text.contains("task: bake bread\\u{1b}"), "{text}");
    assert!(place.json(&["try", "--json", "bake bread"])["loaded"].is_null());
}

#[test]
fn a_task_that_fits_nothing_shows_the_nearest_skills_and_what_to_do_next() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["try", "translate a commemoration"]), @"
    exit 0
    --- stdout
    task: translate a commemoration

    1. Found: 9 skills
       built in     9  code-review, commit-messages, csv-report, debugging, meeting…

    2. In the prompt: the name and description of each
       about 722 tokens; with all instructions about 4,345

    3. Chosen: none
       no skill has any of these words: translate, commemoration
       the nearest are
         meeting-minutes  Turn meeting notes or a transcript into minutes with deci…
         commit-messages  Write clear git commit messages from staged changes. Use…
         using-prowess    Install, find, check, explain and serve Agent Skills with…

    Next
       other words for the task, or a skill for it:
         prowess new my-skill         write one
         prowess add OWNER/REPO       install one
    ");
}

#[test]
fn a_trial_uses_the_users_own_skills_with_the_built_in_ones_beside_them() {
    let place = Place::with(&[(
        "home/.claude/skills/minutes-at-work/SKILL.md",
        "---\nname: minutes-at-work\ndescription: Turn meeting notes into minutes as we write them at work.\n---\nAsk for the template.\n",
    )]);
    let home = place.path().join("home");
    let args = ["try", "--json", "turn these meeting notes into minutes"];
    let output = place.command().env("HOME", home).args(args).output().unwrap();
    let tried: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tried["loaded"]["name"], "minutes-at-work", "{tried}");
    assert_eq!(tried["sources"][0]["skills"], 1);
    assert_eq!(tried["sources"][1]["name"], "built in");
    assert_eq!(tried["sources"][0]["name"], "~/.claude/skills");
    assert_eq!(tried["matches"][0]["words"], serde_json::json!(["turn", "meeting", "notes", "minutes"]));
}

#[test]
fn a_trial_chooses_what_a_model_gets() {
    let skill = |name: &str, field: &str| {
        format!(
            "---\nname: {name}\ndescription: Counts every zebra in {name}. Use for a zebra.\n{field}---\nCount.\n"
        )
    };
    let place = Place::with(&[
        ("home/.agents/skills/dmi/SKILL.md", &*skill("dmi", "disable-model-invocation: true\n")),
        ("home/.agents/skills/quiet/SKILL.md", &skill("quiet", "user-invocable: false\n")),
    ]);
    let tried = |task: &str| {
        let mut command = place.command();
        command.env("HOME", place.path().join("home")).args(["try", task]);
        place.transcript(&command.output().unwrap())
    };
    let both = tried("zebra dmi");
    assert!(both.contains("3. Chosen: quiet\n"), "{both}");
    assert!(both.contains("dmi    only a user may start it; zebra, dmi"), "{both}");
    assert!(both.contains("<skill_content name=\"quiet\">"), "{both}");
    fs::remove_dir_all(place.path().join("home/.agents/skills/quiet")).unwrap();
    let one = tried("zebra");
    assert!(
        one.contains("3. Chosen: none\n   dmi fits, and no model gets it: only a user may start it\n"),
        "{one}"
    );
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
        // The exit code of a check is its verdict.
        assert_eq!(code(&output), i32::from(args[0] == "check"), "{args:?}");
    }
}

#[test]
fn a_verdict_does_not_depend_on_how_much_of_the_output_is_read() {
    let place = Place::with(&[("bad/SKILL.md", "---\nname: Bad_Name\n---\n")]);
    for args in [&["check", "bad"][..], &["check", "bad", "--json"], &["check", "bad", "--format", "sarif"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = place.command().args(args).stdout(writer).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_built_in_skill_is_explained_where_it_is_not_offered() {
    let place = Place::with(&[]);
    let why = place.run(&["why", "meeting-minutes"]);
    assert_snapshot!(why, @"
    exit 1
    --- stderr
    error: no agent lists this skill, it is built into prowess: meeting-minutes
      cause: the commands try, cat, activate and serve offer it
      hint: read it with: prowess cat meeting-minutes
    ");
    assert_eq!(place.run(&["show", "meeting-minutes"]), why.replace("exit 1", "exit 2"));
    assert_eq!(place.json(&["why", "meeting-minutes", "--json"])["built_in"], true);
    assert!(place.run(&["why", "meeting-minutes", "--in", "."]).contains("no skill of this name was found"));
    assert!(place.output(&["cat", "meeting-minutes"]).status.success());
}

#[test]
fn a_number_that_is_none_is_explained_in_plain_words() {
    let place = Place::with(&[]);
    for (args, wanted) in [
        (["list", "--depth", "x"], "a whole number is wanted"),
        (["eval", "--top", "0"], "a number from 1 is wanted"),
    ] {
        let said = place.run(&args);
        assert!(said.starts_with("exit 2") && said.contains(wanted), "{said}");
    }
}

#[test]
fn commands_with_a_format_of_their_own_refuse_json() {
    let place = Place::with(&[]);
    for args in [["man", "--json"].as_slice(), &["completions", "bash", "--json"]] {
        let said = place.run(args);
        assert!(said.starts_with("exit 2") && said.contains("this command has no JSON output"), "{said}");
    }
}

#[test]
fn a_task_needs_a_word_and_a_miss_names_only_skills_that_are_near() {
    let place = Place::with(&[]);
    for task in ["", "  "] {
        let said = place.run(&["try", task]);
        assert!(said.starts_with("exit 2") && said.contains("error: the task is empty"), "{said}");
    }
    for (task, words) in [
        ("zxqv blorf", "no skill has any of these words: zxqv, blorf\n"),
        ("the a of", "the task has no word that says what it is about\n"),
        ("会议纪要", "no skill has any of these words: 会议纪要\n"),
    ] {
        assert_eq!(place.json(&["try", task, "--json"])["nearest"], json!([]), "{task}");
        let said = place.run(&["try", task]);
        assert!(said.contains(words) && !said.contains("the nearest are"), "{said}");
    }
    // Words that say nothing do not decide.
    let nearest = &place.json(&["try", "the of revu", "--json"])["nearest"];
    assert_eq!(nearest[0], "code-review", "{nearest}");
}

#[test]
fn a_misspelt_name_is_answered_with_the_nearest() {
    let place = Place::with(&[(
        "home/.claude/skills/security-review/SKILL.md",
        &crate::GOOD.replace("good", "security-review"),
    )]);
    let said = |args: &[&str]| crate::shelf::run(&place, args);
    for (args, meant) in [
        (&["check", "securty-review"][..], "did you mean security-review?"),
        (&["show", "code-reviw"], "did you mean code-review?"),
        (&["why", "meting-minutes"], "there is meeting-minutes"),
        (&["check", ".", "--select", "name-foldr"], "did you mean name-folder-mismatch?"),
    ] {
        assert!(said(args).contains(meant), "{args:?}: {}", said(args));
    }
}

#[test]
fn words_that_people_try_lead_to_the_command_for_it_and_never_to_removing() {
    let place = Place::with(&[]);
    for (word, meant) in [
        ("format", "prowess check"),
        ("fix", "prowess check --fix"),
        ("test", "prowess eval"),
        ("view", "prowess show"),
        ("run", "prowess activate"),
        ("use", "prowess activate"),
        ("prune", "prowess remove"),
        ("export", "git repository"),
        ("publish", "git repository"),
    ] {
        let said = place.run(&[word]);
        let tip = said.lines().find(|line| line.contains("tip:")).unwrap_or_default();
        assert!(tip.contains(meant), "{word}: {said}");
    }
    for word in ["fm", "r", "rn", "form"] {
        assert!(!place.run(&[word]).contains("'rm'"), "{word}");
    }
}

#[test]
fn the_index_of_the_built_in_skills_is_never_stale() {
    let place = Place::with(&[]);
    assert_eq!(code(&crate::shelf::output(&place, &["try", "meeting notes"])), 0);
    let said = crate::shelf::run(&place, &["doctor"]);
    assert!(!said.contains("cache-stale"), "{said}");
}

#[test]
fn try_names_the_most_useful_files_first_as_a_model_is_shown_them() {
    let skill = "---\nname: count-sheep\ndescription: Count sheep. Use when counting sheep.\n---\nRun it.\n";
    let place = Place::with(&[
        ("home/.claude/skills/count-sheep/SKILL.md", skill),
        ("home/.claude/skills/count-sheep/.venv/lib/1.py", "generated\n"),
        ("home/.claude/skills/count-sheep/scripts/run.py", "print(1)\n"),
    ]);
    let tried = crate::shelf::json_of(&place, &["try", "--json", "count sheep"]);
    let files = serde_json::json!(["scripts/run.py", ".venv/lib/1.py"]);
    assert_eq!(tried["loaded"]["files"], files, "{tried:#}");
    assert!(crate::shelf::run(&place, &["try", "count sheep"]).contains("print(1)"));
}
