//! [`Transaction`]: stage, journal, swap, record; and how the next process completes what a killed one began.
//!
//! Everything new is staged inside the folder of skills, under a hidden name that no reader takes for a skill, and brought
//! to the disk. Then the journal is written. From that moment the transaction counts as done: each name is changed in one
//! step of the system, then the files are written, then the journal is removed. A process that finds a journal completes
//! it. When a step fails, the steps before it are undone.

use std::io;
use std::path::{Path, PathBuf};

use super::contents::write_tree;
use super::dir::Dir;
use super::journal::{Accepted, FileStep, Journal, State, Step};
use super::steps::{Folders, Work};
use crate::error::{SourceError, shown};
use crate::fs::atomic::{self, is_stage, unused_stage_name};
use crate::fs::dir::Kind;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::tree::SkillTree;
use crate::registry::trust::Approvals;

/// With more files than this, the whole file system is synced once instead of each file: fewer waits for the disk.
const SYNC_EACH: usize = 64;

/// Where a transaction keeps what must survive it.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    /// The journal of this place.
    pub(crate) journal: PathBuf,
    /// The user's approvals.
    pub(crate) approvals: PathBuf,
}

/// Changes that are made together.
#[derive(Debug)]
pub(crate) struct Transaction<'b> {
    books: &'b Books,
    journal: Journal,
    folders: Folders,
    /// Whether files are synced one by one.
    sync_each: bool,
}

impl<'b> Transaction<'b> {
    /// Begins, with about this many files to be written. The caller holds the lock of the place.
    pub(crate) fn begin(books: &'b Books, files: usize) -> Self {
        let journal = Journal::new(unused_stage_name());
        let sync_each = files <= SYNC_EACH || !cfg!(target_os = "linux");
        Self { books, journal, folders: Folders::new(), sync_each }
    }

    /// Stages a skill that takes a name in a folder.
    pub(crate) fn put(
        &mut self,
        folder: &Path,
        name: &str,
        tree: &SkillTree,
        before: Option<State>,
    ) -> Result<(), InstallError> {
        let sync_each = self.sync_each;
        let staged = self.step(folder, name, before, Some(State::Tree(tree.digest().to_owned())))?;
        let (_, stage) = self.folder(folder)?;
        write_tree(stage, &staged, tree, sync_each)
            .map_err(|error| InstallError::io("write the files of a skill in", stage.path(), error))
    }

    /// Stages a link that takes a name in a folder.
    pub(crate) fn link(
        &mut self,
        folder: &Path,
        name: &str,
        target: &str,
        before: Option<State>,
    ) -> Result<(), InstallError> {
        let staged = self.step(folder, name, before, Some(State::Link(target.to_owned())))?;
        let (_, stage) = self.folder(folder)?;
        stage.link(&staged, target).map_err(|error| InstallError::io("make a link in", stage.path(), error))
    }

    /// Has a name in a folder removed.
    pub(crate) fn remove(&mut self, folder: &Path, name: &str, before: State) -> Result<(), InstallError> {
        self.step(folder, name, Some(before), None).map(drop)
    }

    /// Has a file written, unless it is a link out of the folder that it must be in.
    pub(crate) fn write(
        &mut self,
        path: PathBuf,
        before: Option<String>,
        after: String,
        within: Option<PathBuf>,
    ) {
        if before.as_deref() != Some(&*after) {
            self.journal.files.push(FileStep { path, before, after, within });
        }
    }

    /// Records what the user accepted.
    pub(crate) fn accept(&mut self, accepted: Accepted) {
        self.journal.accepted.push(accepted);
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.journal.steps.is_empty() && self.journal.files.is_empty() && self.journal.accepted.is_empty()
    }

    /// Does all of it, or nothing.
    pub(crate) fn commit(mut self) -> Result<(), InstallError> {
        if self.is_empty() {
            return Ok(());
        }
        self.prepare()?;
        let file = &self.books.journal;
        for (dir, stage) in self.folders.values() {
            let synced = stage
                .sync()
                .and_then(|()| dir.sync())
                .and_then(|()| if self.sync_each { Ok(()) } else { dir.sync_file_system().map(drop) });
            synced.map_err(|error| InstallError::io("write to the disk", dir.path(), error))?;
        }
        let saved = self.journal.save(file);
        saved.map_err(|error| InstallError::io("write the journal", file, error))?;
        // From here on the staging folders belong to the journal: they are removed only after it.
        let journal = std::mem::take(&mut self.journal);
        let work = Work { journal: &journal, folders: &self.folders };
        let done = work.forward().and_then(|()| record(&journal, &self.books.approvals, |_| true));
        // What was done is undone; if that fails too, the journal stays for the next command.
        let settled = done.is_ok() || work.backward().is_ok();
        if settled && let Err(error) = Journal::clear(file) {
            return done.and(Err(InstallError::io("remove the journal", file, error)));
        }
        if settled {
            self.journal = journal;
        }
        done
    }

    /// Notes what tells a later process which steps were done, and whether the user changed the approvals since.
    fn prepare(&mut self) -> Result<(), InstallError> {
        if !self.journal.accepted.is_empty() {
            let file = &self.books.approvals;
            let approvals = Approvals::load(file).map_err(|error| {
                InstallError::io("read your approvals", file, io::Error::other(error.with_cause()))
            })?;
            self.journal.approvals = Some(approvals.revision());
        }
        for step in &mut self.journal.steps {
            if let Some((dir, stage)) = self.folders.get(&step.folder) {
                let moved =
                    if step.after.is_some() { stage.number(&step.staged) } else { dir.number(&step.name) };
                step.moved = moved.map_err(|error| InstallError::io("look at", dir.path(), error))?;
            }
        }
        Ok(())
    }

