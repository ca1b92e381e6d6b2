//! Files that are swapped while they are read: what is read is what was listed, or nothing.
//!
//! Each race has a thread that swaps and one that reads. `PROWESS_RACE_READS` says how often is read in each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prowess::fs::read;
use prowess::registry::trust::{Approvals, Trust};
use prowess::source::Slice;
use prowess::{
    DirSource, Obstacle, Registry, RelPath, ScanOptions, Scope, Skill, SourceError, SourceErrorKind, TooLarge,
};

use crate::trees::{registry, skill, tree, write};

/// What no reader must ever see.
const CANARY: &str = "CANARY";
/// How often the swapping thread must have come around, so that a race is one.
const MIN_SWAPS: usize = 20;

/// After how many reads each kind of read had its turn.
const ROUNDS: usize = 16;

fn reads() -> usize {
    std::env::var("PROWESS_RACE_READS").ok().and_then(|reads| reads.parse().ok()).unwrap_or(300)
}

/// Swaps on one thread and reads on this one. Prints how often each was done, for long runs.
fn race(what: &str, mut swap: impl FnMut() + Send, mut read: impl FnMut() -> bool) {
    /// Ends the other thread, also when this one fails.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let read = &mut read;
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (mut done, mut given) = (0, 0);
        while done < reads() || swaps.load(Ordering::Relaxed) < MIN_SWAPS {
            given += usize::from(read());
            done += 1;
        }
        println!("{what}: {done} reads, {given} answered, {} swaps", swaps.load(Ordering::Relaxed));
    });
    // Each swap ends as it began, so what is read now is there. A reader that always fails would win every race.
    assert!((0..ROUNDS).any(|_| read()), "{what}: no read was answered");
}

/// Puts a link in a place, whatever is there.
fn put_link(target: &Path, place: &Path, beside: &Path) {
    let _ = fs::remove_file(beside);
    symlink(target, beside).unwrap();
    fs::rename(beside, place).unwrap();
}

/// Puts a file in a place, whatever is there.
fn put_file(text: &str, place: &Path, beside: &Path) {
    fs::write(beside, text).unwrap();
    fs::rename(beside, place).unwrap();
}

/// Puts another name of a file in a place, whatever is there: all at once, and without writing anything.
fn put(file: &Path, place: &Path, beside: &Path) {
    let _ = fs::remove_file(beside);
    fs::hard_link(file, beside).unwrap();
    fs::rename(beside, place).unwrap();
}

