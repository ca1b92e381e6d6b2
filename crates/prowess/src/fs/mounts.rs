//! Mount points: what is below one is on another file system, or in another place too, so it is no part of the folder
//! that it is in. It is neither taken for an installed file, nor moved or deleted with that folder.

#[cfg(unix)]
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
pub(crate) use unix::{is_mount_point, is_mounted, mount_in};

/// The error for something that cannot be moved or deleted because of a mount.
#[cfg(unix)]
pub(crate) fn busy(mount: &Path) -> io::Error {
    let message = format!("something is mounted here: {}", mount.display());
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

/// The first mount point at a path or below it. What cannot be looked at is not searched: nothing deletes it either.
pub fn first_mount(path: &Path) -> Option<PathBuf> {
    #[cfg(unix)]
    return unix::first_mount(path);
    #[cfg(not(unix))]
    {
        // There, a mount in a folder is a link.
        let _ = path;
        None
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::{CStr, OsString};
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use crate::fs::dir::open_through;

    /// The flags to open a folder with that is listed; a link is not followed.
    const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// Whether an entry of a folder is a mount point. A link is not followed.
    pub(crate) fn is_mount_point(folder: &OwnedFd, name: impl Arg + Copy) -> Result<bool, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        #[cfg(target_os = "linux")]
        if let Some(is_root) = is_root(folder, name, flags | AtFlags::NO_AUTOMOUNT)? {
            return Ok(is_root);
        }
        let there = rustix::fs::statat(folder, name, flags)?;
        // A file of an overlay may have another device than its folder.
        let is_folder = FileType::from_raw_mode(there.st_mode).is_dir();
        Ok(is_folder && there.st_dev != rustix::fs::fstat(folder)?.st_dev)
    }

    /// Whether an open folder is mounted in the folder above it.
    pub(crate) fn is_mounted(folder: &OwnedFd, above: &OwnedFd) -> Result<bool, Errno> {
        #[cfg(target_os = "linux")]
        if let Some(is_root) = is_root(folder, c"", AtFlags::EMPTY_PATH)? {
            return Ok(is_root);
        }
        Ok(rustix::fs::fstat(folder)?.st_dev != rustix::fs::fstat(above)?.st_dev)
    }

    /// Whether something is the root of a mount, also of one on the same file system; none if the kernel does not say.
    #[cfg(target_os = "linux")]
    fn is_root(folder: &OwnedFd, name: impl Arg, flags: AtFlags) -> Result<Option<bool>, Errno> {
        use rustix::fs::{StatxAttributes, StatxFlags, statx};
        match statx(folder, name, flags, StatxFlags::empty()) {
            Ok(known) => {
                let says = known.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT);
                Ok(says.then(|| known.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)))
            }
            // A kernel without the call, or a filter that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn first_mount(path: &Path) -> Option<PathBuf> {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        mount_in(&open_through(above).ok()?, path.file_name()?, path)
    }

    /// The first mount point among an entry of a folder and what is below it. `path` is the path of the entry.
    pub(crate) fn mount_in(above: &OwnedFd, name: impl Arg + Copy, path: &Path) -> Option<PathBuf> {
        if is_mount_point(above, name) == Ok(true) {
            return Some(path.to_owned());
        }
        let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty()).ok()?;
        let entries = Dir::read_from(&folder).ok()?.flatten();
        let is_inner = |name: &CStr| !matches!(name.to_bytes(), b"." | b"..");
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_owned()).collect();
        names.retain(|name| is_inner(name));
        names.sort();
        names.iter().find_map(|name| {
            let path = path.join(OsString::from_vec(name.to_bytes().to_vec()));
            mount_in(&folder, name.as_c_str(), &path)
        })
    }
}
