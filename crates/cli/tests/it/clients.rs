//! `--client`: what a client lists, under which name, and why it does not list the rest.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::Place;
use crate::shelf::{json_of, run, shelf};

/// Skills that clients read differently.
fn place() -> Place {
    let skill =
        |name: &str, more: &str| format!("---\nname: {name}\ndescription: Does {name}.\n{more}---\nDo it.\n");
    Place::with(&[
        ("home/.agents/skills/pdf-tools/SKILL.md", &skill("pdf", "")),
        ("home/.agents/skills/Loud/SKILL.md", &skill("Loud Mail", "")),
        ("home/.agents/skills/team/forms/SKILL.md", &skill("forms", "")),
        ("home/.agents/skills/marked/SKILL.md", &format!("\u{feff}{}", skill("marked", ""))),
        ("home/.agents/skills/own/SKILL.md", &skill("own", "")),
        ("home/.agents/skills/own/agents/openai.yaml", "policy:\n  allow_implicit_invocation: false\n"),
        ("home/.qoder/x", ""),
        ("home/.codex/x", ""),
    ])
}

#[test]
fn a_client_lists_its_own_names_and_says_what_it_passes_over() {
    let place = place();
    assert_snapshot!(run(&place, &["list", "--client", "codex"]), @"
    exit 0
    --- stdout
    Loud Mail  Does Loud Mail.
    forms  Does forms.
    own  not for the model: Does own.
    pdf  Does pdf.

    4 skills
    1 left out (1 not seen): prowess list --all --client codex, prowess why NAME --client codex
    ");
    assert_snapshot!(run(&place, &["list", "--all", "--client", "qoder"]), @"
    exit 0
    --- stdout
    Loud  (Loud Mail)  Does Loud Mail.
    forms  Does forms.
    marked  Does marked.
    own  Does own.
    pdf-tools  (pdf)  Does pdf.

    5 skills
    ");
    assert_snapshot!(run(&place, &["why", "marked", "--client", "codex"]), @"
    exit 1
    --- stdout
    marked: Codex does not list it: its SKILL.md begins with a byte order mark
      found: [DIR]/home/.agents/skills/marked/SKILL.md
      path for filters: marked
      hint: save the file without it
    ");
    assert_snapshot!(run(&place, &["why", "own", "--client", "codex"]), @"
    exit 0
    --- stdout
    own: Codex lists it, but not to its model: agents/openai.yaml says allow_implicit_invocation: false
      seen as: own
      found: [DIR]/home/.agents/skills/own/SKILL.md
      path for filters: own
      hint: remove allow_implicit_invocation
    ");
}

#[test]
fn json_keeps_the_name_and_adds_the_one_that_is_shown() {
    let place = place();
    let list = json_of(&place, &["list", "--client", "qoder", "--json"]);
    let names = |row: &serde_json::Value| (row["name"].clone(), row["shown_as"].clone());
    assert_eq!(names(&list["skills"][4]), (json!("pdf"), json!("pdf-tools")));
    let why = json_of(&place, &["why", "marked", "--client", "codex", "--json"]);
    assert_eq!(why["candidates"][0]["state"], "unseen");
    assert_eq!(why["candidates"][0]["not_seen"]["code"], "byte-order-mark");
    assert_eq!(why["candidates"][0].get("shown_as"), None);
    let plain = json_of(&place, &["list", "--json"]);
    assert!(plain["skills"][0].get("shown_as").is_none(), "only with a client");
}

#[test]
fn a_prompt_of_a_client_has_what_the_client_offers_to_its_model() {
    let place = place();
    let prompt = json_of(&place, &["prompt", "--client", "codex", "--json"]);
    assert_eq!(prompt["skills"], json!(["Loud Mail", "forms", "pdf"]));
    assert_eq!(prompt["summary"]["not_for_models"], 1);
    let found = json_of(&place, &["search", "pdf", "--client", "qoder", "--json"]);
    assert_eq!(found["hits"][0]["shown_as"], "pdf-tools");
}

#[test]
fn several_clients_are_shown_side_by_side() {
    let place = place();
    assert_snapshot!(run(&place, &["list", "--client", "codex", "--client", "qoder", "--client", "grok"]), @"
    exit 0
    --- stdout
    Loud Mail  codex, qoder as Loud, grok as loud-mail
    forms  codex, qoder, grok
    marked  qoder, grok  not codex
    own  codex (not its model), qoder, grok
    pdf  codex, qoder as pdf-tools, grok

    5 skills: Codex 4, Qoder 5, Grok Build 5
    ");
    let installed = json_of(&place, &["list", "--client", "installed", "--json"]);
    let ids: Vec<_> =
        installed["clients"].as_array().unwrap().iter().map(|client| &client["client"]).collect();
    assert_eq!(ids, ["codex", "qoder"]);
    assert_eq!(installed["skills"][2]["not_seen_by"][0]["code"], "byte-order-mark");
    assert_eq!(installed["skills"][4]["seen_by"][1]["shown_as"], "pdf-tools");
    let why = json_of(&place, &["why", "marked", "--client", "installed", "--json"]);
    let said = |at: usize| (&why["candidates"][at]["client"], &why["candidates"][at]["state"]);
    assert_eq!(said(0), (&json!("codex"), &json!("unseen")));
    assert_eq!(said(1), (&json!("qoder"), &json!("active")));
    assert_eq!(why["offered"], true);
    let one = run(&place, &["prompt", "--client", "installed"]);
    assert!(
        one.contains("this command takes one client") && one.contains("name one of codex, qoder"),
        "{one}"
    );
    fs::remove_dir_all(place.path().join("home")).unwrap();
    fs::create_dir(place.path().join("home")).unwrap();
    let none = run(&place, &["list", "--client", "installed"]);
    assert!(none.contains("error: no client was found on this machine"), "{none}");
}

#[test]
fn what_a_client_does_and_what_prowess_withholds_are_told_apart() {
    let place = shelf();
    assert_snapshot!(run(&place, &["why", "torn", "--client", "claude-code"]), @"
    exit 0
    --- stdout
    torn: Claude Code lists it
      seen as: torn; its file says again, and Claude Code takes the name of the folder
      found: [DIR]/.claude/skills/torn/SKILL.md
      path for filters: torn
      prowess: broken, so it does not serve it
      error[duplicate-identity]: the key appears twice: name
      info[name-folder-mismatch]: the name is not the name of the folder: again in torn
      hint: see how to correct it with: prowess check [DIR]/.claude/skills/torn/SKILL.md
    ");
    assert_snapshot!(run(&place, &["why", "loud", "--client", "claude-code"]), @"
    exit 0
    --- stdout
    loud: Claude Code lists it
      seen as: loud
      found: [DIR]/.claude/skills/loud/SKILL.md
      path for filters: loud
      error[yaml-syntax]: the frontmatter is not valid YAML: a colon and a space inside a value without quotes
      parsed: after a repair of its YAML; see what is wrong with: prowess check [DIR]/.claude/skills/loud/SKILL.md
      prowess: not trusted, so it does not serve it before: prowess trust loud --client claude-code
    ");
}

#[test]
fn a_check_for_a_client_says_what_the_client_does_not_list() {
    let place = place();
    let said = run(&place, &["check", "--client", "codex", "--quiet"]);
    assert!(said.starts_with("exit 1"), "{said}");
    let path = "home/.agents/skills/marked/SKILL.md: its SKILL.md begins with a byte order mark";
    assert!(said.contains(&format!("Codex does not list [DIR]/{path}; save the file without it")), "{said}");
    let json = json_of(&place, &["check", "--client", "codex", "--json"]);
    assert_eq!(json["summary"]["files"], 5, "{json}");
}
