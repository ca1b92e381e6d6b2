//! Hot reload: after any change of the folders, the catalog is what a new registry would list.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess::watch::{WatchOptions, Watcher};
use prowess::{Delta, DirSource, JsonlSource, Registry, ScanOptions};

use crate::trees::{keys, skill, tree, write};

/// A registry over a folder that may come and go, and over a file.
fn registry(root: &Path) -> Registry {
    let mut registry = Registry::new();
    registry.add(DirSource::new(root.join("skills"), ScanOptions::default()));
    registry.add(JsonlSource::new(root.join("more/team.jsonl")));
    registry.set_on_error(prowess::fs::walk::OnError::Report);
    registry
}

/// Everything a catalog says, in words.
fn seen(registry: &Registry) -> Vec<String> {
    let catalog = registry.catalog();
    let all = catalog.all().map(|(candidate, standing)| {
        let entry = &candidate.entry;
        format!("{} {} {} {standing:?}", entry.key, entry.origin.location, entry.description)
    });
    all.collect()
}

fn fresh(root: &Path) -> Vec<String> {
    let registry = registry(root);
    registry.refresh().unwrap();
    seen(&registry)
}

fn watcher(root: &Path) -> Watcher {
    let options = WatchOptions::default().with_quiet(Duration::from_millis(1));
    Watcher::new(Arc::new(registry(root)), options).unwrap()
}

/// Waits until the catalog is that of a fresh look. Only a change that the system reported leads to another scan, so
/// one that was missed ends in an error and not in a look by chance.
fn caught_up(watcher: &mut Watcher, root: &Path, when: &str) -> Delta {
    let mut whole = Delta::default();
    let deadline = Instant::now() + Duration::from_secs(60);
    while seen(watcher.registry()) != fresh(root) {
        assert!(Instant::now() < deadline, "a change was missed: {when}");
        // A look that changes nothing that a delta speaks of may still change what is said of a broken skill.
        let Some(mut delta) = watcher.next(Some(Duration::from_millis(20))).unwrap() else { continue };
        whole.added.append(&mut delta.added);
        whole.changed.append(&mut delta.changed);
        whole.removed.append(&mut delta.removed);
        whole.newly_broken.append(&mut delta.newly_broken);
    }
    whole
}

#[test]
fn every_way_of_changing_a_folder_is_seen() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a"))]);
    let root = folder.path();
    let mut watcher = watcher(root);
    let mut settled = |added: &[&str], changed: &[&str], removed: &[&str], broken: &[&str]| {
        let delta = caught_up(&mut watcher, root, &format!("{added:?} {changed:?} {removed:?} {broken:?}"));
        assert_eq!(
            (delta.added, delta.changed, delta.removed, delta.newly_broken),
            (
                added.iter().map(ToString::to_string).collect(),
                changed.iter().map(ToString::to_string).collect(),
                removed.iter().map(ToString::to_string).collect(),
                broken.iter().map(ToString::to_string).collect()
            )
        );
    };
    settled(&[], &[], &[], &[]);
    // Saved by renaming, as editors do.
    write(root, "skills/a/.SKILL.md.tmp", &skill("a").replace("Does", "Now does"));
    fs::rename(root.join("skills/a/.SKILL.md.tmp"), root.join("skills/a/SKILL.md")).unwrap();
    settled(&[], &["a"], &[], &[]);
    write(root, "skills/deep/down/b/SKILL.md", &skill("b"));
    settled(&["b"], &[], &[], &[]);
    fs::rename(root.join("skills/deep"), root.join("skills/moved")).unwrap();
    settled(&[], &["b"], &[], &[]);
    write(root, "skills/moved/down/b/SKILL.md", "broken");
    settled(&[], &[], &["b"], &["b"]);
    fs::remove_dir_all(root.join("skills")).unwrap();
    settled(&[], &[], &["a"], &[]);
    write(root, "skills/a/SKILL.md", &skill("a"));
    settled(&["a"], &[], &[], &[]);
    // A whole tree takes the place of another.
    write(root, "other/c/SKILL.md", &skill("c"));
    fs::rename(root.join("skills"), root.join("old")).unwrap();
    fs::rename(root.join("other"), root.join("skills")).unwrap();
    settled(&["c"], &[], &["a"], &[]);
    write(root, "skills/c/SKILL.md", &skill("c").replace("Does", "Still does"));
    settled(&[], &["c"], &[], &[]);
    // Behind a link.
    symlink(root.join("old/a"), root.join("skills/linked")).unwrap();
    settled(&["a"], &[], &[], &[]);
    write(root, "old/a/SKILL.md", &skill("a").replace("Does", "Elsewhere does"));
    settled(&[], &["a"], &[], &[]);
    fs::create_dir_all(root.join("skills/d")).unwrap();
    symlink(root.join("old/d/SKILL.md"), root.join("skills/d/SKILL.md")).unwrap();
    write(root, "old/d/SKILL.md", &skill("d"));
    settled(&["d"], &[], &[], &[]);
    write(root, "old/d/SKILL.md", &skill("d").replace("Does", "Always does"));
    settled(&[], &["d"], &[], &[]);
    write(root, "more/team.jsonl", "{\"name\":\"e\",\"description\":\"Does e.\"}\n");
    settled(&["e"], &[], &[], &[]);
    // All of it somewhere else, and back.
    fs::rename(root.join("skills"), root.join("away")).unwrap();
    settled(&[], &[], &["a", "c", "d"], &[]);
    fs::rename(root.join("away"), root.join("skills")).unwrap();
    settled(&["a", "c", "d"], &[], &[], &[]);
}

