//! The steps of a journal: each changes one name, and can be told done or not done by what has the name now.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::state_of;
use super::dir::Dir;
use super::journal::{FileStep, Journal, State, Step};
use crate::error::SourceErrorKind;
use crate::fs::atomic::{self, WriteError};
use crate::fs::read;
use crate::install::error::InstallError;

/// The largest `skills.toml` or `skills.lock`.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// The open folders of skills, each with its staging folder.
pub(super) type Folders = BTreeMap<PathBuf, (Dir, Dir)>;

/// The steps of a journal on open folders.
pub(super) struct Work<'w> {
    pub(super) journal: &'w Journal,
    pub(super) folders: &'w Folders,
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Done,
    NotYet,
    /// What it is about is in neither place: another program removed it.
    Lost,
}

impl Work<'_> {
    /// Does every step of a transaction that just began.
    pub(super) fn forward(&self) -> Result<(), InstallError> {
        for step in &self.journal.steps {
            self.act(step, |dir, stage| {
                swap(step, dir, stage)?;
                // What was swapped out is what was looked at before, or a person changed it meanwhile.
                match &step.before {
                    Some(before) if state_of(stage, &step.staged)?.as_ref() != Some(before) => {
                        Err(io::Error::other("it was changed while the skill was installed"))
                    }
                    _ => Ok(()),
                }
            })?;
        }
        self.sync()?;
        for file in &self.journal.files {
            write(file, file.before.as_deref(), Some(&file.after), false)?;
        }
        Ok(())
    }

    /// Does every step that a killed process did not do.
    pub(super) fn complete(&self) -> Result<(), InstallError> {
        for file in &self.journal.files {
            // Without the records, what is installed would be known to none of them.
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
                Reached::Done if is_edit(step, state_of(stage, &step.staged)?.as_ref()) => {
                    Err(io::Error::other("it was changed while the skill was installed"))
                }
                Reached::Done => Ok(()),
                Reached::Lost if step.after.is_none() => {
                    Err(io::Error::other("what was to be removed was moved or removed by another program"))
                }
                Reached::Lost => Err(io::Error::other("what was to be installed was removed meanwhile")),
                // What a person changed since then must not be lost.
                Reached::NotYet if state_of(dir, &step.name)? != step.before => {
                    Err(io::Error::other("it was changed after the installation was interrupted"))
                }
                Reached::NotYet => swap(step, dir, stage),
            })?;
        }
        self.sync()?;
        for file in &self.journal.files {
            write(file, file.before.as_deref(), Some(&file.after), true)?;
        }
        Ok(())
    }

    /// Undoes every step that was done. What a person changed since then stays.
    pub(super) fn backward(&self) -> Result<(), InstallError> {
        for file in self.journal.files.iter().rev() {
            write(file, Some(&file.after), file.before.as_deref(), true)?;
        }
        for step in self.journal.steps.iter().rev().filter(|step| self.folders.contains_key(&step.folder)) {
            self.act(step, |dir, stage| {
                let done = reached(step, dir, stage)? == Reached::Done;
                if done && state_of(dir, &step.name)? == step.after {
                    unswap(step, dir, stage)
                } else {
                    Ok(())
                }
            })?;
        }
        self.sync()
    }

    /// Edits that would be lost with the staging folders: what was edited, and where that is now.
    pub(super) fn edits(&self) -> Result<Vec<(PathBuf, PathBuf)>, InstallError> {
        let mut edits = Vec::new();
        for step in self.journal.steps.iter().filter(|step| self.folders.contains_key(&step.folder)) {
            self.act(step, |_, stage| {
                for staged in [step.staged.clone(), aside(step)] {
                    if is_edit(step, state_of(stage, &staged)?.as_ref()) {
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
        action: impl FnOnce(&Dir, &Dir) -> io::Result<()>,
    ) -> Result<(), InstallError> {
        let path = step.folder.join(&step.name);
        let (dir, stage) = self
            .folders
            .get(&step.folder)
            .ok_or_else(|| InstallError::io("open", &step.folder, io::ErrorKind::NotFound.into()))?;
        action(dir, stage).map_err(|error| InstallError::io("change", &path, error))
    }
}

/// Where something old waits while two things change places on a file system that cannot exchange them.
pub(super) fn aside(step: &Step) -> String {
    format!("{}.old", step.staged)
}

/// Whether something in a staging folder is neither what the step brings nor what it replaces.
fn is_edit(step: &Step, there: Option<&State>) -> bool {
    there.is_some() && there != step.before.as_ref() && there != step.after.as_ref()
}

/// How far a step came, by the number that the file system gives what it moves. Where there are no numbers, by digests.
fn reached(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<Reached> {
    // Killed between the moves of an exchange: back to the beginning, or on to the end.
    if stage.kind(&aside(step))?.is_some() {
        match dir.kind(&step.name)? {
            None => stage.move_new(&aside(step), dir, &step.name)?,
            Some(_) => stage.move_new(&aside(step), stage, &step.staged)?,
        }
    }
    if let Some(moved) = step.moved {
        let (named, staged) = (dir.number(&step.name)?, stage.number(&step.staged)?);
        let (to, from) = if step.after.is_some() { (named, staged) } else { (staged, named) };
        return Ok(match (to == Some(moved), from == Some(moved)) {
            (true, _) => Reached::Done,
            (_, true) => Reached::NotYet,
            _ => Reached::Lost,
        });
    }
    let (moved, wanted) = match &step.after {
        Some(after) => (state_of(stage, &step.staged)?.as_ref() != Some(after), after),
        None => return Ok(if stage.kind(&step.staged)?.is_some() { Reached::Done } else { Reached::NotYet }),
    };
    Ok(match (moved, state_of(dir, &step.name)?.as_ref() == Some(wanted)) {
        (false, _) => Reached::NotYet,
        (true, true) => Reached::Done,
        (true, false) => Reached::Lost,
    })
}

/// Does a step.
pub(super) fn swap(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    match (&step.before, &step.after) {
        (None, Some(_)) => stage.move_new(&step.staged, dir, &step.name),
        (Some(_), None) => dir.move_new(&step.name, stage, &step.staged),
        (Some(_), Some(_)) => exchange(step, dir, stage),
        (None, None) => Ok(()),
    }
}

/// Undoes a step.
fn unswap(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    match (&step.before, &step.after) {
        (None, Some(_)) => dir.move_new(&step.name, stage, &step.staged),
        (Some(_), None) => stage.move_new(&step.staged, dir, &step.name),
        (Some(_), Some(_)) => exchange(step, dir, stage),
        (None, None) => Ok(()),
    }
}

fn exchange(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    if dir.exchange(&step.name, stage, &step.staged)? {
        return Ok(());
    }
    dir.move_new(&step.name, stage, &aside(step))?;
    stage.move_new(&step.staged, dir, &step.name)?;
    stage.move_new(&aside(step), stage, &step.staged)
}

/// The bytes of a record; nothing when there is none.
fn text_of(path: &Path) -> Result<Option<Vec<u8>>, InstallError> {
    match read::read_small(path, MAX_RECORD_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind, SourceErrorKind::Missing) => Ok(None),
        Err(error) => Err(InstallError::io("read", path, io::Error::other(error.with_cause()))),
    }
}

/// Writes a text in the place of another; nothing in the place of a text removes the file. With `looking`, a file that has
/// neither text was changed by a person meanwhile, and stays.
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
            let may = |target: &Path| file.within.as_ref().is_none_or(|folder| target.starts_with(folder));
            atomic::replace_where(path, before.as_bytes(), after.as_bytes(), may)
        }
        (None, Some(after)) => atomic::create(path, after.as_bytes()),
        (_, None) => return std::fs::remove_file(path).map_err(failed),
    };
    done.map_err(|error| match error {
        WriteError::Io { source, .. } => failed(source),
        other => failed(io::Error::other(other)),
    })
}
