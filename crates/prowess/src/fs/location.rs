//! [`Location`]s and the paths of this machine.

use std::path::Path;

use prowess_core::Location;

/// The location of a file or a folder.
pub(crate) fn location_of(path: &Path) -> Location {
    Location::Path(path.to_string_lossy().into())
}

/// Whether a skill is in a file below a folder.
pub(crate) fn is_in(location: &Location, folder: &Path) -> bool {
    location.file().is_some_and(|file| Path::new(file).starts_with(folder))
}
