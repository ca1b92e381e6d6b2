//! [`Within`]: a folder that paths must not lead out of, such as that of an untrusted project.
//!
//! A file or folder is opened first, and only then is its real path looked up. A path could be replaced by a link
//! between a check and the opening; an open file cannot.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::{Folder, place_of};
use crate::fs::read;

/// A folder that paths must not lead out of.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    /// The real path of the folder.
    real: PathBuf,
}

impl Within {
    pub(crate) fn new(folder: &Path) -> Result<Self, SourceError> {
        let real = fs::canonicalize(folder).map_err(|error| SourceError::io(folder, error))?;
        Ok(Self { real })
    }

    /// Whether an open folder is in it.
    pub(crate) fn holds_folder(&self, folder: &Folder) -> bool {
        folder.place().is_ok_and(|place| place.starts_with(&self.real))
    }

    /// An error if an open file is outside of it.
    pub(crate) fn check(&self, file: &File, path: &Path) -> Result<(), SourceError> {
        match place_of(file, path) {
            Ok(place) if place.starts_with(&self.real) => Ok(()),
            Ok(_) => Err(SourceErrorKind::OutsideProject.at(path)),
            Err(error) => Err(SourceError::io(path, error)),
        }
    }
}

/// Opens a regular file. If a folder is given, the file must be in it.
pub(crate) fn open_regular(path: &Path, within: Option<&Path>) -> Result<File, SourceError> {
    let file = read::open_regular(path)?;
    if let Some(within) = within {
        Within::new(within)?.check(&file, path)?;
    }
    Ok(file)
}

/// Reads a whole file of at most `limit` bytes. If a folder is given, the file must be in it.
pub(crate) fn read_small(path: &Path, limit: usize, within: Option<&Path>) -> Result<Vec<u8>, SourceError> {
    read::read_whole(open_regular(path, within)?, path, limit)
}