fn read(registry: &Registry, path: &str) -> Result<String, SourceError> {
    let bytes = registry.read_bytes("a", path, Slice::first(10_000))?.bytes;
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn a_skill_file_that_links_to_a_file_of_another_name_is_broken_and_never_shown() {
    let folder =
        tree(&[("secret/id_rsa", CANARY), ("b/SKILL.md", &skill("b")), ("a/x.md", "x"), ("c/x.md", "x")]);
    write(folder.path(), "secret/note.md", &skill("a").replace("Does", CANARY));
    for (name, target) in [("a", "../secret/note.md"), ("c", "../secret/id_rsa")] {
        symlink(target, folder.path().join(name).join("SKILL.md")).unwrap();
    }
    fs::create_dir(folder.path().join("d")).unwrap();
    symlink("/etc/passwd", folder.path().join("d/SKILL.md")).unwrap();
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let catalog = registry.catalog();
    assert_eq!(catalog.list().len(), 1);
    for name in ["a", "c", "d"] {
        let (candidate, _) = catalog.why(name)[0];
        let Some(Obstacle::Broken { problems, .. }) = &candidate.obstacle else { panic!("{candidate:?}") };
        assert!(problems[0].message.contains("with another name"), "{problems:?}");
        for result in [
            registry.head_of(candidate).map(|head| head.bytes),
            registry
                .read(candidate, &RelPath::parse("SKILL.md").unwrap(), Slice::first(99))
                .map(|chunk| chunk.bytes),
            read::read_skill(&folder.path().join(name).join("SKILL.md")).map(|head| head.bytes),
        ] {
            assert!(
                matches!(result, Err(SourceError { kind: SourceErrorKind::OtherFile, .. })),
                "{result:?}"
            );
        }
        assert!(Skill::load(folder.path().join(name)).is_err());
    }
    let shown = format!("{:?} {:?}", catalog, registry.problems());
    assert!(!shown.contains(CANARY) && !shown.contains("root:"), "{shown}");
}

#[test]
fn a_skill_file_may_link_to_any_file_of_its_own_folder() {
    let folder = tree(&[("a/README.md", &skill("a")), ("b/docs/main.md", &skill("b"))]);
    symlink("README.md", folder.path().join("a/SKILL.md")).unwrap();
    symlink(folder.path().join("b/docs/main.md"), folder.path().join("b/SKILL.md")).unwrap();
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    for name in ["a", "b"] {
        assert_eq!(registry.document(name).unwrap().body(), format!("Body of {name}."));
    }
}

#[test]
fn a_file_behind_a_link_is_read_while_other_programs_move_folders() {
    let folder =
        tree(&[("skills/a/SKILL.md", &skill("a")), ("skills/a/real/x.md", "text"), ("other/one/x", "")]);
    fs::create_dir(folder.path().join("skills/a/links")).unwrap();
    // The kernel looks at each `..` of a path, so this one is likely to meet a move.
    symlink(format!("{}../real", "../links/".repeat(20)), folder.path().join("skills/a/links/y")).unwrap();
    let registry = registry(&[&folder.path().join("skills")]);
    registry.refresh().unwrap();
    let (one, two) = (folder.path().join("other/one"), folder.path().join("other/two"));
    let swap = || {
        fs::rename(&one, &two).unwrap();
        fs::rename(&two, &one).unwrap();
    };
    race("reading beside other programs", swap, || {
        for _ in 0..20 {
            let chunk = registry.read_bytes("a", "links/y/x.md", Slice::first(9)).unwrap();
            assert_eq!(chunk.bytes, b"text");
        }
        true
    });
}

#[test]
fn a_skill_file_is_read_only_while_it_is_the_skill_that_was_listed() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a")), ("skills/a/x.md", "x"), ("key", CANARY)]);
    let (place, beside) = (folder.path().join("skills/a/SKILL.md"), folder.path().join("beside"));
    write(folder.path(), "other/SKILL.md", &skill("a").replace("Body", CANARY));
    let registry = registry(&[&folder.path().join("skills")]);
    registry.refresh().unwrap();
    put_file(&skill("a").replace("Body", "New body"), &place, &beside);
    assert!(read(&registry, "SKILL.md").unwrap().contains("New body"), "a file that was saved anew");
    assert_eq!(read(&registry, "x.md").unwrap(), "x");

    put_link(&folder.path().join("key"), &place, &beside);
    assert!(matches!(read(&registry, "SKILL.md"), Err(SourceError { kind: SourceErrorKind::OtherFile, .. })));
    assert!(matches!(read(&registry, "x.md"), Err(SourceError { kind: SourceErrorKind::OtherFile, .. })));
    put_link(&folder.path().join("other/SKILL.md"), &place, &beside);
    assert!(
        matches!(read(&registry, "SKILL.md"), Err(SourceError { kind: SourceErrorKind::Changed, .. })),
        "not the file that was listed"
    );
    fs::remove_file(&place).unwrap();
    fs::hard_link(folder.path().join("key"), &place).unwrap();
    assert!(
        matches!(read(&registry, "SKILL.md"), Err(SourceError { kind: SourceErrorKind::Broken, .. })),
        "no skill at all"
    );
    put_file(&skill("b"), &place, &beside);
    assert!(
        matches!(read(&registry, "SKILL.md"), Err(SourceError { kind: SourceErrorKind::Changed, .. })),
        "another skill"
    );
    for path in ["SKILL.md", "x.md"] {
        let resource = registry.read_resource("a", path, Slice::first(999), TooLarge::Page);
        assert!(
            matches!(resource, Err(SourceError { kind: SourceErrorKind::Changed, .. })),
            "{path}: {resource:?}"
        );
    }
    assert!(registry.files("a").is_err() && registry.digest("a").is_err());

    // What is listed anew is read again, through a link to a file of its name.
    put_link(&folder.path().join("other/SKILL.md"), &place, &beside);
    registry.refresh().unwrap();
    assert!(read(&registry, "SKILL.md").unwrap().contains(CANARY));
}

