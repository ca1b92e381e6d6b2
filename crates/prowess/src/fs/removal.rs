//! Removes folders with everything in them, except what is mounted in them.

use std::io;
use std::path::Path;

#[cfg(all(unix, feature = "install"))]
pub(crate) use unix::remove_in;

/// Removes a file or a folder with everything in it. No link is followed. If something is mounted in it, nothing is
/// removed.
#[cfg(unix)]
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = crate::fs::dir::open_through(above)?;
    path.symlink_metadata()?;
    unix::remove_in(&above, path.file_name().ok_or(io::ErrorKind::InvalidInput)?, path)
}

/// Removes a file or a folder with everything in it. No link is followed.
#[cfg(not(unix))]
pub fn remove_tree(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

#[cfg(unix)]
mod unix {
    use std::ffi::{OsStr, OsString};
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, Dir, Mode, OFlags};
    use rustix::io::Errno;

    use crate::fs::mounts::{busy, is_mounted, mount_in};

    const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// Removes an entry of a folder with everything in it, if it exists. No link is followed. If something is mounted
    /// in it, nothing is removed. `path` is the path of the entry, for messages.
    pub(crate) fn remove_in(above: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<()> {
        match mount_in(above, name, path) {
            Some(mount) => Err(busy(&mount)),
            None => remove(above, name, path),
        }
    }

    fn remove(above: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<()> {
        match rustix::fs::unlinkat(above, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // Linux says that it is a folder; POSIX lets systems say that it is not permitted.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        // A folder that is empty is gone with this. One with something mounted in its place is busy, also where the
        // kernel does not say so otherwise.
        match rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(Errno::BUSY) => return Err(busy(path)),
            done => return Ok(done?),
        }
        let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty())?;
        // Something may have been mounted since it was looked for.
        if is_mounted(&folder, above)? {
            return Err(busy(path));
        }
        // The names first: a folder that changes while it is listed may omit some.
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            names.push(OsString::from_vec(entry?.file_name().to_bytes().to_vec()));
        }
        for inner in names.iter().filter(|name| *name != "." && *name != "..") {
            remove(&folder, inner, &path.join(inner))?;
        }
        Ok(rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?)
    }
}
