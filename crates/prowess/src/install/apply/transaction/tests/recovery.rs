//! How the next process recovers a transaction that was killed between its steps.

use super::*;
use crate::fs::atomic::is_stage;
use crate::install::apply::recover::is_interrupted;
use crate::install::apply::stages::unknown_stages;
use crate::install::apply::steps::{aside, swap};
use crate::install::error::InstallErrorKind;

/// A process that is killed after this many steps, with its journal on the disk.
pub(super) fn killed_after(place: &Place, steps: usize) {
    let mut next = prepared(place, &place.books);
    next.prepare(holds_modes).unwrap();
    kill(place, next, steps);
}

/// Has a transaction killed after this many steps.
pub(super) fn kill(place: &Place, mut next: Transaction<'_>, steps: usize) {
    next.journal.save(&place.books.journal).unwrap();
    let journal = std::mem::take(&mut next.journal);
    for step in journal.steps.iter().take(steps) {
        let (dir, stage) = &next.folders[&step.folder];
        swap(step, dir, stage).unwrap();
    }
    if steps > journal.steps.len() {
        fs::write(&place.lock, "new").unwrap();
    }
}

/// The staging folder, if there is one.
pub(super) fn stage(skills: &Path) -> Option<PathBuf> {
    let names = Folder::open_resolved(skills).unwrap().names().unwrap();
    names.into_iter().find(|name| is_stage(name)).map(|name| skills.join(name))
}

/// Recovers, and checks that the installation was completed as planned. Returns the note about it.
pub(super) fn completed(place: &Place) -> String {
    let recovered = recover(&place.books).unwrap().unwrap();
    assert!(recovered.undone.is_none() && recovered.kept.is_empty(), "{recovered:?}");
    recovered.notes().remove(0)
}

pub(super) fn undone(place: &Place) -> Recovered {
    let recovered = recover(&place.books).unwrap().unwrap();
    assert!(recovered.undone.is_some(), "{recovered:?}");
    recovered
}

#[test]
fn the_next_process_completes_what_a_killed_one_began() {
    for steps in 0..=5 {
        let place = place();
        killed_after(&place, steps);
        completed(&place);
        assert_eq!(shown(&place), NEW, "{steps}");
        assert_eq!(recover(&place.books).unwrap(), None, "{steps}");
    }
}

#[test]
fn edits_after_a_kill_are_kept_and_the_rest_is_undone() {
    let place = place();
    killed_after(&place, 0);
    fs::write(place.skills.join("gone/SKILL.md"), "edited").unwrap();
    let reason = undone(&place).undone.unwrap();
    assert!(reason.contains("gone"), "{reason}");
    assert_eq!(shown(&place), ["a old", "gone edited", "old"]);
}

#[test]
fn a_record_that_a_killed_process_had_begun_to_write_is_swept_also_when_all_is_undone() {
    let place = place();
    killed_after(&place, 0);
    fs::write(place.skills.join("gone/SKILL.md"), "edited").unwrap();
    let begun = place.lock.with_file_name(crate::fs::atomic::unused_name());
    fs::write(&begun, "ne").unwrap();
    recover(&place.books).unwrap();
    assert_eq!(shown(&place), ["a old", "gone edited", "old"]);
    assert!(!begun.exists());
}

#[test]
fn an_exchange_by_three_moves_is_completed_from_each_of_them() {
    for moves in 0..3 {
        let place = place();
        let mut next = prepared(&place, &place.books);
        next.prepare(holds_modes).unwrap();
        next.journal.save(&place.books.journal).unwrap();
        let journal = std::mem::take(&mut next.journal);
        let step = &journal.steps[0];
        let (dir, stage) = &next.folders[&step.folder];
        if moves > 0 {
            dir.move_new(&step.name, stage, &aside(step)).unwrap();
        }
        if moves > 1 {
            stage.move_new(&step.staged, dir, &step.name).unwrap();
        }
        drop(next);
        recover(&place.books).unwrap();
        assert_eq!(shown(&place), NEW, "{moves}");
    }
}

#[test]
fn what_was_removed_meanwhile_is_not_recorded_as_installed() {
    let place = place();
    killed_after(&place, 0);
    // Another program cleans up what it does not know.
    fs::remove_dir_all(stage(&place.skills).unwrap()).unwrap();
    undone(&place);
    assert_eq!(shown(&place), OLD);
    // A folder of skills that is gone as a whole stops nothing either.
    killed_after(&place, 1);
    fs::remove_dir_all(&place.skills).unwrap();
    recover(&place.books).unwrap();
    assert!(!place.books.journal.exists());
}