#[test]
fn the_key_in_the_place_of_a_skill_file_is_never_read_in_a_race() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a")), ("key", CANARY)]);
    write(folder.path(), "other/SKILL.md", &skill("a").replace("Body", CANARY));
    let (place, beside) = (folder.path().join("skills/a/SKILL.md"), folder.path().join("beside"));
    let targets = [folder.path().join("key"), folder.path().join("other/SKILL.md")];
    write(folder.path(), "saved", &skill("a"));
    let saved = folder.path().join("saved");
    let registry = registry(&[&folder.path().join("skills")]);
    registry.refresh().unwrap();
    let own = RelPath::parse("SKILL.md").unwrap();
    let mut turn = 0;
    let swap = || {
        turn += 1;
        put_link(&targets[turn % 2], &place, &beside);
        put(&saved, &place, &beside);
    };
    let mut round = 0;
    race("SKILL.md and a link", swap, || {
        round += 1;
        let bytes = match round % 4 {
            0 => registry.document("a").map(|document| document.raw().to_vec()),
            1 => registry.read_with_digest("a", &own, Slice::first(9_999)).map(|(chunk, _)| chunk.bytes),
            2 => read::read_skill(&place).map(|head| head.bytes).map(|bytes| {
                // Without a list, a file of the same name elsewhere is the skill.
                if bytes.starts_with(b"---") { Vec::new() } else { bytes }
            }),
            _ => registry.read_bytes("a", "SKILL.md", Slice::first(9_999)).map(|chunk| chunk.bytes),
        };
        let bytes = bytes.unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(CANARY), "round {round}");
        !bytes.is_empty()
    });
}

#[test]
fn a_link_to_a_key_is_never_listed_in_a_race() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a"))]);
    write(folder.path(), "key", &skill("a").replace("Does", CANARY));
    let (place, beside) = (folder.path().join("skills/a/SKILL.md"), folder.path().join("beside"));
    write(folder.path(), "saved", &skill("a"));
    let (key, saved) = (folder.path().join("key"), folder.path().join("saved"));
    let registry = registry(&[&folder.path().join("skills")]);
    let swap = || {
        put_link(&key, &place, &beside);
        put(&saved, &place, &beside);
    };
    race("listing and a link", swap, || {
        registry.refresh().unwrap();
        let catalog = registry.catalog();
        assert!(!format!("{catalog:?}").contains(CANARY));
        !catalog.is_empty()
    });
}

#[test]
fn the_store_that_was_checked_is_the_one_that_is_read_in_a_race() {
    let folder = tree(&[
        ("store/SKILL.md", &skill("a")),
        ("store/sub/file.md", "fine"),
        ("secret/sub/file.md", CANARY),
        ("skills/a/note.md", "note"),
        ("skills/a/inner/file.md", "fine"),
    ]);
    write(folder.path(), "secret/SKILL.md", &skill("a").replace("Body", CANARY));
    let at = |path: &str| folder.path().join(path);
    symlink("../../store/SKILL.md", at("skills/a/SKILL.md")).unwrap();
    symlink("../../store/sub", at("skills/a/sub")).unwrap();
    symlink(at("skills/a/inner/file.md"), at("skills/a/around.md")).unwrap();
    let registry = registry(&[&at("skills")]);
    registry.refresh().unwrap();
    for path in ["sub/file.md", "around.md"] {
        assert_eq!(read(&registry, path).unwrap(), "fine");
    }
    // Where a real folder was, there is a link for a moment, and then the folder again.
    let exchange = |place: &str, secret: &str| {
        let (away, beside) = (at("away"), at("beside"));
        symlink(at(secret), &beside).unwrap();
        fs::rename(at(place), &away).unwrap();
        fs::rename(&beside, at(place)).unwrap();
        fs::remove_file(at(place)).unwrap();
        fs::rename(&away, at(place)).unwrap();
    };
    let swap = || {
        exchange("store", "secret");
        exchange("store/sub", "secret/sub");
        exchange("skills/a/inner", "secret/sub");
    };
    let paths = ["sub/file.md", "around.md", "SKILL.md", "inner/file.md"];
    let mut round = 0;
    race("a store and a link", swap, || {
        round += 1;
        let text = if round % 16 == 0 {
            let digests = registry.manifest_of(&registry.get("a").unwrap());
            format!("{digests:?}").replace("secret", CANARY)
        } else {
            read(&registry, paths[round % paths.len()]).unwrap_or_default()
        };
        assert!(!text.contains(CANARY), "round {round}: {text}");
        !text.is_empty()
    });
}

