//! `prowess why`: where a skill is, and why it is offered or not.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::shelf::{self, json_of, output, readers, run, shelf};
use crate::{GOOD, Place, answered};

#[test]
fn why_names_the_place_and_the_reason() {
    let place = shelf();
    let why = |name: &str| run(&place, &["why", name]).replace(&readers(&place), "[READERS]");
    assert_snapshot!(why("loud"), @"
    exit 1
    --- stdout
    loud: listed, not trusted
      found: [DIR]/.claude/skills/loud/SKILL.md
      path for filters: loud
      clients that look there: [READERS]
      error[yaml-syntax]: the frontmatter is not valid YAML: a colon and a space inside a value without quotes
      parsed: after a repair of its YAML; see what is wrong with: prowess check [DIR]/.claude/skills/loud/SKILL.md
      hint: agents may use it after: prowess trust loud
    ");
    output(&place, &["trust", "loud", "--yes"]);
    assert_snapshot!(why("loud"), @"
    exit 0
    --- stdout
    loud: offered
      found: [DIR]/.claude/skills/loud/SKILL.md
      path for filters: loud
      clients that look there: [READERS]
      error[yaml-syntax]: the frontmatter is not valid YAML: a colon and a space inside a value without quotes
      parsed: after a repair of its YAML; see what is wrong with: prowess check [DIR]/.claude/skills/loud/SKILL.md
      not in the list of skills over MCP: its YAML had to be repaired; its tools offer it
    ");
    assert_snapshot!(why("torn"), @"
    exit 1
    --- stdout
    again: broken
      found: [DIR]/.claude/skills/torn/SKILL.md
      path for filters: torn
      clients that look there: [READERS]
      error[duplicate-identity]: the key appears twice: name
      info[name-folder-mismatch]: the name is not the name of the folder: again in torn
      hint: see how to correct it with: prowess check [DIR]/.claude/skills/torn/SKILL.md
    ");
    assert_snapshot!(why("draft"), @"
    exit 1
    --- stdout
    draft: turned off
      found: [DIR]/.claude/skills/draft/SKILL.md
      path for filters: draft
      clients that look there: [READERS]
      turned off by: [DIR]/prowess.toml
      hint: change skills.disable or skills.enable in that file to use it
    ");
    assert_snapshot!(why("pfd"), @"
    exit 1
    --- stderr
    error: no skill of this name was found: pfd
      hint: there is pdf
    ");
    assert_snapshot!(why("something-else"), @"
    exit 1
    --- stderr
    error: no skill of this name was found: something-else
      hint: a skill is a folder with a SKILL.md in a place where agents look; --in names another
    ");
    // Folders that were named need no trust. In the project they do, so the user's own skill is offered.
    assert_snapshot!(run(&place, &["why", "pdf", "--in", ".claude/skills", "--in", "home"]), @"
    exit 0
    --- stdout
    pdf: offered
      found: [DIR]/.claude/skills/pdf/SKILL.md
      path for filters: pdf
    pdf: shadowed
      found: [DIR]/home/.claude/skills/pdf/SKILL.md
      path for filters: .claude/skills/pdf
      shadowed by: [DIR]/.claude/skills/pdf/SKILL.md
      compared with it: differs in 2 lines and 1 other file
      hint: rename one of the two, or remove one that no other client needs
    ");
    assert_snapshot!(run(&place, &["why", "pdf"]).replace(&readers(&place), "[READERS]"), @"
    exit 0
    --- stdout
    pdf: shadowed
      found: [DIR]/.claude/skills/pdf/SKILL.md
      path for filters: pdf
      clients that look there: [READERS]
      shadowed by: [DIR]/home/.claude/skills/pdf/SKILL.md
      compared with it: differs in 2 lines and 1 other file
      hint: rename one of the two
      hint: it is not trusted; prowess trust pdf
    pdf: offered
      found: [DIR]/home/.claude/skills/pdf/SKILL.md
      path for filters: pdf
      clients that look there: amp, cursor, kilo, opencode, augment, claude-code, goose, grok, reasonix
    ");
    let unknown = json_of(&place, &["why", "--json", "pfd"]);
    assert_eq!((unknown["offered"].clone(), unknown["candidates"].clone()), (json!(false), json!([])));
    assert_eq!(unknown["similar"], json!(["pdf"]));
    let torn = json_of(&place, &["why", "--json", "torn"]);
    assert_eq!(torn["candidates"][0]["problems"][0]["code"], "duplicate-identity");
    let draft = json_of(&place, &["why", "--json", "draft"]);
    assert_eq!(draft["candidates"][0]["disabled_by"], json!(place.path().join("prowess.toml")));
}

#[test]
fn a_skill_that_a_tool_over_mcp_loads_is_not_said_to_be_withheld_from_tools() {
    let place = shelf();
    output(&place, &["trust", "loud", "--yes"]);
    let why = run(&place, &["why", "loud"]);
    let over_mcp: Vec<&str> = why.lines().filter(|line| line.contains("MCP")).collect();
    assert_eq!(
        over_mcp,
        ["  not in the list of skills over MCP: its YAML had to be repaired; its tools offer it"]
    );
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let load = json!({"name": "load_skill", "arguments": {"name": "loud"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "skills/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": load}),
    ];
    let mut command = shelf::command(&place);
    let said = String::from_utf8(answered(command.arg("serve"), &messages).stdout).unwrap();
    let answers: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert!(!answer(2)["result"]["skills"].to_string().contains("loud"), "{}", answer(2));
    assert_eq!(answer(3)["result"]["isError"], false, "{}", answer(3));
    assert_eq!(answer(3)["result"]["structuredContent"]["skill"], "loud", "{}", answer(3));
}

#[test]
fn why_explains_filters_prompts_and_unusual_skills() {
    let long = "x".repeat(400);
    let big = format!("---\nname: big\ndescription: Big.\n---\n{}", "x".repeat(1 << 21));
    let place = Place::with(&[
        ("skills/good/SKILL.md", GOOD),
        ("skills/wordy/SKILL.md", &format!("---\nname: wordy\ndescription: {long}\n---\n")),
        ("skills/quiet/SKILL.md", "---\nname: quiet\ndescription: d\ndisable-model-invocation: true\n---\n"),
        ("skills/odd/SKILL.md", "---\nname: ../../odd\ndescription: d\n---\n"),
        ("skills/big/SKILL.md", &big),
    ]);
    let why = |args: &[&str]| run(&place, &[&["why", "--in", "skills"], args].concat());
    assert!(why(&["good"]).starts_with("exit 0\n"));
    assert!(why(&["good", "--filter", "other/**"]).contains("  filtered by: other/**\n"));
    assert!(why(&["wordy", "--budget", "400c"]).contains("with a shorter description"));
    let cut = why(&["wordy", "--budget", "1c"]);
    assert!(
        cut.starts_with("exit 1\n") && cut.contains("3 of 3 skills do not fit into 1 character\n"),
        "{cut}"
    );
    assert!(why(&["wordy", "--query", "does it well"]).contains("other skills fit the task better"));
    assert!(why(&["quiet"]).contains("only a user may start it"));
    assert!(why(&["../../odd"]).contains("error[name-invalid-character]"));
    let large = why(&["big"]);
    assert!(large.starts_with("exit 1\n") && large.contains("error[file-too-large]"), "{large}");
    assert_eq!(
        json_of(&place, &["why", "good", "--json", "--in", "skills", "--filter", "none"])["prompt"],
        "filtered"
    );
}

#[test]
fn why_names_the_skill_that_a_linked_folder_or_file_leads_to() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD), ("skills/file/notes.md", "x")]);
    symlink("../good/SKILL.md", place.path().join("skills/file/SKILL.md")).unwrap();
    symlink("good", place.path().join("skills/folder")).unwrap();
    assert_snapshot!(run(&place, &["why", "file", "--in", "skills"]), @"
    exit 1
    --- stderr
    error: no skill of this name was found: file
      cause: [DIR]/skills/file/SKILL.md is a link to [DIR]/skills/good/SKILL.md
      cause: that skill is listed once, as good
      hint: see that skill with: prowess why good --in skills
    ");
    assert_snapshot!(run(&place, &["why", "folder", "--in", "skills"]), @"
    exit 1
    --- stderr
    error: no skill of this name was found: folder
      cause: [DIR]/skills/folder is a link to [DIR]/skills/good
      cause: that skill is listed once, as good
      hint: see that skill with: prowess why good --in skills
    ");
    let why = json_of(&place, &["why", "file", "--in", "skills", "--json"]);
    let (path, target) =
        (place.path().join("skills/file/SKILL.md"), place.path().join("skills/good/SKILL.md"));
    assert_eq!(why["link"], json!({"path": path, "target": target, "key": "good"}));
}

#[test]
fn a_folder_called_like_a_skill_file_is_explained_by_why_check_and_show() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD), ("skills/odd/SKILL.md/x.md", "x")]);
    let said =
        "error: this is a folder, not a file: [DIR]/skills/odd/SKILL.md\n  hint: SKILL.md must be a file";
    let why = run(&place, &["why", "odd", "--in", "skills"]);
    assert!(why.starts_with("exit 1\n") && why.contains(said), "{why}");
    for command in ["check", "show"] {
        let output = run(&place, &[command, "skills/odd"]);
        assert!(output.starts_with("exit 2\n") && output.contains(&said.replace("[DIR]/", "")), "{output}");
    }
    let why = json_of(&place, &["why", "odd", "--in", "skills", "--json"]);
    assert_eq!(why["unread"][0]["code"], "not-a-file");
    assert_eq!(why["unread"][0]["hint"], "SKILL.md must be a file; rename or remove the folder");
}

/// A skill whose instructions say more about a task than its description, among others.
fn vague() -> Place {
    let place = Place::with(&[
        (
            "home/.claude/skills/vague/SKILL.md",
            "---\nname: vague\ndescription: Useful helper\n---\nAdd a column with alembic: alembic revision, alembic upgrade.\n",
        ),
        (
            "home/.claude/skills/tables/SKILL.md",
            "---\nname: tables\ndescription: Adds a column to a table. Use when a table needs a column.\n---\nDo it.\n",
        ),
    ]);
    for number in 0..6 {
        let text = format!(
            "---\nname: s{number}\ndescription: Sorts socks {number}. Use when asked.\n---\nDo it.\n"
        );
        place.write(&format!("home/.claude/skills/s{number}/SKILL.md"), text.as_bytes());
    }
    place
}

#[test]
fn the_rank_for_a_client_is_by_what_its_model_sees() {
    let place = vague();
    let query = ["--query", "add a column with alembic"];
    let why = |more: &[&str]| run(&place, &[&["why", "vague"], &query[..], more].concat());
    let client = why(&["--client", "claude-code"]);
    assert!(
        client.contains(
            "by the names and descriptions in the prompt of an agent: does not fit; the first is tables"
        ),
        "{client}"
    );
    assert!(!client.contains("1 of"), "{client}");
    assert!(client.contains("[description-too-short]"), "{client}");
    // A search of Prowess reads the instructions too, and it is said what a prompt without them does.
    let own = why(&[]);
    assert!(own.contains("for this query: 2 of 2 that fit"), "{own}");
    assert!(own.contains("in the prompt of an agent: does not fit"), "{own}");
    assert!(own.contains("[description-too-short]"), "{own}");
    let json =
        json_of(&place, &[&["why", "vague", "--json"], &query[..], &["--client", "claude-code"]].concat());
    let of_client = &json["candidates"][0];
    assert_eq!((&of_client["ranked"]["by"], &of_client["ranked"]["rank"]), (&json!("prompt"), &json!(null)));
    assert_eq!(of_client["description_notes"][0]["severity"], "info");
    let json = json_of(&place, &[&["why", "vague", "--json"], &query[..]].concat());
    assert_eq!(json["candidates"][0]["ranked"]["rank"], 2);
    assert_eq!(json["candidates"][0]["ranked_in_prompts"]["rank"], json!(null));
    // The skill that a model would choose has no second line and no notes.
    let tables = run(&place, &[&["why", "tables"], &query[..], &["--client", "claude-code"]].concat());
    assert!(tables.contains("1 of 1 that fit") && !tables.contains("[description-"), "{tables}");
}

#[test]
fn a_skill_that_a_setting_leaves_out_is_named_with_the_setting() {
    let inner = "---\nname: sub\ndescription: Does it well when asked.\n---\n";
    for (scan, key) in [
        ("nested = false\ndepth = 9\n", "scan.nested = false"),
        ("depth = 1\n", "scan.depth = 1"),
        ("nested = true\nskip = ['_', 'su']\n", "scan.skip = [\"_\", \"su\"]"),
    ] {
        let place = Place::with(&[
            (".augment/skills/good/SKILL.md", GOOD),
            (".augment/skills/good/sub/SKILL.md", inner),
            ("prowess.toml", &*format!("[scan]\n{scan}")),
        ]);
        let named = |command: &str| {
            let said = run(&place, &[command, "sub"]);
            let left_out = format!("this skill is left out by {key} in [DIR]/prowess.toml: sub\n");
            assert!(said.contains(&left_out), "{command}: {said}");
            assert!(said.contains("prowess show [DIR]/.augment/skills/good/sub\n"), "{command}: {said}");
        };
        named("why");
        named("show");
        output(&place, &["trust", "--yes"]);
        for command in ["why", "show", "check", "cat", "activate"] {
            named(command);
        }
        let why = json_of(&place, &["why", "sub", "--json"]);
        crate::schemas::assert_fits("why", &why);
        assert!(key.starts_with(why["left_out_by"]["key"].as_str().unwrap()), "{why}");
    }
}

#[test]
fn a_skill_in_a_folder_that_prowess_skips_is_named_with_the_clients_that_list_it() {
    let place = Place::with(&[
        ("home/.claude/skills/.hid/SKILL.md", "---\nname: hid\ndescription: Does it.\n---\n"),
        ("home/.agents/skills/node_modules/nm/SKILL.md", "---\nname: nm\ndescription: Does it.\n---\n"),
    ]);
    let path = place.path().join("home/.claude/skills/.hid").display().to_string();
    for name in ["hid", ".hid", &path] {
        let said = run(&place, &["why", name]);
        assert!(said.starts_with("exit 1\n") && !said.contains("where no agent looks"), "{said}");
        let cause = "it is at [DIR]/home/.claude/skills/.hid/SKILL.md, in a hidden folder, which Prowess skips; read by ";
        assert!(said.contains(cause) && said.contains("--client "), "{said}");
    }
    let said = run(&place, &["why", "nm"]);
    assert!(said.contains("node_modules/nm/SKILL.md, in node_modules, which Prowess skips"), "{said}");
    let report = json_of(&place, &["why", "hid", "--json"]);
    let readers = report["elsewhere"][0]["readers"].as_array().unwrap();
    assert!(readers.iter().any(|id| id == "claude-code"), "{report:#}");
}

#[test]
fn one_letter_that_many_names_have_suggests_none_of_them() {
    let place = Place::with(&[]);
    let said = run(&place, &["why", "a"]);
    assert!(said.contains("hint: a skill is a folder with a SKILL.md"), "{said}");
}
