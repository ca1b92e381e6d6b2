//! The vectors of `conformance/paths.json`: which paths a skill may have, and which rule refuses the others.

use prowess_core::RelPath;
use prowess_core::path::{PathError, PathRule, first_collision};
use serde_json::{Value, json};

use super::vectors::{hex, list, load, report, text, word};

fn outcome(result: Result<RelPath, PathError>) -> Value {
    match result {
        Ok(path) => json!({"path": path.as_str()}),
        Err(error) => json!({"rule": error.rule().code()}),
    }
}

#[test]
fn every_path_is_read_or_refused_as_its_vector_says() {
    let vectors = load("paths.json");
    let mut faults = Vec::new();
    let mut compare = |what: &str, found: &Value, expected: &Value| {
        if found != expected {
            faults.push(format!("{what}: found {found}, expected {expected}"));
        }
    };
    for case in list(&vectors["cases"]) {
        let path = text(&case["path"]);
        let shown = case["path"].to_string();
        compare(&format!("strict {shown}"), &outcome(RelPath::parse(&path)), &case["strict"]);
        compare(&format!("request {shown}"), &outcome(RelPath::from_request(&path)), &case["request"]);
    }
    for case in list(&vectors["bytes"]) {
        let found = outcome(RelPath::from_bytes(&hex(word(&case["path_hex"]))));
        compare("bytes", &found, &case["expect"]);
    }
    for case in list(&vectors["names"]) {
        let name = word(&case["name"]);
        compare(&format!("name {name}"), &outcome(RelPath::from_name(name)), &case["expect"]);
    }
    for case in list(&vectors["collisions"]) {
        let paths: Vec<RelPath> =
            list(&case["paths"]).iter().map(|path| RelPath::parse(word(path)).unwrap()).collect();
        let found = first_collision(&paths).map(|(one, other)| [one.as_str(), other.as_str()]);
        compare("collision", &json!(found), &case["expect"]);
    }
    report(&faults);
}

#[test]
fn every_path_rule_has_a_vector() {
    let text = load("paths.json").to_string();
    for rule in PathRule::ALL {
        assert!(text.contains(&format!("{{\"rule\":\"{}\"}}", rule.code())), "{}", rule.code());
    }
}
