//! The profile `skills-ref` against the reference validator: its own test cases, and what it did with 77 probes.

use std::collections::BTreeSet;
use std::fs;

use prowess::{Preset, Profile, ScanOptions, SkillsError, SourceError, SourceErrorKind};
use serde_json::{Map, Value, json};

use super::vectors::{Reading, Verdict, codes, list, load, report, text, word};

#[test]
fn the_official_cases_hold_in_their_profile() {
    let vectors = load("skills-ref/official.json");
    let sections = ["cases", "rendered", "folders"].map(|section| list(&vectors[section]));
    let ids: BTreeSet<&str> = sections.iter().copied().flatten().map(|case| word(&case["id"])).collect();
    assert_eq!((sections.map(<[Value]>::len), ids.len()), ([30, 4, 6], 40), "none is left out");
    let mut faults = Vec::new();
    let [cases, _, folders] = sections;
    for case in cases {
        let found = Reading::of(case).faults(&case["expect"]);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", case["id"])));
    }
    for case in folders {
        let found = outcome(case);
        if found != case["expect"] {
            faults.push(format!("{}: found {found}, expected {}", case["id"], case["expect"]));
        }
    }
    report(&faults);
}

/// What comes of a call on a real folder.
fn outcome(case: &Value) -> Value {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in case["tree"].as_object().unwrap() {
        let path = folder.path().join(path);
        match text.as_str() {
            None => fs::create_dir_all(&path).unwrap(),
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
    }
    let path = folder.path().join(word(&case["path"]));
    let found = match word(&case["call"]) {
        "load" => {
            let profile = Profile::new(Preset::SkillsRef);
            prowess::Skill::load_judged(&path, &profile).map(|skill| vec![skill.entry().clone()])
        }
        "discover" => prowess::discover(&[&path], &ScanOptions::unbounded()),
        other => panic!("no such call: {other}"),
    };
    match found {
        Ok(entries) => {
            let descriptions: Vec<&str> = entries.iter().map(|entry| entry.description.as_str()).collect();
            json!({ "descriptions": descriptions })
        }
        Err(SkillsError::Source(SourceError { kind: SourceErrorKind::NoSkill, .. })) => {
            json!({ "error": "no-skill" })
        }
        Err(SkillsError::Source(SourceError { kind: SourceErrorKind::Missing, .. })) => {
            json!({ "error": "missing" })
        }
        Err(SkillsError::Source(SourceError { kind: SourceErrorKind::NotFolder, .. })) => {
            json!({ "error": "not-a-folder" })
        }
        Err(error) => panic!("{}: {error}", case["id"]),
    }
}

#[test]
fn what_is_rendered_has_its_vector() {
    let vectors = load("render.json");
    for file in ["skills-ref/official.json", "skills-ref/probes.json"] {
        for case in list(&load(file)["rendered"]) {
            let vector = list(&vectors["cases"]).iter().find(|vector| vector["id"] == case["vector"]);
            assert!(vector.is_some_and(|vector| vector["need"] == "skills-ref"), "{case}");
        }
    }
}

#[test]
fn the_probes_agree_but_for_the_listed_differences() {
    let probes = load("skills-ref/probes.json");
    assert_eq!((list(&probes["cases"]).len(), list(&probes["rendered"]).len()), (77, 1), "none is left out");
    let mut faults = Vec::new();
    let mut differences = BTreeSet::new();
    for case in list(&probes["cases"]) {
        let id = word(&case["id"]);
        let reading = Reading::of(case);
        faults.extend(reading.faults(&case["expect"]).into_iter().map(|fault| format!("{id}: {fault}")));
        let verdict = reading.verdict(Preset::SkillsRef);
        let mut differs = |what: &str| differences.insert((id.to_owned(), what.to_owned()));
        if case["observed"]["valid"] != json!(valid(&verdict, word(&case["call"]))) {
            differs("verdict");
        }
        for what in different_values(&reading, &case["observed"]) {
            differs(&what);
        }
        for message in list(&case["observed"]["messages"]) {
            let said = said(&probes["messages"], word(message), &verdict);
            let excused = differences.contains(&(id.to_owned(), "verdict".to_owned()));
            if !said && !excused {
                faults.push(format!("{id}: no code says {message}; there are {:?}", verdict.errors));
            }
        }
    }
    let listed = load("skills-ref/differences.json");
    let listed: BTreeSet<(String, String)> = list(&listed["differences"])
        .iter()
        .map(|difference| (word(&difference["probe"]).to_owned(), word(&difference["what"]).to_owned()))
        .collect();
    faults.extend(differences.difference(&listed).map(|found| format!("not listed: {found:?}")));
    faults.extend(
        listed.difference(&differences).map(|listed| format!("listed, but there is none: {listed:?}")),
    );
    report(&faults);
}

/// Whether the profile sees no error of the kind that the call looks for.
fn valid(verdict: &Verdict, call: &str) -> bool {
    if call == "parse_frontmatter" {
        let parts = ["not-utf8", "byte-order-mark", "frontmatter-", "fence-", "yaml-", "duplicate-"];
        !verdict.errors.iter().any(|code| parts.iter().any(|part| code.starts_with(part)))
    } else {
        verdict.loads()
    }
}

/// Whether one of the errors says what the message says.
fn said(table: &Value, message: &str, verdict: &Verdict) -> bool {
    let row = list(table).iter().find(|row| message.contains(word(&row["contains"])));
    row.is_some_and(|row| !codes(&row["codes"]).is_disjoint(&verdict.errors))
}

/// The fields that skills-ref returned with another value than ours.
fn different_values(reading: &Reading, observed: &Value) -> Vec<String> {
    let nothing = Map::new();
    let theirs = observed["skill"].as_object().unwrap_or(&nothing);
    let ours = reading.skill();
    let mut different = Vec::new();
    for (field, value) in theirs {
        let same = match field.as_str() {
            "metadata" => ours[field] == *value,
            "allowed-tools" => ours["allowed_tools"] == *value,
            // An empty note is none here.
            field => ours[field].as_str().unwrap_or("") == text(value).trim(),
        };
        if !same {
            different.push(field.clone());
        }
    }
    if observed["body"].as_str().is_some_and(|body| ours["body"] != body) {
        different.push("body".to_owned());
    }
    different
}
