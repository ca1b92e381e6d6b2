//! [`WriteError`]: why something could not be written.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::shown;

/// Why something could not be written. Each variant names the path. The previous contents are never lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file changed since it was read.
    #[error("the file has changed since it was read, so it is left alone: {}", shown(.path))]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The path is a link to a file outside of what the user named.
    #[error("a link leads to a file outside of what was named, so it is left alone: {}: {}", shown(.path), .target.display())]
    Outside {
        /// The path.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// The file is read-only.
    #[error("the file is read-only, so it is left alone: {}", shown(.path))]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Something of this name exists already.
    #[error("there is something of this name already: {}", shown(.path))]
    Exists {
        /// The path that should have been created.
        path: PathBuf,
    },
    /// The system returned an error.
    #[error("could not write: {}", shown(.path))]
    Io {
        /// The path that should have been written.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
}

impl WriteError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
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
