//! `prompt --client`: the catalog that the model of a client gets, within the limits of that client.

use serde_json::json;

use crate::Place;
use crate::shelf::{json_of, run};

fn skill(name: &str, description: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n{more}---\nDo it.\n")
}

/// A home with many skills, for clients that read either folder.
fn crowded() -> Place {
    let place = Place::with(&[]);
    for number in 0..300 {
        for folder in [".agents", ".claude"] {
            let name = format!("sk-{number:03}");
            let text = skill(&name, &format!("word{number} ").repeat(40), "");
            place.write(&format!("home/{folder}/skills/{name}/SKILL.md"), text.as_bytes());
        }
    }
    place
}

#[test]
fn a_client_without_a_budget_gets_every_description_whole() {
    let place = crowded();
    for client in ["gemini-cli", "opencode", "github-copilot"] {
        let prompt = json_of(&place, &["prompt", "--client", client, "--json"]);
        let report = &prompt["report"];
        assert_eq!((&report["limit"], &report["shortened"]), (&json!(null), &json!(0)), "{client}");
        assert_eq!(prompt["skills"].as_array().unwrap().len(), 300, "{client}");
        let why = run(&place, &["why", "sk-299", "--client", client]);
        assert!(!why.contains("in its prompt"), "{why}");
    }
}

#[test]
fn a_client_with_a_budget_gets_what_its_own_budget_holds() {
    let place = crowded();
    let report = |args: &[&str]| json_of(&place, args)["report"].clone();
    let codex = report(&["prompt", "--client", "codex", "--json"]);
    assert_eq!((&codex["unit"], &codex["limit"]), (&json!("tokens"), &json!(4_000)));
    assert!(codex["shortened"].as_u64() > Some(0), "{codex}");
    let claude = json_of(&place, &["prompt", "--client", "claude-code", "--json"]);
    assert_eq!(claude["skills"].as_array().unwrap().len(), 300, "it keeps every name");
    assert_eq!(claude["report"]["omitted"], json!([]));
    assert!(claude["limits"]["catalog"].as_str().unwrap().contains("1 % of the context"), "{claude}");
    let given = report(&["prompt", "--client", "codex", "--budget", "9000c", "--json"]);
    assert_eq!((&given["unit"], &given["limit"]), (&json!("characters"), &json!(9_000)));
    let why = run(&place, &["why", "sk-299", "--client", "codex"]);
    assert!(why.contains("in its prompt: with less of its description; Codex: "), "{why}");
    let why = json_of(&place, &["why", "sk-299", "--client", "codex", "--json"]);
    assert_eq!(why["prompt"], "shortened");
}

#[test]
fn a_budget_that_is_known_only_in_words_is_said_beside_the_catalog() {
    let place = Place::with(&[("home/.agents/skills/one/SKILL.md", &skill("one", "First.", ""))]);
    let said = run(&place, &["prompt", "--client", "reasonix"]);
    assert!(said.contains("Reasonix: its catalog has a limit that is not known"), "{said}");
    let said = run(&place, &["prompt", "--client", "amp"]);
    assert!(said.contains("Amp: how long its catalog may be is not known"), "{said}");
}

#[test]
fn a_long_description_is_cut_where_the_client_cuts_it() {
    let place = Place::with(&[
        ("home/.codex/skills/big/SKILL.md", &skill("big", &"x".repeat(3_000), "")),
        ("home/.claude/skills/big/SKILL.md", &skill("big", &"x".repeat(1_530), "when_to_use: later\n")),
    ]);
    for (client, most, whole) in [("codex", 1_024, 3_000), ("claude-code", 1_536, 1_538)] {
        let prompt = json_of(&place, &["prompt", "--client", client, "--json"]);
        let text = prompt["text"].as_str().unwrap();
        let (_, rest) = text.split_once("<description>").unwrap();
        let (description, _) = rest.split_once("</description>").unwrap();
        assert_eq!(description.chars().count(), most, "{client}");
        assert_eq!(prompt["limits"]["descriptions_cut"], 1, "{client}");
        let why = run(&place, &["why", "big", "--client", client]);
        let cut = format!("in its prompt: the first {most} of {whole} characters of its description");
        assert!(why.contains(&cut), "{why}");
    }
    let said = run(&place, &["prompt", "--client", "codex"]);
    assert!(said.contains("1 description cut after 1024 characters"), "{said}");
}