#[test]
fn a_journal_that_is_damaged_is_set_aside_and_named() {
    let place = place();
    fs::create_dir_all(place.books.journal.parent().unwrap()).unwrap();
    fs::write(&place.books.journal, "{").unwrap();
    let error = recover(&place.books).unwrap_err();
    assert!(error.to_string().contains("journal-set-aside"), "{error}");
    assert_eq!(recover(&place.books).unwrap(), None);
}

#[test]
fn a_record_that_was_changed_after_a_kill_stays_and_the_rest_is_undone() {
    let place = place();
    killed_after(&place, 2);
    fs::write(&place.lock, "mine").unwrap();
    undone(&place);
    assert_eq!(shown(&place), ["a old", "gone gone", "mine"]);
}

#[test]
fn nothing_that_a_journal_names_is_removed_when_it_is_set_aside() {
    let place = place();
    killed_after(&place, 1);
    let first = stage(&place.skills).unwrap();
    fs::write(&place.books.journal, "{").unwrap();
    let error = recover(&place.books).unwrap_err().to_string();
    assert!(error.contains("journal-set-aside") && error.contains(&*first.to_string_lossy()), "{error}");
    assert_eq!(recover(&place.books).unwrap(), None);
    prepared(&place, &place.books);
    assert_eq!(recover(&place.books).unwrap(), None);
    assert_eq!(text_of(&first.join("0/SKILL.md")), "old");
    // A second journal does not take the place of the first.
    killed_after(&place, 0);
    fs::write(&place.books.journal, "[").unwrap();
    let error = recover(&place.books).unwrap_err().to_string();
    assert!(error.contains("journal-set-aside-2"), "{error}");
    let kept = place.books.journal.with_extension("journal-set-aside");
    assert_eq!([text_of(&kept), text_of(&first.join("0/SKILL.md"))], ["{", "old"]);
}

#[test]
fn a_staging_folder_is_removed_only_by_the_place_that_made_it() {
    let place = place();
    let other = Books { journal: place.root.path().join("other/journal"), ..place.books.clone() };
    killed_after(&place, 1);
    assert_eq!(recover(&other).unwrap(), None);
    assert!(stage(&place.skills).is_some());
    recover(&place.books).unwrap();
    assert_eq!(shown(&place), NEW);
}

#[test]
fn a_folder_with_the_name_of_a_staging_folder_that_no_process_made_stays() {
    let place = place();
    fs::create_dir(place.skills.join(".prowess-0.stage")).unwrap();
    recover(&place.books).unwrap();
    prepared(&place, &place.books).commit().unwrap();
    recover(&place.books).unwrap();
    assert!(place.skills.join(".prowess-0.stage").exists());
}

#[test]
fn what_was_staged_without_a_journal_is_removed() {
    let place = place();
    let mut next = prepared(&place, &place.books);
    // Nothing is removed when it is dropped, as after a kill.
    drop(std::mem::take(&mut next.journal));
    drop(next);
    assert!(stage(&place.skills).is_some());
    assert_eq!(recover(&place.books).unwrap(), None);
    assert_eq!(shown(&place), OLD);
    assert!(left(&place).is_empty());
}

/// The same place after its folder was renamed.
fn renamed(mut place: Place) -> Place {
    let base = place.root.path().join("renamed");
    fs::rename(&place.books.base, &base).unwrap();
    (place.skills, place.lock) = (base.join("agents/skills"), base.join("skills.lock"));
    place.books = Books { base, journal: place.root.path().join("state/2.journal"), ..place.books };
    place
}

/// The journals and the records of staging folders that are left. The record of what was placed stays.
fn left(place: &Place) -> Vec<PathBuf> {
    let files = fs::read_dir(place.books.journal.parent().unwrap()).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let stays = ["lock", "json", "placed"];
    files
        .filter(|file| file.extension().is_some_and(|end| !stays.iter().any(|stays| end == *stays)))
        .collect()
}

#[test]
fn a_killed_installation_is_completed_after_its_project_was_moved() {
    for steps in 0..=5 {
        let place = place();
        killed_after(&place, steps);
        let place = renamed(place);
        assert!(is_interrupted(&place.books), "{steps}");
        completed(&place);
        assert_eq!(shown(&place), NEW, "{steps}");
        assert!(left(&place).is_empty() && stage(&place.skills).is_none(), "{steps}");
        assert_eq!(recover(&place.books).unwrap(), None, "{steps}");
    }
}

#[test]
fn what_was_staged_without_a_journal_is_removed_after_its_project_was_moved() {
    let place = place();
    let mut next = prepared(&place, &place.books);
    drop(std::mem::take(&mut next.journal));
    drop(next);
    let place = renamed(place);
    assert!(stage(&place.skills).is_some());
    let skills = fs::canonicalize(&place.skills).unwrap();
    // A look removes nothing.
    assert!(unknown_stages(&place.books, &skills, false).is_empty() && stage(&place.skills).is_some());
    assert!(unknown_stages(&place.books, &skills, true).is_empty());
    assert!(stage(&place.skills).is_none() && left(&place).is_empty());
    assert_eq!(shown(&place), OLD);
}

