//! What all commands report alike about the library: what could not be read, filters and prompts.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::shelf::{json_of, output, run};
use crate::{GOOD, Place, code, skipped};
use insta::assert_snapshot;

/// The commands that open the library for a skill, or for all.
const COMMANDS: [&[&str]; 9] = [
    &["list"],
    &["search", "well"],
    &["prompt"],
    &["tools"],
    &["replay", "calls.jsonl"],
    &["activate", "good"],
    &["why", "good"],
    &["show", "good"],
    &["cat", "good"],
];

#[test]
fn every_command_says_that_a_configuration_is_not_understood_and_ends_with_2() {
    let place = Place::with(&[
        ("home/.claude/skills/good/SKILL.md", GOOD),
        ("prowess.toml", "[skils]\n"),
        ("calls.jsonl", "{\"tool\": \"load_skill\", \"arguments\": {\"name\": \"good\"}}\n"),
    ]);
    for args in COMMANDS {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2\n--- stdout\n"), "{args:?}: {said}");
        let error = "error: the configuration is not understood: [DIR]/prowess.toml:1: no such key: skils\n";
        assert_eq!(said.matches(error).count(), 1, "{args:?}: {said}");
        assert!(said.to_lowercase().contains("good"), "{args:?}: what can be had is given: {said}");
    }
}

