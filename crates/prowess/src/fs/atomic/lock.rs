//! Locks between processes, held by an open file.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may hold a lock before waiting for it ends with an error.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes a lock and holds it until the file is dropped. The file stays: another process may have just opened it.
///
/// Only this user can open the file, so that no other user can hold the lock: the folders below the root, if there is
/// one, must be this user's. Waiting ends after [`LOCK_TIMEOUT`].
pub(crate) fn lock_own(root: Option<&Path>, path: &Path) -> io::Result<File> {
    lock_within(root, path, LOCK_TIMEOUT)
}

/// Takes a lock as [`lock_own`] does, but waits no longer than this.
pub(crate) fn lock_within(root: Option<&Path>, path: &Path, timeout: Duration) -> io::Result<File> {
    super::make_own_folders(root, super::folder_of(path))?;
    let file = open_lock(path, true)?;
    check_regular(&file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    wait(file, path, timeout, File::try_lock)
}

/// An error unless [`lock_within`] could take a lock, once no other process holds it, and files could be written beside it.
/// Nothing is written.
#[cfg(feature = "install")]
pub(crate) fn check_lock(root: &Path, path: &Path) -> io::Result<()> {
    let folder = super::folder_of(path);
    super::own::check_folder(root, folder)?;
    // What the lock protects is written in its folder.
    super::own::check_writable(folder)?;
    let file = match open_lock(path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    check_regular(&file)?;
    super::own::check_owner(&file)
}

/// Takes a shared lock for a reader, which writes nothing. `None` when there is no file, or this user may not read it.
#[cfg(feature = "install")]
pub(crate) fn lock_to_read(path: &Path, timeout: Duration) -> io::Result<Option<File>> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match super::temporary::open_without_waiting(path) {
        Ok(file) if file.metadata()?.is_file() => wait(file, path, timeout, File::try_lock_shared).map(Some),
        Ok(file) => check_regular(&file).map(|()| None),
        Err(error) if [NotFound, NotADirectory, PermissionDenied].contains(&error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_lock(path: &Path, make: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(make).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a FIFO or a link in place of the file must neither wait nor lead elsewhere.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

fn check_regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "the lock is not a regular file"))
}

fn wait(
    file: File,
    path: &Path,
    timeout: Duration,
    try_lock: fn(&File) -> Result<(), fs::TryLockError>,
) -> io::Result<File> {
    let started = Instant::now();
    loop {
        match try_lock(&file) {
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
