//! The records of what was connected: a file in the user's state folder, written before a configuration is.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, Durability};
use crate::fs::own;
use crate::settings::edit::{ConfigChange, is_missing};

/// The maximum size of the records.
const MAX_RECORDS: usize = 16 * 1024 * 1024;
/// The version of the file.
const VERSION: u32 = 1;

/// What was written into one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) file: PathBuf,
    pub(super) name: String,
    pub(super) entry: Value,
    pub(super) change: ConfigChange,
    /// Whether the file is new.
    pub(super) created: bool,
    /// The folders that are new, the outermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Records {
    version: u32,
    connections: Vec<Record>,
}

/// The file with the records.
pub(super) fn file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.xdg("XDG_STATE_HOME", ".local/state")?.join("prowess/connections.json"))
}

impl Records {
    /// Reads the records, to change them or only to look. There are none if there is no file. Those that are not believed,
    /// such as those of another user, may be looked past, but not replaced: nothing else knows what was connected.
    pub(super) fn read(file: &Path, to_change: bool) -> io::Result<Self> {
        if file.symlink_metadata().is_err_and(|error| is_missing(&error)) {
            return Ok(Self { version: VERSION, connections: Vec::new() });
        }
        let judged = own::read_judged(atomic::folder_of(file), file, MAX_RECORDS);
        let bytes = match if to_change { judged } else { own::or_missing(judged) } {
            Err(SourceError { kind: SourceErrorKind::Distrusted { why }, .. }) => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => {
                return Ok(Self { version: VERSION, connections: Vec::new() });
            }
            bytes => bytes.map_err(io::Error::other)?,
        };
        let records: Self = serde_json::from_slice(&bytes)?;
        if records.version != VERSION {
            let (found, own) = (records.version, VERSION);
            let kind = if found > own { io::ErrorKind::Unsupported } else { io::ErrorKind::InvalidData };
            return Err(io::Error::new(
                kind,
                format!("its version is {found}, and this program knows {own}"),
            ));
        }
        Ok(records)
    }

    /// Writes the records atomically.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let unnamed = |error: serde_json::Error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let text = serde_json::to_string_pretty(self).map_err(unnamed)? + "\n";
        atomic::write_own(file.parent(), file, &[text.as_bytes()], Durability::Synced)
    }

    /// The record of an entry.
    pub(super) fn of(&self, file: &Path, name: &str) -> Option<&Record> {
        self.connections.iter().find(|record| record.file == file && record.name == name)
    }

    /// The same with another record of an entry, or none. Folders that were made for it and are still needed belong to
    /// the entry that needs them.
    pub(super) fn with(&self, file: &Path, name: &str, record: Option<Record>) -> Self {
        let old = self.of(file, name);
        let left = old.filter(|_| record.is_none()).into_iter().flat_map(|old| &old.folders);
        let mut connections: Vec<Record> =
            self.connections.iter().filter(|other| Some(*other) != old).cloned().chain(record).collect();
        for folder in left {
            let heir = connections.iter_mut().find(|other| other.created && other.file.starts_with(folder));
            if let Some(heir) = heir.filter(|heir| !heir.folders.contains(folder)) {
                heir.folders.push(folder.clone());
                heir.folders.sort();
            }
        }
        connections.sort_by(|one, other| one.file.cmp(&other.file));
        Self { version: VERSION, connections }
    }
}

/// The folders of a file that do not exist, the outermost first.
pub(super) fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let mut missing: Vec<PathBuf> = above.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
