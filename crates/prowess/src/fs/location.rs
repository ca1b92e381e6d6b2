//! A [`Location`] as a path of this machine.

use std::path::{Path, PathBuf};

use prowess_core::Location;

/// The location as a path, for messages and for comparing it with folders.
pub fn path_of(location: &Location) -> PathBuf {
    PathBuf::from(location.text().as_ref())
}

/// Whether a skill is in a file below a folder.
pub(crate) fn is_in(location: &Location, folder: &Path) -> bool {
    location.file().is_some_and(|file| Path::new(file).starts_with(folder))
}
