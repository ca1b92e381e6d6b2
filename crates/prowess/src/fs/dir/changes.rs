//! The operations of a [`Folder`] that create, move and remove entries by name.
//!
//! The folder is opened once. If a folder on its path is replaced later, nothing is written to the new one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Folder, Kind};
use crate::fs::stamp::FileStamp;

impl Folder {
    /// Opens a folder for changes. Links on its path are resolved once, and none is followed when it is opened.
    pub(crate) fn open_resolved(path: &Path) -> io::Result<Self> {
        Self::open_real(&std::fs::canonicalize(path)?)
    }

    /// The path it was opened by, for messages and for reading.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of an entry; a link is not followed.
    pub(crate) fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
        Ok(self.state(name)?.map(|(_, kind)| kind))
    }

    /// The inode number of an entry, where the system has such numbers.
    pub(crate) fn number(&self, name: &str) -> io::Result<Option<u64>> {
        Ok(self.state(name)?.map(|(stamp, _)| stamp.inode).filter(|number| *number != 0))
    }

    fn state(&self, name: &str) -> io::Result<Option<(FileStamp, Kind)>> {
        match self.state_below(name.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            state => state.map(Some),
        }
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let names = self.entries(usize::MAX)?.0.into_iter();
        Ok(names.map(|entry| entry.name.to_string_lossy().into_owned()).collect())
    }
}

#[cfg(unix)]
mod unix {
    use rustix::fs::{Mode, OFlags, RenameFlags};
    use rustix::io::Errno;

    use super::{File, Folder, PathBuf, io, write_all};
    use crate::fs::removal::remove_in;

    impl Folder {
        /// Opens a folder in it, and creates it first if it does not exist.
        pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
            match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.below(name),
                Err(error) => Err(error.into()),
            }
        }

        /// A path to read an entry by: through the open folder where the system supports it, even if the folder was
        /// moved.
        pub(crate) fn readable(&self, name: &str) -> PathBuf {
            #[cfg(target_os = "linux")]
            {
                use std::os::fd::AsRawFd as _;
                let open = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
                if open.exists() {
                    return open.join(name);
                }
            }
            self.path.join(name)
        }

        /// Writes a new file.
        pub(crate) fn write_new(&self, name: &str, bytes: &[u8], executable: bool) -> io::Result<File> {
            let mode = if executable { 0o777 } else { 0o666 };
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(mode))?;
            if executable {
                // The user's umask may have removed what is a part of the skill.
                let mode = Mode::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
                if !mode.contains(Mode::XUSR) {
                    rustix::fs::fchmod(&file, mode | Mode::XUSR)?;
                }
            }
            write_all(File::from(file), bytes)
        }

        /// Moves an entry to a name that must be free.
        pub(crate) fn move_new(&self, name: &str, to: &Self, new: &str) -> io::Result<()> {
            match rustix::fs::renameat_with(&self.handle, name, &to.handle, new, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    if to.kind(new)?.is_some() {
                        return Err(Errno::EXIST.into());
                    }
                    Ok(rustix::fs::renameat(&self.handle, name, &to.handle, new)?)
                }
                moved => Ok(moved?),
            }
        }

        /// Exchanges two entries in one step. Returns false if the file system does not support it.
        pub(crate) fn exchange(&self, name: &str, other: &Self, second: &str) -> io::Result<bool> {
            match rustix::fs::renameat_with(&self.handle, name, &other.handle, second, RenameFlags::EXCHANGE)
            {
                Ok(()) => Ok(true),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }

        /// Creates a link with a name that must be free.
        pub(crate) fn link(&self, name: &str, target: &str) -> io::Result<()> {
            Ok(rustix::fs::symlinkat(target, &self.handle, name)?)
        }

        /// Removes an entry with everything in it, if it exists. No link is followed. If something is mounted in it,
        /// nothing is removed.
        pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
            remove_in(&self.handle, name.as_ref(), &self.path.join(name))
        }

        /// Syncs the names in it to disk.
        pub(crate) fn sync(&self) -> io::Result<()> {
            match rustix::fs::fsync(&self.handle) {
                // Some file systems cannot sync folders, and need not.
                Ok(()) | Err(Errno::INVAL) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }

        /// Syncs its whole file system to disk. Returns false if the system does not support it.
        pub(crate) fn sync_file_system(&self) -> io::Result<bool> {
            #[cfg(target_os = "linux")]
            return Ok(rustix::fs::syncfs(&self.handle).map(|()| true)?);
            #[cfg(not(target_os = "linux"))]
            Ok(false)
        }
    }
}

/// On systems without usable handles of folders, by its path.
#[cfg(not(unix))]
mod portable {
    use std::fs;

    use super::{File, Folder, Kind, PathBuf, io, write_all};

    impl Folder {
        pub(crate) fn readable(&self, name: &str) -> PathBuf {
            self.path.join(name)
        }

        pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
            match fs::create_dir(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => self.below(name),
            }
        }

        pub(crate) fn write_new(&self, name: &str, bytes: &[u8], _: bool) -> io::Result<File> {
            write_all(File::options().write(true).create_new(true).open(self.path.join(name))?, bytes)
        }

        pub(crate) fn move_new(&self, name: &str, to: &Self, new: &str) -> io::Result<()> {
            if to.kind(new)?.is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(self.path.join(name), to.path.join(new))
        }

        pub(crate) fn exchange(&self, _: &str, _: &Self, _: &str) -> io::Result<bool> {
            Ok(false)
        }

        pub(crate) fn link(&self, _: &str, _: &str) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
            match self.kind(name)? {
                None => Ok(()),
                Some(Kind::Folder) => fs::remove_dir_all(self.path.join(name)),
                // There, a link to a folder is removed like a folder.
                Some(_) => {
                    let path = self.path.join(name);
                    fs::remove_file(&path).or_else(|_| fs::remove_dir(&path))
                }
            }
        }

        pub(crate) fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        pub(crate) fn sync_file_system(&self) -> io::Result<bool> {
            Ok(false)
        }
    }
}

fn write_all(mut file: File, bytes: &[u8]) -> io::Result<File> {
    file.write_all(bytes)?;
    Ok(file)
}
