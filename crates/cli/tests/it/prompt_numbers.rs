//! "The prompt" means the same in `list --cost`, `try`, `prompt`, `why` and `doctor`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::Place;
use crate::shelf::{command, json_of, run};

fn skill(name: &str, words: usize) -> String {
    let description = format!("Does {name}. {}", "Use when something is to be done. ".repeat(words));
    format!("---\nname: {name}\ndescription: {}\n---\nDo it.\n", description.trim())
}

/// More skills than two percent of a window have room for.
fn crowd(folder: &str, skills: usize) -> Place {
    let place = Place::with(&[]);
    for number in 0..skills {
        let name = format!("skill-{number:03}");
        place.write(&format!("{folder}/{name}/SKILL.md"), skill(&name, 4).as_bytes());
    }
    place.write(&format!("{folder}/aaa-long/SKILL.md"), skill("aaa-long", 29).as_bytes());
    place
}

#[test]
fn the_costs_of_a_cut_prompt_are_sorted_by_the_costs_before_the_cut() {
    let place = crowd("home/.claude/skills", 80);
    let listed = json_of(&place, &["list", "--sort", "cost", "--client", "claude-code", "--json"]);
    let rows = listed["skills"].as_array().unwrap();
    assert_eq!(rows[0]["key"], "aaa-long");
    let cost = |row: &Value, member: &str| row["cost"][member].as_u64().unwrap();
    assert!(cost(&rows[0], "uncut") > 3 * cost(&rows[0], "catalog"), "{}", rows[0]);
    // Doctor leads there, and has the same numbers.
    let doctor = json_of(&place, &["doctor", "--json"]);
    let summary = &listed["summary"];
    assert_eq!(doctor["clients"][0]["tokens"], summary["uncut_tokens"]);
    let prompt = json_of(&place, &["prompt", "--client", "claude-code", "--json"]);
    assert_eq!(prompt["report"]["used"], summary["prompt_tokens"]);
    assert_eq!(prompt["report"]["shortened"], doctor["clients"][0]["shortened"]);
    let said = run(&place, &["list", "--sort", "cost", "--client", "claude-code"]);
    assert!(said.contains(" uncut prompt   used   files  tokens, about\n"), "{said}");
    let mut screen = command(&place);
    screen.env("PROWESS_COLUMNS", "80").args(["list", "--sort", "cost", "--client", "claude-code"]);
    let screen = place.transcript(&screen.output().unwrap());
    let foot: Vec<&str> = screen.lines().take(7).chain(screen.lines().rev().take(1)).collect();
    assert_snapshot!(foot.join("\n"), @"
    exit 0
    --- stdout
    about how many tokens: in a prompt without a budget, in every prompt, when it is
    used, in its other files
    uncut  prompt  used  files  skill      folder
      253      24     2      0  aaa-long   ~/.claude/skills  Does aaa-long. Use whe…
       41      25     2      0  skill-000  ~/.claude/skills  Does skill-000. Use wh…
    3,563 tokens where 2,000 fit: 81 descriptions shortened
    ");
}

#[test]
fn doctor_counts_as_the_prompt_does_where_a_client_has_its_own_names() {
    let place = crowd("home/.claude/skills", 80);
    // Claude Code takes the name of the folder.
    place.write("home/.claude/skills/short/SKILL.md", skill(&"name-".repeat(12), 4).as_bytes());
    place.write("home/.claude/skills/zzz-other/SKILL.md", skill("b", 5).as_bytes());
    let doctor = json_of(&place, &["doctor", "--json"]);
    let prompt = json_of(&place, &["prompt", "--client", "claude-code", "--json"]);
    assert_eq!(doctor["clients"][0]["shortened"], prompt["report"]["shortened"]);
}

#[test]
fn one_prompt_is_meant_by_list_try_prompt_and_why() {
    let place = crowd("home/.agents/skills", 240);
    let prompt = json_of(&place, &["prompt", "--json"]);
    let report = &prompt["report"];
    assert_eq!(report["limit"], 4_000);
    let omitted = report["omitted"].as_array().unwrap();
    assert!(!omitted.is_empty() && report["max_description"] == 0, "{report}");
    let listed = json_of(&place, &["list", "--cost", "--json"]);
    assert_eq!(listed["summary"]["prompt_tokens"], report["used"]);
    let uncut = json_of(&place, &["prompt", "--budget", "none", "--json"]);
    assert!(uncut["report"]["used"].as_u64() > listed["summary"]["uncut_tokens"].as_u64());
    assert!(json_of(&place, &["try", "zebra", "--json"])["prompt_tokens"].as_u64().unwrap() <= 4_000);
    let tried = run(&place, &["try", "zebra"]);
    let part: Vec<&str> = tried.lines().skip_while(|line| !line.starts_with("2.")).take(4).collect();
    assert_snapshot!(part.join("\n"), @"
    2. In the prompt: the names that fit
       about 3,983 tokens; with all instructions about 18,957
       cut from about 14,852 tokens where 4,000 fit:
       52 of 250 skills left out, 198 without description
    ");
    let foot = run(&place, &["list", "--cost"]);
    assert!(foot.contains(", cut from about ") && foot.contains(" tokens where 4,000 fit: "), "{foot}");
    let last = omitted[0].as_str().unwrap();
    let why = run(&place, &["why", last]);
    let words = format!(
        "  in the prompt: no: {} of 241 skills do not fit into 4,000 tokens (2 % of a window of 200,000)\n  hint: name \
         the task with --query, or allow more with --budget\n",
        omitted.len()
    );
    assert!(why.contains(&words), "{why}");
    let why = run(&place, &["why", "skill-000"]);
    let without =
        "  in the prompt: without its description, to fit into 4,000 tokens (2 % of a window of 200,000)\n";
    assert!(why.contains(without), "{why}");
}

#[test]
fn a_client_that_cuts_nothing_is_not_said_to_cut() {
    let place = Place::with(&[("home/.agents/skills/one/SKILL.md", &skill("one", 1))]);
    let said = run(&place, &["prompt", "--client", "codex"]);
    assert!(said.starts_with("exit 0") && !said.contains("shortened"), "{said}");
    let place = crowd("home/.claude/skills", 80);
    assert!(run(&place, &["prompt", "--client", "claude-code"]).contains("Claude Code: "));
}

#[test]
fn try_with_a_client_says_whose_reading_it_shows() {
    let place = Place::with(&[("home/.agents/skills/one/SKILL.md", &skill("one", 1))]);
    let said = run(&place, &["try", "zebra", "--client", "codex"]);
    assert!(
        said.contains("   read as Prowess reads them; what Codex lists: prowess list --client codex\n"),
        "{said}"
    );
    assert!(!run(&place, &["try", "zebra"]).contains("as Prowess reads"));
}
