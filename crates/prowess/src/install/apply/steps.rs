//! The steps of a journal: each changes one name, and the state of the name shows whether the step was done.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::contents::{known_state_of, state_of};
use super::journal::{FileStep, Journal, State, Step};
use crate::error::SourceErrorKind;
use crate::fs::atomic::{self, WriteError};
use crate::fs::dir::Folder;
use crate::fs::inside::is_inside;
use crate::fs::parsed::ParsedLimits;
use crate::fs::read;
use crate::install::error::InstallError;
use crate::install::records::{LOCK_FILE, SkillsLock};

/// The largest `skills.toml` or `skills.lock`.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// The open folders of skills, each with its staging folder.
pub(super) type Folders = BTreeMap<PathBuf, (Folder, Folder)>;

/// The steps of a journal on open folders.
pub(super) struct Work<'w> {
    pub(super) journal: &'w Journal,
    pub(super) folders: &'w Folders,
}

/// How far a step got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Done,
    NotYet,
    /// The entry is in neither place: another program removed it.
    Lost,
}

/// What was not undone of a journal, by name.
#[derive(Debug, Default)]
pub(super) struct NotUndone {
    /// What the lock says by now.
    pub(super) recorded: BTreeSet<String>,
    /// The paths that stay as their steps left them, because the lock says so.
    pub(super) stay: BTreeSet<PathBuf>,
    /// What is neither as before nor as the installation left it.
    pub(super) changed: BTreeSet<String>,
}

impl Work<'_> {
    /// Performs every step of a new transaction.
    pub(super) fn forward(&self) -> Result<(), InstallError> {
        for step in &self.journal.steps {
            self.act(step, |dir, stage| {
                swap(step, dir, stage)?;
                // The entry that was swapped out may have been changed since it was inspected.
                match &step.before {
                    Some(before) if state(stage, &step.staged, Some(before))?.as_ref() != Some(before) => {
                        Err(io::Error::other("it was changed while the skill was installed"))
                    }
                    _ => Ok(()),
                }
            })?;
        }
        self.write_records(false)
    }

    /// Performs every step that a killed process did not perform.
    pub(super) fn complete(&self) -> Result<(), InstallError> {
        for file in &self.journal.files {
            // Without the records, nothing would know what is installed.
            let now = text_of(&file.path)?;
            if now.as_deref() != file.before.as_deref().map(str::as_bytes)
                && now.as_deref() != Some(file.after.as_bytes())
            {
                let error = io::Error::other("it was changed after the installation was interrupted");
                return Err(InstallError::io("write", &file.path, error));
            }
        }
        for step in &self.journal.steps {
            self.act(step, |dir, stage| match reached(step, dir, stage)? {
                Reached::Done if is_edit(step, stage, &step.staged)? => {
                    Err(io::Error::other("it was changed while the skill was installed"))
                }
                Reached::Done => Ok(()),
                // Another user installed the same files meanwhile.
                Reached::NotYet | Reached::Lost
                    if step.after.is_some() && state(dir, &step.name, step.after.as_ref())? == step.after =>
                {
                    Ok(())
                }
                Reached::Lost if step.after.is_none() => {
                    Err(io::Error::other("what was to be removed was moved or removed by another program"))
                }
                // It was installed, and edited since.
                Reached::Lost if dir.kind(&step.name)?.is_some() => {
                    Err(io::Error::other("it was changed after the installation was interrupted"))
                }
                Reached::Lost => Err(io::Error::other("what was to be installed was removed meanwhile")),
                // Changes of the user since then must not be lost.
                Reached::NotYet if state(dir, &step.name, step.before.as_ref())? != step.before => {
                    Err(io::Error::other("it was changed after the installation was interrupted"))
                }
                Reached::NotYet => swap(step, dir, stage),
            })?;
        }
        self.write_records(true)
    }

    /// Ends an installation: the folders are on the disk before the records name them. `looking` as for [`write`].
    fn write_records(&self, looking: bool) -> Result<(), InstallError> {
        self.sync()?;
        for file in &self.journal.files {
            write(file, file.before.as_deref(), Some(&file.after), looking)?;
        }
        Ok(())
    }

    /// Undoes every step that was performed, except what a later lock names. Changes of the user since then stay.
    pub(super) fn backward(&self, later: &ForeignLock) -> Result<NotUndone, InstallError> {
        let mut not_undone = NotUndone::default();
        let steps = || self.journal.steps.iter().rev().filter(|step| self.folders.contains_key(&step.folder));
        for step in steps().filter(|step| later.has(step)) {
            self.act(step, |dir, _| {
                if state(dir, &step.name, step.after.as_ref())? == step.after {
                    not_undone.recorded.insert(step.name.clone());
                    not_undone.stay.insert(step.folder.join(&step.name));
                }
                Ok(())
            })?;
        }
        // `skills.toml` keeps what the later lock has.
        for file in self.journal.files.iter().rev().filter(|_| not_undone.recorded.is_empty()) {
            write(file, Some(&file.after), file.before.as_deref(), true)?;
        }
        for step in steps().filter(|step| !(later.has(step) && not_undone.recorded.contains(&step.name))) {
            let mut is_undone = true;
            self.act(step, |dir, stage| {
                let reached = reached(step, dir, stage)?;
                if reached == Reached::Done && state(dir, &step.name, step.after.as_ref())? == step.after {
                    return unswap(step, dir, stage);
                }
                let there = state(dir, &step.name, step.before.as_ref())?;
                let before = step.before.as_ref();
                // The old entry must not be removed with the staging folder while nothing is in its place.
                if there.is_none()
                    && before.is_some()
                    && state(stage, &step.staged, before)?.as_ref() == before
                {
                    return stage.move_new(&step.staged, dir, &step.name);
                }
                is_undone = reached == Reached::NotYet || there == step.before;
                Ok(())
            })?;
            if !is_undone {
                not_undone.changed.insert(step.name.clone());
            }
        }
        self.sync()?;
        Ok(not_undone)
    }

    /// Edits that would be lost with the staging folders: the original path, and where the edited files are now.
    pub(super) fn edits(&self) -> Result<Vec<(PathBuf, PathBuf)>, InstallError> {
        let mut edits = Vec::new();
        for step in self.journal.steps.iter().filter(|step| self.folders.contains_key(&step.folder)) {
            self.act(step, |_, stage| {
                for staged in [step.staged.clone(), aside(step)] {
                    if is_edit(step, stage, &staged)? {
                        edits.push((step.folder.join(&step.name), stage.path().join(staged)));
                    }
                }
                Ok(())
            })?;
        }
        Ok(edits)
    }

    fn sync(&self) -> Result<(), InstallError> {
        for (dir, _) in self.folders.values() {
            dir.sync().map_err(|error| InstallError::io("write to the disk", dir.path(), error))?;
        }
        Ok(())
    }

    fn act(
        &self,
        step: &Step,
        action: impl FnOnce(&Folder, &Folder) -> io::Result<()>,
    ) -> Result<(), InstallError> {
        let path = step.folder.join(&step.name);
        let (dir, stage) = self
            .folders
            .get(&step.folder)
            .ok_or_else(|| InstallError::io("open", &step.folder, io::ErrorKind::NotFound.into()))?;
        action(dir, stage).map_err(|error| InstallError::io("change", &path, error))
    }
}

