//! Tests of the store.

#![allow(clippy::disallowed_methods, reason = "these are tests")]

use std::sync::Barrier;

use prowess_core::RelPath;

use super::*;

fn tree(text: &str) -> SkillTree {
    let file = |path: &str, executable, text: &str| TreeFile {
        path: RelPath::parse(path).unwrap(),
        executable,
        bytes: text.as_bytes().into(),
    };
    let files =
        vec![file("SKILL.md", false, text), file("scripts/a b.sh", true, "echo"), file("e", false, "")];
    SkillTree::new(files, &InstallLimits::default()).unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("store/v1"));
    (folder, store)
}

#[test]
fn what_is_put_is_what_is_got_and_the_listing_hashes_to_the_digest() {
    let (_folder, store) = store();
    let tree = tree("x");
    assert_eq!(store.get(tree.digest()), None);
    store.put([&tree]).unwrap();
    store.put([&tree]).unwrap();
    assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
    assert_eq!(store.listing(tree.digest()).as_ref(), Some(tree.manifest()));
    let bytes = fs::read(store.place_of(tree.digest())).unwrap();
    let listing = digests::listing(tree.manifest()).unwrap();
    assert_eq!(digests::of_bytes(listing.as_bytes()), tree.digest());
    assert_eq!(bytes, format!("{listing}\nxecho").into_bytes());
    assert_eq!(fs::read_dir(store.folder().join("tmp")).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn files_in_the_store_are_read_only_and_their_folders_private() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (_folder, store) = store();
    let tree = tree("x");
    store.put([&tree]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = store.place_of(tree.digest());
    // The umask may take away more.
    assert_eq!((mode(&place) & 0o622, mode(store.folder())), (0o400, 0o700));
    assert_eq!(fs::metadata(&place).unwrap().nlink(), 1);
}

#[test]
fn a_changed_byte_or_a_missing_file_counts_as_missing_and_is_repaired_by_the_next_put() {
    let (_folder, store) = store();
    let tree = tree("x");
    let place = &store.place_of(tree.digest());
    let damages: [fn(&Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            for byte in &mut bytes {
                *byte ^= 1;
            }
            fs::remove_file(path).unwrap();
            fs::write(path, bytes).unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "longer than it was before, by far and for certain").unwrap();
        },
        |path| {
            fs::remove_file(path).unwrap();
            fs::write(path, "").unwrap();
        },
    ];
    store.put([&tree]).unwrap();
    let whole = fs::read(place).unwrap();
    let damaged = |change: &dyn Fn(&Path), what: &str| {
        change(place);
        assert_eq!(store.get(tree.digest()), None, "{what}");
        assert!(!place.exists(), "{what}");
        store.put([&tree]).unwrap();
        assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree), "{what}");
    };
    for (number, damage) in damages.iter().enumerate() {
        damaged(damage, &number.to_string());
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        let replace = |bytes: &[u8]| {
            fs::remove_file(place).unwrap();
            fs::write(place, bytes).unwrap();
        };
        damaged(&|_| replace(&bytes), &format!("byte {at}"));
        damaged(&|_| replace(&whole[..at]), &format!("{at} bytes"));
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_this_time_is_kept_for_the_next() {
    let (_folder, store) = store();
    let tree = tree("x");
    store.put([&tree]).unwrap();
    let (trees, away) = (store.folder().join("trees"), store.folder().join("away"));
    fs::rename(&trees, &away).unwrap();
    // A link to itself: the system cannot say what is there.
    std::os::unix::fs::symlink("trees", &trees).unwrap();
    assert_eq!(store.get(tree.digest()), None);
    fs::remove_file(&trees).unwrap();
    fs::rename(&away, &trees).unwrap();
    assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
}

#[test]
fn processes_that_put_the_same_do_not_disturb_each_other() {
    let (_folder, store) = store();
    let (tree, barrier) = (tree("x"), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                Store::at(store.folder().to_owned()).put([&tree]).unwrap();
                assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
            });
        }
    });
}

#[test]
fn a_store_that_cannot_be_written_is_an_error_that_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let store = Store::at(folder.path().join("file/store"));
    assert!(store.put([&tree("x")]).is_err());
    assert!(store.put([&tree("x"), &tree("y")]).is_err());
    assert_eq!(store.get(tree("x").digest()), None);
}

#[test]
fn a_skill_whose_files_or_listing_are_read_is_in_use() {
    let (_folder, store) = store();
    let tree = tree("x");
    store.put([&tree]).unwrap();
    let place = store.place_of(tree.digest());
    let reads: [fn(&Store, Digest) -> bool; 2] =
        [|store, digest| store.get(digest).is_some(), |store, digest| store.listing(digest).is_some()];
    for read in reads {
        File::open(&place).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(read(&store, tree.digest()));
        assert!(fs::metadata(&place).unwrap().modified().unwrap() > SystemTime::UNIX_EPOCH);
    }
}
