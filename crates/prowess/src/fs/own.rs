//! Files of Prowess itself that it believes: approvals, journals, logs, caches. Only what this user or root wrote is
//! read, from folders that no other user can change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::read;
use crate::error::{SourceError, SourceErrorKind, shown};

/// The name of our folders in the folders of the user's state and caches. Other folders belong to the user or the host,
/// and keep their modes.
const OURS: &str = "prowess";

/// What the user should know, until it is said.
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What was ignored or changed since the last call, each once, as sentences for the user.
pub fn state_notes() -> Vec<String> {
    std::mem::take(&mut *NOTES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn note(text: String) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if !notes.contains(&text) {
        notes.push(text);
    }
}

/// Reads a file of ours. One of another user, or in a folder that other users can change, counts as missing.
pub(crate) fn read(file: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    if let Some(reason) = file.parent().and_then(|folder| secured(folder).err()).or_else(|| foreign(file)) {
        note(format!("ignored, since {reason}: {}", shown(file)));
        return Err(SourceErrorKind::Missing.at(file));
    }
    read::read_small(file, limit)
}

/// Creates a folder of ours and those above it, for this user alone, and checks that it belongs to this user.
pub(crate) fn make_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    match secured(folder) {
        Ok(()) => Ok(missing),
        Err(reason) => {
            let reason = format!("{reason}: {}", shown(folder));
            Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
        }
    }
}

/// Makes a folder of ours inaccessible to others. The error says why it cannot be believed.
#[cfg(unix)]
fn secured(folder: &Path) -> Result<(), &'static str> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(metadata) = folder.metadata() else { return Ok(()) };
    if !folder.iter().any(|part| part == OURS) {
        return Ok(());
    }
    let is_own = metadata.uid() == user();
    if !is_own && metadata.uid() != 0 {
        return Err("its folder belongs to another user");
    }
    let is_open = metadata.mode() & 0o022 != 0;
    if is_own && metadata.mode() & 0o077 != 0 {
        let closed = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).is_ok();
        if closed && is_open {
            note(format!("other users could write here, and no longer can: {}", shown(folder)));
        }
        return if closed || !is_open { Ok(()) } else { Err("other users can write in its folder") };
    }
    if is_open { Err("other users can write in its folder") } else { Ok(()) }
}

/// Why a file is not believed, if another user owns it.
#[cfg(unix)]
fn foreign(file: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    let owners = [file.symlink_metadata(), file.metadata()].into_iter().flatten().map(|known| known.uid());
    let is_foreign = |owner: u32| owner != user() && owner != 0;
    owners.into_iter().any(is_foreign).then_some("it belongs to another user")
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn secured(_: &Path) -> Result<(), &'static str> {
    Ok(())
}

#[cfg(not(unix))]
fn foreign(_: &Path) -> Option<&'static str> {
    None
}
