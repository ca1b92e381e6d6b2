//! [`recover`]: completes or undoes the transaction of a process that was killed.
//!
//! Nothing is removed that could be the only copy: an edit is kept where it is, and so is everything in a journal that
//! can be neither completed nor undone.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::journal::{Base, Journal, OwnPaths};
use super::placements::Placements;
use super::stages::{self, Stages};
use super::steps::{Folders, ForeignLock, Work};
use super::transaction::{Books, record};
use crate::error::shown;
use crate::fs::atomic;
use crate::fs::dir::Folder;
use crate::fs::set_aside::set_aside_name;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::registry::trust::Approvals;

/// The result of recovering an interrupted installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// The skills that it installs or replaces.
    pub(crate) installed: BTreeSet<String>,
    /// The skills that it removes.
    pub(crate) removed: BTreeSet<String>,
    /// Why it was undone; none when it was completed.
    pub(crate) undone: Option<String>,
    /// What was not undone, because the lock names it by now.
    pub(crate) recorded: BTreeSet<String>,
    /// What could not be undone.
    pub(crate) changed: BTreeSet<String>,
    /// Edits that were made to replaced skills in the meantime: the original path, and where the edited files are now.
    pub(crate) kept: Vec<(PathBuf, PathBuf)>,
}

impl Recovered {
    /// Notes for the user, as sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let names =
            |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let list = |title: &str, of: &BTreeSet<String>| {
            if of.is_empty() { String::new() } else { format!("; {title}: {}", names(of)) }
        };
        let first = match &self.undone {
            Some(reason) if self.recorded.is_empty() && self.changed.is_empty() => {
                format!("an interrupted installation was undone: {reason}")
            }
            Some(reason) => format!(
                "an interrupted installation was partly undone: {reason}{}{}",
                list("skills.lock has this by now, so it stays", &self.recorded),
                list("this is not as it was before", &self.changed)
            ),
            None if self.installed.is_empty() && self.removed.is_empty() => {
                "an interrupted installation was completed: its records were written".to_owned()
            }
            None if self.installed.is_empty() => {
                format!("an interrupted removal was completed: {}", names(&self.removed))
            }
            None => format!(
                "an interrupted installation was completed: {}{}",
                names(&self.installed),
                list("removed", &self.removed)
            ),
        };
        let kept = self.kept.iter().map(|(edited, to)| {
            format!(
                "{} was edited while it was replaced; the edited files are kept in {}",
                shown(edited),
                shown(to)
            )
        });
        std::iter::once(first).chain(kept).collect()
    }
}

/// Whether a killed process left a journal behind, here or where this place was before it was moved.
pub(crate) fn is_interrupted(books: &Books) -> bool {
    books.journal.exists() || stages::journal_of(books).is_some()
}

/// Whether a killed process left a staging folder behind.
pub(crate) fn has_leftovers(books: &Books) -> bool {
    stages::file_beside(&books.journal).exists()
}

/// An error if a file of the user's state about a place cannot be read, so that no command can change the place.
pub(crate) fn check_readable(books: &Books) -> Result<(), InstallError> {
    load_stages(books)?;
    Placements::load(books)?;
    match Journal::load(&books.journal) {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(failed(books, error)),
        _ => Ok(()),
    }
}

fn load_stages(books: &Books) -> Result<Stages, InstallError> {
    Stages::load(&books.journal)
        .map_err(|error| InstallError::io("read", &stages::file_beside(&books.journal), error))
}

/// Removes the temporary files that killed processes left in the folders of the user's state. A file that a process is
/// still writing is locked, and stays. Nothing else removes them before something is written there again.
pub(crate) fn sweep_state(books: &Books) {
    for folder in [&books.journal, &books.approvals].into_iter().filter_map(|file| file.parent()) {
        atomic::sweep(folder);
    }
}

/// The staging folders of this place that exist.
pub(crate) fn own_stages(books: &Books) -> Vec<PathBuf> {
    Stages::load(&books.journal).map(|stages| stages.present()).unwrap_or_default()
}

