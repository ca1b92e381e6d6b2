//! The bridge: operations, sources of the host, what is closed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod callbacks;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_native::{
    Cancel, Cause, Foreign, ForeignEmbedder, ForeignError, ForeignHost, ForeignSelector, ForeignSource,
    Listed, Skills, run,
};
use serde_json::{Value, json};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nBody of {name}.\n")
}

/// A source with the skills of its names.
struct Names(Vec<&'static str>);

impl ForeignSource for Names {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        Ok(self.0.iter().map(|name| Listed { id: (*name).to_owned(), ..Listed::default() }).collect())
    }

    fn files(&self, _: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        Ok(Some(vec![json!("SKILL.md"), json!({"path": "notes.md", "size": 5})]))
    }

    fn read(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        match path {
            "SKILL.md" => Ok(Some(skill(id, &format!("Does {id}.")).into_bytes())),
            "notes.md" => Ok(Some(b"notes".to_vec())),
            "broken.md" => Err(ForeignError::new("boom").with_cause(Cause(Arc::new("thrown")))),
            _ => Ok(None),
        }
    }
}

fn parsed(text: Result<String, prowess_native::Failure>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn open(input: Value, foreign: Foreign) -> Skills {
    Skills::open(&input.to_string(), foreign, &Cancel::new()).unwrap()
}

fn of_names() -> Foreign {
    Foreign {
        sources: vec![Arc::new(Names(vec!["bread", "soup"]))],
        timeout: Some(Duration::from_secs(30)),
        ..Foreign::default()
    }
}

fn over_names(foreign: Foreign) -> Skills {
    open(json!({"sources": [{"host": 0}]}), foreign)
}

#[test]
fn the_files_of_a_path_that_is_gone_are_not_those_of_the_folder_above() {
    let folder = std::env::temp_dir().join(format!("prowess-native-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    std::fs::write(folder.join("secret.txt"), "secret").unwrap();
    let files = |operation: &str, name: &str| run(operation, &json!(folder.join(name)).to_string(), &[]);
    for operation in ["filesOfPath", "filesOfFolder"] {
        assert_eq!(files(operation, "gone").unwrap_err().code, "missing");
        assert_eq!(files(operation, "gone/SKILL.md").unwrap_err().code, "missing");
    }
    assert_eq!(files("filesOfFolder", "secret.txt").unwrap_err().code, "not-a-file");
    // A folder without a SKILL.md is no skill, and still has files.
    assert_eq!(files("filesOfPath", "empty").unwrap_err().code, "missing");
    assert_eq!(parsed(files("filesOfFolder", "empty")), json!([]));
    assert_eq!(parsed(files("filesOfFolder", ""))[0]["path"], "secret.txt");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_vectors_of_the_selectors_hold() {
    let file = std::fs::read_to_string("../../conformance/select.json").unwrap();
    let vectors: Value = serde_json::from_str(&file).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    for case in cases {
        let asked = json!({"query": case["query"], "selector": case["selector"]});
        let input = json!({"skills": case["skills"], "asked": asked}).to_string();
        let hits = parsed(run("search", &input, &[]));
        let found: Vec<&Value> = hits.as_array().unwrap().iter().map(|hit| &hit["key"]).collect();
        let expected: Vec<&Value> = case["expect"].as_array().unwrap().iter().map(|hit| &hit[0]).collect();
        assert_eq!(found, expected, "{}", case["id"]);
    }
    println!("{} vectors", cases.len());
    assert!(cases.len() > 5);
}

#[test]
fn a_folder_serves_a_chat() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("bread");
    std::fs::create_dir(&at).unwrap();
    std::fs::write(at.join("SKILL.md"), skill("bread", "Bakes bread.")).unwrap();
    std::fs::write(at.join("notes.md"), "notes").unwrap();
    let skills = open(json!({"sources": [{"dir": folder.path()}]}), Foreign::default());
    let cancel = Cancel::new();
    assert_eq!(parsed(skills.run("keys", "null", &cancel)), json!(["bread"]));
    assert_eq!(parsed(skills.run("skill", "\"bread\"", &cancel))["body"], "Body of bread.");
    assert_eq!(skills.read("bread", "notes.md", 1, 3, &cancel).unwrap(), (b"ote".to_vec(), 5));
    let hits = parsed(skills.run("search", &json!({"query": "bake"}).to_string(), &cancel));
    assert_eq!(hits[0]["key"], "bread");

    let chat = skills.chat("chat-1", "{}").unwrap();
    let call = json!({"tool": "load_skill", "arguments": {"name": "bread"}}).to_string();
    assert!(parsed(chat.run("call", &call, &cancel))["text"].as_str().unwrap().contains("Body of bread."));
    let message = json!({"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "bread"}});
    let asked = json!({"dialect": "anthropic", "message": message}).to_string();
    assert_eq!(parsed(chat.run("answer", &asked, &cancel))["is_error"], false);
    let prompt = parsed(chat.run("prompt", &json!({"query": "bread"}).to_string(), &cancel));
    assert_eq!(prompt["skills"], json!(["bread"]));
    let state = chat.step("state", "null", &[]).unwrap();
    let again = skills.restore(&state, "{}").unwrap();
    assert_eq!(parsed(again.run("active", "null", &cancel))["skills"], json!(["bread"]));

    let loaded = parsed(run("loadPath", &json!({"path": at}).to_string(), &[]));
    assert_eq!(loaded["body"], "Body of bread.");
    let found = parsed(run("discover", &json!({"roots": [folder.path()]}).to_string(), &[]));
    assert_eq!(found["skills"][0]["name"], "bread");
    let one = open(json!({"sources": [{"skill": at}]}), Foreign::default());
    assert_eq!(one.read("bread", "notes.md", 0, 9, &cancel).unwrap().0, b"notes");

    std::fs::remove_dir_all(&at).unwrap();
    assert_eq!(parsed(skills.run("refresh", "null", &cancel))["removed"], json!(["bread"]));
    assert_eq!(parsed(again.run("changes", "null", &cancel))["deactivated"], json!(["bread"]));
}

#[test]
fn a_tool_that_the_chat_does_not_offer_is_one_of_the_host() {
    let cancel = Cancel::new();
    let skills = over_names(of_names());
    let call = |name: &str| json!({"type": "tool_use", "id": "t1", "name": name, "input": {"name": "bread"}});
    let script = json!({"dialect": "anthropic", "message": call("run_skill_script")}).to_string();
    let both = [call("run_skill_script"), call("load_skill"), call("list_skills")];
    let response = json!({"dialect": "anthropic", "message": {"content": both}}).to_string();
    let chat = skills.chat("c", &json!({"options": {"tools": ["load"]}}).to_string()).unwrap();
    assert_eq!(parsed(chat.run("answer", &script, &cancel)), Value::Null);
    assert_eq!(parsed(chat.run("answerAll", &response, &cancel)).as_array().unwrap().len(), 1);
    let owns = |name: &str| parsed(chat.run("owns", &json!(name).to_string(), &cancel));
    assert_eq!((owns("load_skill"), owns("run_skill_script")), (json!(true), json!(false)));
    assert_eq!(parsed(chat.step("calls", &response, &[])).as_array().unwrap().len(), 1);
    // With the policy, it is offered.
    let chat = skills.chat("c", &json!({"policy": {"run": true}}).to_string()).unwrap();
    assert_ne!(parsed(chat.run("answer", &script, &cancel)), Value::Null);
}

#[test]
fn a_watch_returns_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let skills = open(json!({"sources": [{"dir": folder.path()}]}), Foreign::default());
    let watch = skills.watch("{}").unwrap();
    std::fs::create_dir(folder.path().join("bread")).unwrap();
    std::fs::write(folder.path().join("bread/SKILL.md"), skill("bread", "Bakes bread.")).unwrap();
    let changes = watch.next(Some(30.0), &Cancel::new()).unwrap().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&changes).unwrap()["added"], json!(["bread"]));
    assert_eq!(watch.next(Some(0.0), &Cancel::new()).unwrap(), None);
    let cancelled = Cancel::new();
    cancelled.cancel();
    assert_eq!(watch.next(None, &cancelled).unwrap_err().code, "cancelled");
    skills.close();
    assert_eq!(watch.next(None, &Cancel::new()).unwrap_err().code, "closed");
}

#[test]
fn a_source_of_the_host_lists_and_reads() {
    let skills = over_names(of_names());
    let cancel = Cancel::new();
    assert_eq!(parsed(skills.run("keys", "null", &cancel)), json!(["bread", "soup"]));
    assert_eq!(skills.read("soup", "notes.md", 0, 99, &cancel).unwrap().0, b"notes");
    assert_eq!(skills.read("soup", "other.md", 0, 99, &cancel).unwrap_err().code, "missing");
    let failure = skills.read("soup", "broken.md", 0, 99, &cancel).unwrap_err();
    assert_eq!((failure.code, failure.cause.is_some()), ("source", true));
    assert!(failure.message.ends_with("boom"), "{}", failure.message);
    assert_eq!(skills.run("skill", "\"cake\"", &cancel).unwrap_err().code, "not-found");
}

/// A selector that returns what it is told to.
struct Told(Result<Vec<Value>, &'static str>);

impl ForeignSelector for Told {
    fn select(&self, asked: Value, skills: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        assert_eq!((asked["query"].as_str(), skills.len()), (Some("soup"), 2));
        self.0.clone().map_err(ForeignError::new)
    }
}

/// Counts letters, and reports what fails.
#[derive(Default)]
struct Letters(Mutex<Vec<String>>);

impl ForeignEmbedder for Letters {
    fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ForeignError> {
        let count =
            |text: &str, letter| text.chars().filter(|one| *one == letter).fold(0.0, |sum, _| sum + 1.0);
        Ok(texts.iter().map(|text| vec![count(text, 'b'), count(text, 's')]).collect())
    }
}

impl ForeignHost for Letters {
    fn report(&self, error: &ForeignError, effect: Value) -> Result<(), ForeignError> {
        self.0.lock().unwrap().push(format!("{}: {}", effect["kind"].as_str().unwrap(), error.message));
        Ok(())
    }
}

#[test]
fn a_selector_and_an_embedder_of_the_host_rank() {
    let cancel = Cancel::new();
    let asked = json!({"query": "soup"}).to_string();
    let search = |told| {
        let host = Arc::new(Letters::default());
        let selector: Arc<dyn ForeignSelector> = Arc::new(Told(told));
        let foreign = Foreign { selector: Some(selector), host: Some(host.clone()), ..of_names() };
        let skills = over_names(foreign);
        let call = json!({"tool": "search_skills", "arguments": {"query": "soup"}}).to_string();
        let result = parsed(skills.chat("c", "{}").unwrap().run("call", &call, &cancel));
        let reported = host.0.lock().unwrap().clone();
        (skills.run("search", &asked, &cancel), result["ok"].as_bool(), reported)
    };
    let (hits, ok, _) = search(Ok(vec![json!("bread"), json!({"key": "soup", "score": 2}), json!("cake")]));
    let hits = parsed(hits);
    assert_eq!(
        (hits[0]["key"].as_str(), hits[1]["key"].as_str(), ok),
        (Some("bread"), Some("soup"), Some(true))
    );
    assert_eq!(hits.as_array().unwrap().len(), 2);
    let (failure, ok, reported) = search(Err("boom"));
    let failure = failure.unwrap_err();
    assert_eq!((failure.code, failure.message.as_str(), ok), ("select", "boom", Some(false)));
    assert_eq!(reported, ["search: boom"]);
    assert_eq!(search(Ok(vec![json!(7)])).0.unwrap_err().code, "select");

    let foreign = Foreign { embedder: Some(Arc::new(Letters::default())), ..of_names() };
    let skills = open(json!({"sources": [{"host": 0}], "selector": "embedding"}), foreign);
    let hits = parsed(skills.run("search", &json!({"query": "bbb"}).to_string(), &cancel));
    assert_eq!(hits[0]["key"], "bread");
}

#[test]
fn discovery_finds_every_skill_below_a_root_and_never_the_root() {
    let folder = tempfile::tempdir().unwrap();
    for (at, name) in [(".", "top"), ("a", "one"), ("a/inside", "two"), ("b/c", "one"), ("b/d", "three")] {
        let at = folder.path().join(at);
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join("SKILL.md"), skill(name, "Does it.")).unwrap();
    }
    let names = |recursive: bool| {
        let input = json!({"roots": [folder.path(), "/no/such/folder"], "recursive": recursive});
        let found = parsed(run("discover", &input.to_string(), &[]));
        assert_eq!(found["problems"], json!([]));
        let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
        found["skills"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(true), ["one", "one", "three"]);
    assert_eq!(names(false), ["one"]);
    std::fs::remove_file(folder.path().join("SKILL.md")).unwrap();
    assert_eq!(names(true), ["one", "one", "three"]);
}

#[test]
fn discovery_says_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let large = format!("{}{}", skill("large", "Is large."), "x".repeat(2 << 20));
    for (name, text) in [("bad", "no frontmatter"), ("good", &skill("good", "Does it.")), ("large", &large)] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    }
    for recursive in [false, true] {
        let input = json!({"roots": [folder.path()], "recursive": recursive});
        let found = parsed(run("discover", &input.to_string(), &[]));
        assert_eq!(found["skills"].as_array().unwrap().len(), 1);
        let message = |one: &Value| one["message"].as_str().unwrap().to_owned();
        let messages: Vec<String> = found["problems"].as_array().unwrap().iter().map(message).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        for (message, name) in messages.iter().zip(["bad", "large"]) {
            assert!(message.contains(folder.path().join(name).to_str().unwrap()), "{message}");
        }
    }
}

#[test]
fn wrong_input_is_an_error_of_the_right_kind() {
    let cancel = Cancel::new();
    let failed = |input: Value| Skills::open(&input.to_string(), Foreign::default(), &cancel).unwrap_err();
    assert_eq!(failed(json!({"sources": [7]})).code, "invalid");
    assert_eq!(failed(json!({"nonsense": true})).code, "invalid");
    assert_eq!(failed(json!({"sources": [{"host": 3}]})).code, "invalid");
    assert_eq!(failed(json!({"selector": "none"})).code, "invalid");
    assert_eq!(failed(json!({"selector": "embedding"})).code, "invalid");
    assert_eq!(failed(json!({"sources": ["/no/such/folder"]})).code, "missing");
    let skills = over_names(of_names());
    let two = json!({"skill": {"name": "bread", "description": "Again."}}).to_string();
    assert_eq!(skills.run("register", &two, &cancel).unwrap_err().code, "taken");
    assert_eq!(skills.run("dance", "null", &cancel).unwrap_err().code, "invalid");
    assert_eq!(skills.restore("nonsense", "{}").unwrap_err().code, "restore");
    skills.close();
    assert_eq!(skills.run("keys", "null", &cancel).unwrap_err().code, "closed");
    assert_eq!(skills.chat("c", "{}").unwrap_err().code, "closed");
}
