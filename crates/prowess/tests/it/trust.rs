//! What may be used: skills that are trusted and not turned off.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use prowess::catalog::TurnedOffBy;
use prowess::path::Glob;
use prowess::registry::Disabled;
use prowess::registry::digests::Digests;
use prowess::registry::trust::{Approvals, Trust};
use prowess::{
    DirSource, Layer, Obstacle, Registry, ScanOptions, Scope, SourceError, SourceErrorKind, Standing,
};

use crate::trees::{keys, registry, skill, tree, write};

#[test]
fn disabled_skills_are_hidden_and_shadow_nothing() {
    let one = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let mut registry = registry(&[one.path()]);
    let by = || TurnedOffBy::List("prowess.toml".into());
    registry.disable([Disabled::new(Glob::parse("a*").unwrap(), by())]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["b"]);
    assert!(registry.document("a").is_err() && registry.files("a").is_err());
    let catalog = registry.catalog();
    assert!(matches!(catalog.why("a")[0].1, Standing::Blocked { obstacle: Obstacle::Disabled { .. } }));

    // A project that is not trusted hides its own skills and no others.
    for (within, offered) in [(None, false), (Some(one.path()), false), (Some("/elsewhere".as_ref()), true)] {
        let mut registry = Registry::new();
        registry.add(DirSource::new(one.path(), ScanOptions::unbounded()));
        let within = within.map(|folder: &std::path::Path| folder.to_str().unwrap().to_owned());
        registry.disable([Disabled::new(Glob::parse("a").unwrap(), by()).with_within(within)]);
        registry.refresh().unwrap();
        assert_eq!(registry.catalog().has("a"), offered);
    }
}

#[test]
fn trust_is_given_to_folders_by_path_and_to_skills_by_their_bytes() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/x.sh", "echo"), ("b/SKILL.md", &skill("b"))]);
    let user = tree(&[("a/SKILL.md", &skill("a"))]);
    let cache = tempfile::tempdir().unwrap();
    let made = |approvals: Approvals, with_user: bool| {
        let mut registry = Registry::new();
        registry.set_trust(Trust::in_approved(approvals));
        let digests = Arc::new(Digests::load(Some(cache.path().join("digests"))));
        let project = DirSource::new(folder.path(), ScanOptions::default()).with_scope(Scope::Project);
        registry.add(project.with_digests(digests));
        if with_user {
            registry.add(DirSource::new(user.path(), ScanOptions::default()).with_scope(Scope::User));
        }
        registry.refresh().unwrap();
        registry
    };
    let none = made(Approvals::default(), true);
    assert!(none.get("a").unwrap().is_usable(), "an untrusted skill never hides the user's own");
    assert_eq!(none.get("a").unwrap().entry.origin.scope, Scope::User);
    assert!(!none.get("b").unwrap().is_usable(), "it is seen, and marked");

    let mut approvals = Approvals::default();
    let alone = made(Approvals::default(), false);
    let skill = alone.get("a").unwrap();
    approvals.trust_skill(&skill, alone.approvable(&skill).unwrap());
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("deep/trust.json");
    approvals.save(&file).unwrap();
    let approvals = Approvals::load(&file).unwrap();
    for _ in 0..2 {
        assert!(
            made(approvals.clone(), false).get("a").unwrap().is_usable(),
            "with digests computed, then remembered"
        );
    }
    write(folder.path(), "a/scripts/x.sh", "echo changed");
    assert!(
        !made(approvals.clone(), false).get("a").unwrap().is_usable(),
        "any changed byte takes the approval away"
    );
    let mut approvals = approvals;
    approvals.trust_folder(folder.path().to_owned());
    assert!(made(approvals.clone(), false).get("a").unwrap().is_usable());
    assert_eq!(approvals.revoke_folder(folder.path()), 2, "the folder, and the skill in it");
    fs::write(&file, "{").unwrap();
    assert!(
        matches!(Approvals::load(&file), Err(SourceError { kind: SourceErrorKind::Damaged { .. }, .. })),
        "never read as nothing"
    );
}

#[test]
fn a_skill_whose_own_file_has_another_name_can_be_trusted() {
    let store = tree(&[("pdf/skill.md", &skill("pdf")), ("pdf/scripts/x.sh", "echo")]);
    let folder = tree(&[("pdf/notes.md", "n")]);
    let pdf = folder.path().join("pdf");
    symlink(store.path().join("pdf/skill.md"), pdf.join("skill.md")).unwrap();
    symlink(store.path().join("pdf/scripts"), pdf.join("scripts")).unwrap();
    symlink(pdf.join("notes.md"), pdf.join("again.md")).unwrap();
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let manifest = registry.manifest_of(&registry.get("pdf").unwrap()).unwrap();
    let paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["again.md", "notes.md", "scripts/x.sh", "skill.md"]);
    assert!(registry.digest("pdf").is_ok());
}