#[test]
fn a_description_that_was_not_approved_is_never_shown_in_a_race() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/note.md", "note")]);
    let made = |approvals: Approvals| {
        let mut registry = Registry::new();
        registry.add(DirSource::new(folder.path(), ScanOptions::default()).with_scope(Scope::Project));
        registry.set_trust(Trust::in_approved(approvals));
        registry.refresh().unwrap();
        registry
    };
    let first = made(Approvals::default());
    let candidate = first.get("a").unwrap();
    let mut approvals = Approvals::default();
    approvals.trust_skill(&candidate, first.approvable(&candidate).unwrap());
    let registry = made(approvals);
    let others = tempfile::tempdir_in(folder.path().parent().unwrap()).unwrap();
    let (place, beside) = (folder.path().join("a/SKILL.md"), others.path().join("x"));
    // As long as the approved one, so that no size tells them apart.
    let evil = skill("a").replace("Does a", "EVIL a").replace("Body of a", "EVIL of a");
    assert_eq!(evil.len(), skill("a").len());
    write(others.path(), "evil", &evil);
    write(others.path(), "good", &skill("a"));
    let swap = || {
        put(&others.path().join("evil"), &place, &beside);
        put(&others.path().join("good"), &place, &beside);
    };
    race("a description and an approval", swap, || {
        let _ = registry.refresh();
        let catalog = registry.catalog();
        let Some(skill) = catalog.get("a").filter(|skill| skill.is_usable()) else { return false };
        assert_eq!(skill.entry.description, "Does a.");
        if let Ok(document) = registry.document_of(skill) {
            assert_eq!((document.description(), document.body()), (Some("Does a."), "Body of a."));
        }
        true
    });
}

#[test]
fn the_folder_of_a_broken_skill_that_becomes_a_link_is_neither_listed_nor_read() {
    let broken = "---\nname: a\n---\n";
    let folder = tree(&[
        ("project/a/SKILL.md", broken),
        ("project/unread/x.md", "x"),
        ("secret/SKILL.md", broken),
        ("secret/key", CANARY),
    ]);
    let at = |path: &str| folder.path().join(path);
    symlink("nowhere", at("project/unread/SKILL.md")).unwrap();
    let inside = Some(at("project"));
    for project in [None, inside] {
        let within = project.is_some();
        let source = DirSource::new(at("project"), ScanOptions::default()).with_project(project);
        let mut registry = Registry::new();
        registry.add(source);
        registry.refresh().unwrap();
        let catalog = registry.catalog();
        let key = RelPath::parse("key").unwrap();
        for (name, unread) in [("a", false), ("unread", true)] {
            let found = |skill: &&_| candidate_folder(skill) == Some(name);
            let candidate = catalog.all().map(|(skill, _)| skill).find(found).unwrap();
            assert!(matches!(candidate.obstacle, Some(Obstacle::Broken { .. })));
            assert!(registry.files_of(candidate).is_ok(), "{name}: as it was listed");
            fs::rename(at("project").join(name), at("away")).unwrap();
            symlink(at("secret"), at("project").join(name)).unwrap();
            // What could not be read has no state to compare; a project that is not trusted is left by nothing.
            if within || !unread {
                let results = [
                    registry.files_of(candidate).map(drop),
                    registry.manifest_of(candidate).map(drop),
                    registry.read(candidate, &key, Slice::first(99)).map(drop),
                    registry.head_of(candidate).map(drop),
                ];
                assert!(results.iter().all(Result::is_err), "{name}, {within}: {results:?}");
            }
            fs::remove_file(at("project").join(name)).unwrap();
            fs::rename(at("away"), at("project").join(name)).unwrap();
        }
    }
}

/// The name of the folder that a skill is in.
fn candidate_folder(skill: &prowess::Candidate) -> Option<&str> {
    Path::new(skill.entry.origin.location.path()?).parent()?.file_name()?.to_str()
}
