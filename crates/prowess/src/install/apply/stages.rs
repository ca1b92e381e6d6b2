//! [`Stages`]: the staging folders of a place, recorded before they are created, so that only that place removes them; and
//! those of a place that was moved after a process was killed, which are known by its journal.
//!
//! A name does not show who created a folder. A repository can contain a folder with such a name, and one of another
//! user or another state folder may hold the only copy of what its journal needs.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use super::journal::{Base, Journal, OwnPaths, state_of};
use super::transaction::Books;
use crate::error::{SourceError, SourceErrorKind, shown};
use crate::fs::atomic::{self, Durability, is_stage, lock_within};
use crate::fs::dir::{Folder, Kind};
use crate::fs::own;

/// The largest record that is read.
const MAX_BYTES: usize = 1 << 20;

/// The staging folders of a place.
#[derive(Debug)]
pub(super) struct Stages {
    file: PathBuf,
    paths: Vec<PathBuf>,
}

/// The file that records them, beside the journal of their place.
pub(super) fn file_beside(journal: &Path) -> PathBuf {
    journal.with_extension("stages")
}

impl Stages {
    /// Reads the record beside a journal.
    pub(super) fn load(journal: &Path) -> io::Result<Self> {
        let file = file_beside(journal);
        let paths = match own::read(state_of(&file), &file, MAX_BYTES) {
            // A damaged record names nothing: folders that may be needed are not removed.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(SourceError { kind: SourceErrorKind::Io(error), .. }) => return Err(error),
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => Vec::new(),
            // Nothing could be written in its place.
            Err(_) if file.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Err(_) => Vec::new(),
        };
        Ok(Self { file, paths })
    }

    /// Records a folder that is about to be created.
    pub(super) fn add(&mut self, path: PathBuf) -> io::Result<()> {
        if self.paths.contains(&path) {
            return Ok(());
        }
        self.paths.push(path);
        self.save()
    }

    /// Removes those from the record for which `is_done` is true: they are removed, or must not be.
    pub(super) fn forget(&mut self, is_done: impl Fn(&Path) -> bool) -> io::Result<()> {
        let before = self.paths.len();
        self.paths.retain(|path| !is_done(path));
        if self.paths.len() == before && before > 0 { Ok(()) } else { self.save() }
    }

    /// Removes those from the record that this place may not name, so that they are not removed, which is said.
    pub(super) fn forget_outside(&mut self, own: &OwnPaths<'_>) -> io::Result<()> {
        let is_outside = |path: &Path| !path.parent().is_some_and(|folder| own.has_folder(folder));
        if !self.has(is_outside) {
            return Ok(());
        }
        for path in self.present().iter().filter(|path| is_outside(path)) {
            let text =
                format!("this folder is named as unfinished, and is outside, so it stays: {}", shown(path));
            own::note(text, Some("remove it if you do not need it".into()));
        }
        self.forget(is_outside)
    }

    /// Whether one of them is meant.
    pub(super) fn has(&self, is_it: impl Fn(&Path) -> bool) -> bool {
        self.paths.iter().any(|path| is_it(path))
    }

    /// The folders that exist.
    pub(super) fn present(&self) -> Vec<PathBuf> {
        self.paths.iter().filter(|path| path.symlink_metadata().is_ok()).cloned().collect()
    }

    /// Writes the record. It need not survive a crash of the machine: then a folder is left that no reader takes for a
    /// skill.
    fn save(&self) -> io::Result<()> {
        if !self.paths.is_empty() {
            return atomic::write_own(
                Some(state_of(&self.file)),
                &self.file,
                &[&serde_json::to_vec(&self.paths)?],
                Durability::Rebuilt,
            );
        }
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Removes a staging folder. Returns whether nothing is left of it.
pub(super) fn remove(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_stage(name));
    let (Some(folder), Some(name)) = (path.parent(), name) else { return true };
    match Folder::open_real(folder) {
        Ok(dir) => match dir.kind(name) {
            Ok(Some(Kind::Folder)) => dir.remove(name).is_ok(),
            other => other.is_ok(),
        },
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

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
    let _ = fs::remove_file(file_beside(&file));
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
        remove(stage) && stages.forget(is_it).is_ok()
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
