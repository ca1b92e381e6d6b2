//! The beginning of every operation: waits for other processes, and completes an interrupted installation unless the
//! operation only reads.

use std::time::Duration;

use super::error::{InstallError, InstallErrorKind};
use super::installer::{Installer, Progress};
use super::records::{InstallScope, InstallTarget};
use super::sync::check_records;
use super::target::{
    Recovered, check_readable, has_leftovers, is_interrupted, recover, sweep_state, unknown_stages,
};
use crate::error::shown;
use crate::internal::locked;

impl Installer {
    /// Takes the lock of a place and recovers interrupted installations.
    pub(super) fn exclusive(
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
    pub(super) fn looking(
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
    pub(super) fn planning(
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
    pub(super) fn settled(
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
