//! Sessions over a registry: the examples run, and approvals hold what was approved.

use std::fs;

use prowess::drive::{Performer, drive};
use prowess::select::All;
use prowess::session::{Options, OriginRule, Policy, Reason, Session, ToolCall, ToolResult};
use prowess::trust::{Approvals, Trust};
use prowess::{DirSource, Registry, ScanOptions, Scope};
use serde_json::json;

use crate::data::skipped;

/// What an example writes. `cargo test` builds it beside this test; a run of this test alone may not.
fn example(name: &str) -> Option<String> {
    let program = std::env::current_exe().unwrap();
    let program = program.parent().unwrap().parent().unwrap().join("examples").join(name);
    if !program.exists() {
        skipped("the examples are built by cargo test without --test");
        return None;
    }
    let output = std::process::Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_examples_of_hosts_run() {
    let Some(text) = example("host_loop") else { return };
    for said in ["== mcp", "== anthropic", "== openai", "== gemini", "\"is_error\":true", "Past tense."] {
        assert!(text.contains(said), "{said} is not in: {text}");
    }
    assert!(example("async_host").is_some_and(|text| text.contains("three: true")));
}

fn load(session: &mut Session, performer: &Performer<'_>, path: Option<&str>) -> ToolResult {
    let call = match path {
        None => ToolCall::new("load_skill", json!({"name": "mine"})),
        Some(path) => ToolCall::new("read_skill_resource", json!({"name": "mine", "path": path})),
    };
    drive(session, performer, call)
}

#[test]
fn an_approval_holds_what_was_approved_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let skill = place.path().join("mine");
    fs::create_dir(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: mine\ndescription: d\n---\nAs approved.\n").unwrap();
    fs::write(skill.join("more.md"), "more\n").unwrap();
    let registry = |approvals: Approvals| {
        let mut registry = Registry::new();
        registry.add(DirSource::new(place.path(), ScanOptions::named()).in_scope(Scope::Project));
        registry.trust(Trust::in_approved(approvals));
        registry.refresh().unwrap();
        registry
    };
    // A skill that a person approved by its digest before the session.
    let before = registry(Approvals::default());
    let mut approvals = Approvals::default();
    let mine = before.get("mine").unwrap();
    let digest = before.approvable(&mine).unwrap();
    approvals.trust_skill(&mine, digest.clone());
    assert_eq!(before.digest("mine").unwrap(), digest, "both ways to digest agree");
    let approved = registry(approvals);
    let mut session = Session::new("test", approved.catalog(), Policy::default(), Options::default());
    let performer = Performer::new(&approved, &All);
    assert!(load(&mut session, &performer, None).text.contains("As approved."));
    assert_eq!(load(&mut session, &performer, Some("more.md")).text, "more\n");
    // A change of any file takes the approval away from every read, before the catalog knows of it.
    fs::write(skill.join("more.md"), "evil\n").unwrap();
    for path in [None, Some("more.md"), Some("SKILL.md")] {
        let result = load(&mut session, &performer, path);
        assert_eq!(result.reason.map(Reason::code), Some("changed"), "{}", result.text);
    }
    // Asked within the session: the answer counts for what was there.
    let ask = OriginRule { approve: true, ..OriginRule::usual(Scope::Project) };
    let policy = Policy { origins: [(Scope::Project, ask)].into(), ..Policy::default() };
    let mut everything = Registry::new();
    everything.add(DirSource::new(place.path(), ScanOptions::named()).in_scope(Scope::Project));
    everything.refresh().unwrap();
    let mut session = Session::new("test", everything.catalog(), policy, Options::default());
    let no = load(&mut session, &Performer::new(&everything, &All), None);
    assert_eq!(no.reason.map(Reason::code), Some("not-approved"));
    let yes = |_: &prowess::Candidate, digest: &str| digest.starts_with("sha256:");
    let performer = Performer::new(&everything, &All).approving(&yes);
    assert!(load(&mut session, &performer, None).ok);
    fs::write(skill.join("new.md"), "new\n").unwrap();
    let changed = load(&mut session, &performer, Some("more.md"));
    assert_eq!(changed.reason.map(Reason::code), Some("changed"));
}

#[test]
fn a_key_that_has_come_to_mean_another_place_is_gone() {
    let place = tempfile::tempdir().unwrap();
    for folder in ["a", "b"] {
        fs::create_dir_all(place.path().join(folder).join("mine")).unwrap();
        let text = format!("---\nname: mine\ndescription: d\n---\nIn {folder}.\n");
        fs::write(place.path().join(folder).join("mine/SKILL.md"), text).unwrap();
    }
    let mut registry = Registry::new();
    for folder in ["a", "b"] {
        registry.add(DirSource::new(place.path().join(folder), ScanOptions::named()));
    }
    registry.refresh().unwrap();
    let mut session = Session::new("test", registry.catalog(), Policy::default(), Options::default());
    fs::remove_dir_all(place.path().join("a/mine")).unwrap();
    registry.refresh().unwrap();
    let performer = Performer::new(&registry, &All);
    let result = load(&mut session, &performer, None);
    assert_eq!(result.reason.map(Reason::code), Some("missing-skill"), "{}", result.text);
    session.set_catalog(registry.catalog());
    assert!(load(&mut session, &performer, None).text.contains("In b."));
}
