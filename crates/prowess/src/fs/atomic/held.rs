//! A folder that is held open while a file in it is replaced, so that a link put in its place is not followed.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(super) use unix::Held;

#[cfg(not(unix))]
pub(super) use portable::Held;

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Component;

    use rustix::fs::{CWD, Mode, OFlags, openat, renameat};

    use super::{File, Path, io};

    /// An open folder.
    pub(crate) struct Held(OwnedFd);

    impl Held {
        /// Opens a folder by an absolute path without links.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            // The user may be able to enter a parent folder and not to list it.
            #[cfg(target_os = "linux")]
            let enter = OFlags::PATH;
            #[cfg(not(target_os = "linux"))]
            let enter = OFlags::RDONLY;
            let flags = enter | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut folder = openat(CWD, "/", flags, Mode::empty())?;
            for part in path.components() {
                match part {
                    Component::RootDir => {}
                    Component::Normal(name) => folder = openat(&folder, name, flags, Mode::empty())?,
                    _ => return Err(io::ErrorKind::InvalidInput.into()),
                }
            }
            Ok(Self(folder))
        }

        /// Opens a file of the folder for reading; a link is an error.
        pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
            self.open_for(name, OFlags::RDONLY)
        }

        /// Whether a file of the folder may be written.
        pub(crate) fn is_writable(&self, name: &OsStr) -> bool {
            self.open_for(name, OFlags::WRONLY).is_ok()
        }

        fn open_for(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
            let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
        }

        /// Whether the file of this name in the folder is the one that is open.
        pub(crate) fn has(&self, name: &OsStr, file: &File) -> io::Result<bool> {
            let (here, open) = (self.file(name)?.metadata()?, file.metadata()?);
            Ok((here.ino(), here.dev()) == (open.ino(), open.dev()))
        }

        /// Renames a file within the folder, replacing what has the new name.
        pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }
    }
}

/// An open folder by its path, for systems without usable handles of folders.
#[cfg(not(unix))]
mod portable {
    use std::ffi::OsStr;
    use std::path::PathBuf;

    use super::{File, Path, io};

    pub(crate) struct Held(PathBuf);

    impl Held {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
            File::options().read(true).open(self.0.join(name))
        }

        pub(crate) fn is_writable(&self, name: &OsStr) -> bool {
            File::options().write(true).open(self.0.join(name)).is_ok()
        }

        pub(crate) fn has(&self, name: &OsStr, _: &File) -> io::Result<bool> {
            Ok(self.0.join(name).symlink_metadata()?.is_file())
        }

        pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            std::fs::rename(self.0.join(from), self.0.join(to))
        }
    }
}