#[test]
fn every_command_says_that_a_line_is_not_understood_and_ends_with_2() {
    let place = Place::with(&[
        (
            "team.jsonl",
            "{\"name\":\"good\",\"description\":\"Does it well when asked.\",\"body\":\"good\"}\nnot json\n",
        ),
        ("calls.jsonl", "{\"tool\": \"load_skill\", \"arguments\": {\"name\": \"good\"}}\n"),
    ]);
    for args in COMMANDS {
        let said = run(&place, &[args, &["--in", "team.jsonl"]].concat());
        assert!(said.starts_with("exit 2\n--- stdout\n"), "{args:?}: {said}");
        assert_eq!(said.matches("team.jsonl:2: ").count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn a_watch_of_what_is_not_there_ends() {
    let place = Place::with(&[("a/SKILL.md", GOOD)]);
    for source in ["nowhere", "a/SKILL.md"] {
        let mut command = place.command();
        command.args(["watch", "--in", source]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // `watch` writes its first line before.
        let said = BufReader::new(child.stdout.take().unwrap()).lines().next();
        if said.is_some() {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(said.is_none() && status.code() == Some(2), "{source}: {said:?}");
    }
}

/// A trusted project with a filter and tools for sessions.
fn project() -> Place {
    let place = Place::with(&[
        ("skills/billing/refunds/SKILL.md", "---\nname: refunds\ndescription: Pays back.\n---\nPay.\n"),
        ("skills/mail/SKILL.md", "---\nname: mail\ndescription: Writes letters.\n---\nWrite.\n"),
        (
            "skills/billing/web/SKILL.md",
            "---\nname: web\ndescription: Reads the web.\nallowed-tools: WebFetch\n---\nRead.\n",
        ),
        (
            "skills/billing/quiet/SKILL.md",
            "---\nname: quiet\ndescription: For users.\ndisable-model-invocation: true\n---\nDo.\n",
        ),
        (
            "prowess.toml",
            "[[skills.sources]]\ndir = 'skills'\n[session]\nfilter = 'skills/billing/*'\ntools = ['Read']\n",
        ),
    ]);
    run(&place, &["trust", ".", "--yes"]);
    place
}

#[test]
fn a_list_says_how_many_of_its_skills_a_filter_hides_and_where_that_is_written() {
    let place = project();
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    mail  Writes letters.
    quiet  For users.
    refunds  Pays back.
    web  Reads the web.

    4 skills
    1 hidden from agents by session.filter in [DIR]/prowess.toml
    ");
    assert_eq!(json_of(&place, &["list", "--json"])["summary"]["filtered"], 1);
    assert_snapshot!(run(&place, &["why", "mail"]), @"
    exit 1
    --- stdout
    mail: hidden by a filter
      found: [DIR]/skills/mail/SKILL.md
      path for filters: skills/mail
      filtered by: skills/billing/* (session.filter in [DIR]/prowess.toml)
    ");
    assert_snapshot!(run(&place, &["activate", "mail"]), @"
    exit 2
    --- stderr
    error: the filter hides this skill: mail
      hint: change session.filter in [DIR]/prowess.toml
    ");
}

#[test]
fn a_prompt_respects_the_tools_of_a_configuration_like_the_option() {
    let place = project();
    let configured = run(&place, &["prompt"]);
    assert!(configured.contains("<name>refunds</name>") && !configured.contains("web"), "{configured}");
    assert_eq!(configured, run(&place, &["prompt", "--tools", "Read"]));
    assert!(
        run(&place, &["prompt", "--tools", "WebFetch"]).contains("<name>web</name>"),
        "the option counts first"
    );
    assert_snapshot!(run(&place, &["why", "web"]), @"
    exit 1
    --- stdout
    web: not in the prompt
      found: [DIR]/skills/billing/web/SKILL.md
      path for filters: skills/billing/web
      in the prompt: no, it asks for tools that are not in session.tools of prowess.toml
    ");
    assert_eq!(json_of(&place, &["why", "web", "--json"])["prompt"], "lacks-tools");
    // A skill that is loaded anyway is not granted tools that the host does not have.
    place.write("calls.jsonl", b"{\"tool\": \"load_skill\", \"arguments\": {\"name\": \"web\"}}\n");
    let loaded = json_of(&place, &["replay", "calls.jsonl"]);
    assert_eq!(loaded["data"]["active_tools"], serde_json::json!([]), "{loaded}");
}

#[test]
fn the_verdict_of_why_agrees_with_its_exit_code() {
    let place = Place::with(&[
        ("s/good/SKILL.md", GOOD),
        ("s/other/SKILL.md", "---\nname: other\ndescription: Writes unicode.\n---\n"),
        ("s/quiet/SKILL.md", "---\nname: quiet\ndescription: d\ndisable-model-invocation: true\n---\n"),
    ]);
    for (args, start) in [
        (&["good"][..], "exit 0\n--- stdout\ngood: offered\n"),
        (&["good", "--filter", "x/**"], "exit 1\n--- stdout\ngood: hidden by a filter\n"),
        (&["good", "--budget", "1"], "exit 1\n--- stdout\ngood: not in the prompt\n"),
        (&["good", "--query", "unicode"], "exit 1\n--- stdout\ngood: not in the prompt\n"),
        (&["quiet"], "exit 0\n--- stdout\nquiet: offered to users only\n"),
    ] {
        let said = run(&place, &[&["why", "--in", "s"], args].concat());
        assert!(said.starts_with(start), "{args:?}: {said}");
    }
}

#[test]
fn the_cost_of_a_list_is_what_a_prompt_uses() {
    for (place, more) in [(project(), &[][..]), (Place::with(&[("s/good/SKILL.md", GOOD)]), &["--in", "s"])] {
        let listed = json_of(&place, &[&["list", "--cost", "--json"], more].concat());
        let prompt = json_of(&place, &[&["prompt", "--json"], more].concat());
        assert_eq!(listed["summary"]["prompt_tokens"], prompt["report"]["used"]);
        let of = |name: &str| {
            let rows = listed["skills"].as_array().unwrap();
            rows.iter().find(|row| row["key"] == name).map(|row| row["cost"]["catalog"].clone())
        };
        assert_eq!(of("quiet").unwrap_or_else(|| 0.into()), 0, "users start it, and no prompt has it");
    }
}

#[test]
fn a_chosen_depth_is_not_an_error_and_the_limit_names_the_option() {
    let place = Place::with(&[
        ("s/good/SKILL.md", GOOD),
        ("s/a/b/deep/SKILL.md", "---\nname: deep\ndescription: d\n---\n"),
        (".roo/skills/1/2/3/4/5/6/7/8/x", ""),
    ]);
    assert_snapshot!(run(&place, &["list", "--in", "s", "--depth", "1"]), @"
    exit 0
    --- stdout
    good  Does it well when asked.

    1 skill
    ");
    assert_snapshot!(run(&place, &["list"]), @"
    exit 2
    --- stdout
    no skills here
    --- stderr
    error: folders this deep are not looked into: [DIR]/.roo/skills/1/2/3/4/5/6/7: more than 6 below the start
      hint: look deeper with --depth or with depth in [scan] of prowess.toml, or give a folder nearer to the skills
    ");
    assert!(run(&place, &["list", "--depth", "9"]).starts_with("exit 0\n"));
    place.write("prowess.toml", b"[scan]\ndepth = 2\n");
    assert!(run(&place, &["list"]).starts_with("exit 0\n"));
}

#[test]
fn patch_accepts_a_diff_of_any_path() {
    if Command::new("patch").arg("--version").output().is_err() {
        return skipped("there is no program patch here");
    }
    let bad = "---\nname: x \ndescription:  Does it.\nallowed-tools: [Read, Bash]\n---\n";
    let place = Place::with(&[("here/x", "")]);
    for folder in ["plain", "a b", "a\tb", "grün", "quo\"te\\", "-dash"] {
        place.write(&format!("skills/{folder}/SKILL.md"), bad.as_bytes());
    }
    let fixed_by = |named: &str, from: &str| {
        let run =
            |args: &[&str]| place.command().current_dir(place.path().join(from)).args(args).output().unwrap();
        let diff = run(&["check", "--diff", named]);
        assert_eq!(code(&diff), 1, "{}", String::from_utf8_lossy(&diff.stderr));
        let said = String::from_utf8_lossy(&diff.stderr).into_owned();
        let folder = said.lines().find_map(|line| line.strip_prefix("apply it with: patch -p0 -d "));
        let folder = folder.map_or(from.to_owned(), str::to_owned);
        place.write("changes.diff", &diff.stdout);
        let patched = Command::new("patch")
            .args(["-p0", "-s", "-i"])
            .arg(place.path().join("changes.diff"))
            .current_dir(place.path().join(folder))
            .output()
            .unwrap();
        assert!(patched.status.success(), "{named}: {}", String::from_utf8_lossy(&patched.stdout));
        assert_eq!(code(&run(&["check", "--diff", named])), 0, "{named}");
        for folder in ["plain", "a b", "a\tb", "grün", "quo\"te\\", "-dash"] {
            place.write(&format!("skills/{folder}/SKILL.md"), bad.as_bytes());
        }
    };
    fixed_by("skills", "");
    fixed_by(".", "");
    fixed_by("../skills", "here");
    fixed_by("../here/../skills", "here");
    fixed_by(&place.path().join("skills").to_string_lossy(), "here");
}

#[test]
fn a_limit_of_0_is_refused_and_an_empty_prompt_says_so() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    let limited = run(&place, &["search", "good", "--limit", "0", "--in", "s"]);
    assert!(
        limited.starts_with("exit 2\n") && limited.contains("give a number, at least 1, or all"),
        "{limited}"
    );
    assert_snapshot!(run(&place, &["prompt", "--in", "s", "--only", "zzz"]), @"
    exit 0
    --- stderr
    warning: no skill has this name of --only: zzz
      hint: see the names with: prowess list --all --in s --only zzz
    no skill has a name that --only takes; 1 left out: prowess list --all --in s --only zzz
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", "s", "--budget", "114c"]), @"
    exit 0
    --- stdout
    <available_skills>
      <skill>
        <name>good</name>
        <description>…</description>
      </skill>
    </available_skills>
    --- stderr
    left out 1 description: only names fit into the budget
    ");
}

#[test]
fn help_has_help_and_an_empty_name_is_refused() {
    let place = Place::with(&[("s/a1/SKILL.md", "---\nname: a1\ndescription: d\n---\n")]);
    assert_eq!(run(&place, &["help", "--help"]), run(&place, &["help"]));
    assert_eq!(run(&place, &["help", "list", "-h"]), run(&place, &["help", "list"]));
    for command in ["why", "cat", "activate"] {
        let output = output(&place, &[command, "", "--in", "s"]);
        assert_eq!(code(&output), 2, "{command}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("a value is required") && !said.contains("a1"), "{command}: {said}");
    }
}

#[test]
fn more_than_two_thousand_own_skills_are_all_listed() {
    let place = Place::with(&[]);
    for number in 0..2_100 {
        let text = format!("---\nname: s{number}\ndescription: Does thing {number}.\n---\n");
        place.write(&format!("home/.claude/skills/s{number}/SKILL.md"), text.as_bytes());
    }
    let output = crate::shelf::output(&place, &["list", "--json"]);
    assert_eq!(crate::code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["skills"].as_array().unwrap().len(), 2_100);
}
