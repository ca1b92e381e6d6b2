//! The vectors of `conformance/select.json`: skills and a query in, the ranking out.

use prowess_core::select::{
    Bm25, Keyword, Query, Reader, SelectOptions, Selector, Settings, Tags, Texts, search,
};
use prowess_core::{Entry, Origin, parse};
use serde_json::Value;

use super::vectors::{list, load, report, word};

fn entry(skill: &Value) -> Entry {
    let mut entry = parse(b"").entry(&Origin::text("<vector>"));
    word(&skill["key"]).clone_into(&mut entry.key);
    word(&skill["name"]).clone_into(&mut entry.name);
    word(&skill["description"]).clone_into(&mut entry.description);
    entry.tags = list(&skill["tags"]).iter().map(|tag| word(tag).to_owned()).collect();
    entry
}

#[test]
fn every_query_ranks_skills_as_its_vector_says() {
    let mut faults = Vec::new();
    let vectors = load("select.json");
    for case in list(&vectors["cases"]) {
        let id = word(&case["id"]);
        let skills = list(&case["skills"]);
        let entries: Vec<Entry> = skills.iter().map(entry).collect();
        let selector: Box<dyn Selector> = match word(&case["selector"]) {
            "keyword" => Box::new(Keyword::default()),
            "tags" => Box::new(Tags),
            "bm25" => {
                let mut reader = Reader::new();
                for (entry, skill) in entries.iter().zip(skills) {
                    reader.add(&Texts::of(entry, skill["body"].as_str()));
                }
                let keys = entries.iter().map(|entry| entry.key.clone()).collect();
                Box::new(Bm25::new(keys, reader.finish(), Settings::default()))
            }
            other => panic!("{id}: no such selector: {other}"),
        };
        let among: Vec<&Entry> = entries.iter().collect();
        let hits = search(&*selector, &Query::text(word(&case["query"])), &among, &SelectOptions::default())
            .unwrap();
        let expected: Vec<(&str, f64)> =
            list(&case["expect"]).iter().map(|hit| (word(&hit[0]), hit[1].as_f64().unwrap())).collect();
        let found: Vec<(&str, f64)> =
            hits.iter().map(|hit| (hit.key.as_str(), f64::from(hit.score))).collect();
        let same = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(one, other)| one.0 == other.0 && (one.1 - other.1).abs() < 1e-4);
        if !same {
            faults.push(format!("{id}\n    found    {found:?}\n    expected {expected:?}"));
        }
    }
    report(&faults);
}
