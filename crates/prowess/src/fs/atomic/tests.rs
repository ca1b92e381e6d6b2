//! Tests of changing files: stopped at each step, changed meanwhile, read-only, linked, on a full disk.

#![allow(clippy::disallowed_methods, reason = "these are tests")]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::lock::lock_within;
use super::temporary::{open_without_waiting, unused_name};
use super::*;

fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<(), WriteError> {
    replace_where(path, before, after, |_| true)
}

fn folder_with(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("SKILL.md");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Replaces `old` by `new`, and does something at each step.
fn stepwise(path: &Path, at: impl FnMut(Step) -> io::Result<()>) -> Result<(), WriteError> {
    replace_stepwise(path, &fs::canonicalize(path).unwrap(), b"old", b"new", at)
}

#[test]
fn a_folder_that_becomes_a_link_meanwhile_is_not_written_through() {
    for swapped in [Step::Open, Step::Create, Step::Write, Step::Sync, Step::Compare, Step::Rename] {
        let (folder, _) = folder_with("unused");
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("skill")).unwrap();
        fs::create_dir(place("outside")).unwrap();
        fs::write(place("skill/SKILL.md"), "old").unwrap();
        fs::write(place("outside/SKILL.md"), "old").unwrap();
        let done = stepwise(&place("skill/SKILL.md"), |step| {
            if step == swapped {
                fs::rename(place("skill"), place("moved"))?;
                symlink(place("outside"), place("skill"))?;
            }
            Ok(())
        });
        assert_eq!(fs::read(place("outside/SKILL.md")).unwrap(), b"old", "{swapped:?}");
        assert_eq!(names(&place("outside")), ["SKILL.md"], "{swapped:?}");
        let early = matches!(swapped, Step::Open | Step::Create);
        assert_eq!(done.is_err(), early, "{swapped:?}: {done:?}");
    }
}

