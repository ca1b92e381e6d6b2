//! Entries of Prowess in the configurations of clients: written atomically, and recorded so that they can be removed
//! without a trace.
//!
//! A record has the region of the file that was replaced. If that text is still there, removing the entry gives back the
//! bytes from before; otherwise only the entry goes.

mod error;
mod records;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use self::error::ConnectionError;
use self::records::{Record, Records, missing_folders};

use super::clients;
use super::config_edit::{ConfigChange, ConfigFormat, EntryPath, MAX_EDITED_BYTES};
use crate::env::Environment;
use crate::error::SourceError;
use crate::fs::atomic::{self, WriteError};
use crate::fs::read;

/// How often a change is tried when the client changes its file at the same time.
const TRIES: usize = 3;

/// An entry in the configuration of a client.
#[derive(Clone, Debug)]
pub struct Connection<'c> {
    /// The file; it need not exist.
    pub file: &'c Path,
    /// Its format.
    pub format: ConfigFormat,
    /// Where the entry is.
    pub path: EntryPath<'c>,
    /// The folder of the project that the file must not lead out of.
    pub within: Option<&'c Path>,
}

/// A change of a configuration, written or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedConnection {
    /// The text of the file; `None` if there is no file.
    pub before: Option<String>,
    /// The text after the change; `None` if the file goes.
    pub after: Option<String>,
    record: Option<Record>,
}

impl PlannedConnection {
    /// Whether anything changes.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }
}

/// What is done to a configuration.
#[derive(Clone, Copy, Debug)]
enum Act<'e> {
    Connect(&'e Value),
    Disconnect,
}

