//! [`WriteError`]: why something could not be written.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::shown;

/// Why something could not be written. Each variant names the path; whatever was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file is not the one that was read.
    #[error("the file has changed since it was read, so it is left alone: {}", shown(.path))]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file lies elsewhere, behind a link, and was not named itself.
    #[error("a link leads to a file outside of what was named, so it is left alone: {}: {}", shown(.path), .target.display())]
    Outside {
        /// The path that was to be written.
        path: PathBuf,
        /// The file that it leads to.
        target: PathBuf,
    },
    /// The file may not be written.
    #[error("the file is read-only, so it is left alone: {}", shown(.path))]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Something of that name is there already.
    #[error("there is something of this name already: {}", shown(.path))]
    Exists {
        /// What should have been made.
        path: PathBuf,
    },
    /// The system refused or failed.
    #[error("could not write: {}", shown(.path))]
    Io {
        /// What should have been written.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl WriteError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// The path it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Changed { path }
            | Self::Outside { path, .. }
            | Self::ReadOnly { path }
            | Self::Exists { path }
            | Self::Io { path, .. } => path,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "run the command again",
            Self::Outside { .. } => "name the file itself to have it changed",
            Self::ReadOnly { .. } => "make the file writable for this user, or leave it out",
            Self::Exists { .. } => "choose another name or another folder",
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room on the disk, then run the command again"
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "make the folder writable for this user, or leave it out"
                }
                io::ErrorKind::NotFound => "make the folder first, or check its spelling",
                io::ErrorKind::NotADirectory => "a part of this path is a file; name a folder",
                _ => "try again; if it persists, the disk or its connection may be at fault",
            },
        }
    }
}
