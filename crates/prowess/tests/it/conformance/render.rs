//! The vectors of `conformance/render.json`: skills in, the text a model or a host is given out.

use std::collections::{BTreeMap, BTreeSet};

use prowess_core::render::{
    Activation, ActivationStyle, CatalogStyle, Inlined, Shape, compose, describe, render_catalog,
};
use prowess_core::{Entry, Manifest, Origin, RelPath, SkillData, parse};
use serde_json::{Map, Value, json};

use super::vectors::{list, load, manifest, report, text, word};

/// The skill of a dictionary; `key` is the name it goes by in the catalog, `scope` the circle it comes from.
fn skill(dict: &Value) -> SkillData {
    let mut dict: Map<String, Value> = dict.as_object().unwrap().clone();
    let (key, scope) = (dict.shift_remove("key"), dict.shift_remove("scope"));
    let description = text(&dict["description"]);
    dict.insert("description".to_owned(), description.into());
    let mut skill = SkillData::from_dict(&dict).unwrap();
    if let Some(key) = key {
        word(&key).clone_into(&mut skill.entry.key);
    }
    if let Some(scope) = scope {
        skill.entry.origin.scope = serde_json::from_value(scope).unwrap();
    }
    skill
}

fn activation(dict: &Value, case: &Value) -> String {
    let skill = skill(dict);
    let contents: BTreeMap<String, String> =
        serde_json::from_value(case.get("inlined").cloned().unwrap_or(json!({}))).unwrap();
    let inlined: Vec<Inlined<'_>> = contents
        .iter()
        .map(|(path, text)| Inlined { path: RelPath::parse(path).unwrap(), bytes: text.as_bytes() })
        .collect();
    let style: ActivationStyle = serde_json::from_value(style(case)).unwrap();
    let files = files(case);
    let folder = case["folder"].as_str();
    Activation::new(&skill.entry, &skill.instructions, folder, &files, &inlined, &style).text()
}

fn files(case: &Value) -> Manifest {
    manifest(list(&case["files"]))
}

fn style(case: &Value) -> Value {
    case.get("style").cloned().unwrap_or(json!({}))
}

fn rendered(case: &Value) -> Value {
    match word(&case["render"]) {
        "catalog" => {
            let skills: Vec<Entry> = list(&case["skills"]).iter().map(|dict| skill(dict).entry).collect();
            let entries: Vec<&Entry> = skills.iter().collect();
            let style: CatalogStyle = serde_json::from_value(style(case)).unwrap();
            render_catalog(&entries, &style).into()
        }
        "activation" => activation(&case["skill"], case).into(),
        "compose" => {
            let texts: Vec<String> =
                list(&case["skills"]).iter().map(|dict| activation(dict, case)).collect();
            compose(&texts).into()
        }
        "describe" => describe(&skill(&case["skill"]).entry, &files(case)).into(),
        "to_dict" => {
            let at = Origin::at(case["path"].as_str().unwrap_or("a/SKILL.md"));
            let skill = SkillData::from_document(&parse(word(&case["input"]).as_bytes()), &at).unwrap();
            Value::Object(if case["whole"] == true { skill.to_dict() } else { skill.entry.to_dict() })
        }
        "from_dict" => match SkillData::from_dict(case["dict"].as_object().unwrap()) {
            Ok(skill) => skill.to_markdown().into(),
            Err(error) => json!({ "error": error.to_string() }),
        },
        other => panic!("no such rendering: {other}"),
    }
}

#[test]
fn every_rendering_is_as_its_vector_says() {
    let vectors = load("render.json");
    let mut ids = BTreeSet::new();
    let mut faults = Vec::new();
    for case in list(&vectors["cases"]) {
        let id = word(&case["id"]);
        assert!(ids.insert(id), "the id appears twice: {id}");
        assert!(!word(&case["pins"]).is_empty() && !word(&case["need"]).is_empty(), "{id}");
        let expect = &case["expect"];
        let expected = if expect.is_object() { expect.clone() } else { text(expect).into() };
        let found = rendered(case);
        // As text, since the order of keys counts.
        let (found, expected) = (found.to_string(), expected.to_string());
        if found != expected {
            faults.push(format!("{id}\n    found    {found}\n    expected {expected}"));
        }
    }
    report(&faults);
}

#[test]
fn every_shape_and_every_system_has_a_vector() {
    let vectors = load("render.json");
    let cases = list(&vectors["cases"]);
    for &shape in Shape::ALL {
        assert!(cases.iter().any(|case| case["style"]["shape"] == shape.name()), "{}", shape.name());
    }
    for system in ["drover", "fizeau", "PromptKit", "deuz", "zerodep", "skills-ref"] {
        assert!(cases.iter().any(|case| word(&case["need"]).contains(system)), "{system}");
    }
    let Value::Object(options) = serde_json::to_value(CatalogStyle::default()).unwrap() else { panic!() };
    for option in options.keys() {
        assert!(cases.iter().any(|case| case["style"].get(option).is_some()), "no vector sets {option}");
    }
}