#[test]
fn a_skill_with_more_files_than_are_listed_cannot_be_trusted_by_digest() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    for number in 0..=prowess::fs::read::MAX_LISTED_ENTRIES {
        fs::File::create(folder.path().join(format!("a/{number}"))).unwrap();
    }
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let manifest = registry.manifest_of(&registry.get("a").unwrap());
    assert!(
        matches!(manifest, Err(SourceError { kind: SourceErrorKind::TooMany { .. }, .. })),
        "{manifest:?}"
    );
}

#[test]
fn approvals_that_are_given_at_once_are_all_kept() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("trust.json");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for number in 0..25 {
                    let folder = std::path::PathBuf::from(format!("/{thread}/{number}"));
                    let update = || -> Result<(), SourceError> {
                        Approvals::update(file, |approvals| {
                            approvals.trust_folder(folder.clone());
                            Ok(())
                        })
                    };
                    // On a busy machine, a thread may wait for the others longer than a user would.
                    while let Err(error) = update() {
                        assert!(matches!(error.kind, SourceErrorKind::Busy), "{error}");
                    }
                }
            });
        }
    });
    assert_eq!(Approvals::load(&file).unwrap().folders.len(), 100);
}

#[test]
fn a_layer_may_ask_for_every_skill_to_be_approved_as_it_is() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let made = |approvals: Approvals| {
        let mut registry = Registry::new();
        registry.set_trust(Trust::in_approved(approvals));
        registry.add(
            Layer::from(DirSource::new(folder.path(), ScanOptions::unbounded())).with_approval_required(true),
        );
        registry.refresh().unwrap();
        registry
    };
    let unknown = made(Approvals::default());
    let candidate = unknown.get("a").unwrap();
    assert!(!candidate.is_usable());
    let mut approvals = Approvals::default();
    approvals.trust_skill(&candidate, unknown.approvable(&candidate).unwrap());
    assert!(made(approvals.clone()).get("a").unwrap().is_usable());
    write(folder.path(), "a/SKILL.md", &skill("a").replace("Body", "Other body"));
    assert!(!made(approvals).get("a").unwrap().is_usable());
}

#[test]
fn an_approval_is_called_by_its_place_its_key_or_its_name_without_its_source() {
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("trust.json");
    let places = [
        "mcp:team:skill://refunds/SKILL.md",
        "mcp:other:https://x.test/a/refunds/SKILL.md",
        "/home/x/refunds/SKILL.md",
    ];
    let skills =
        places.map(|place| format!(r#"{{"name":"refunds","location":"{place}","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}"#));
    let stored = format!(r#"{{"version":1,"folders":[],"skills":[{}]}}"#, skills.join(","));
    fs::write(&file, &stored).unwrap();
    let approvals = Approvals::load(&file).unwrap();
    let called = |what: &str| -> Vec<String> {
        approvals.called(what).iter().map(|approval| approval.location.to_string()).collect()
    };
    assert_eq!(called("team:refunds"), places[..1]);
    assert_eq!(called("other:refunds"), places[1..2]);
    assert_eq!(called(places[2]), places[2..]);
    assert_eq!(called("refunds"), places);
    for none in ["tea:refunds", "team:skill:refunds", "team:fund", ":refunds", "mcp:team", ""] {
        assert!(called(none).is_empty(), "{none}");
    }
    approvals.save(&file).unwrap();
    let again: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(again.to_string(), stored, "what was approved before stays as it is");
}

#[test]
fn skills_of_one_archive_are_trusted_each_by_itself() {
    let entry = |name: &str| {
        let mut skill = prowess::Candidate::new(prowess::Entry::builder(name, "Does it.").build().unwrap());
        let path = format!("{name}/SKILL.md").into();
        skill.entry.origin.location = prowess::Location::Packed { archive: "/s/all.zip".into(), path };
        skill
    };
    let mut approvals = Approvals::default();
    approvals.trust_skill(&entry("a"), [0xa; 32].into());
    approvals.trust_skill(&entry("b"), [0xb; 32].into());
    let names: Vec<&str> = approvals.skills.iter().map(|approval| &*approval.name).collect();
    assert_eq!(names, ["a", "b"]);
}
