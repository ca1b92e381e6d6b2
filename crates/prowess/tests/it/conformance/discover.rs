//! The vectors of `conformance/discover.json`: which skills a scan finds, and which a strict one refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use prowess::{
    Candidate, DirSource, Layer, MemorySource, Obstacle, Preset, Profile, Registry, ScanOptions, Scope,
    Severity, Standing,
};
use serde_json::Value;

use super::vectors::{codes, list, load, report, text, word};

/// The folders of the skills that are offered, and the codes of the errors of the others.
type Found = (BTreeSet<String>, BTreeMap<String, BTreeSet<String>>);

/// What became of every skill, by its place as `place` says it.
fn found(registry: &Registry, place: impl Fn(&Candidate) -> String) -> Found {
    let (mut offered, mut broken) = Found::default();
    for (candidate, standing) in registry.catalog().all() {
        match &candidate.obstacle {
            Some(Obstacle::Broken { problems, .. }) => {
                let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
                broken.insert(place(candidate), errors.map(|problem| problem.code.to_owned()).collect());
            }
            _ if matches!(standing, Standing::Shadowed { .. }) => {}
            _ => {
                offered.insert(place(candidate));
            }
        }
    }
    (offered, broken)
}

fn make(folder: &Path, case: &Value) {
    for (path, text) in case["files"].as_object().unwrap() {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let named = word(text).strip_prefix('<').and_then(|name| name.strip_suffix('>'));
        let text = match named {
            Some(name) => format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody.\n"),
            None => word(text).to_owned(),
        };
        fs::write(path, text).unwrap();
    }
    for (path, target) in case["links"].as_object().into_iter().flatten() {
        symlink(word(target), folder.join(path)).unwrap();
    }
}

#[test]
fn every_folder_is_scanned_as_its_vector_says() {
    let mut faults = Vec::new();
    for case in list(&load("discover.json")["cases"]) {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), case);
        let root = folder.path().join(case["root"].as_str().unwrap_or(""));
        let wanted = &case["options"];
        let options = ScanOptions::unbounded()
            .with_stop_at_skill(wanted["stop_at_skill"] == true)
            .with_max_depth(wanted["max_depth"].as_u64().map_or(64, |depth| usize::try_from(depth).unwrap()))
            .with_skip_prefixes(list(&wanted["skip"]).iter().map(|prefix| word(prefix).to_owned()).collect());
        let profile = wanted["profile"].as_str().map(|name| Profile::new(name.parse::<Preset>().unwrap()));
        let place = |candidate: &Candidate| {
            let location = Path::new(candidate.entry.origin.location.path().unwrap());
            location.parent().unwrap().strip_prefix(&root).unwrap().display().to_string()
        };
        let expected: Found = (
            list(&case["offered"]).iter().map(|path| word(path).to_owned()).collect(),
            case["broken"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(path, errors)| (path.clone(), codes(errors)))
                .collect(),
        );
        // By the registry, by a layer and by the source itself it comes to the same.
        for by in ["registry", "layer", "source"] {
            let mut registry = Registry::new();
            let source = DirSource::new(&root, options.clone());
            match (by, &profile) {
                ("registry", Some(profile)) => _ = registry.add(source).set_profile(profile.clone()),
                ("layer", Some(profile)) => {
                    _ = registry.add(Layer::from(source).with_profile(profile.clone()));
                }
                (_, Some(profile)) => _ = registry.add(source.with_profile(profile.clone())),
                (_, None) => _ = registry.add(source),
            }
            registry.refresh().unwrap();
            let found = found(&registry, place);
            if found != expected {
                faults.push(format!("{} by {by}: found {found:?}, expected {expected:?}", case["id"]));
            }
        }
    }
    report(&faults);
}

#[test]
fn a_strict_scan_refuses_what_the_strict_modes_of_five_systems_reject() {
    let cases = load("five-systems/cases.json");
    let strict = load("five-systems/strict.json");
    let mut faults = Vec::new();
    for row in list(&strict["rejected"]) {
        let id = word(&row["case"]);
        let case = list(&cases["cases"]).iter().find(|case| case["id"] == id).unwrap();
        let key = case["folder"].as_str().unwrap_or("demo");
        let input = text(&case["input"]);
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(key)).unwrap();
        fs::write(folder.path().join(key).join("SKILL.md"), &input).unwrap();
        // A folder, and a source in memory: one set of rules.
        let memory = || {
            let memory = MemorySource::new("memory");
            memory.insert(key, input.clone(), Scope::Explicit);
            memory
        };
        for by in ["folder", "memory"] {
            let mut registry = Registry::new();
            match by {
                "folder" => registry.add(DirSource::new(folder.path(), ScanOptions::unbounded())),
                _ => registry.add(memory()),
            };
            registry.set_profile(Profile::spec()).refresh().unwrap();
            let (offered, broken) = found(&registry, |candidate| candidate.virtual_path.clone());
            let wanted: BTreeSet<String> = codes(&row["codes"]);
            let refused = broken.values().any(|errors| wanted.is_subset(errors));
            if !offered.is_empty() || !refused {
                faults.push(format!("{id} in {by}: offered {offered:?}, broken {broken:?}"));
            }
        }
    }
    report(&faults);
}
