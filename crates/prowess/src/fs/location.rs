//! [`Location`]s and the paths of this machine.

use std::path::Path;

use prowess_core::Location;

/// The location of a file or a folder.
pub(crate) fn location_of(path: &Path) -> Location {
    Location::Path(path.to_string_lossy().into())
}

/// The file that holds a skill: its SKILL.md, an archive, a file with many skills, or the configuration in which it is
/// written.
pub fn file_of(location: &Location) -> Option<&Path> {
    match location {
        Location::Memory { source, .. } => Some(Path::new(&**source)).filter(|file| file.is_absolute()),
        other => other.file().map(Path::new),
    }
}

/// Whether a skill is in a file below a folder.
pub(crate) fn is_in(location: &Location, folder: &Path) -> bool {
    file_of(location).is_some_and(|file| file.starts_with(folder))
}
