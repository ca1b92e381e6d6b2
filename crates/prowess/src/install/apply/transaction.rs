//! [`Transaction`]: stage, journal, swap, record.
//!
//! New files are staged inside the folder of skills, under a hidden name that no reader takes for a skill, and synced
//! to disk. Then the journal is written. From then on the transaction counts as done: each name is changed in one
//! system call, then the files are written, then the journal is removed. A process that finds a journal completes it.
//! When a step fails, the steps before it are undone.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::{mark_of, state_of, write_tree};
use super::journal::{Accepted, Base, FileStep, Journal, LeftCopy, State, Step};
use super::placements::Placements;
use super::stages::Stages;
use super::steps::{Folders, ForeignLock, Work};
use crate::error::SourceError;
use crate::fs::atomic::unused_stage_name;
use crate::fs::dir::Folder;
use crate::install::error::InstallError;
use crate::install::source::tree::SkillTree;
use crate::install::verify::compare::holds_modes;
use crate::registry::trust::Approvals;

/// With more files than this, the whole file system is synced once instead of each file: fewer waits for the disk.
const SYNC_EACH: usize = 64;

/// The files of a transaction that must survive a kill.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    /// The folder of the project or of the user.
    pub(crate) base: PathBuf,
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
    /// The staging folders that this place created; none before the first.
    stages: Option<Stages>,
    /// Whether files are synced one by one.
    sync_each: bool,
    /// Whether folders of skills and approvals are changed. If not, only files are written.
    has_folders: bool,
}

impl<'b> Transaction<'b> {
    /// Begins a transaction that writes about this many files. The caller holds the lock of the place.
    pub(crate) fn begin(books: &'b Books, files: usize) -> Self {
        let journal = Journal::new(Base::at(&books.base), unused_stage_name());
        let sync_each = files <= SYNC_EACH || !cfg!(target_os = "linux");
        Self { books, journal, folders: Folders::new(), stages: None, sync_each, has_folders: true }
    }

    /// Sets whether it changes folders of skills and approvals, or leaves out all such steps.
    pub(crate) fn with_folders(mut self, has_folders: bool) -> Self {
        self.has_folders = has_folders;
        self
    }

    /// Stages a skill that will get a name in a folder. Returns where its files are until then.
    pub(crate) fn put(
        &mut self,
        folder: &Path,
        name: &str,
        tree: &SkillTree,
        before: Option<State>,
    ) -> Result<PathBuf, InstallError> {
        if !self.has_folders {
            return Ok(folder.join(name));
        }
        let sync_each = self.sync_each;
        let staged = self.step(folder, name, before, Some(State::Tree(tree.digest())))?;
        let (_, stage) = self.folder(folder)?;
        write_tree(stage, &staged, tree, holds_modes(folder), sync_each)
            .map_err(|error| InstallError::io("write the files of a skill in", stage.path(), error))?;
        Ok(stage.path().join(staged))
    }

    /// Stages a link that will get a name in a folder.
    pub(crate) fn link(
        &mut self,
        folder: &Path,
        name: &str,
        target: &str,
        before: Option<State>,
    ) -> Result<(), InstallError> {
        if !self.has_folders {
            return Ok(());
        }
        let staged = self.step(folder, name, before, Some(State::Link(target.to_owned())))?;
        let (_, stage) = self.folder(folder)?;
        stage.link(&staged, target).map_err(|error| InstallError::io("make a link in", stage.path(), error))
    }

    /// Plans the removal of a name in a folder.
    pub(crate) fn remove(&mut self, folder: &Path, name: &str, before: State) -> Result<(), InstallError> {
        if self.has_folders { self.step(folder, name, Some(before), None).map(drop) } else { Ok(()) }
    }

    /// Plans to write a file, unless it is a link out of the folder that it must be in.
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

    /// Plans to record an approval of the user.
    pub(crate) fn accept(&mut self, accepted: Accepted) {
        self.journal.accepted.extend(Some(accepted).filter(|_| self.has_folders));
    }

