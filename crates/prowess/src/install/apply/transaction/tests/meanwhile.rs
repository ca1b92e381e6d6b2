//! How an interrupted transaction is recovered after others worked in the same place, or the place was restored.

use super::recovery::{completed, kill, killed_after, stage, undone};
use super::*;
use crate::install::records::{LockedSkill, SkillsLock, Upstream};

/// A lock with these skills, by the texts of their files.
fn lock_of(skills: &[(&str, &str)]) -> String {
    let mut lock = SkillsLock::default();
    for (name, text) in skills {
        let (source, digest) = (Upstream::Folder { path: "x".to_owned() }, Some(tree(text).digest()));
        lock.insert(LockedSkill { digest, ..LockedSkill::of(*name, source) });
    }
    lock.to_text()
}

/// A transaction that updates `a`, adds `b`, removes `gone` and writes both records, killed after this many steps and
/// after it wrote `skills.toml`.
fn killed_between_the_records(place: &Place, steps: usize) -> PathBuf {
    let wanted = place.books.base.join("skills.toml");
    fs::write(&wanted, "old").unwrap();
    fs::write(&place.lock, lock_of(&[("a", "old"), ("gone", "gone")])).unwrap();
    let mut next = Transaction::begin(&place.books, 2);
    next.put(&place.skills, "a", &tree("new"), Some(before("old"))).unwrap();
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    next.remove(&place.skills, "gone", before("gone")).unwrap();
    next.write(wanted.clone(), Some("old".to_owned()), "new".to_owned(), None);
    let after = lock_of(&[("a", "new"), ("b", "b")]);
    next.write(place.lock.clone(), Some(text_of(&place.lock)), after, None);
    next.prepare(holds_modes).unwrap();
    kill(place, next, steps);
    fs::write(&wanted, "new").unwrap();
    wanted
}

#[test]
fn what_another_user_locked_since_the_kill_is_not_undone() {
    let place = place();
    let wanted = killed_between_the_records(&place, 3);
    // The other user adds a skill, and locks what is there.
    let theirs = lock_of(&[("a", "new"), ("b", "b"), ("third", "third")]);
    fs::write(&place.lock, &theirs).unwrap();
    let notes = undone(&place).notes();
    assert_eq!(shown(&place), ["a new", "b b", &*theirs]);
    assert_eq!(text_of(&wanted), "new");
    assert!(notes[0].contains("partly undone") && notes[0].contains("stays: a, b"), "{notes:?}");
    // So that a later command does not take it for the user's.
    let placements = Placements::load(&place.books).unwrap();
    for (name, text) in [("a", Some("new")), ("b", Some("b")), ("gone", None)] {
        let placed = text.map(|text| tree(text).digest());
        assert_eq!(placements.digest(&place.skills.join(name)), placed, "{name}");
    }
    assert!(stage(&place.skills).is_none() && !place.books.journal.exists());
}

#[test]
fn a_copy_that_a_killed_update_never_reached_stays_recorded_as_it_was_placed() {
    let place = place();
    let copies = place.books.base.join("client/skills");
    fs::create_dir_all(&copies).unwrap();
    let locked = lock_of(&[("a", "old"), ("gone", "gone")]);
    fs::write(&place.lock, &locked).unwrap();
    let mut first = Transaction::begin(&place.books, 1);
    first.put(&copies, "a", &tree("old"), None).unwrap();
    first.commit().unwrap();
    let mut next = Transaction::begin(&place.books, 2);
    next.put(&place.skills, "a", &tree("new"), Some(before("old"))).unwrap();
    next.put(&copies, "a", &tree("new"), Some(before("old"))).unwrap();
    let after = lock_of(&[("a", "new"), ("gone", "gone")]);
    next.write(place.lock.clone(), Some(locked), after, None);
    next.prepare(holds_modes).unwrap();
    kill(&place, next, 1);
    fs::write(&place.lock, lock_of(&[("a", "new"), ("gone", "gone"), ("third", "third")])).unwrap();
    undone(&place);
    let placements = Placements::load(&place.books).unwrap();
    for (folder, text) in [(&place.skills, "new"), (&copies, "old")] {
        assert_eq!(text_of(&folder.join("a/SKILL.md")), text);
        assert_eq!(placements.digest(&folder.join("a")), Some(tree(text).digest()), "{text}");
    }
}

