//! Skills that a host registers, unregisters and restores, and one folder that is found by several paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess::catalog::Named;
use prowess::source::{Chunk, Listing, Slice, SourceTraits};
use prowess::{
    DirSource, Duplicates, Layer, MemorySource, Registry, RegistryError, RelPath, ScanOptions, Scope, Skill,
    Source, SourceError, SourceSkill, Standing, TooLarge,
};

use crate::trees::{keys, registry, skill, tree};

fn text(name: &str, body: &str) -> Skill {
    Skill::parse(&format!("---\nname: {name}\ndescription: Made here.\n---\n{body}\n")).unwrap()
}

/// A skill whose key is not its name.
fn keyed(key: &str, name: &str) -> Skill {
    let made = text(name, "Body.");
    let mut entry = made.entry().clone();
    key.clone_into(&mut entry.key);
    Skill::new(entry, made.body())
}

#[test]
fn a_loaded_skill_that_is_registered_keeps_its_folder_and_files() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/references/x.md", "x"), ("a/scripts/run.sh", "y")]);
    let registry = Registry::new();
    registry.register(&Skill::load(folder.path().join("a")).unwrap(), false).unwrap();
    assert_eq!(registry.files("a").unwrap().files.len(), 3);
    let found = registry.get("a").unwrap();
    assert_eq!(found.entry.origin.location, folder.path().join("a/SKILL.md").to_str().unwrap());
    let read = registry.read_resource("a", "references/x.md", Slice::first(9), TooLarge::Refuse).unwrap();
    assert_eq!(read.size, 1);
    assert_eq!(registry.document("a").unwrap().body(), "Body of a.");
    assert!(registry.read_resource("a", "../a/SKILL.md", Slice::first(9), TooLarge::Refuse).is_err());
}

#[test]
fn a_text_that_replaces_a_found_skill_keeps_its_files() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/references/x.md", "x")]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    registry.register(&text("a", "Ours."), true).unwrap();
    assert_eq!(registry.document("a").unwrap().body(), "Ours.");
    let files = registry.files("a").unwrap();
    assert_eq!(files.files.len(), 2);
    assert_eq!(registry.read_bytes("a", "references/x.md", Slice::first(9)).unwrap().bytes, b"x");
    // Replaced once more, they are still there; taken away, the found one is as it was.
    registry.register(&text("a", "Ours again."), true).unwrap();
    assert_eq!(registry.files("a").unwrap().files.len(), 2);
    registry.unregister("a").unwrap();
    assert_eq!(registry.document("a").unwrap().body(), "Body of a.");
}

#[test]
fn a_registered_skill_goes_by_its_key_and_not_by_its_name() {
    let registry = Registry::new();
    registry.register(&keyed("team:a", "a"), false).unwrap();
    assert_eq!(keys(&registry), ["team:a"]);
    let taken = registry.register(&keyed("team:a", "other"), false).unwrap_err();
    assert!(matches!(taken, RegistryError::Taken(key) if key == "team:a"));
    registry.register(&keyed("a", "a"), false).unwrap();
    assert_eq!(keys(&registry), ["a", "team:a"]);
    registry.unregister("a").unwrap();
    let error = registry.unregister("a").unwrap_err().to_string();
    assert!(error.contains("did you mean team:a?"), "{error}");
    registry.unregister("team:a").unwrap();
    assert!(registry.catalog().is_empty());
}

#[test]
fn a_registered_skill_replaces_a_found_one_whatever_becomes_of_duplicates() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    for duplicates in [Duplicates::First, Duplicates::Last, Duplicates::Error] {
        let mut registry = registry(&[folder.path()]);
        registry.set_duplicates(duplicates).refresh().unwrap();
        assert!(matches!(registry.register(&text("a", "Ours."), false), Err(RegistryError::Taken(_))));
        registry.register(&text("a", "Ours."), true).unwrap();
        assert_eq!(registry.document("a").unwrap().body(), "Ours.", "{duplicates:?}");
    }
}