impl Connection<'_> {
    /// Inserts the entry. Only with `write` is anything changed. Another entry of this name is replaced only with
    /// `overwrite`.
    pub fn connect(
        &self,
        entry: &Value,
        overwrite: bool,
        write: bool,
        environment: &Environment,
    ) -> Result<PlannedConnection, ConnectionError> {
        self.act(Act::Connect(entry), overwrite, write, environment)
    }

    /// Removes the entry. Only with `write` is anything changed. An entry that is not ours is removed only with
    /// `overwrite`.
    pub fn disconnect(
        &self,
        overwrite: bool,
        write: bool,
        environment: &Environment,
    ) -> Result<PlannedConnection, ConnectionError> {
        self.act(Act::Disconnect, overwrite, write, environment)
    }

    fn act(
        &self,
        act: Act<'_>,
        overwrite: bool,
        write: bool,
        environment: &Environment,
    ) -> Result<PlannedConnection, ConnectionError> {
        let file = records::file(environment).ok_or(ConnectionError::Homeless)?;
        let unwritten = |source| ConnectionError::Record { file: file.clone(), source };
        // Two processes that change configurations wait for each other.
        let _lock = if write {
            Some(atomic::lock_own(&file.with_extension("lock")).map_err(unwritten)?)
        } else {
            None
        };
        let known =
            Records::read(&file).map_err(|source| ConnectionError::Records { file: file.clone(), source })?;
        let mut tries = 0;
        loop {
            let place = self.real_file()?;
            let record = known.of(&place, self.path.name);
            let plan = self.plan(act, overwrite, record, &place)?;
            if !write || !plan.is_change() {
                return Ok(plan);
            }
            let next = known.with(&place, self.path.name, plan.record.clone());
            // The record comes first: one without its entry does no harm.
            if matches!(act, Act::Connect(_)) {
                next.write(&file).map_err(unwritten)?;
            }
            match self.write(&plan, record) {
                Ok(()) if matches!(act, Act::Connect(_)) => return Ok(plan),
                Ok(()) => {
                    let left = |source| ConnectionError::RecordLeft { file: file.clone(), source };
                    return next.write(&file).map(|()| plan).map_err(left);
                }
                Err(WriteError::Changed { .. } | WriteError::Exists { .. }) if tries + 1 < TRIES => {
                    tries += 1;
                }
                Err(error) => {
                    // Why nothing was written matters more than a record that is left.
                    let _ = known.write(&file);
                    return Err(ConnectionError::Write(error));
                }
            }
        }
    }

    /// The change, without writing it.
    fn plan(
        &self,
        act: Act<'_>,
        overwrite: bool,
        record: Option<&Record>,
        place: &Path,
    ) -> Result<PlannedConnection, ConnectionError> {
        let edit = |source| ConnectionError::Edit { file: self.file.to_owned(), source };
        let before = self.read()?;
        let text = before.as_deref().unwrap_or_default();
        let present = self.format.entry(text, self.path).map_err(edit)?;
        let recorded = record.filter(|record| Some(&record.entry) == present.as_ref());
        let unchanged = |before: Option<String>| {
            let after = before.clone();
            Ok(PlannedConnection { before, after, record: None })
        };
        if let Some(present) = present.as_ref().filter(|_| !overwrite && recorded.is_none())
            && !is_ours(present)
        {
            let name = self.path.name.to_owned();
            return Err(ConnectionError::NotOurs { file: self.file.to_owned(), name });
        }
        // The text from before the entry, if it is known.
        let undone = || {
            let record = recorded?;
            Some((self.format.undone(text, &record.change, self.path)?, record))
        };
        match act {
            Act::Connect(entry) => {
                if present.as_ref() == Some(entry) {
                    return unchanged(before);
                }
                let (base, created, folders) = match (undone(), record) {
                    (Some((undone, record)), _) => (undone, record.created, record.folders.clone()),
                    (None, Some(record)) if present.is_some() => {
                        (text.to_owned(), record.created, record.folders.clone())
                    }
                    _ => (text.to_owned(), before.is_none(), missing_folders(place)),
                };
                let change = self.format.insert(&base, self.path, entry).map_err(edit)?;
                let after = change.apply(&base);
                // What replaces another entry is not undone: that entry may have secrets, which are not recorded. Only
                // what is around it is known from before.
                let replaces = self.format.entry(&base, self.path).map_err(edit)?.is_some();
                let change = match (replaces, record) {
                    (false, _) => Some(change),
                    (true, record) => record.map(|record| ConfigChange::nothing(record.change.tables)),
                };
                let record = change.map(|change| Record {
                    file: place.to_owned(),
                    name: self.path.name.to_owned(),
                    entry: entry.clone(),
                    change,
                    created,
                    folders,
                });
                Ok(PlannedConnection { before, after, record })
            }
            Act::Disconnect => {
                let created = record.is_some_and(|record| record.created);
                let after = if let Some((undone, _)) = undone() {
                    undone
                } else {
                    let tables = record.map_or(0, |record| record.change.tables);
                    match self.format.remove(text, self.path, tables).map_err(edit)? {
                        Some(change) => change.apply(text).unwrap_or_default(),
                        None => return unchanged(before),
                    }
                };
                let is_link = self.file.symlink_metadata().is_ok_and(|file| file.is_symlink());
                let goes = created && !is_link && self.format.is_blank(&after);
                Ok(PlannedConnection { before, after: (!goes).then_some(after), record: None })
            }
        }
    }

    /// The text of the file; `None` if there is none.
    fn read(&self) -> Result<Option<String>, ConnectionError> {
        if self.file.symlink_metadata().is_err_and(|error| is_missing(&error)) {
            return Ok(None);
        }
        let bytes = read::read_small(self.file, MAX_EDITED_BYTES)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
                let line = 1 + valid.filter(|byte| **byte == b'\n').count();
                Err(ConnectionError::NotText { file: self.file.to_owned(), line })
            }
        }
    }

    /// The file that a link leads to. In a project, it must be in the project: a repository could contain a link to a
    /// file of the user.
    fn real_file(&self) -> Result<PathBuf, ConnectionError> {
        let unread = |error| ConnectionError::Read(SourceError::io(self.file, error));
        let mut real = None;
        for above in self.file.ancestors() {
            match above.symlink_metadata() {
                Ok(_) => {
                    let place = fs::canonicalize(above).map_err(unread)?;
                    let below = self.file.strip_prefix(above).unwrap_or(Path::new(""));
                    real = Some(if below.as_os_str().is_empty() { place } else { place.join(below) });
                    break;
                }
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(unread(error)),
            }
        }
        let real = real.unwrap_or_else(|| self.file.to_owned());
        if let Some(project) = self.within {
            let project = fs::canonicalize(clients::project(project)).map_err(unread)?;
            if !real.starts_with(project) {
                return Err(ConnectionError::Outside { file: self.file.to_owned(), target: real });
            }
        }
        Ok(real)
    }

    fn write(&self, plan: &PlannedConnection, old: Option<&Record>) -> Result<(), WriteError> {
        let failed = |error| WriteError::io(self.file, error);
        match (&plan.before, &plan.after) {
            (None, Some(after)) => {
                let folder = self.file.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(folder).map_err(failed)?;
                // Clients keep secrets beside the servers of a user.
                match self.within {
                    None => atomic::create_private(self.file, after.as_bytes()),
                    Some(_) => atomic::create(self.file, after.as_bytes()),
                }
            }
            (Some(before), Some(after)) => {
                // Asked again at the write, since a link may have been exchanged.
                let may = |target: &Path| clients::holds(self.within, target);
                atomic::replace_where(self.file, before.as_bytes(), after.as_bytes(), may)
            }
            (Some(before), None) => {
                let now = read::read_small(self.file, MAX_EDITED_BYTES)
                    .map_err(|error| failed(io::Error::other(error)))?;
                if now != before.as_bytes() {
                    return Err(WriteError::Changed { path: self.file.to_owned() });
                }
                fs::remove_file(self.file).map_err(failed)?;
                for folder in old.iter().flat_map(|record| record.folders.iter().rev()) {
                    // One that has something else in it stays.
                    if fs::remove_dir(folder).is_err() {
                        break;
                    }
                }
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}

/// The file with the records of what was connected, and why it cannot be read; `None` if it can, or is not there.
pub fn unread_connections(environment: &Environment) -> Option<(PathBuf, io::Error)> {
    let file = records::file(environment)?;
    let error = Records::read(&file).err()?;
    Some((file, error))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether an entry starts `prowess serve`.
fn is_ours(entry: &Value) -> bool {
    let words =
        |key: &str| entry.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let program = ["command", "cmd"].iter().find_map(|key| entry.get(*key)?.as_str());
    let line: Vec<&str> = match program {
        Some(program) => std::iter::once(program).chain(words("args")).collect(),
        None => words("command").collect(),
    };
    let [program, verb, ..] = line.as_slice() else { return false };
    Path::new(program).file_stem().is_some_and(|stem| stem == "prowess") && *verb == "serve"
}
