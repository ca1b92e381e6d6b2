//! What is believed where, and what is said about it. Other users take part in the tests of the command.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Dev;
use rustix::io::Errno;

use super::super::{make_folder, may_cache, read, read_judged, state_notes};
use crate::error::SourceErrorKind;
use crate::fs::modes;
use crate::registry::trust::Approvals;

thread_local! {
    /// A device of this thread that keeps no modes, and what changing one returns; none where they are kept.
    pub(super) static WITHOUT: Cell<Option<(Dev, Result<(), Errno>)>> = const { Cell::new(None) };
}

/// The notes are those of the process, so the tests that take them run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn notes_about(path: &Path) -> Vec<String> {
    let said = state_notes().into_iter().map(|note| note.text);
    said.filter(|note| note.contains(&path.display().to_string())).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn open(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn a_file_system_without_modes_is_believed_and_this_is_said_when_a_folder_is_made() {
    let _alone = alone();
    for (device, answer) in [(Dev::MAX, Ok(())), (Dev::MAX - 1, Err(Errno::PERM))] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let inner = root.join("install");
        WITHOUT.set(Some((device, answer)));
        let made = make_folder(Some(&root), &inner);
        let said = notes_about(&root);
        fs::write(inner.join("file"), "kept").unwrap();
        let read = read_judged(&root, &inner.join("file"), 10);
        let again = (may_cache(&root), make_folder(Some(&root), &inner).is_ok());
        let later = notes_about(&root);
        WITHOUT.set(None);
        assert!(made.is_ok() && again == (true, true), "{answer:?}: {made:?}");
        assert_eq!(read.unwrap(), b"kept", "{answer:?}");
        let expected = "this file system keeps no permissions, so other users may write here: ";
        assert!(said.len() == 2 && said.iter().all(|note| note.starts_with(expected)), "{said:?}");
        assert!(later.is_empty(), "{later:?}");
    }
}

#[test]
fn a_mode_that_cannot_be_changed_for_another_reason_is_not_believed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    WITHOUT.set(Some((Dev::MAX - 2, Err(Errno::ROFS))));
    let may = may_cache(folder.path());
    WITHOUT.set(None);
    if !modes::are_kept(folder.path()) {
        println!("skipped: the file system of the temporary folder keeps no modes");
        return;
    }
    assert!(!may);
    let why = "other users can write in it";
    let expected = format!("ignored, since {why}: {}", folder.path().display());
    assert_eq!(notes_about(folder.path()), [expected]);
}

#[test]
fn a_root_of_a_host_keeps_its_mode_and_is_not_believed_if_others_can_write_in_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // The name does not make it ours.
    let root = folder.path().join("prowess");
    let file = root.join("trust.json");
    let mut approvals = Approvals::default();
    approvals.trust_folder("/p".into());
    approvals.save(&file).unwrap();
    assert_eq!(mode(&root), 0o700);
    for (given, is_believed) in [(0o750, true), (0o755, true), (0o777, false)] {
        fs::set_permissions(&root, fs::Permissions::from_mode(given)).unwrap();
        assert_eq!(Approvals::load(&file).unwrap().folders.len(), usize::from(is_believed), "{given:o}");
        assert_eq!(approvals.save(&file).is_ok(), is_believed, "{given:o}");
        assert_eq!(mode(&root), given);
    }
    let said = notes_about(&root);
    let why = "other users can write in its folder";
    let expected = format!("ignored, since {why}: {}", file.display());
    assert_eq!(said, [expected]);
}

#[test]
fn folders_below_a_root_are_closed_and_those_behind_symlinks_of_the_user_keep_their_mode() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (root, elsewhere) = (folder.path().join("root"), folder.path().join("elsewhere"));
    make_folder(Some(&root), &root.join("a")).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(elsewhere.join("file"), "one").unwrap();
    symlink(&elsewhere, root.join("b")).unwrap();
    fs::write(root.join("a/file"), "two").unwrap();
    for file in [root.join("a/file"), elsewhere.join("file")] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    open(&root.join("a"));
    assert_eq!(read(&root, &root.join("a/file"), 10).unwrap(), b"two");
    assert_eq!(read(&root, &root.join("b/file"), 10).unwrap(), b"one");
    assert_eq!((mode(&root.join("a")), mode(&elsewhere)), (0o700, 0o755));
    open(&elsewhere);
    assert!(matches!(read(&root, &root.join("b/file"), 10).unwrap_err().kind, SourceErrorKind::Missing));
    assert_eq!(mode(&elsewhere), 0o777);
    let said = notes_about(&root.join("a"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("closed a folder that other users could write: "), "{said:?}");
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(read(&root, &root.join("a/file"), 10).unwrap(), b"two");
    let said = notes_about(&root.join("a"));
    assert!(
        matches!(&said[..], [note] if note.starts_with("closed a folder that other users could read: ")),
        "{said:?}"
    );
    for (path, kind) in
        [("a/none", "missing"), ("none/file", "missing"), ("a/file/x", "missing"), ("a", "folder")]
    {
        let error = read(&root, &root.join(path), 10).unwrap_err();
        let is_it = match kind {
            "folder" => matches!(error.kind, SourceErrorKind::Folder),
            _ => matches!(error.kind, SourceErrorKind::Missing),
        };
        assert!(is_it, "{path}: {error:?}");
    }
}