#[test]
fn a_copy_of_a_project_with_a_killed_installation_names_the_folder_that_is_left() {
    let place = place();
    killed_after(&place, 1);
    let copied = place.root.path().join("copy/agents/skills");
    let name = stage(&place.skills).unwrap().file_name().unwrap().to_owned();
    fs::create_dir_all(copied.join(&name)).unwrap();
    let journal = place.root.path().join("state/2.journal");
    let books = Books { base: place.root.path().join("copy"), journal, ..place.books.clone() };
    assert!(!is_interrupted(&books) && recover(&books).unwrap().is_none());
    let copied = fs::canonicalize(copied).unwrap();
    for may_remove in [false, true] {
        assert_eq!(unknown_stages(&books, &copied, may_remove), [copied.join(&name)]);
    }
    // The project itself is completed.
    recover(&place.books).unwrap();
    assert_eq!(shown(&place), NEW);
}

#[cfg(unix)]
#[test]
fn a_folder_of_skills_that_became_a_link_stops_one_command_and_loses_nothing() {
    for linked in ["agents", "agents/skills"] {
        let place = place();
        killed_after(&place, 1);
        let linked = place.books.base.join(linked);
        let moved = place.root.path().join("moved");
        fs::rename(&linked, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &linked).unwrap();
        let error = recover(&place.books).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Damaged, "{error}");
        assert!(error.to_string().contains(&*stage(&place.skills).unwrap().to_string_lossy()), "{error}");
        assert_eq!(recover(&place.books).unwrap(), None);
        assert_eq!(text_of(&stage(&place.skills).unwrap().join("0/SKILL.md")), "old");
    }
}

#[test]
fn a_journal_that_is_too_large_stops_one_command_only() {
    let place = place();
    killed_after(&place, 1);
    fs::File::options().write(true).open(&place.books.journal).unwrap().set_len((64 << 20) + 1).unwrap();
    let error = recover(&place.books).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Damaged);
    assert_eq!(recover(&place.books).unwrap(), None);
}

#[test]
fn an_edit_just_before_a_skill_was_replaced_is_put_back() {
    for steps in [1, 4, 5] {
        let place = place();
        fs::write(place.skills.join("a/SKILL.md"), "edited").unwrap();
        killed_after(&place, steps);
        assert_eq!(undone(&place).kept, []);
        assert_eq!(shown(&place), ["a edited", "gone gone", "old"], "{steps}");
    }
}

#[test]
fn an_edit_that_cannot_be_put_back_is_kept_and_named() {
    let place = place();
    fs::write(place.skills.join("a/SKILL.md"), "edited").unwrap();
    killed_after(&place, 4);
    fs::write(place.skills.join("a/SKILL.md"), "edited too").unwrap();
    let recovered = undone(&place);
    let [(edited, kept)] = &*recovered.kept else { panic!("{recovered:?}") };
    assert_eq!(*edited, place.skills.join("a"));
    assert!(recovered.notes().iter().any(|note| note.contains(&*kept.to_string_lossy())));
    for _ in 0..2 {
        assert_eq!(
            [text_of(&edited.join("SKILL.md")), text_of(&kept.join("SKILL.md"))],
            ["edited too", "edited"]
        );
        assert_eq!(recover(&place.books).unwrap(), None);
    }
}

#[cfg(unix)]
#[test]
fn without_executable_bits_what_was_done_is_undone_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    let mut next = prepared(&place, &place.books);
    // As a file system shows them that keeps no bits.
    for staged in ["0", "1"] {
        let script = stage(&place.skills).unwrap().join(staged).join("scripts/deep/run.sh");
        fs::set_permissions(script, fs::Permissions::from_mode(0o644)).unwrap();
    }
    next.prepare(|_| false).unwrap();
    kill(&place, next, 2);
    fs::write(&place.lock, "mine").unwrap();
    undone(&place);
    assert_eq!(shown(&place), ["a old", "gone gone", "mine"]);
}