    /// Plans to record that the user created a folder. The folder above it is real.
    pub(crate) fn leave_to_user(&mut self, path: PathBuf) {
        self.journal.users.extend(Some(path).filter(|_| self.has_folders));
    }

    /// Plans to record that an edited skill stays where it is, although it is removed from the records. The folder above
    /// it is real. A link is not recorded.
    pub(crate) fn leave_edited(&mut self, path: PathBuf, there: &State) {
        if self.has_folders && !matches!(there, State::Link(_)) {
            let digest = mark_of(&path, there);
            self.journal.left.push(LeftCopy { path, digest, before: None });
        }
    }

    /// Plans to forget who created folders that are gone. They alone are no reason to write anything.
    pub(crate) fn forget(&mut self, gone: Vec<PathBuf>) {
        self.journal.forgotten = gone;
    }

    /// The approvals that are planned for a folder and for what is below it.
    pub(crate) fn accepted_in(&self, folder: &Path) -> impl Iterator<Item = &Accepted> {
        let accepted = self.journal.accepted.iter().filter(|accepted| accepted.digest.is_some());
        accepted.filter(move |accepted| accepted.skill_file.starts_with(folder))
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let Journal { steps, files, accepted, users, .. } = &self.journal;
        steps.is_empty() && files.is_empty() && accepted.is_empty() && users.is_empty()
    }

    /// Performs all changes, or none.
    pub(crate) fn commit(mut self) -> Result<(), InstallError> {
        if self.is_empty() {
            return Ok(());
        }
        self.prepare(holds_modes)?;
        let file = &self.books.journal;
        for (dir, stage) in self.folders.values() {
            // A sync of the file system includes both folders.
            let synced = if self.sync_each {
                stage.sync().and_then(|()| dir.sync())
            } else {
                dir.sync_file_system().map(drop)
            };
            synced.map_err(|error| InstallError::io("write to the disk", dir.path(), error))?;
        }
        let saved = self.journal.save(file);
        saved.map_err(|error| InstallError::io("write the journal", file, error))?;
        // From here on the staging folders belong to the journal: they are removed only after it.
        let journal = std::mem::take(&mut self.journal);
        let work = Work { journal: &journal, folders: &self.folders };
        let done = work.forward().and_then(|()| record(&journal, self.books, |_| true));
        // The steps that were performed are undone. If that fails too, or an edit would be lost with the staging
        // folder, the journal stays for the next command.
        let undone = || {
            work.backward(&ForeignLock::default())?;
            Placements::load(self.books)?
                .before(&journal, &BTreeSet::new())
                .map_or(Ok(()), Placements::save)?;
            work.edits()
        };
        let settled = done.is_ok() || undone().is_ok_and(|edits| edits.is_empty());
        if settled && let Err(error) = Journal::clear(file) {
            return done.and(Err(InstallError::io("remove the journal", file, error)));
        }
        if settled {
            self.journal = journal;
        }
        done
    }