/// Completes or undoes the transaction of a killed process, and removes its leftovers; none when no installation was
/// interrupted. Nothing is changed outside of the place, except in the folders of clients `elsewhere`. The caller holds
/// the lock of the place.
pub(crate) fn recover(
    books: &Books,
    elsewhere: &dyn Fn() -> Vec<PathBuf>,
) -> Result<Option<Recovered>, InstallError> {
    stages::take_over(books).map_err(|error| failed(books, error))?;
    let mut stages = load_stages(books)?;
    let base = Base::at(&books.base);
    let own = OwnPaths::new(&base, elsewhere);
    stages.forget_outside(&own).map_err(|error| failed(books, error))?;
    let recovered = match Journal::load(&books.journal) {
        Ok(Some(journal)) => {
            let journal = journal.moved_to(&base);
            if let Some(path) = journal.outside(&own) {
                let message = format!("it names a path outside of {}: {}", shown(&books.base), shown(&path));
                let error = io::Error::new(io::ErrorKind::InvalidData, message);
                return Err(set_aside(books, &mut stages, &failed(books, error)));
            }
            Some(settle(books, &journal, &mut stages)?)
        }
        Ok(None) => None,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(set_aside(books, &mut stages, &failed(books, error)));
        }
        Err(error) => return Err(failed(books, error)),
    };
    // Leftovers that cannot be removed now are removed by a later command.
    let _ = stages.forget(stages::remove);
    sweep_state(books);
    Ok(recovered)
}

fn failed(books: &Books, error: io::Error) -> InstallError {
    InstallError::io("complete an interrupted installation by its journal", &books.journal, error)
}

/// Completes or undoes a journal, and removes it.
fn settle(books: &Books, journal: &Journal, stages: &mut Stages) -> Result<Recovered, InstallError> {
    let mut folders = Folders::new();
    for path in journal.folders() {
        let stage = |dir: Folder| dir.make(&journal.stage).map(|stage| (dir, stage));
        stages.add(path.join(&journal.stage)).map_err(|error| failed(books, error))?;
        match Folder::open_real(path).and_then(stage) {
            Ok(opened) => drop(folders.insert(path.to_owned(), opened)),
            // A folder that no longer exists has nothing to complete or undo.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Something else is in its place, and the next attempt would find it too.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let error = InstallError::io("open the folder of skills", path, error);
                return Err(set_aside(books, stages, &error));
            }
            Err(error) => return Err(failed(books, error)),
        }
    }
    let work = Work { journal, folders: &folders };
    let named = |is_meant: fn(bool) -> bool| {
        let steps = journal.steps.iter().filter(|step| is_meant(step.after.is_some()));
        steps.map(|step| step.name.clone()).collect()
    };
    let mut recovered =
        Recovered { installed: named(|stays| stays), removed: named(|stays| !stays), ..Recovered::default() };
    // If the approvals changed since then, they contain these already, or the user revoked them after the process was
    // killed. Then nothing is granted; the next `sync` asks for what is missing.
    let unchanged = |now: &Approvals| journal.approvals == Some(now.revision());
    if let Err(error) = work.complete().and_then(|()| record(journal, books, unchanged)) {
        let Ok(not_undone) = work.backward(&ForeignLock::of(journal)) else {
            return Err(set_aside(books, stages, &error));
        };
        let placements = Placements::load(books)?.before(journal, &not_undone.stay);
        placements.map_or(Ok(()), Placements::save)?;
        recovered.undone = Some(error.full_message());
        (recovered.recorded, recovered.changed) = (not_undone.recorded, not_undone.changed);
    }
    recovered.kept = work.edits()?;
    // Before the journal is removed: after a kill in between, the next process must not remove them.
    let is_kept = |stage: &std::path::Path| recovered.kept.iter().any(|(_, to)| to.starts_with(stage));
    if !recovered.kept.is_empty() {
        stages.forget(is_kept).map_err(|error| failed(books, error))?;
    }
    // Temporary files of a killed process would stay beside records that are not written again.
    for folder in journal.files.iter().filter_map(|file| file.path.parent()) {
        atomic::sweep(folder);
    }
    Journal::clear(&books.journal).map_err(|error| failed(books, error))?;
    Ok(recovered)
}

/// Sets a journal aside that can be neither completed nor undone, so that the next command can continue. Nothing in it
/// is removed, now or later.
fn set_aside(books: &Books, stages: &mut Stages, reason: &InstallError) -> InstallError {
    let kept = set_aside_name(&books.journal);
    let present = stages.present();
    // The folders first: if the journal were removed before them, a kill in between would have them removed.
    let moved = stages.forget(|_| true).and_then(|()| std::fs::rename(&books.journal, &kept));
    let mut message = format!(
        "an interrupted installation could be neither completed nor undone: {}; its journal is kept: {}",
        reason.full_message(),
        shown(&kept)
    );
    for stage in &present {
        message.push_str("; files that it had staged or replaced are kept: ");
        message.push_str(&shown(stage).to_string());
    }
    let hint = if present.is_empty() {
        "compare what is there with the lock, then run the command again"
    } else {
        "compare what is there with the lock, take what you need from the kept files and remove them, then run the \
         command again"
    };
    let error = InstallError::new(InstallErrorKind::Damaged, message, hint);
    match moved {
        Ok(()) => error,
        Err(cause) => error.because(cause),
    }
}
