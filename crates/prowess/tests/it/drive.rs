//! Sessions over a registry: the examples run, and approvals hold what was approved.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess::drive::{Performer, drive};
use prowess::registry::trust::{Approvals, Trust};
use prowess::search::LazyIndex;
use prowess::select::{All, Hit, Query, SelectError, Selector};
use prowess::session::{Effect, Options, OriginRule, Outcome, Policy, Reason, Session, ToolCall, ToolResult};
use prowess::{DirSource, Entry, Layer, MemorySource, Registry, RelPath, ScanOptions, Scope};
use serde_json::json;

use crate::data::skipped;
use crate::trees::{skill, tree};

/// What an example writes. `cargo test` builds it beside this test; a run of this test alone may not.
fn example(name: &str, arguments: &[&Path]) -> Option<String> {
    let program = std::env::current_exe().unwrap();
    let program = program.parent().unwrap().parent().unwrap().join("examples").join(name);
    if !program.exists() {
        skipped("the examples are built by cargo test without --test");
        return None;
    }
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_examples_of_hosts_run() {
    let Some(text) = example("host_loop", &[]) else { return };
    for said in ["== mcp", "== anthropic", "== openai", "== gemini", "\"is_error\":true", "Past tense."] {
        assert!(text.contains(said), "{said} is not in: {text}");
    }
    assert!(example("async_host", &[]).is_some_and(|text| text.contains("three: true")));
    let folder = tree(&[("tidy-up/SKILL.md", &skill("tidy-up"))]);
    let text = example("host", &[folder.path()]).unwrap();
    for said in
        ["- tidy-up: Does tidy-up.", "\"input_schema\"", "Body of tidy-up.", "another tool of the host"]
    {
        assert!(text.contains(said), "{said} is not in: {text}");
    }
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
        registry.add(DirSource::new(place.path(), ScanOptions::unbounded()).with_scope(Scope::Project));
        registry.set_trust(Trust::in_approved(approvals));
        registry.refresh().unwrap();
        registry
    };
    // A skill that a person approved by its digest before the session.
    let before = registry(Approvals::default());
    let mut approvals = Approvals::default();
    let mine = before.get("mine").unwrap();
    let digest = before.approvable(&mine).unwrap();
    approvals.trust_skill(&mine, digest);
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
    let ask = OriginRule::usual(Scope::Project).with_approve(true);
    let policy = Policy::default().with_origin(Scope::Project, ask);
    let mut everything = Registry::new();
    everything.add(DirSource::new(place.path(), ScanOptions::unbounded()).with_scope(Scope::Project));
    everything.refresh().unwrap();
    let mut session = Session::new("test", everything.catalog(), policy, Options::default());
    let no = load(&mut session, &Performer::new(&everything, &All), None);
    assert_eq!(no.reason.map(Reason::code), Some("not-approved"));
    let yes = |_: &prowess::Candidate, digest: prowess::Digest| digest.to_string().starts_with("sha256:");
    let performer = Performer::new(&everything, &All).with_approval(&yes);
    assert!(load(&mut session, &performer, None).is_ok());
    fs::write(skill.join("new.md"), "new\n").unwrap();
    let changed = load(&mut session, &performer, Some("more.md"));
    assert_eq!(changed.reason.map(Reason::code), Some("changed"));
    // What no digest covers cannot be approved.
    fs::create_dir(skill.join("node_modules")).unwrap();
    fs::write(skill.join("node_modules/x.js"), "x").unwrap();
    let refused = load(&mut session, &performer, None);
    assert_eq!(refused.reason.map(Reason::code), Some("not-approved"));
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
        registry.add(DirSource::new(place.path().join(folder), ScanOptions::unbounded()));
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

/// The keys that a model finds.
fn found(session: &mut Session, performer: &Performer<'_>, query: &str) -> Vec<String> {
    let result = drive(session, performer, ToolCall::new("search_skills", json!({"query": query})));
    let skills = result.data["skills"].as_array().unwrap();
    skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_search_after_a_refresh_ranks_the_new_catalog() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, about: &str, body: &str| {
        let folder = place.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: {about}\n---\n{body}\n");
        fs::write(folder.join("SKILL.md"), text).unwrap();
    };
    write("mail", "Answers letters.", "Be kind.");
    write("bread", "Bakes loaves.", "Knead.");
    let mut registry = Registry::new();
    registry.add(DirSource::new(place.path(), ScanOptions::unbounded()));
    registry.refresh().unwrap();
    let mut session = Session::new("test", registry.catalog(), Policy::default(), Options::default());
    let index = LazyIndex::new(&registry);
    let performer = Performer::new(&registry, &index);
    assert_eq!(found(&mut session, &performer, "letters"), ["mail"]);
    // One is new, one says something else, one is gone.
    write("taxes", "Files returns.", "Count.");
    write("mail", "Sends parcels.", "Wrap.");
    fs::remove_dir_all(place.path().join("bread")).unwrap();
    registry.refresh().unwrap();
    session.set_catalog(registry.catalog());
    assert_eq!(found(&mut session, &performer, "returns"), ["taxes"]);
    assert_eq!(found(&mut session, &performer, "parcels wrap"), ["mail"]);
    assert_eq!(found(&mut session, &performer, "letters kind loaves"), [""; 0]);
}

/// A reranker whose scores are logits.
struct Logits;

impl Selector for Logits {
    fn select(&self, _: &Query, among: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
        let scores = [-0.5, -4.0];
        let hit = |(entry, score): (&&Entry, f32)| Hit::new(&entry.key, score, Vec::new());
        Ok(among.iter().zip(scores).map(hit).collect())
    }
}

#[test]
fn a_reranker_with_scores_below_zero_finds_skills() {
    let skills = MemorySource::new("mine");
    for name in ["a", "b"] {
        skills.insert(name, format!("---\nname: {name}\ndescription: d\n---\n"), Scope::Explicit);
    }
    let mut registry = Registry::new();
    registry.add(skills);
    registry.refresh().unwrap();
    let mut session = Session::new("test", registry.catalog(), Policy::default(), Options::default());
    let performer = Performer::new(&registry, &Logits);
    assert_eq!(found(&mut session, &performer, "x"), ["a", "b"]);
    assert_eq!(found(&mut session, &performer.with_min_score(-1.0), "x"), ["a"]);
}

/// How often a race is tried: `PROWESS_RACE_READS=100000 cargo test -p prowess --test it race` tries longer.
fn race_reads() -> usize {
    std::env::var("PROWESS_RACE_READS").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000)
}