/// The name under which the old entry waits while two entries are exchanged on a file system that cannot do it in one
/// step.
pub(super) fn aside(step: &Step) -> String {
    format!("{}.old", step.staged)
}

/// Whether an entry of a staging folder is neither the new nor the old state of a step. One that cannot be read is an
/// error, so that the journal stays until it can.
fn is_edit(step: &Step, stage: &Folder, staged: &str) -> io::Result<bool> {
    let there = state(stage, staged, step.before.as_ref()).map_err(|error| {
        io::Error::new(error.kind(), format!("{}: {error}", stage.path().join(staged).display()))
    })?;
    Ok(there.is_some() && there != step.before && there != step.after)
}

/// The state of a name, to be compared with the one that it may have. Only an entry that was unreadable before may be
/// unreadable now.
fn state(dir: &Folder, name: &str, expected: Option<&State>) -> io::Result<Option<State>> {
    if expected == Some(&State::Other) { state_of(dir, name) } else { known_state_of(dir, name) }
}

/// How far a step got, by the inode number of the entry that it moves. Where there are no inode numbers, or the entry
/// with this number is gone, digests show it.
fn reached(step: &Step, dir: &Folder, stage: &Folder) -> io::Result<Reached> {
    // Killed between the moves of an exchange: undo the first move, or perform the last one.
    if stage.kind(&aside(step))?.is_some() {
        match dir.kind(&step.name)? {
            None => stage.move_new(&aside(step), dir, &step.name)?,
            Some(_) => stage.move_new(&aside(step), stage, &step.staged)?,
        }
    }
    if let Some(moved) = step.moved {
        let (named, staged) = (dir.number(&step.name)?, stage.number(&step.staged)?);
        let (to, from) = if step.after.is_some() { (named, staged) } else { (staged, named) };
        match (to == Some(moved), from == Some(moved)) {
            (true, _) => return Ok(Reached::Done),
            (_, true) => return Ok(Reached::NotYet),
            // The folder may have been restored from a copy, which has other inode numbers.
            _ if step.after.is_none() && stage.kind(&step.staged)?.is_none() => {
                let there = state(dir, &step.name, step.before.as_ref())?;
                return Ok(if there == step.before { Reached::NotYet } else { Reached::Lost });
            }
            _ => {}
        }
    }
    let (moved, wanted) = match &step.after {
        Some(after) => (known_state_of(stage, &step.staged)?.as_ref() != Some(after), after),
        None => return Ok(if stage.kind(&step.staged)?.is_some() { Reached::Done } else { Reached::NotYet }),
    };
    Ok(match (moved, known_state_of(dir, &step.name)?.as_ref() == Some(wanted)) {
        (false, _) => Reached::NotYet,
        (true, true) => Reached::Done,
        (true, false) => Reached::Lost,
    })
}