    /// Records what shows a later process which steps were performed, and whether the user changed the approvals since
    /// then.
    fn prepare(&mut self, keeps_modes: impl Fn(&Path) -> bool) -> Result<(), InstallError> {
        if !self.journal.accepted.is_empty() {
            let file = &self.books.approvals;
            let approvals = Approvals::load(file)
                .map_err(|error| InstallError::approvals("read your approvals", file, error))?;
            self.journal.approvals = Some(approvals.revision());
        }
        let without_modes: Vec<&PathBuf> =
            self.folders.keys().filter(|folder| !keeps_modes(folder.as_path())).collect();
        let placements = Placements::load(self.books)?;
        for left in &mut self.journal.left {
            left.before = placements.left(&left.path);
        }
        for step in &mut self.journal.steps {
            let path = step.folder.join(&step.name);
            step.placed = placements.get(&path).cloned();
            step.left = placements.left(&path);
            let Some((dir, stage)) = self.folders.get(&step.folder) else { continue };
            let failed = |error| InstallError::io("look at", dir.path(), error);
            let moved =
                if step.after.is_some() { stage.number(&step.staged) } else { dir.number(&step.name) };
            step.moved = moved.map_err(failed)?;
            // Without executable bits, the written files have another digest than the tree.
            if matches!(step.after, Some(State::Tree(_))) && without_modes.contains(&&step.folder) {
                step.after = state_of(stage, &step.staged).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The open folder of skills and its staging folder.
    fn folder(&mut self, path: &Path) -> Result<&(Folder, Folder), InstallError> {
        if !self.folders.contains_key(path) {
            let failed = |error| InstallError::io("open the folder of skills", path, error);
            let dir = Folder::open_real(path).map_err(failed)?;
            // They are recorded beside the journal, in the folder of the user's state.
            let state = self.books.journal.parent().unwrap_or(&self.books.journal);
            let unrecorded = |error| InstallError::io("write to the folder of the state", state, error);
            let stages = match &mut self.stages {
                Some(stages) => stages,
                none => none.insert(Stages::load(&self.books.journal).map_err(unrecorded)?),
            };
            stages.add(path.join(&self.journal.stage)).map_err(unrecorded)?;
            let stage = dir.make(&self.journal.stage).map_err(failed)?;
            self.folders.insert(path.to_owned(), (dir, stage));
        }
        self.folders.get(path).ok_or_else(|| {
            InstallError::io("open the folder of skills", path, io::ErrorKind::NotFound.into())
        })
    }

    /// Adds a step, and returns its name in the staging folder.
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
        self.journal.steps.push(Step {
            folder,
            name,
            staged: staged.clone(),
            before,
            after,
            moved: None,
            placed: None,
            left: None,
        });
        Ok(staged)
    }
}

impl Drop for Transaction<'_> {
    /// Removes the staging folders, which hold unneeded or old files. Those that are still needed were taken out when
    /// their journal was written.
    fn drop(&mut self) {
        let (folders, name) = (&self.folders, &*self.journal.stage);
        let Some(stages) = self.stages.as_mut().filter(|_| !name.is_empty()) else { return };
        // One that cannot be removed stays recorded, for the next command.
        let _ = stages.forget(|stage| {
            let folder = stage.parent().filter(|folder| stage == folder.join(name));
            folder.and_then(|folder| folders.get(folder)).is_some_and(|(dir, _)| dir.remove(name).is_ok())
        });
    }
}

/// Records what Prowess placed. Adds the accepted skills to the approvals, if that is still allowed, and removes the
/// approvals that end.
pub(super) fn record(
    journal: &Journal,
    books: &Books,
    may_grant: impl Fn(&Approvals) -> bool,
) -> Result<(), InstallError> {
    Placements::load(books)?.after(journal).map_or(Ok(()), Placements::save)?;
    // Last: they cannot be undone, since the user or another process may have changed them since.
    record_approvals(journal, books, may_grant)
}

fn record_approvals(
    journal: &Journal,
    books: &Books,
    may_grant: impl Fn(&Approvals) -> bool,
) -> Result<(), InstallError> {
    if journal.accepted.is_empty() {
        return Ok(());
    }
    let approvals = &books.approvals;
    let recorded = Approvals::update(approvals, |approvals| {
        let grants = may_grant(approvals);
        let changed = || journal.accepted.iter().filter(|accepted| grants || accepted.digest.is_none());
        let ended = changed().filter_map(|accepted| accepted.skill_file.parent());
        let ended = ended.map(|folder| folder.to_string_lossy().into()).collect();
        approvals.replace(&ended, changed().filter_map(Accepted::approval));
        Ok::<(), SourceError>(())
    });
    recorded.map_err(|error| InstallError::approvals("record that you accepted the skill", approvals, error))
}

#[cfg(test)]
mod tests;
