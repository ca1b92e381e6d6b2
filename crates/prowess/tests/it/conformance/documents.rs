//! The vectors of `conformance/documents`: a SKILL.md in, the verdict of each profile and the skill out.

use std::collections::BTreeSet;

use prowess_core::check;

use super::vectors::{Reading, list, load, report, root, word};

/// The vectors of each group, with the group's name.
fn groups() -> Vec<(String, serde_json::Value)> {
    let folder = root().join("conformance/documents");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), load(&format!("documents/{name}")))).collect()
}

#[test]
fn every_document_reads_and_is_judged_as_its_vector_says() {
    let mut faults = Vec::new();
    for (group, vectors) in groups() {
        let mut ids = BTreeSet::new();
        for case in list(&vectors["cases"]) {
            let id = word(&case["id"]);
            assert!(ids.insert(id), "{group}: the id appears twice: {id}");
            assert!(!word(&case["pins"]).is_empty(), "{group}/{id}: it says what it pins");
            let expect = &case["expect"];
            assert!(expect["spec"].is_object() && expect["lenient"].is_object(), "{group}/{id}");
            let found = Reading::of(case).faults(expect);
            faults.extend(found.into_iter().map(|fault| format!("{group}/{id}: {fault}")));
        }
        assert!(!ids.is_empty(), "{group} holds cases");
    }
    report(&faults);
}

#[test]
fn every_rule_has_a_vector_that_breaks_it() {
    let text: String = groups().iter().map(|(_, vectors)| vectors.to_string()).collect();
    // A file that cannot be read is broken by its file system, not by any bytes.
    let codes = check::rules().map(|rule| rule.code).filter(|code| *code != "file-unreadable");
    let missing: Vec<&str> = codes.filter(|code| !text.contains(&format!("\"{code}\""))).collect();
    assert!(missing.is_empty(), "no vector for {missing:?}");
}
