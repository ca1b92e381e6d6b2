//! Interrupted installations of a folder that was moved or copied before the next command.
//!
//! Journals are found by the path of their place. After a move, the name of the staging folder, which is random, shows
//! which journal belongs to a place: the folder is here, and no longer where the journal says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::journal::{Base, Journal, state_of};
use super::stages::{self, Stages};
use super::transaction::Books;
use crate::fs::atomic::{is_stage, lock_within};
use crate::fs::dir::{Folder, Kind};

/// The journal of an installation that was interrupted before this place was moved here.
pub(super) fn journal_of(books: &Books) -> Option<PathBuf> {
    let base = Base::at(&books.base);
    let is_ours = |file: &PathBuf| {
        let Ok(Some(journal)) = Journal::load(file) else { return false };
        let is_there = |journal: &Journal| {
            journal.folders().iter().any(|folder| folder.join(&journal.stage).symlink_metadata().is_ok())
        };
        !is_there(&journal) && is_there(&journal.moved_to(&base))
    };
    files_beside(&books.journal, "journal").into_iter().find(is_ours)
}

/// Gives the journal of a moved place the name by which this place finds it. The caller holds the lock of the place.
pub(super) fn take_over(books: &Books) -> io::Result<()> {
    if books.journal.exists() {
        return Ok(());
    }
    let Some(file) = journal_of(books) else { return Ok(()) };
    // A process that still runs in the moved folder holds the lock of its old path.
    let _held = lock_within(Some(state_of(&file)), &file.with_extension("lock"), Duration::ZERO)?;
    fs::rename(&file, &books.journal)?;
    // It names staging folders by their old paths. The journal names the folder, and has it removed.
    let _ = fs::remove_file(stages::file_beside(&file));
    Ok(())
}

/// The staging folders in a folder of skills that no record of this place names, and no journal. One that a process of
/// this user left before the place was moved is not returned, and removed if `may_remove` is set. The caller holds the
/// lock of the place.
pub(crate) fn unknown_stages(books: &Books, skills: &Path, may_remove: bool) -> Vec<PathBuf> {
    let Ok(dir) = Folder::open_real(skills) else { return Vec::new() };
    let names = dir.names().unwrap_or_default().into_iter().filter(|name| is_stage(name));
    let folders = names.filter(|name| matches!(dir.kind(name), Ok(Some(Kind::Folder))));
    let mut unknown: Vec<PathBuf> = folders.map(|name| skills.join(name)).collect();
    if unknown.is_empty() {
        return unknown;
    }
    let own = Stages::load(&books.journal).map(|stages| stages.present()).unwrap_or_default();
    // A journal that is not completed yet needs its folder.
    let pending = || [Some(books.journal.clone()), journal_of(books)].into_iter().flatten();
    let is_pending = |stage: &Path| {
        let journals = pending().filter_map(|file| Journal::load(&file).ok().flatten());
        journals.into_iter().any(|journal| stage.ends_with(&journal.stage))
    };
    unknown.retain(|stage| !own.contains(stage) && !is_pending(stage) && !is_moved(books, stage, may_remove));
    unknown
}

/// Whether a staging folder is one of a place that was moved here, whose process was killed before it wrote its journal.
/// Such a folder is removed if `may_remove` is set.
fn is_moved(books: &Books, stage: &Path, may_remove: bool) -> bool {
    files_beside(&books.journal, "stages").into_iter().any(|file| {
        let journal = file.with_extension("journal");
        let Ok(mut stages) = Stages::load(&journal) else { return false };
        let is_it = |old: &Path| old.file_name() == stage.file_name() && old.symlink_metadata().is_err();
        if journal.exists() || !stages.has(is_it) {
            return false;
        }
        if !may_remove {
            return true;
        }
        let Ok(_held) = lock_within(Some(state_of(&file)), &file.with_extension("lock"), Duration::ZERO)
        else {
            return false;
        };
        stages::remove(stage) && stages.forget(is_it).is_ok()
    })
}

/// The files of other places with an ending, beside the journal of this one.
fn files_beside(journal: &Path, ending: &str) -> Vec<PathBuf> {
    let folder = journal.parent().and_then(|folder| fs::read_dir(folder).ok());
    let files = folder.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_other = |file: &PathBuf| {
        file.extension().is_some_and(|end| end == ending) && file.file_stem() != journal.file_stem()
    };
    let mut files: Vec<PathBuf> = files.filter(is_other).collect();
    files.sort();
    files
}