/// Performs a step.
pub(super) fn swap(step: &Step, dir: &Folder, stage: &Folder) -> io::Result<()> {
    transfer(step, dir, stage, (step.before.is_some(), step.after.is_some()))
}

/// Undoes a step.
fn unswap(step: &Step, dir: &Folder, stage: &Folder) -> io::Result<()> {
    transfer(step, dir, stage, (step.after.is_some(), step.before.is_some()))
}

/// Moves the entries of a step, by whether the folder has one now and whether it has one afterwards.
fn transfer(step: &Step, dir: &Folder, stage: &Folder, (now, afterwards): (bool, bool)) -> io::Result<()> {
    match (now, afterwards) {
        (false, true) => stage.move_new(&step.staged, dir, &step.name),
        (true, false) => dir.move_new(&step.name, stage, &step.staged),
        (true, true) => exchange(step, dir, stage),
        (false, false) => Ok(()),
    }
}

fn exchange(step: &Step, dir: &Folder, stage: &Folder) -> io::Result<()> {
    if dir.exchange(&step.name, stage, &step.staged)? {
        return Ok(());
    }
    dir.move_new(&step.name, stage, &aside(step))?;
    stage.move_new(&step.staged, dir, &step.name)?;
    stage.move_new(&aside(step), stage, &step.staged)
}

/// The bytes of a record; none when it does not exist.
pub(super) fn text_of(path: &Path) -> Result<Option<Vec<u8>>, InstallError> {
    match read::read_small(path, MAX_RECORD_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind, SourceErrorKind::Missing) => Ok(None),
        Err(error) => Err(InstallError::io("read", path, io::Error::other(error.full_message()))),
    }
}

/// Replaces one text by another; if the new text is none, the file is removed. With `looking`, a file with neither text
/// was changed by the user in the meantime, and stays.
fn write(
    file: &FileStep,
    before: Option<&str>,
    after: Option<&str>,
    looking: bool,
) -> Result<(), InstallError> {
    let path = &*file.path;
    let failed = |error: io::Error| InstallError::io("write", path, error);
    if looking && text_of(path)?.as_deref() != before.map(str::as_bytes) {
        return Ok(());
    }
    let done = match (before, after) {
        (Some(before), Some(after)) => {
            let may = |target: &Path| file.within.as_ref().is_none_or(|folder| is_inside(target, folder));
            atomic::replace_where(path, before.as_bytes(), after.as_bytes(), may)
        }
        (None, Some(after)) => atomic::create(path, after.as_bytes(), false),
        (_, None) => return std::fs::remove_file(path).map_err(failed),
    };
    done.map_err(|error| match error {
        WriteError::Io { source, .. } => failed(source),
        other @ WriteError::ReadOnly { .. } => failed(io::Error::other(other))
            .with_hint("make the file writable for this user, then run the command again"),
        other => failed(io::Error::other(other)),
    })
}

/// The lock as it is now, if it has neither the text before nor the text after an interrupted installation.
#[derive(Debug, Default)]
pub(super) struct ForeignLock(Option<SkillsLock>);

impl ForeignLock {
    /// Reads the lock that a journal would write. One that cannot be read names nothing.
    pub(super) fn of(journal: &Journal) -> Self {
        let is_lock = |path: &std::path::Path| path.file_name().is_some_and(|name| name == LOCK_FILE);
        let Some(step) = journal.files.iter().find(|file| is_lock(&file.path)) else {
            return Self::default();
        };
        let bytes = text_of(&step.path).ok().flatten();
        let bytes =
            bytes.filter(|bytes| ParsedLimits::of(step.within.as_deref()).check(bytes, &step.path).is_ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let later = text.filter(|text| step.before.as_ref() != Some(text) && step.after != *text);
        Self(later.and_then(|text| SkillsLock::parse(&text, &step.path).ok()))
    }

    /// Whether the result of a step is what the lock says by now.
    pub(super) fn has(&self, step: &Step) -> bool {
        let Some(lock) = &self.0 else { return false };
        match (&step.after, lock.get(&step.name)) {
            (Some(State::Tree(digest)), Some(locked)) => Some(*digest) == locked.digest,
            (Some(State::Link(_)), Some(_)) | (None, None) => true,
            _ => false,
        }
    }
}
