//! The 68 cases of `conformance/five-systems` against what five skill libraries and skills-ref did with them.

use std::collections::BTreeSet;

use prowess_core::{Preset, ToolList};
use serde_json::{Map, Value, json};

use super::vectors::{Reading, codes, list, load, report, text, word};

/// The systems that give a skill, as recorded.
pub(crate) const LOADERS: [&str; 6] =
    ["drover-strict", "drover-lenient", "fizeau", "promptkit", "deuz", "zerodep"];

/// What a system did with every case.
pub(crate) fn recorded(system: &str) -> Value {
    load(&format!("five-systems/recorded/{system}.json"))
}

#[test]
fn the_cases_read_and_are_judged_as_expected() {
    let vectors = load("five-systems/cases.json");
    assert_eq!(list(&vectors["cases"]).len(), 68);
    let mut faults = Vec::new();
    for case in list(&vectors["cases"]) {
        let found = Reading::of(case).faults(&case["expect"]);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", case["id"])));
    }
    report(&faults);
}

#[test]
fn what_a_system_loads_loads_leniently_with_the_same_values_but_for_the_listed_differences() {
    let vectors = load("five-systems/cases.json");
    let mut found = BTreeSet::new();
    for system in LOADERS {
        let results = recorded(system);
        for case in list(&vectors["cases"]) {
            let theirs = &results[word(&case["id"])];
            if theirs["ok"] == true && said(&theirs["name"]) && said(&theirs["description"]) {
                let different = differences(system, theirs, &Reading::of(case));
                found.extend(different.into_iter().map(|what| key(&case["id"], &json!(system), what)));
            }
        }
    }
    let results = recorded("skills-ref-validate");
    for case in list(&vectors["cases"]) {
        let valid = Reading::of(case).verdict(Preset::SkillsRef).loads();
        if results[word(&case["id"])]["ok"] != valid {
            found.insert(key(&case["id"], &json!("skills-ref-validate"), "verdict"));
        }
    }
    let listed = load("five-systems/differences.json");
    let listed: BTreeSet<String> = list(&listed["differences"])
        .iter()
        .map(|difference| key(&difference["case"], &difference["system"], word(&difference["what"])))
        .collect();
    let mut faults: Vec<String> = found.difference(&listed).map(|key| format!("not listed: {key}")).collect();
    faults.extend(listed.difference(&found).map(|key| format!("listed, but there is none: {key}")));
    report(&faults);
}

#[test]
fn what_a_strict_mode_rejects_by_the_specification_spec_rejects_with_a_code() {
    let vectors = load("five-systems/cases.json");
    let strict = load("five-systems/strict.json");
    let row = |table: &str, id: &str| {
        list(&strict[table]).iter().find(|row| row["case"] == id).cloned().unwrap_or(Value::Null)
    };
    let mut faults = Vec::new();
    for case in list(&vectors["cases"]) {
        let id = word(&case["id"]);
        let modes: BTreeSet<&str> = list(&strict["modes"])
            .iter()
            .map(word)
            .filter(|mode| recorded(mode)[id]["ok"] == false)
            .collect();
        let errors = Reading::of(case).verdict(Preset::Spec).errors;
        let (by_specification, otherwise) = (row("rejected", id), row("not_in_the_specification", id));
        if by_specification.is_object() {
            let codes = codes(&by_specification["codes"]);
            if modes.is_empty() || codes.is_empty() || !codes.is_subset(&errors) {
                faults.push(format!("{id}: rejected by {modes:?}; spec says {errors:?}, not {codes:?}"));
            }
        } else {
            let listed: BTreeSet<&str> = list(&otherwise["systems"]).iter().map(word).collect();
            if listed != modes || !errors.is_empty() {
                faults.push(format!(
                    "{id}: rejected by {modes:?}, listed are {listed:?}; spec says {errors:?}"
                ));
            }
        }
    }
    report(&faults);
}

fn key(case: &Value, system: &Value, what: &str) -> String {
    format!("{} {} {what}", word(case), word(system))
}

/// Whether a value is a text with more than spaces in it.
fn said(value: &Value) -> bool {
    !value.is_null() && !text(value).trim().is_empty()
}

/// In which values a skill that a system loaded differs from ours.
fn differences(system: &str, theirs: &Value, reading: &Reading) -> Vec<&'static str> {
    if !reading.verdict(Preset::Lenient).loads() {
        return vec!["refused"];
    }
    let ours = reading.skill();
    let mut different = Vec::new();
    for what in ["name", "description", "body"] {
        // Some give the body with the white space around it and some without; only what is in it is compared.
        if word(&ours[what]).trim() != text(&theirs[what]).trim() {
            different.push(what);
        }
    }
    if system == "fizeau" {
        // It knows no tools and no metadata, but tags and the exact place of the body.
        if ours["tags"] != json!(list(&theirs["tags"])) || ours["body_offset"] != theirs["offset"] {
            different.push("tags");
        }
        return different;
    }
    if ours["allowed_tools"] != tools(&theirs["tools"]) {
        different.push("tools");
    }
    if system == "deuz" {
        if every_other_field(&ours) != deuz_fields(&theirs["metadata"]) {
            different.push("metadata");
        }
    } else if ours["metadata"] != theirs["metadata"].as_object().map_or(json!({}), |map| json!(map)) {
        different.push("metadata");
    }
    let extra = theirs["extra"].as_object();
    if extra.is_some_and(|extra| extra.iter().any(|(key, value)| ours.get(key) != Some(value))) {
        different.push("extra");
    }
    different
}

/// Tools as a system gives them: a text is read by our tokenizer, a list is what the system made of it.
fn tools(theirs: &Value) -> Value {
    theirs.as_str().map_or_else(|| theirs.clone(), |text| json!(ToolList::parse(text)))
}

/// What deuz calls metadata: every field of the frontmatter; the three that are compared by themselves left out.
fn deuz_fields(metadata: &Value) -> Map<String, Value> {
    let compared = ["name", "description", "allowedTools"];
    let fields = metadata.as_object().unwrap().iter().filter(|(key, _)| !compared.contains(&key.as_str()));
    let value =
        |value: &Value| if value[0]["repeat"].is_string() { json!(text(value)) } else { value.clone() };
    fields.map(|(key, field)| (key.clone(), value(field))).collect()
}

/// The same of ours.
fn every_other_field(ours: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = ours["extra"].as_object().unwrap().clone();
    for key in ["metadata", "license", "compatibility", "version", "tags"] {
        let empty = ours[key].is_null() || ours[key] == json!({}) || ours[key] == json!([]);
        if !empty {
            fields.insert(key.to_owned(), ours[key].clone());
        }
    }
    fields
}