#[test]
fn a_change_is_waited_for_and_a_thousand_at_once_are_one() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a"))]);
    let root = folder.path().to_owned();
    let mut watcher = watcher(&root);
    assert_eq!(watcher.next(Some(Duration::ZERO)).unwrap(), None);
    for number in 0..1_000 {
        write(&root, &format!("skills/s{number}/SKILL.md"), &skill(&format!("s{number}")));
    }
    let mut next = || watcher.next(Some(Duration::from_secs(60))).unwrap().unwrap();
    assert_eq!(next().added.len(), 1_000);
    write(&root, "beside/last/SKILL.md", &skill("last"));
    let writer = std::thread::spawn(move || {
        fs::rename(root.join("beside/last"), root.join("skills/last")).unwrap();
    });
    assert_eq!(next().added, ["last"]);
    writer.join().unwrap();
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[test]
fn after_a_thousand_random_changes_the_catalog_is_that_of_a_fresh_look_every_time() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a"))]);
    let root = folder.path();
    let mut watcher = watcher(root);
    let mut numbers = Numbers(20_261_116);
    for step in 0..1_000 {
        let (one, other) = (numbers.below(6), numbers.below(6));
        let (from, to) = (root.join(format!("skills/f{one}")), root.join(format!("skills/f{other}")));
        let inner = root.join(format!("skills/f{one}/n{other}"));
        // Many of these fail, as they do when another thread was faster.
        let _ = match numbers.below(12) {
            0..=3 => {
                let text = skill(&format!("s{one}")).replace("Does", &format!("At {step} does"));
                fs::create_dir_all(&from).and_then(|()| fs::write(from.join("SKILL.md"), text))
            }
            4 => fs::create_dir_all(&inner)
                .and_then(|()| fs::write(inner.join("SKILL.md"), skill(&format!("n{other}")))),
            5 => fs::write(from.join(".new"), skill(&format!("r{step}")))
                .and_then(|()| fs::rename(from.join(".new"), from.join("SKILL.md"))),
            6 => fs::rename(&from, &to),
            7 => fs::rename(&inner, root.join(format!("skills/m{one}"))),
            8 => fs::remove_dir_all(&from),
            9 => fs::remove_file(from.join("SKILL.md")),
            10 => fs::write(from.join("SKILL.md"), "broken"),
            _ if one == 0 && other == 0 => fs::remove_dir_all(root.join("skills")),
            _ => symlink(&to, root.join(format!("skills/l{one}"))),
        };
        // Sometimes several changes are one.
        if numbers.below(3) == 0 {
            caught_up(&mut watcher, root, &format!("step {step}"));
        }
    }
    caught_up(&mut watcher, root, "at the end");
}