    /// The open folder of skills and its staging folder.
    fn folder(&mut self, path: &Path) -> Result<&(Dir, Dir), InstallError> {
        if !self.folders.contains_key(path) {
            let failed = |error| InstallError::io("open the folder of skills", path, error);
            let dir = Dir::open_real(path).map_err(failed)?;
            let stage = dir.make(&self.journal.stage).map_err(failed)?;
            stage.lock();
            self.folders.insert(path.to_owned(), (dir, stage));
        }
        self.folders.get(path).ok_or_else(|| {
            InstallError::io("open the folder of skills", path, io::ErrorKind::NotFound.into())
        })
    }

    /// Adds a step; the name under which it is staged.
    fn step(
        &mut self,
        folder: &Path,
        name: &str,
        before: Option<State>,
        after: Option<State>,
    ) -> Result<String, InstallError> {
        self.folder(folder)?;
        let staged = self.journal.steps.len().to_string();
        let (folder, name) = (folder.to_owned(), name.to_owned());
        self.journal.steps.push(Step { folder, name, staged: staged.clone(), before, after, moved: None });
        Ok(staged)
    }
}

impl Drop for Transaction<'_> {
    /// Removes the staging folders, which hold what was not needed or is old. One that is still needed has its journal
    /// on the disk and was taken from here.
    fn drop(&mut self) {
        for (dir, _) in self.folders.values().filter(|_| !self.journal.stage.is_empty()) {
            let _ = dir.remove(&self.journal.stage);
        }
    }
}

/// Completes what a process left behind that was killed, or undoes it, and removes its leftovers; whether there was
/// anything. The caller holds the lock of the place.
pub(crate) fn recover(books: &Books, swept: &[PathBuf]) -> Result<bool, InstallError> {
    let file = &books.journal;
    let failed = |error| InstallError::io("complete an interrupted installation by its journal", file, error);
    let journal = match Journal::load(file) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(set_aside(file, &failed(error)));
        }
        journal => journal.map_err(failed)?,
    };
    let mut leftovers = swept.to_vec();
    if let Some(journal) = &journal {
        let mut folders = Folders::new();
        for path in journal.folders() {
            // A folder that is gone has nothing to complete or to undo.
            match Dir::open_real(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                dir => {
                    let dir = dir.map_err(failed)?;
                    let stage = dir.make(&journal.stage).map_err(failed)?;
                    folders.insert(path.to_owned(), (dir, stage));
                }
            }
        }
        let work = Work { journal, folders: &folders };
        // Approvals that changed since then have these already, or the user revoked them after the process was killed. Then
        // nothing is granted: what is not accepted is asked for by the next `sync`.
        let unchanged = |now: &Approvals| journal.approvals == Some(now.revision());
        if let Err(error) = work.complete().and_then(|()| record(journal, &books.approvals, unchanged))
            && work.backward().is_err()
        {
            return Err(set_aside(file, &error));
        }
        // A file that a killed process had begun to write stays beside its record when that is not written again.
        for folder in journal.files.iter().filter_map(|file| file.path.parent()) {
            atomic::sweep(folder);
        }
        Journal::clear(file).map_err(failed)?;
        leftovers.extend(folders.into_keys());
    }
    for folder in leftovers {
        sweep(&folder);
    }
    Ok(journal.is_some())
}

/// Puts a journal aside that can be neither completed nor undone, so that the next command can go on. Nothing that it
/// names is removed.
fn set_aside(file: &Path, reason: &InstallError) -> InstallError {
    let kept = file.with_extension("journal-set-aside");
    let moved = std::fs::rename(file, &kept);
    let message = format!(
        "an interrupted installation could be neither completed nor undone: {}; its journal is kept: {}",
        reason.with_cause(),
        shown(&kept)
    );
    let hint = "compare what is there with the lock, then run the command again";
    let error = InstallError::new(InstallErrorKind::Damaged, message, hint);
    match moved {
        Ok(()) => error,
        Err(cause) => error.because(cause),
    }
}

/// Whether a killed process left a staging folder in one of these folders.
pub(crate) fn has_leftovers(folders: &[PathBuf]) -> bool {
    let names = folders.iter().filter_map(|folder| Dir::open_real(folder).ok()?.names().ok());
    names.flatten().any(|name| is_stage(&name))
}

/// Removes staging folders that no journal names and no process uses.
fn sweep(folder: &Path) {
    let Ok(dir) = Dir::open_real(folder) else { return };
    for name in dir.names().unwrap_or_default() {
        if is_stage(&name)
            && matches!(dir.kind(&name), Ok(Some(Kind::Folder)))
            && dir.below(&name).is_ok_and(|stage| stage.lock())
        {
            let _ = dir.remove(&name);
        }
    }
}

/// Adds what the user accepted to the approvals, if they may be added to, and ends what ends.
fn record(
    journal: &Journal,
    approvals: &Path,
    may_grant: impl Fn(&Approvals) -> bool,
) -> Result<(), InstallError> {
    if journal.accepted.is_empty() {
        return Ok(());
    }
    let recorded = Approvals::update(approvals, |approvals| {
        let grants = may_grant(approvals);
        let changed = || journal.accepted.iter().filter(|accepted| grants || accepted.digest.is_none());
        let ended = changed().filter_map(|accepted| accepted.skill_file.parent());
        let ended = ended.map(|folder| folder.to_string_lossy().into()).collect();
        approvals.replace(&ended, changed().filter_map(Accepted::approval));
        Ok::<(), SourceError>(())
    });
    recorded.map_err(|error| {
        InstallError::io(
            "record that you accepted the skill",
            approvals,
            io::Error::other(error.with_cause()),
        )
    })
}

#[cfg(test)]
mod tests;
