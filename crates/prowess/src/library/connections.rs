//! Entries of Prowess in the configurations of clients: written atomically, and recorded so that they can be removed
//! without a trace.
//!
//! A record has the region of the file that was replaced. If that text is still there, removing the entry gives back the
//! bytes from before; otherwise only the entry goes. What the user changed in an entry is never lost without `overwrite`.

mod error;
mod records;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use self::error::ConnectionError;
use self::records::{Record, Records, missing_folders};

use crate::env::Environment;
use crate::fs::atomic::{self, WriteError};
use crate::fs::parsed::ParsedLimits;
use crate::settings::edit::{ConfigChange, ConfigFormat, EditedFile, EntryPath, TRIES, changed_meanwhile};

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
    /// Other clients that read the same entry, by their names on the command line.
    pub others: Vec<&'c str>,
    /// The entry that `connect` writes without options: what else is in an entry without a record is the user's.
    pub plain: Value,
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
        self.act_with(act, overwrite, write, environment, |plan, old| self.write(plan, old))
    }

    /// The same with another way to write the configuration, for tests.
    fn act_with(
        &self,
        act: Act<'_>,
        overwrite: bool,
        write: bool,
        environment: &Environment,
        mut replace: impl FnMut(&PlannedConnection, Option<&Record>) -> Result<(), WriteError>,
    ) -> Result<PlannedConnection, ConnectionError> {
        let file = records::file(environment).ok_or(ConnectionError::Homeless)?;
        let unwritten = |source| ConnectionError::Record { file: file.clone(), source };
        // Two processes that change configurations wait for each other.
        let _lock = if write {
            Some(atomic::lock_own(file.parent(), &file.with_extension("lock")).map_err(unwritten)?)
        } else {
            None
        };
        let known = Records::read(&file, write)
            .map_err(|source| ConnectionError::Records { file: file.clone(), source })?;
        let (mut tries, mut recorded) = (0, false);
        let mut attempts = || loop {
            let place = self.edited().real()?;
            let record = known.of(&place, self.path.name);
            let plan = self.plan(act, overwrite, record, &place)?;
            if !write || !plan.is_change() {
                return Ok(plan);
            }
            let next = known.with(&place, self.path.name, plan.record.clone());
            // The record comes first: one without its entry does no harm.
            if matches!(act, Act::Connect(_)) {
                next.write(&file).map_err(unwritten)?;
                recorded = true;
            }
            match replace(&plan, record) {
                Ok(()) if matches!(act, Act::Connect(_)) => return Ok(plan),
                Ok(()) => {
                    let left = |source| ConnectionError::RecordLeft { file: file.clone(), source };
                    return next.write(&file).map(|()| plan).map_err(left);
                }
                Err(error) if changed_meanwhile(&error) && tries + 1 < TRIES => tries += 1,
                Err(error) => return Err(ConnectionError::Write(error)),
            }
        };
        let done = attempts();
        if recorded && !done.as_ref().is_ok_and(PlannedConnection::is_change) {
            // The entry was not written, so the record of the one before must stay. Why it was not matters more than a
            // record that is left.
            let _ = known.write(&file);
        }
        done
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
        let before = self.edited().read()?;
        let text = before.as_deref().unwrap_or_default();
        let present = self.format.entry(text, self.path).map_err(edit)?;
        let recorded = record.filter(|record| Some(&record.entry) == present.as_ref());
        let unchanged = |before: Option<String>| {
            let after = before.clone();
            Ok(PlannedConnection { before, after, record: None })
        };
        if let Some(present) = present.as_ref().filter(|_| !overwrite && recorded.is_none()) {
            let (file, name) = (self.file.to_owned(), self.path.name.to_owned());
            let removes = matches!(act, Act::Disconnect);
            if !is_ours(present) && !record.is_some_and(|record| has_same_address(present, &record.entry)) {
                return Err(ConnectionError::NotOurs { file, name, removes });
            }
            let members = self.edited_members(present, record, act);
            if !members.is_empty() {
                return Err(ConnectionError::Members { file, name, members, removes });
            }
        }
        let loses = present.as_ref().filter(|_| !overwrite).and_then(|present| self.loses(present, act));
        if let Some(client) = loses {
            let removes = matches!(act, Act::Disconnect);
            return Err(ConnectionError::Shared { file: self.file.to_owned(), client, removes });
        }
        let check_comments = |text: &str, kept: &str| match &present {
            Some(present) if !overwrite && loses_comment(text, kept, present) => {
                let (file, name) = (self.file.to_owned(), self.path.name.to_owned());
                Err(ConnectionError::Comment { file, name, removes: matches!(act, Act::Disconnect) })
            }
            _ => Ok(()),
        };
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
                if replaces {
                    check_comments(&change.old, "")?;
                }
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
                        Some(change) => {
                            check_comments(&change.old, &change.new)?;
                            change.apply(text).unwrap_or_default()
                        }
                        None => return unchanged(before),
                    }
                };
                let is_link = self.file.symlink_metadata().is_ok_and(|file| file.is_symlink());
                let goes = created && !is_link && self.format.is_blank(&after);
                Ok(PlannedConnection { before, after: (!goes).then_some(after), record: None })
            }
        }
    }

    /// The names of the members of an entry that the user wrote, and that the act would lose.
    fn edited_members(&self, present: &Value, record: Option<&Record>, act: Act<'_>) -> Vec<String> {
        let is_written = |name: &str, value: &Value| match (record, act) {
            (_, Act::Connect(entry)) if entry.get(name) == Some(value) => true,
            (Some(record), _) => record.entry.get(name) == Some(value),
            (None, Act::Connect(_)) => false,
            // The user may have written other options by hand. Clients add the type.
            (None, Act::Disconnect) => {
                COMMAND_LINE.contains(&name) && (value.is_string() || has_usual_line(present))
                    || self.plain.get(name) == Some(value)
                    || (name == "type" && value == "stdio")
            }
        };
        // Clients add members that say nothing, such as an empty `env`.
        let says_nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let members = present.as_object().into_iter().flatten();
        let edited = members.filter(|(name, value)| !says_nothing(value) && !is_written(name, value));
        edited.map(|(name, _)| name.clone()).collect()
    }

    /// Another client that reads this entry, if it would get less by the change.
    fn loses(&self, present: &Value, act: Act<'_>) -> Option<String> {
        let words = command_line(present);
        let reader = words.iter().skip_while(|word| **word != NOT_READ_BY).nth(1);
        let other = match (act, reader) {
            // What serves every skill serves every client.
            (Act::Connect(entry), _) if entry == present || command_line(entry) == [PROGRAM, VERB] => None,
            (_, Some(reader)) => self.others.iter().find(|other| *other == reader),
            (Act::Connect(_), None) if is_ours(present) => self.others.first(),
            _ => None,
        };
        other.map(|other| (*other).to_owned())
    }

    /// The file as it is edited.
    fn edited(&self) -> EditedFile<'_> {
        EditedFile { file: self.file, within: self.within, limits: ParsedLimits::of(self.within) }
    }

    fn write(&self, plan: &PlannedConnection, old: Option<&Record>) -> Result<(), WriteError> {
        let failed = |error| WriteError::io(self.file, error);
        match (&plan.before, &plan.after) {
            // Clients keep secrets beside the servers of a user.
            (None, Some(after)) => self.edited().create(after, self.within.is_none()),
            (Some(before), Some(after)) => self.edited().replace(before, after),
            (Some(before), None) => {
                let now = ParsedLimits::of(self.within)
                    .read(self.file)
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

/// The file with the records of what was connected, and why it cannot be read to change what is connected; `None` if it
/// can, or is not there.
pub fn unread_connections(environment: &Environment) -> Option<(PathBuf, io::Error)> {
    let file = records::file(environment)?;
    let error = Records::read(&file, true).err()?;
    Some((file, error))
}

/// Whether two entries connect to one address.
fn has_same_address(one: &Value, other: &Value) -> bool {
    let address = |entry: &Value| {
        let of = |key: &&str| entry.get(*key).and_then(Value::as_str).map(str::to_owned);
        ["url", "httpUrl", "serverUrl", "uri"].iter().find_map(of)
    };
    address(one).is_some_and(|address_of_one| address(other) == Some(address_of_one))
}

/// Whether a comment goes with an entry: what can begin one is in the text more often than in what is kept and in the
/// values.
fn loses_comment(text: &str, kept: &str, entry: &Value) -> bool {
    let signs = |text: &str| text.matches(['/', '#']).count();
    signs(text) > signs(kept) + signs(&entry.to_string())
}

/// The program of the server, and the command that serves.
const PROGRAM: &str = "prowess";
const VERB: &str = "serve";
/// The option that names the client whose own skills are left out.
const NOT_READ_BY: &str = "--not-read-by";

/// The members that have the command line.
const COMMAND_LINE: [&str; 3] = ["command", "cmd", "args"];

/// The command line of an entry.
fn command_line(entry: &Value) -> Vec<&str> {
    let words =
        |key: &str| entry.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let program = ["command", "cmd"].iter().find_map(|key| entry.get(*key)?.as_str());
    match program {
        Some(program) => std::iter::once(program).chain(words("args")).collect(),
        None => words("command").collect(),
    }
}

/// Whether an entry starts a server with every skill that its client does not read by itself, and is not switched off.
pub fn serves_all(entry: &Value) -> bool {
    let is = |key: &str, value: bool| entry.get(key).and_then(Value::as_bool) == Some(value);
    is_ours(entry) && has_usual_line(entry) && !is("enabled", false) && !is("disabled", true)
}

/// Whether the command line of an entry is one that `connect` writes without options.
fn has_usual_line(entry: &Value) -> bool {
    matches!(command_line(entry).as_slice(), [_, _] | [_, _, NOT_READ_BY, _])
}

/// Whether an entry starts `prowess serve`.
fn is_ours(entry: &Value) -> bool {
    let line = command_line(entry);
    let [program, verb, ..] = line.as_slice() else { return false };
    Path::new(program).file_stem().is_some_and(|stem| stem == PROGRAM) && *verb == VERB
}
