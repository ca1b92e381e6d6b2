//! Changing what lies on disk: a reader sees all of the old or all of the new, and nothing is lost on the way.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::shown;

mod held;

use held::Held;

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
    fn io(path: &Path, source: io::Error) -> Self {
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

/// The steps of replacing a file, in order; the tests stop at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Create,
    Write,
    Sync,
    Compare,
    Rename,
}

/// Replaces a file that holds `before` by one that holds `after`.
///
/// The new bytes are written beside it, brought to the disk, and take its name. Permissions stay, and the owner
/// where the system lets us. A link stays a link: the file it leads to is replaced, in its own folder. A file
/// that may not be written is left alone, as an editor would, and so is one that no longer holds `before`.
///
/// Two things are as with most editors: a further hard link keeps the old bytes, and extended attributes are
/// those of a new file. A write in the instant between the last look and the renaming is not noticed.
pub fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<(), WriteError> {
    replace_where(path, before, after, |_| true)
}

/// The same for a file whose real place `may` allows; see [`WriteError::Outside`].
///
/// That place is asked for once. Its folder is then opened without following links and held, so that what is put in the
/// place of a folder meanwhile is not written to.
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
    // Renaming needs no permission for the file itself, so it is asked for.
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

/// Whether an open file is a regular one with these bytes and no others.
fn holds(file: File, bytes: &[u8]) -> bool {
    let mut read = Vec::new();
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && file.take(bytes.len() as u64 + 1).read_to_end(&mut read).is_ok()
        && read == bytes
}

/// How well a file that Prowess owns must survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It can be made again, and its reader notices a damaged one.
    Rebuilt,
    /// It is the only copy of what the user decided: synced to disk, and readable by the user only.
    Synced,
}

/// Writes a file that Prowess owns, whole or not at all, in the place of what was there. Folders are made.
pub(crate) fn write_own(path: &Path, parts: &[&[u8]], durability: Durability) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    if durability == Durability::Synced {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let (temporary, mut file) = Temporary::file(path, &mut options)?;
    for part in parts {
        file.write_all(part)?;
    }
    if durability == Durability::Synced {
        file.sync_all()?;
    }
    fs::rename(&temporary.path, path)?;
    if durability == Durability::Synced {
        sync_folder_of(path);
    }
    Ok(())
}

/// Makes a file with these bytes, whole or not at all. Something of its name is never replaced.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let failed = |error| WriteError::io(path, error);
    let (temporary, mut file) = Temporary::file(path, File::options().write(true)).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    rename_to_new(&temporary.path, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists { path: path.to_owned() },
        _ => failed(error),
    })?;
    sync_folder_of(path);
    Ok(())
}

/// How long another process may hold a lock before waiting for it ends with an error.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes a lock and holds it until the file is dropped. The file stays: another process may have just opened it.
///
/// Only this user can open the file, so that no other user can hold the lock. Waiting ends after [`LOCK_TIMEOUT`].
pub(crate) fn lock_own(path: &Path) -> io::Result<File> {
    lock_within(path, LOCK_TIMEOUT)
}

pub(crate) fn lock_within(path: &Path, timeout: Duration) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a FIFO or a link in place of the file must neither wait nor lead elsewhere.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the lock is not a regular file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(error),
            Err(fs::TryLockError::WouldBlock) if started.elapsed() >= timeout => {
                let seconds = timeout.as_secs();
                let reason = format!("another process has held {} for {seconds} seconds", path.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
        }
    }
}

/// How long to wait before trying again to take a lock.
const LOCK_POLL: Duration = Duration::from_millis(5);

/// Makes a folder with these files, all or nothing. The folder above it must be there.
///
/// It is made under another name beside its place, and gets its own when it is complete. Something that is there
/// already, be it an empty folder, is never touched.
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

/// Something unfinished, which goes when it is dropped; once it was renamed there is nothing to remove.
///
/// Its handle holds a lock for as long as it is worked on. What is not locked was left behind by a process that was
/// killed, and the next one that writes to the folder removes it.
struct Temporary {
    path: PathBuf,
}

/// How the name of something unfinished begins and ends.
const UNFINISHED: (&str, &str) = (".prowess-", ".tmp");
/// How many entries of a folder are looked at for what was left behind.
const MAX_SWEPT: usize = 10_000;

/// Whether this is the name of something unfinished: no file of a skill, and not to be taken for one.
pub(crate) fn is_temporary(name: &str) -> bool {
    let number = name.strip_prefix(UNFINISHED.0).and_then(|rest| rest.strip_suffix(UNFINISHED.1));
    let number = number.filter(|number| !number.is_empty());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}

impl Temporary {
    /// A new file beside a path, and its handle.
    fn file(path: &Path, options: &mut fs::OpenOptions) -> io::Result<(Self, File)> {
        Self::new(path, |path| options.create_new(true).open(path), |file| file.lock().is_ok())
    }

    /// A new folder beside a path, and what keeps it from being taken for something left behind.
    fn folder(path: &Path) -> io::Result<(Self, Option<File>)> {
        let open = |path: &Path| fs::create_dir(path).map(|()| File::options().read(true).open(path).ok());
        Self::new(path, open, |handle| handle.as_ref().is_some_and(|handle| handle.lock().is_ok()))
    }

    fn new<H>(
        path: &Path,
        mut make: impl FnMut(&Path) -> io::Result<H>,
        lock: impl Fn(&H) -> bool,
    ) -> io::Result<(Self, H)> {
        let folder = folder_of(path);
        sweep(folder);
        loop {
            let path = folder.join(unused_name());
            let handle = make(&path)?;
            let temporary = Self { path };
            // Between the making and the lock it may have been taken for something left behind. Where there are no
            // locks, nothing is removed.
            if !lock(&handle) || temporary.path.symlink_metadata().is_ok() {
                return Ok((temporary, handle));
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    let folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let _ = if folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// A hidden name that no other process guesses or uses.
pub(crate) fn unused_name() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("{}{random:016x}{}", UNFINISHED.0, UNFINISHED.1)
}

/// Removes what a process left behind that was killed while it wrote to this folder.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().take(MAX_SWEPT).flatten() {
        if !entry.file_name().to_str().is_some_and(is_temporary) {
            continue;
        }
        let kind = entry.file_type();
        // A link or a device of that name is none of ours, and opening it may have an effect.
        if !kind.is_ok_and(|kind| kind.is_file() || kind.is_dir()) {
            continue;
        }
        // Something else may be there by now, so it is asked once more.
        let ours = |left: &File| left.metadata().is_ok_and(|left| left.is_file() || left.is_dir());
        if let Ok(left) = open_without_waiting(&entry.path())
            && ours(&left)
            && left.try_lock().is_ok()
        {
            remove(&entry.path());
        }
    }
}

/// Opens what is there, and no link: a FIFO would else be waited for.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

/// The folder that holds a path.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a new file the owner of the old one; only some users may, and the others own what they write.
fn keep_owner(file: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
    #[cfg(not(unix))]
    let _ = (file, old);
}

/// Brings a renaming to the disk; where a folder cannot be synchronised there is nothing more to do.
fn sync_folder_of(path: &Path) {
    if let Ok(folder) = File::options().read(true).open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}

/// Renames without ever replacing what is there.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems do not know the flag.
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
