//! A list of skills and a check of each file say the same about it.

use std::collections::BTreeMap;
use std::fs;

use prowess::fs::walk::ScanOptions;
use prowess::source::{DirSource, Source as _};
use prowess::{Found, Obstacle, Origin, Problem, Profile, parse};
use serde_json::Value;

use crate::conformance::vectors::{hex, list, load, root, text};
use crate::data;

/// What is said about the body, which a list does not read: by its rule, or by its place.
fn about_body(problem: &Problem, body: usize) -> bool {
    let rules = ["body-", "link-", "file-large", "dynamic-command"];
    let anywhere = ["hidden-", "control-", "not-utf8"];
    rules.iter().any(|rule| problem.code.starts_with(rule))
        || (anywhere.iter().any(|rule| problem.code.starts_with(rule))
            && problem.span.is_some_and(|span| span.start >= body))
}

fn said(problem: &Problem) -> String {
    let start = problem.span.map(|span| span.start);
    format!("{} {:?} {:?} {start:?} {}", problem.code, problem.severity, problem.field, problem.message)
}

fn listed(found: &Found) -> Vec<String> {
    match &found.obstacle {
        Some(Obstacle::Broken { problems, .. }) => problems.iter().map(said).collect(),
        _ => found.problems.iter().flatten().map(said).collect(),
    }
}

/// Lists these files from a folder and compares with what a check of each says; gives how many were compared.
fn compare(files: &BTreeMap<String, Vec<u8>>) -> usize {
    let place = tempfile::tempdir().unwrap();
    let mut contents = BTreeMap::new();
    for (number, (name, bytes)) in files.iter().enumerate() {
        let folder = format!("f{number}");
        fs::create_dir(place.path().join(&folder)).unwrap();
        fs::write(place.path().join(&folder).join("SKILL.md"), bytes).unwrap();
        contents.insert(folder, (name, bytes));
    }
    let listing = DirSource::new(place.path(), ScanOptions::unbounded()).list().unwrap();
    assert_eq!(listing.skills.len(), files.len());
    let mut different = Vec::new();
    for found in &listing.skills {
        let at: &Origin = &found.entry.origin;
        let (name, bytes) = contents[at.folder.as_deref().unwrap()];
        let document = parse(bytes);
        let body = document.body_offset();
        let problems = Profile::lenient().check(&document, None, at);
        let checked: Vec<String> =
            problems.iter().filter(|problem| !about_body(problem, body)).map(said).collect();
        let listed = listed(found);
        if listed != checked {
            different.push(format!("{name}\n    list  {listed:?}\n    check {checked:?}"));
        }
    }
    assert!(different.is_empty(), "{} files\n{}", different.len(), different.join("\n"));
    files.len()
}

fn vectors() -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut add = |group: String, vectors: &Value| {
        for case in list(&vectors["cases"]) {
            let bytes = match (case["input_hex"].as_str(), case.get("input")) {
                (Some(digits), _) => hex(digits),
                (None, Some(input)) => text(input).into_bytes(),
                (None, None) => continue,
            };
            files.insert(format!("{group} {}", case["id"]), bytes);
        }
    };
    for entry in fs::read_dir(root().join("conformance/documents")).unwrap() {
        let name = format!("documents/{}", entry.unwrap().file_name().to_str().unwrap());
        let vectors = load(&name);
        add(name, &vectors);
    }
    for name in ["five-systems/cases.json", "skills-ref/official.json", "skills-ref/probes.json"] {
        add(name.to_owned(), &load(name));
    }
    for entry in fs::read_dir(root().join("conformance/hostile-yaml")).unwrap() {
        let path = entry.unwrap().path();
        let yaml = fs::read(&path).unwrap();
        let file = [b"---\n", yaml.as_slice(), b"\n---\nBody\n"].concat();
        files.insert(path.display().to_string(), file);
    }
    files
}

#[test]
fn a_list_and_a_check_say_the_same_about_every_vector() {
    assert!(compare(&vectors()) > 300);
}

#[test]
fn a_list_and_a_check_say_the_same_about_every_real_file() {
    let Some(folder) = data::external("a list beside a check") else { return };
    let mut files = data::unpack(folder.join("corpus/natural.tar.zst"));
    files.append(&mut data::unpack(folder.join("hard-cases/hard.tar.zst")));
    assert!(compare(&files) > 4_000);
}
