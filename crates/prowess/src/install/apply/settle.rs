//! Interrupted installations: how every operation begins, which waits for other processes and completes what was
//! interrupted unless it only reads, and [`Leftover`], what is left behind. Looking at it changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    Recovered, check_readable, has_leftovers, is_interrupted, own_stages, recover, sweep_state,
    unknown_stages,
};
use crate::error::shown;
use crate::fs::atomic::is_stage;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::installer::{Installer, Progress};
use crate::install::plan::sync::check_records;
use crate::install::records::{InstallScope, InstallTarget};
use crate::internal::locked;

impl Installer {
    /// Takes the lock of a place and recovers interrupted installations.
    pub(crate) fn exclusive(
        &self,
        place: &InstallTarget,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<std::fs::File, InstallError> {
        let held = place.exclusive(self.lock_timeout, &mut || progress(Progress::Waiting))?;
        let elsewhere = || place.folders_elsewhere(self.environment());
        for note in recover(&place.books, &elsewhere)?.iter().flat_map(Recovered::notes) {
            progress(Progress::Recovered(&note));
        }
        self.note_stages(place, true, progress);
        Ok(held)
    }

    /// Reports staging folders whose installation this user does not know, each once. Another user may be installing, or
    /// the folder came with a copy of a project in which an installation was interrupted. One of this user that is not
    /// needed is removed if `may_remove` is set.
    fn note_stages(&self, place: &InstallTarget, may_remove: bool, progress: &mut dyn FnMut(Progress<'_>)) {
        // A folder of skills that cannot be opened is reported by what opens it.
        let folder = place.skills_folder(false).ok().flatten();
        for stage in folder.iter().flat_map(|folder| unknown_stages(&place.books, folder, may_remove)) {
            let stage = shown(&stage).to_string();
            if locked(&self.noted_stages).insert(stage.clone()) {
                let note = format!(
                    "an interrupted installation, or one of another user, left files here: {stage}; take what you \
                     need from the folder, then remove it"
                );
                progress(Progress::Recovered(&note));
            }
        }
    }

    /// Completes an interrupted installation, or undoes it if that is not possible, and reports what it did. Every
    /// operation that changes a place begins with this. Operations that only read, and dry runs, never do it.
    pub fn settle(
        &self,
        scope: InstallScope,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), InstallError> {
        self.settled(&self.place(scope)?, progress).map(drop)
    }

    /// Whether an installation was interrupted and must still be completed. Nothing is written; false while another
    /// process installs.
    pub fn is_interrupted(&self, scope: InstallScope) -> Result<bool, InstallError> {
        let place = self.place(scope)?;
        let held = place.shared(Duration::ZERO, &mut || {});
        Ok(held.is_ok() && is_interrupted(&place.books))
    }

    /// An error if every command that changes a place would fail, because the lock, the records or the files of Prowess
    /// about it cannot be used. Nothing is written. A journal that is only damaged is no error: see
    /// [`settle`](Self::settle).
    pub fn check_usable(&self, scope: InstallScope) -> Result<(), InstallError> {
        let place = self.place(scope)?;
        place.check_locks()?;
        check_readable(&place.books)?;
        check_records(&place, &place.read()?)
    }

    /// Waits until no process changes a place, and writes nothing.
    pub(crate) fn looking(
        &self,
        place: &InstallTarget,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<std::fs::File>, InstallError> {
        let held = place.shared(self.lock_timeout, &mut || progress(Progress::Waiting))?;
        self.note_stages(place, false, progress);
        Ok(held)
    }

    /// Waits until no process changes a place, for a dry run, which writes nothing. While an interrupted installation is
    /// pending, it is not known what would change.
    pub(crate) fn planning(
        &self,
        place: &InstallTarget,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<std::fs::File>, InstallError> {
        let held = self.looking(place, progress)?;
        if is_interrupted(&place.books) {
            let message = format!(
                "an interrupted installation is pending, so it is not known what would change: {}",
                shown(&place.base)
            );
            let error = InstallError::new(InstallErrorKind::Interrupted, message, "complete it first");
            return Err(error.in_place(place));
        }
        Ok(held)
    }

    /// Waits until no process changes a place, and completes an interrupted installation first.
    pub(crate) fn settled(
        &self,
        place: &InstallTarget,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<std::fs::File>, InstallError> {
        if is_interrupted(&place.books) {
            drop(self.exclusive(place, progress)?);
        } else if has_leftovers(&place.books) {
            // Leftovers are harmless, and removed only if this user may.
            drop(self.exclusive(place, progress));
        } else {
            sweep_state(&place.books);
        }
        let held = place.shared(self.lock_timeout, &mut || progress(Progress::Waiting))?;
        self.note_stages(place, true, progress);
        Ok(held)
    }
}

/// Something that an interrupted installation left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The file or folder.
    pub path: PathBuf,
    /// What it is.
    pub kind: LeftoverKind,
}

/// What an interrupted installation left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftoverKind {
    /// The journal of an installation. [`Installer::settle`] completes the installation, or undoes it.
    Journal,
    /// Unfinished files that are not needed. [`Installer::settle`] removes them.
    Unfinished,
    /// A staging folder that this user does not know: another user is installing, or it came with a copy of the project.
    Unknown,
    /// A journal that could be neither completed nor undone, and was set aside for the user.
    SetAside,
}

impl Installer {
    /// What interrupted installations left behind; nothing while another process installs.
    pub fn leftovers(&self, scope: InstallScope) -> Result<Vec<Leftover>, InstallError> {
        let place = self.place(scope)?;
        let Ok(_held) = place.shared(Duration::ZERO, &mut || {}) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut add = |path: PathBuf, kind| found.push(Leftover { path, kind });
        let own = own_stages(&place.books);
        if is_interrupted(&place.books) {
            add(place.books.journal.clone(), LeftoverKind::Journal);
        } else if has_leftovers(&place.books) {
            match own.as_slice() {
                [] => add(place.books.journal.with_extension("stages"), LeftoverKind::Unfinished),
                own => own.iter().for_each(|stage| add(stage.clone(), LeftoverKind::Unfinished)),
            }
        }
        for journal in set_aside(&place) {
            add(journal, LeftoverKind::SetAside);
        }
        // A folder of skills that cannot be opened is reported by what opens it.
        if let Some(folder) = place.skills_folder(false).ok().flatten() {
            for stage in stages_in(&folder).into_iter().filter(|stage| !own.contains(stage)) {
                add(stage, LeftoverKind::Unknown);
            }
        }
        Ok(found)
    }
}

/// The journals of a place that were set aside.
fn set_aside(place: &InstallTarget) -> Vec<PathBuf> {
    let journal = &place.books.journal;
    let (Some(folder), Some(stem)) = (journal.parent(), journal.file_stem()) else { return Vec::new() };
    let begin = format!("{}.journal-set-aside", stem.to_string_lossy());
    names_in(folder, &|name| name.starts_with(&begin))
}

/// The staging folders in a folder of skills.
fn stages_in(folder: &Path) -> Vec<PathBuf> {
    let mut stages = names_in(folder, &is_stage);
    stages.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
    stages
}

fn names_in(folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_meant));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