#[test]
fn a_found_skill_is_taken_away_and_put_back_while_the_registry_runs() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(registry.unregister("a").unwrap().removed, ["a"]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["b"]);
    assert!(matches!(registry.catalog().named("a"), Named::NotOffered(_)));
    let error = registry.get("a").unwrap_err();
    assert!(error.hint().to_string().contains("restore"), "{error}: {}", error.hint());
    // Another one may be registered in its place meanwhile.
    registry.register(&text("a", "Ours."), false).unwrap();
    registry.unregister("a").unwrap();
    assert_eq!(keys(&registry), ["b"]);
    assert_eq!(registry.restore("a").unwrap().added, ["a"]);
    assert!(registry.restore("a").is_err() && registry.unregister("c").is_err());
}

#[test]
fn a_folder_that_is_linked_from_another_root_is_one_skill_with_the_readers_of_both() {
    let home = tree(&[("agents/pdf/SKILL.md", &skill("pdf")), ("claude/own/SKILL.md", &skill("own"))]);
    symlink("../agents/pdf", home.path().join("claude/pdf")).unwrap();
    let (agents, claude) = (home.path().join("agents"), home.path().join("claude"));
    for duplicates in [Duplicates::First, Duplicates::Last, Duplicates::Error] {
        let mut registry = Registry::new();
        for (root, reader) in [(&agents, "codex"), (&claude, "claude-code")] {
            let source = DirSource::new(root, ScanOptions::unbounded());
            registry.add(Layer::from(source).with_readers(vec![reader]));
        }
        registry.set_duplicates(duplicates).refresh().unwrap();
        let catalog = registry.catalog();
        assert_eq!(catalog.all().count(), 2, "{duplicates:?}");
        assert!(catalog.all().all(|(_, standing)| *standing == Standing::Listed));
        let pdf = catalog.get("pdf").unwrap();
        let mut readers = pdf.readers.clone();
        readers.sort_unstable();
        assert_eq!(readers, ["claude-code", "codex"]);
        let mut places = vec![pdf.entry.origin.location.to_string()];
        places.extend(pdf.also_at.iter().map(ToString::to_string));
        places.sort();
        let expected = [agents.join("pdf/SKILL.md"), claude.join("pdf/SKILL.md")];
        assert_eq!(places, expected.map(|path| path.to_str().unwrap().to_owned()));
        assert_eq!(registry.document("pdf").unwrap().body(), "Body of pdf.");
        assert!(catalog.get("own").unwrap().also_at.is_empty());
    }
}

#[test]
fn copies_with_one_hard_linked_file_stay_two_skills() {
    let home = tree(&[("one/pdf/SKILL.md", &skill("pdf")), ("two/pdf/x.md", "x")]);
    fs::hard_link(home.path().join("one/pdf/SKILL.md"), home.path().join("two/pdf/SKILL.md")).unwrap();
    let registry = registry(&[&home.path().join("one"), &home.path().join("two")]);
    registry.refresh().unwrap();
    let catalog = registry.catalog();
    assert!(matches!(catalog.why("pdf")[1].1, Standing::Shadowed { .. }));
}

/// A remote source with one skill, which counts how often it is listed.
struct Counted(MemorySource, Arc<AtomicUsize>);

impl Source for Counted {
    fn id(&self) -> &'static str {
        "counted"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.0.read(skill, path, slice)
    }
}

#[test]
fn registering_a_skill_contacts_no_server() {
    let (remote, lists) = (MemorySource::new("remote"), Arc::<AtomicUsize>::default());
    remote.insert("far", skill("far"), Scope::Remote);
    let mut registry = Registry::new();
    registry.add(Counted(remote, Arc::clone(&lists)));
    registry.refresh().unwrap();
    registry.register(&text("near", "Ours."), false).unwrap();
    assert_eq!(keys(&registry), ["far", "near"]);
    registry.unregister("far").unwrap();
    assert_eq!(keys(&registry), ["near"]);
    registry.restore("far").unwrap();
    assert_eq!(keys(&registry), ["far", "near"]);
    assert_eq!(lists.load(Ordering::Relaxed), 1);
}