#[test]
fn a_journal_that_names_a_path_outside_of_its_place_is_set_aside() {
    type Change = fn(&mut Journal, &Path);
    let changes: [Change; 12] = [
        // The configuration of git runs programs.
        |journal, _| {
            journal
                .files
                .iter_mut()
                .for_each(|file| file.path = file.path.with_file_name(".git").join("config"));
        },
        |journal, _| {
            journal.steps.iter_mut().for_each(|step| step.folder = step.folder.with_file_name(".GIT"));
        },
        |journal, outside| journal.steps.iter_mut().for_each(|step| step.folder = outside.to_owned()),
        |journal, _| journal.steps.iter_mut().for_each(|step| step.folder = step.folder.join("../../../..")),
        |journal, outside| journal.users.push(outside.join("mine")),
        |journal, outside| {
            let (name, key, digest) = ("evil".to_owned(), None, Some([0; 32].into()));
            journal.accepted.push(Accepted { name, key, skill_file: outside.join("evil/SKILL.md"), digest });
        },
        |journal, outside| journal.files.iter_mut().for_each(|file| file.path = outside.join("victim")),
        |journal, _| journal.files.iter_mut().for_each(|file| file.path = file.path.join("../../victim")),
        |journal, outside| {
            journal.files.iter_mut().for_each(|file| file.within = Some(outside.to_owned()));
        },
        |journal, _| journal.files.iter_mut().for_each(|file| file.within = Some("/".into())),
        |journal, _| journal.steps.iter_mut().for_each(|step| step.name = "../victim".to_owned()),
        |journal, _| journal.steps.iter_mut().for_each(|step| step.staged = "/victim".to_owned()),
    ];
    for change in changes {
        let place = place();
        killed_after(&place, 0);
        let outside = tempfile::tempdir().unwrap();
        let mut journal = Journal::load(&place.books.journal).unwrap().unwrap();
        assert!(!journal.files.is_empty() && !journal.steps.is_empty());
        change(&mut journal, outside.path());
        journal.save(&place.books.journal).unwrap();
        let error = recover(&place.books).unwrap_err();
        assert!(error.full_message().contains("it names a path outside of"), "{}", error.full_message());
        assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
        assert!(!place.books.journal.exists() && !place.books.approvals.exists());
        assert_eq!(recover(&place.books).unwrap(), None);
    }
}

#[test]
fn a_journal_that_names_the_folder_of_a_client_elsewhere_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    let killed = |place: &Place| {
        let mut next = prepared(place, &place.books);
        next.link(&folder, "b", "x", None).unwrap();
        let skill_file = folder.join("b/SKILL.md");
        next.accept(Accepted { name: "b".to_owned(), key: None, skill_file, digest: None });
        next.prepare(holds_modes).unwrap();
        kill(place, next, 0);
    };
    let first = place();
    killed(&first);
    // Another folder beside it, and what is in it, are not known.
    let error = recover_with(&first.books, &|| vec![folder.join("below"), first.root.path().into()]);
    let error = error.unwrap_err();
    assert!(error.full_message().contains("it names a path outside of"), "{}", error.full_message());
    assert!(!folder.join("b").is_symlink());
    let place = place();
    killed(&place);
    let recovered = recover_with(&place.books, &|| vec![folder.clone()]).unwrap().unwrap();
    assert!(recovered.undone.is_none(), "{recovered:?}");
    assert!(folder.join("b").is_symlink());
    assert_eq!(shown(&place), NEW);
}

#[test]
fn a_journal_that_was_set_aside_is_completed_under_its_own_name_where_the_client_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    for steps in 0..=5 {
        let place = place();
        let mut next = prepared(&place, &place.books);
        let name = format!("b{steps}");
        next.link(&folder, &name, "x", None).unwrap();
        next.prepare(holds_modes).unwrap();
        kill(&place, next, steps);
        recover(&place.books).unwrap_err();
        let kept = place.books.journal.with_extension("journal-set-aside");
        fs::rename(kept, &place.books.journal).unwrap();
        let recovered = recover_with(&place.books, &|| vec![folder.clone()]).unwrap().unwrap();
        assert!(recovered.undone.is_none(), "{steps}: {recovered:?}");
        assert_eq!(shown(&place), NEW, "{steps}");
        assert!(folder.join(name).is_symlink(), "{steps}");
        assert!(stage(&place.skills).is_none() && stage(&folder).is_none(), "{steps}");
    }
}

#[test]
fn only_staging_folders_of_the_place_and_of_known_clients_are_removed() {
    let place = place();
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = fs::canonicalize(elsewhere.path()).unwrap();
    let name = unused_stage_name();
    let clients = elsewhere.join("client");
    let [known, below, above, unclear] = [
        clients.join(&name),
        clients.join("below").join(&name),
        elsewhere.join(&name),
        place.skills.join("../../..").join(&name),
    ];
    let own = place.skills.join(&name);
    let mut stages = Stages::load(&place.books.journal).unwrap();
    for stage in [&known, &below, &above, &unclear, &own] {
        fs::create_dir_all(stage.join("0")).unwrap();
        stages.add(stage.clone()).unwrap();
    }
    assert_eq!(recover_with(&place.books, &|| vec![clients.clone()]).unwrap(), None);
    assert!(!own.exists() && !known.exists());
    assert!([&below, &above, &unclear].iter().all(|stage| stage.join("0").is_dir()));
    assert!(left(&place).is_empty());
}