/// Ends the other thread of a race, also when this one fails.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_refresh_that_races_with_reads_never_gives_the_bytes_of_another_skill() {
    let skill = |of: &str| format!("---\nname: mine\ndescription: d\n---\nIn {of}.\n");
    let sources = ["a", "b"].map(|id| Arc::new(MemorySource::new(id)));
    let put = |at: usize| {
        let id = ["a", "b"][at];
        sources[at].insert("mine", skill(id), Scope::Explicit);
        sources[at].insert_file("mine", RelPath::parse(&format!("only-{id}.md")).unwrap(), id);
    };
    put(0);
    put(1);
    let mut registry = Registry::new();
    for source in &sources {
        registry.add(Layer::shared(source.clone()));
    }
    sources[0].remove("mine");
    registry.refresh().unwrap();
    let of_b = registry.digest("mine").unwrap();
    put(0);
    registry.refresh().unwrap();
    let location = registry.get("mine").unwrap().entry.origin.location.clone();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _done = Done(&done);
        scope.spawn(|| {
            // The stronger of the two comes and goes.
            while !done.load(Ordering::Relaxed) {
                sources[0].remove("mine");
                registry.refresh().unwrap();
                put(0);
                registry.refresh().unwrap();
            }
        });
        let digests = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let approve = |_: &prowess::Candidate, _: prowess::Digest| true;
        let performer = Performer::new(&registry, &All).with_approval(&approve);
        let (key, path) = ("mine".to_owned(), RelPath::parse("SKILL.md").unwrap());
        let read = |expect_digest| Effect::Read {
            key: key.clone(),
            location: location.clone(),
            path: path.clone(),
            offset: 0,
            limit: 1_000,
            expect_digest,
        };
        for _ in 0..race_reads() {
            for effect in [
                read(None),
                read(Some([0; 32].into())),
                Effect::Files { key: key.clone(), location: location.clone() },
                Effect::Approve { key: key.clone(), location: location.clone(), scope: Scope::Explicit },
            ] {
                match performer.perform(&effect) {
                    Outcome::Read { bytes, digest, .. } => {
                        assert!(bytes.ends_with(b"In a.\n"), "{}", String::from_utf8_lossy(&bytes));
                        digests.borrow_mut().extend(digest);
                    }
                    Outcome::Files { files } => {
                        assert!(
                            files.files.iter().all(|file| file.path.as_str() != "only-b.md"),
                            "{files:?}"
                        );
                    }
                    Outcome::Approved { digest } => drop(digests.borrow_mut().insert(digest)),
                    Outcome::Failed { .. } => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(!digests.borrow().contains(&of_b), "no digest was that of the other skill");
    });
}
