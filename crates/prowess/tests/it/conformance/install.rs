//! The vectors of `conformance/install.json`: the texts that name a source to install from.

use prowess::install::{InstallErrorKind, InstallPlace, InstallSpec};
use serde_json::{Map, Value, json};

use super::vectors::{list, load, report, text, word};

fn parts(spec: &InstallSpec) -> Value {
    let mut parts = Map::new();
    let mut put = |name: &str, value: String| parts.insert(name.to_owned(), Value::String(value));
    match &spec.place {
        InstallPlace::Folder(path) => put("folder", path.display().to_string()),
        InstallPlace::Git(url) => put("git", url.clone()),
        InstallPlace::Reference(skill) => put("reference_to", skill.to_string()),
        other => panic!("the vectors do not know this place: {other:?}"),
    };
    let path = spec.path.as_ref().map(ToString::to_string);
    let rest =
        [("path", &path), ("skill", &spec.skill), ("reference", &spec.reference), ("tree", &spec.tree)];
    for (name, value) in rest {
        value.clone().map(|value| put(name, value));
    }
    Value::Object(parts)
}

#[test]
fn every_place_to_install_from_is_read_or_refused_as_its_vector_says() {
    let vectors = load("install.json");
    let mut faults = Vec::new();
    for case in list(&vectors["cases"]) {
        let (id, text) = (word(&case["id"]), text(&case["text"]));
        match (text.parse::<InstallSpec>(), case["rule"].as_str()) {
            (Ok(spec), None) => {
                let written = case["written"].as_str().unwrap_or(&text);
                let found = json!({"expect": parts(&spec), "written": spec.to_string()});
                let expected = json!({"expect": case["expect"], "written": written});
                if found != expected {
                    faults.push(format!("{id}: found {found}, expected {expected}"));
                }
            }
            (Err(error), Some(rule)) => {
                let words = word(&vectors["rules"][rule]);
                let request = error.kind() == InstallErrorKind::Request && !error.hint().is_empty();
                if !request || !error.to_string().contains(words) {
                    faults.push(format!("{id}: {error}: expected {rule}"));
                }
            }
            (read, rule) => faults.push(format!("{id}: {read:?}: expected {rule:?}")),
        }
    }
    report(&faults);
}

#[test]
fn every_rule_for_places_to_install_from_has_a_vector() {
    let vectors = load("install.json");
    let used = |rule: &str| list(&vectors["cases"]).iter().any(|case| case["rule"] == rule);
    let rules = vectors["rules"].as_object().unwrap();
    assert_eq!(rules.keys().filter(|rule| !used(rule)).collect::<Vec<_>>(), [""; 0]);
}
