//! The vectors of `conformance/digests.json`: the digest of a skill.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use prowess::{DirSource, Layer, Registry, ScanOptions};

use super::vectors::{list, load, report, word};

#[test]
fn every_skill_has_the_digest_of_its_vector() {
    let mut faults = Vec::new();
    for case in list(&load("digests.json")["cases"]) {
        let folder = tempfile::tempdir().unwrap();
        for file in list(&case["files"]) {
            let path = folder.path().join("demo").join(word(&file["path"]));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, word(&file["text"])).unwrap();
            let mode = if file["executable"] == true { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut registry = Registry::new();
        registry.add(Layer::from(DirSource::new(folder.path(), ScanOptions::unbounded())));
        registry.refresh().unwrap();
        let skill = registry.get("demo").unwrap();
        let found = registry.approvable(&skill).unwrap();
        if found.to_string() != word(&case["digest"]) || registry.digest_of(&skill).unwrap() != found {
            faults.push(format!("{}: {found}, expected {}", case["id"], case["digest"]));
        }
    }
    report(&faults);
}