#[test]
fn a_file_whose_real_place_is_not_allowed_is_left_alone() {
    let (folder, path) = folder_with("old");
    let real = fs::canonicalize(&path).unwrap();
    let link = folder.path().join("link.md");
    symlink(&path, &link).unwrap();
    let error = replace_where(&link, b"old", b"new", |target| target != real).unwrap_err();
    assert!(matches!(&error, WriteError::Outside { target, .. } if *target == real), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    replace_where(&link, b"old", b"new", |target| target == real).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_leaves_no_temporary_file() {
    for mode in [0o600, 0o644, 0o755, 0o664] {
        let (folder, path) = folder_with("old");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        replace(&path, b"old", b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        assert_eq!(names(folder.path()), ["SKILL.md"]);
    }
}

#[test]
fn stopped_at_any_step_the_old_file_is_complete_and_alone() {
    for stop in [Step::Create, Step::Write, Step::Sync, Step::Compare, Step::Rename] {
        let (folder, path) = folder_with("old");
        let error =
            stepwise(
                &path,
                |step| {
                    if step == stop { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
                },
            )
            .unwrap_err();
        assert!(error.path() == path && error.hint().contains("make room"), "{stop:?}: {error}");
        assert_eq!(fs::read(&path).unwrap(), b"old", "{stop:?}");
        assert_eq!(names(folder.path()), ["SKILL.md"], "{stop:?}");
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_left_alone() {
    for theirs in ["theirs", "", "oldest", "ol"] {
        let (folder, path) = folder_with("old");
        let error =
            stepwise(&path, |step| if step == Step::Compare { fs::write(&path, theirs) } else { Ok(()) })
                .unwrap_err();
        assert!(matches!(error, WriteError::Changed { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        assert_eq!(names(folder.path()), ["SKILL.md"]);
    }
    let (folder, path) = folder_with("old");
    let gone = stepwise(&path, |step| if step == Step::Compare { fs::remove_file(&path) } else { Ok(()) });
    assert!(matches!(gone, Err(WriteError::Changed { .. })));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_read_only_file_is_left_alone_though_it_could_be_renamed_over() {
    let (folder, path) = folder_with("old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = replace(&path, b"old", b"new").unwrap_err();
    assert!(
        matches!(error, WriteError::ReadOnly { .. }) && error.to_string().contains("SKILL.md"),
        "{error}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["SKILL.md"]);
    assert!(matches!(replace(Path::new("/dev/null"), b"", b"x"), Err(WriteError::ReadOnly { .. })));
    assert!(matches!(replace(&folder.path().join("no"), b"", b"x"), Err(WriteError::Io { .. })));
}

#[test]
fn a_link_stays_a_link_and_its_target_changes_in_its_own_folder() {
    let (folder, path) = folder_with("old");
    let skill = folder.path().join("skill");
    fs::create_dir(&skill).unwrap();
    let link = skill.join("SKILL.md");
    symlink("../SKILL.md", &link).unwrap();
    replace(&link, b"old", b"new").unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("../SKILL.md"));
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(&skill), ["SKILL.md"]);
    assert_eq!(names(folder.path()), ["SKILL.md", "skill"]);
}

#[test]
fn another_hard_link_keeps_the_old_bytes() {
    let (folder, path) = folder_with("old");
    let other = folder.path().join("other");
    fs::hard_link(&path, &other).unwrap();
    replace(&path, b"old", b"new").unwrap();
    assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "none"])
        .arg(folder.path())
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        println!("skipped: a small disk cannot be mounted here");
        return;
    }
    let path = folder.path().join("SKILL.md");
    fs::write(&path, "old").unwrap();
    let replaced = replace(&path, b"old", &vec![b'x'; 256 * 1024]);
    let made = make_folder(&folder.path().join("new"), &[("a/b", b"x"), ("c", &vec![b'x'; 256 * 1024])]);
    let left = (fs::read(&path).unwrap(), names(folder.path()));
    let unmounted = Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    for result in [replaced, made] {
        let error = result.unwrap_err();
        assert!(
            matches!(&error, WriteError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull),
            "{error:?}"
        );
    }
    assert_eq!(left, (b"old".to_vec(), vec!["SKILL.md".to_owned()]));
}

#[test]
fn a_folder_is_created_completely_and_never_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    make_folder(&path, &[("SKILL.md", b"x"), ("scripts/a.sh", b"y")]).unwrap();
    assert_eq!(names(&path), ["SKILL.md", "scripts"]);
    assert_eq!(names(folder.path()), ["new"]);
    assert!(matches!(make_folder(&path, &[]), Err(WriteError::Exists { .. })));
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(make_folder(&empty, &[("a", b"")]), Err(WriteError::Exists { .. })));
    // Even one that appears at the last moment.
    let temporary = folder.path().join("t");
    fs::create_dir(&temporary).unwrap();
    assert_eq!(rename_to_new(&temporary, &empty).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    fs::remove_dir(&temporary).unwrap();
    let dangling = folder.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    assert!(matches!(make_folder(&dangling, &[]), Err(WriteError::Exists { .. })));
    assert!(matches!(make_folder(&folder.path().join("no/x"), &[]), Err(WriteError::Io { .. })));
    // A file in the way of a folder: nothing half-made stays.
    let clash = make_folder(&folder.path().join("half"), &[("a", b""), ("a/b", b"")]);
    assert!(clash.is_err());
    assert_eq!(names(folder.path()), ["dangling", "empty", "new"]);
}

#[test]
fn a_temporary_file_of_a_killed_process_is_removed_by_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("SKILL.md");
    fs::write(&path, "old").unwrap();
    let (left, worked_on) = (".prowess-0123456789abcdef.tmp", ".prowess-fedcba9876543210.tmp");
    fs::write(folder.path().join(left), "half").unwrap();
    fs::create_dir_all(folder.path().join(".prowess-12-3.tmp/scripts")).unwrap();
    // A temporary file that another process still uses is locked.
    let other = File::create(folder.path().join(worked_on)).unwrap();
    other.lock().unwrap();
    replace(&path, b"old", b"new").unwrap();
    assert_eq!(names(folder.path()), [worked_on, "SKILL.md"]);
    drop(other);
    make_folder(&folder.path().join("new"), &[("a", b"x")]).unwrap();
    assert_eq!(names(folder.path()), ["SKILL.md", "new"]);
}

#[test]
fn two_temporary_names_are_never_the_same() {
    let names: std::collections::BTreeSet<String> = (0..1_000).map(|_| unused_name()).collect();
    assert_eq!(names.len(), 1_000);
    assert!(names.iter().all(|name| is_temporary(name)));
    for other in ["x.tmp", ".prowess-.txt", ".prowess-.tmp", ".prowess-notes.tmp", "prowess-12.tmp"] {
        assert!(!is_temporary(other), "{other}");
    }
}

#[test]
fn a_fifo_with_a_temporary_name_does_not_block() {
    let (folder, path) = folder_with("old");
    let fifo = folder.path().join(".prowess-12.tmp");
    if !Command::new("mkfifo").arg(&fifo).status().is_ok_and(|status| status.success()) {
        return;
    }
    // It may be put there after its kind was checked.
    drop(open_without_waiting(&fifo));
    replace(&path, b"old", b"new").unwrap();
    assert!(fifo.symlink_metadata().is_ok(), "none of ours");
}

#[cfg(unix)]
#[test]
fn a_lock_is_for_this_user_only_and_waiting_for_it_has_a_timeout() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/trust.lock");
    let held = lock_own(None, &path).unwrap();
    assert_eq!(held.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let late = lock_within(None, &path, Duration::ZERO).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert!(late.to_string().contains("trust.lock"), "{late}");
    drop(held);
    assert!(lock_within(None, &path, Duration::ZERO).is_ok());
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    assert!(lock_own(None, &path).is_err(), "a FIFO is no lock, and opening it does not wait");
}