#[test]
fn what_a_later_lock_does_not_have_is_undone() {
    let place = place();
    let wanted = killed_between_the_records(&place, 3);
    let theirs = lock_of(&[("a", "old"), ("gone", "gone"), ("third", "third")]);
    fs::write(&place.lock, &theirs).unwrap();
    undone(&place);
    assert_eq!(shown(&place), ["a old", "gone gone", &*theirs]);
    assert_eq!(text_of(&wanted), "old");
    // Only one of its skills is in the later lock.
    fs::remove_file(&wanted).unwrap();
    let wanted = killed_between_the_records(&place, 3);
    let theirs = lock_of(&[("b", "b"), ("gone", "gone")]);
    fs::write(&place.lock, &theirs).unwrap();
    undone(&place);
    assert_eq!(shown(&place), ["a old", "b b", "gone gone", &*theirs]);
    assert_eq!(text_of(&wanted), "new");
}

#[test]
fn the_same_files_that_another_user_installed_since_the_kill_count_as_installed() {
    let place = place();
    let mut next = Transaction::begin(&place.books, 2);
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    next.put(&place.skills, "c", &tree("c"), None).unwrap();
    next.prepare(holds_modes).unwrap();
    kill(&place, next, 1);
    let other = Books { journal: place.root.path().join("other/journal"), ..place.books.clone() };
    let mut theirs = Transaction::begin(&other, 1);
    theirs.put(&place.skills, "c", &tree("c"), None).unwrap();
    theirs.commit().unwrap();
    assert_eq!(completed(&place), "an interrupted installation was completed: b, c");
    assert_eq!(shown(&place), ["a old", "b b", "c c", "gone gone", "old"]);
}

/// Copies a folder with its links, as a backup does.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = {
            let name = entry.unwrap().file_name();
            (from.join(&name), to.join(&name))
        };
        match fs::read_link(&from) {
            #[cfg(unix)]
            Ok(target) => std::os::unix::fs::symlink(target, &to).unwrap(),
            _ if from.is_dir() => copy(&from, &to),
            _ => drop(fs::copy(&from, &to).unwrap()),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_killed_installation_is_completed_after_its_project_was_restored_at_the_same_path() {
    // The whole project, or only the folder of its skills.
    for part in ["", "agents"] {
        for steps in 0..=5 {
            let place = place();
            killed_after(&place, steps);
            let (folder, backup) = (place.books.base.join(part), place.root.path().join("backup"));
            copy(&folder, &backup);
            fs::remove_dir_all(&folder).unwrap();
            fs::rename(&backup, &folder).unwrap();
            completed(&place);
            assert_eq!(shown(&place), NEW, "{part} {steps}");
            assert!(stage(&place.skills).is_none(), "{part} {steps}");
        }
    }
}

#[test]
fn an_installation_that_cannot_be_undone_as_a_whole_is_called_partly_undone() {
    let place = place();
    killed_after(&place, 2);
    // The user goes on with the new version, and another program changed the lock.
    fs::write(place.skills.join("a/SKILL.md"), "mine").unwrap();
    fs::write(&place.lock, "theirs").unwrap();
    let notes = undone(&place).notes();
    assert!(notes[0].contains("partly undone") && notes[0].ends_with("not as it was before: a"), "{notes:?}");
    assert_eq!(shown(&place), ["a mine", "gone gone", "theirs"]);
    // The old version is restored where nothing took its place.
    fs::write(&place.lock, "old").unwrap();
    fs::remove_dir_all(place.skills.join("a")).unwrap();
    let mut first = Transaction::begin(&place.books, 1);
    first.put(&place.skills, "a", &tree("old"), None).unwrap();
    first.commit().unwrap();
    killed_after(&place, 2);
    fs::remove_dir_all(place.skills.join("a")).unwrap();
    let notes = undone(&place).notes();
    assert!(notes[0].contains("was undone"), "{notes:?}");
    assert_eq!(shown(&place), OLD);
}
