//! [`ConnectionError`]: why a configuration was not changed.

use std::io;
use std::path::PathBuf;

use crate::fs::atomic::WriteError;
use crate::settings::edit::{ConfigEditError, EditedFileError};

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The configuration cannot be edited.
    #[error(transparent)]
    File(#[from] EditedFileError),
    /// Its text is not understood.
    #[error("the configuration of the client is not understood: {}", .file.display())]
    Edit {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: ConfigEditError,
    },
    /// An entry with this name is not ours.
    #[error("another server has this name: {name}: {}", .file.display())]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// The name of the entry.
        name: String,
        /// Whether it was to be removed.
        removes: bool,
    },
    /// The entry serves another client that reads the same file, and would serve it less.
    #[error("another client uses this entry: {client}: {}", .file.display())]
    Shared {
        /// The file.
        file: PathBuf,
        /// The other client.
        client: String,
        /// Whether the entry was to be removed.
        removes: bool,
    },
    /// An entry of ours has members of the user that would be lost.
    #[error("this entry was changed by hand, and this would be lost: {}: {name}: {}", .members.join(", "), .file.display())]
    Members {
        /// The file.
        file: PathBuf,
        /// The name of the entry.
        name: String,
        /// The members.
        members: Vec<String>,
        /// Whether the entry was to be removed.
        removes: bool,
    },
    /// An entry of ours has a comment that would be lost.
    #[error("a comment in this entry would be lost: {name}: {}", .file.display())]
    Comment {
        /// The file.
        file: PathBuf,
        /// The name of the entry.
        name: String,
        /// Whether the entry was to be removed.
        removes: bool,
    },
    /// It could not be written.
    #[error("could not change the configuration of the client")]
    Write(#[source] WriteError),
    /// What was connected before is not known.
    #[error("the record of what is connected cannot be read: {}", .file.display())]
    Records {
        /// The file with the records.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The entry is gone, and its record is not.
    #[error("the entry was removed, but its record was not: {}", .file.display())]
    RecordLeft {
        /// The file with the records.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was written could not be recorded.
    #[error("could not record what was connected: {}", .file.display())]
    Record {
        /// The file with the records.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no place for records.
    #[error("there is no place to record what was connected")]
    Homeless,
}
