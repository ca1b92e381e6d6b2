//! [`ConnectionError`]: why a configuration was not changed, and what to do about it.

use std::io;
use std::path::PathBuf;

use crate::fs::atomic::WriteError;
use crate::library::config_edit::{ConfigEditError, EditedFileError};

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// An entry of ours has a member that would be lost.
    #[error("this entry was changed by hand, and its {member} would be lost: {name}: {}", .file.display())]
    Members {
        /// The file.
        file: PathBuf,
        /// The name of the entry.
        name: String,
        /// The member.
        member: String,
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

/// Whether a disk is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl ConnectionError {
    /// What to do about it, for a client by its name on the command line.
    pub fn hint(&self, client: &str) -> String {
        match self {
            Self::File(error) if error.is_too_large() => {
                format!(
                    "nothing was changed; use the client's own command that adds a server, or change the file yourself, \
                     by the text of: prowess serve --print-config {client}"
                )
            }
            Self::File(EditedFileError::Outside { .. }) => {
                "connect for yourself, without --project; nothing was changed".to_owned()
            }
            Self::File(error) => error.hint(),
            Self::Edit { source: ConfigEditError::Invalid { .. }, .. } => {
                "correct the file, then run the command again; nothing was changed".to_owned()
            }
            Self::Edit { .. } => {
                format!(
                    "nothing was changed; change the file yourself, by the text of: prowess serve --print-config {client}"
                )
            }
            Self::NotOurs { removes: true, .. } => {
                "look at the entry; --overwrite removes it, although Prowess did not write it".to_owned()
            }
            Self::Shared { removes: true, client, .. } => format!(
                "remove it for both with --overwrite, or disconnect the other client with: prowess disconnect \
                 {client} --project"
            ),
            Self::Shared { .. } => {
                "serve every skill to both with --all, or take its place with --overwrite".to_owned()
            }
            Self::NotOurs { .. } | Self::Members { .. } => {
                "look at the entry; --overwrite takes its place".to_owned()
            }
            Self::Write(error) => error.hint().to_owned(),
            Self::Records { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
                "use that version of prowess, or a newer one; nothing was changed".to_owned()
            }
            Self::Records { .. } => {
                "move the file away: disconnect then removes the entry and nothing else; nothing \
                                     was changed"
                    .to_owned()
            }
            Self::Record { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                "use a folder whose path is UTF-8; nothing was changed".to_owned()
            }
            Self::Record { source, .. } if is_full(source) => {
                "make room on the disk, then run the command again; nothing was changed".to_owned()
            }
            Self::Record { .. } => "check that you may write to the folder; nothing was changed".to_owned(),
            Self::RecordLeft { .. } => {
                "the record does no harm; check that you may write to the folder".to_owned()
            }
            Self::Homeless => "set HOME or XDG_STATE_HOME".to_owned(),
        }
    }
}
