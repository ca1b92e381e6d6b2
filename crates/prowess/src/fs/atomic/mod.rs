//! Atomic changes of files: a reader sees the old contents or the new ones, and a failure loses nothing.

mod error;
mod held;
mod lock;
mod temporary;

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

pub use error::WriteError;
use held::Held;
pub(crate) use lock::lock_own;
#[cfg(feature = "install")]
pub(crate) use lock::{check_lock, lock_to_read, lock_within};
use temporary::Temporary;

use super::own;
pub(crate) use temporary::is_temporary;
#[cfg(feature = "install")]
pub(crate) use temporary::unused_name;
pub use temporary::{abandoned, sweep};
#[cfg(feature = "install")]
pub(crate) use temporary::{is_stage, unused_stage_name};

/// The steps of replacing a file, in order. Tests stop at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Create,
    Write,
    Sync,
    Compare,
    Rename,
}

/// Replaces a file with the contents `before` by one with the contents `after`.
///
/// The new bytes are written to a temporary file beside it, synced, and renamed over it. The file keeps its
/// permissions, and its owner where the system allows that. A link stays a link: its target is replaced, in its own
/// folder. A read-only file is not changed, and neither is one whose contents are not `before`.
///
/// As with most editors, another hard link keeps the old bytes, and extended attributes are those of a new file. A
/// write between the last comparison and the rename is not noticed.
///
/// Nothing is written if `may` refuses the real path of the file; see [`WriteError::Outside`].
///
/// The real path is looked up once. Its folder is then opened without following links and held open, so that nothing is
/// written to a folder that replaces it meanwhile.
pub fn replace_where(
    path: &Path,
    before: &[u8],
    after: &[u8],
    may: impl Fn(&Path) -> bool,
) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).map_err(|error| WriteError::io(path, error))?;
    if !may(&target) {
        return Err(WriteError::Outside { path: path.to_owned(), target });
    }
    replace_stepwise(path, &target, before, after, |_| Ok(()))
}

fn replace_stepwise(
    path: &Path,
    target: &Path,
    before: &[u8],
    after: &[u8],
    mut at: impl FnMut(Step) -> io::Result<()>,
) -> Result<(), WriteError> {
    let failed = |error| WriteError::io(path, error);
    let changed = || WriteError::Changed { path: path.to_owned() };
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return Err(changed()) };
    at(Step::Open).map_err(failed)?;
    let held = Held::open(folder).map_err(|_| changed())?;
    let old = held.file(name).and_then(|file| file.metadata()).map_err(|_| changed())?;
    // Renaming does not need write permission for the file itself, so it is checked.
    let writable = !old.permissions().readonly() && old.is_file();
    if !writable || !held.is_writable(name) {
        return Err(WriteError::ReadOnly { path: path.to_owned() });
    }
    at(Step::Create).map_err(failed)?;
    let (temporary, mut file) = Temporary::file(target, File::options().write(true)).map_err(failed)?;
    let new = temporary.path.file_name().unwrap_or_default();
    if !held.has(new, &file).unwrap_or(false) {
        return Err(changed());
    }
    at(Step::Write).and_then(|()| file.write_all(after)).map_err(failed)?;
    keep_owner(&file, &old);
    file.set_permissions(old.permissions()).map_err(failed)?;
    at(Step::Sync).and_then(|()| file.sync_all()).map_err(failed)?;
    at(Step::Compare).map_err(failed)?;
    if !held.file(name).is_ok_and(|file| holds(file, before)) {
        return Err(changed());
    }
    at(Step::Rename).and_then(|()| held.rename(new, name)).map_err(failed)?;
    sync_folder_of(target);
    Ok(())
}

/// Whether an open file is a regular file with exactly these bytes.
fn holds(file: File, bytes: &[u8]) -> bool {
    let mut read = Vec::new();
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.take(bytes.len() as u64 + 1).read_to_end(&mut read).is_ok()
        && read == bytes
}

/// How well a file that Prowess owns must survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It can be rebuilt, and its reader notices damage.
    Rebuilt,
    /// It is the only copy of a decision of the user: synced to disk.
    Synced,
}

/// Writes a file that Prowess owns, atomically, for this user alone. Creates the folders above it, and replaces what was
/// there. Those below the root, if there is one, must be this user's. A record there that is not believed, such as one of
/// another user, is the only copy of decisions: it is set aside.
pub(crate) fn write_own(
    root: Option<&Path>,
    path: &Path,
    parts: &[&[u8]],
    durability: Durability,
) -> io::Result<()> {
    match durability {
        Durability::Rebuilt => drop(own::make_folder(root, folder_of(path))?),
        Durability::Synced => make_own_folders(root, folder_of(path))?,
    }
    let mut options = File::options();
    options.write(true);
    // What others can write is not believed when it is read.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let (temporary, mut file) = Temporary::file(path, &mut options)?;
    for part in parts {
        file.write_all(part)?;
    }
    if durability == Durability::Synced {
        file.sync_all()?;
        root.map_or(Ok(()), |root| own::set_aside(root, path))?;
    }
    fs::rename(&temporary.path, path)?;
    if durability == Durability::Synced {
        sync_folder_of(path);
    }
    Ok(())
}

/// Creates a file with these bytes, atomically. Never replaces anything. With `private`, only the user can read it.
#[cfg(feature = "edit")]
pub(crate) fn create(path: &Path, bytes: &[u8], private: bool) -> Result<(), WriteError> {
    let failed = |error| WriteError::io(path, error);
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let (temporary, mut file) = Temporary::file(path, &mut options).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    rename_to_new(&temporary.path, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: path.to_owned() },
        _ => failed(error),
    })?;
    sync_folder_of(path);
    Ok(())
}

/// Creates a folder with these files, all or nothing. The folder above it must exist.
///
/// It is built under a temporary name beside its place, and renamed when it is complete. Anything that exists there
/// already, even an empty folder, is not touched.
pub fn make_folder(path: &Path, contents: &[(&str, &[u8])]) -> Result<(), WriteError> {
    let failed = |error| WriteError::io(path, error);
    let exists = || WriteError::Exists { path: path.to_owned() };
    if path.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let (temporary, _lock) = Temporary::folder(path).map_err(failed)?;
    for (name, bytes) in contents {
        let file = temporary.path.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = File::options().write(true).create_new(true).open(file).map_err(failed)?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    }
    rename_to_new(&temporary.path, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => exists(),
        _ => failed(error),
    })?;
    sync_folder_of(path);
    Ok(())
}

/// The folder that contains a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a folder of ours and those above it, for this user alone, and syncs the new ones to disk.
pub(crate) fn make_own_folders(root: Option<&Path>, folder: &Path) -> io::Result<()> {
    own::make_folder(root, folder)?.iter().rev().for_each(|made| sync_folder_of(made));
    Ok(())
}

/// Creates a folder and those above it. The new ones are synced to disk, so that a file below them is not lost with them.
#[cfg(feature = "install")]
pub(crate) fn make_folders(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(folder)?;
    for made in missing.into_iter().rev() {
        sync_folder_of(made);
    }
    Ok(())
}

/// Gives a new file the owner of the old one. Only some users may do that; for others it fails silently.
fn keep_owner(file: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    #[cfg(not(unix))]
    let _ = (file, old);
}

/// Syncs a rename to disk. Where a folder cannot be synced, there is nothing more to do.
pub(crate) fn sync_folder_of(path: &Path) {
    if let Ok(folder) = File::options().read(true).open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}

/// Renames without replacing anything.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems do not support the flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            result => return result.map_err(io::Error::from),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