#[test]
fn what_lies_behind_links_is_followed_wherever_they_lead() {
    let folder = tree(&[
        ("real/a/SKILL.md", &skill("a")),
        ("store/pdf/SKILL.md", &skill("pdf")),
        ("v1/SKILL.md", &skill("one")),
        ("v2/SKILL.md", &skill("two")),
    ]);
    let root = folder.path();
    // The root itself is a link.
    symlink("real", root.join("skills")).unwrap();
    let mut watcher = watcher(root);
    let mut caught_up = |when: &str| {
        caught_up(&mut watcher, root, when);
        keys(watcher.registry())
    };
    fs::remove_dir_all(root.join("real")).unwrap();
    assert!(caught_up("the target of the root is gone").is_empty());
    write(root, "real/b/SKILL.md", &skill("b"));
    assert_eq!(caught_up("and there again"), ["b"]);
    // A skill is a link into a store, as installers lay it; an update puts another folder there.
    symlink("../store/pdf", root.join("real/pdf")).unwrap();
    assert_eq!(caught_up("a link to a folder"), ["b", "pdf"]);
    fs::rename(root.join("store/pdf"), root.join("store/old")).unwrap();
    assert_eq!(caught_up("its target is moved"), ["b"]);
    write(root, "store/pdf/SKILL.md", &skill("pdf"));
    assert_eq!(caught_up("another takes its place"), ["b", "pdf"]);
    // SKILL.md is a link through another link that is changed.
    symlink("v1", root.join("current")).unwrap();
    fs::create_dir(root.join("real/chain")).unwrap();
    symlink("../../current/SKILL.md", root.join("real/chain/SKILL.md")).unwrap();
    assert_eq!(caught_up("a chain of links"), ["b", "one", "pdf"]);
    symlink("v2", root.join("next")).unwrap();
    fs::rename(root.join("next"), root.join("current")).unwrap();
    assert_eq!(caught_up("a link in the chain is changed"), ["b", "pdf", "two"]);
}

/// A remote source, which reports no changes.
struct Remote(std::sync::Arc<prowess::MemorySource>);

impl prowess::source::Source for Remote {
    fn id(&self) -> &'static str {
        "remote"
    }

    fn traits(&self) -> prowess::source::SourceTraits {
        prowess::source::SourceTraits::remote()
    }

    fn list(&self) -> Result<prowess::source::Listing, prowess::SourceError> {
        self.0.list()
    }

    fn read(
        &self,
        skill: prowess::SourceSkill<'_>,
        path: &prowess::RelPath,
        slice: prowess::source::Slice,
    ) -> Result<prowess::source::Chunk, prowess::SourceError> {
        self.0.read(skill, path, slice)
    }
}

#[test]
fn remote_sources_are_asked_again_and_local_refreshes_do_not_ask_them() {
    let elsewhere = std::sync::Arc::new(prowess::MemorySource::new("remote"));
    let mut registry = Registry::new();
    registry.add(Remote(elsewhere.clone()));
    let insert = |name: &str| {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        elsewhere.insert(name, &text, prowess::Scope::Remote);
    };
    registry.refresh().unwrap();
    insert("first");
    assert!(registry.refresh_local().unwrap().is_empty());
    assert_eq!(registry.refresh().unwrap().added, ["first"]);
    let options = WatchOptions::default().with_ask(Some(Duration::from_millis(5)));
    let mut watcher = Watcher::new(registry.into(), options).unwrap();
    insert("second");
    assert_eq!(watcher.next(Some(Duration::from_secs(60))).unwrap().unwrap().added, ["second"]);
}
