//! The vectors of `conformance/keys.json`: how the key of a skill is made.

use std::fs;

use prowess::catalog::KeyFrom;
use prowess::{DirSource, Layer, MemorySource, Registry, ScanOptions, Scope};

use super::vectors::{list, load, report, word};

#[test]
fn every_key_is_made_of_what_its_vector_says() {
    let mut faults = Vec::new();
    for case in list(&load("keys.json")["cases"]) {
        let key_from = KeyFrom::parse(word(&case["key_from"])).unwrap();
        let (memory, folder) = (MemorySource::new("memory"), tempfile::tempdir().unwrap());
        for (id, name) in case["entries"].as_object().unwrap() {
            let text = format!("---\nname: {}\ndescription: Does it.\n---\nBody of {id}.\n", word(name));
            fs::create_dir(folder.path().join(id)).unwrap();
            fs::write(folder.path().join(id).join("SKILL.md"), &text).unwrap();
            memory.insert(id, text, Scope::Explicit);
        }
        let expected: Vec<&str> = list(&case["keys"]).iter().map(word).collect();
        let folder = DirSource::new(folder.path(), ScanOptions::unbounded());
        for layer in [Layer::from(memory), Layer::from(folder)] {
            let mut registry = Registry::new();
            registry.add(layer.with_key_from(key_from)).refresh().unwrap();
            let catalog = registry.catalog();
            let keys: Vec<&str> = catalog.iter().map(|skill| skill.entry.key.as_str()).collect();
            // Each key leads to its own bytes.
            let bodies = keys.iter().all(|key| {
                let body = registry.document(key).unwrap().body().to_owned();
                key_from == KeyFrom::Name || body == format!("Body of {key}.")
            });
            if keys != expected || !bodies {
                faults.push(format!("{}: keys {keys:?}, expected {expected:?}", case["id"]));
            }
        }
    }
    report(&faults);
}
