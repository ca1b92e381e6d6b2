//! [`Dir`]: an open folder in which entries are created, moved and removed by name.
//!
//! The folder is opened once. If a folder on its path is replaced later, nothing is written to the new one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::fs::dir::Kind;

#[cfg(unix)]
pub(crate) use unix::Dir;

#[cfg(not(unix))]
pub(crate) use portable::Dir;

#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;

    use rustix::fs::{AtFlags, CWD, Dir as Entries, FileType, Mode, OFlags, RenameFlags};
    use rustix::io::Errno;

    use super::{File, Kind, Path, PathBuf, io, write_all};
    use crate::fs::mounts::is_mount_point;
    use crate::fs::removal::remove_in;

    const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// An open folder.
    #[derive(Debug)]
    pub(crate) struct Dir {
        handle: OwnedFd,
        path: PathBuf,
    }

    impl Dir {
        /// Opens a folder. Links on its path are resolved once, and none is followed when it is opened.
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Self::open_real(&std::fs::canonicalize(path)?)
        }

        /// Opens a folder by a path that must not contain links.
        pub(crate) fn open_real(path: &Path) -> io::Result<Self> {
            let real = path.to_owned();
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::{ResolveFlags, openat2};
                match openat2(CWD, &real, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                    // A kernel without the call, or a filter that does not know it.
                    Err(Errno::NOSYS | Errno::PERM) => {}
                    handle => return Ok(Self { handle: handle.map_err(no_folder)?, path: real }),
                }
            }
            let handle = rustix::fs::openat(CWD, &real, FOLDER, Mode::empty()).map_err(no_folder)?;
            // Without that call, a link on the path is only noticed by looking again.
            let opened = rustix::fs::fstat(&handle)?;
            let there = rustix::fs::lstat(&real)?;
            if std::fs::canonicalize(&real)? != real
                || (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino)
            {
                return Err(no_folder(Errno::LOOP));
            }
            Ok(Self { handle, path: real })
        }

        /// The path it was opened by, for messages and for reading.
        pub(crate) fn path(&self) -> &Path {
            &self.path
        }

        /// Opens a folder in it.
        pub(crate) fn below(&self, name: &str) -> io::Result<Self> {
            let handle = rustix::fs::openat(&self.handle, name, FOLDER, Mode::empty()).map_err(no_folder)?;
            Ok(Self { handle, path: self.path.join(name) })
        }

        /// Opens a folder in it, and creates it first if it does not exist.
        pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
            match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.below(name),
                Err(error) => Err(error.into()),
            }
        }

        /// The kind of an entry; a link is not followed.
        pub(crate) fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
            match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile => Kind::File,
                    FileType::Directory => Kind::Folder,
                    FileType::Symlink => Kind::Link,
                    _ => Kind::Special,
                })),
                Err(Errno::NOENT) => Ok(None),
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

        /// The inode number of an entry.
        pub(crate) fn number(&self, name: &str) -> io::Result<Option<u64>> {
            match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Ok(Some(stat.st_ino)),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }

        /// The names in it, sorted.
        pub(crate) fn names(&self) -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Entries::read_from(&self.handle)? {
                let name = entry?.file_name().to_bytes().to_vec();
                if !matches!(&*name, b"." | b"..") {
                    names.push(std::ffi::OsString::from_vec(name).to_string_lossy().into_owned());
                }
            }
            names.sort();
            Ok(names)
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

        /// The target of a link, verbatim.
        pub(crate) fn link_target(&self, name: &str) -> io::Result<PathBuf> {
            let target = rustix::fs::readlinkat(&self.handle, name, Vec::new())?;
            Ok(std::ffi::OsString::from_vec(target.into_bytes()).into())
        }

        /// Removes an entry with everything in it, if it exists. No link is followed. If something is mounted in it,
        /// nothing is removed.
        pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
            remove_in(&self.handle, name.as_ref(), &self.path.join(name))
        }

        /// Whether an entry is a mount point.
        pub(crate) fn is_mount_point(&self, name: &str) -> io::Result<bool> {
            Ok(is_mount_point(&self.handle, name)?)
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

    /// The error for a link that is not followed: it is not a folder. The system reports too many links.
    fn no_folder(error: Errno) -> io::Error {
        match error {
            Errno::LOOP => io::Error::new(io::ErrorKind::NotADirectory, "a link has the place of a folder"),
            error => error.into(),
        }
    }
}

/// An open folder by its path, for systems without usable handles of folders.
#[cfg(not(unix))]
mod portable {
    use std::fs;

    use super::{File, Kind, Path, PathBuf, io, write_all};

    #[derive(Debug)]
    pub(crate) struct Dir {
        path: PathBuf,
    }

    impl Dir {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            fs::read_dir(path)?;
            Ok(Self { path: fs::canonicalize(path)? })
        }

        pub(crate) fn open_real(path: &Path) -> io::Result<Self> {
            Self::open(path)
        }

        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "elsewhere the handle is asked")]
        pub(crate) fn number(&self, _: &str) -> io::Result<Option<u64>> {
            Ok(None)
        }

        pub(crate) fn readable(&self, name: &str) -> PathBuf {
            self.path.join(name)
        }

        pub(crate) fn path(&self) -> &Path {
            &self.path
        }

        pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
            match fs::create_dir(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => self.below(name),
            }
        }

        pub(crate) fn below(&self, name: &str) -> io::Result<Self> {
            match self.kind(name)? {
                Some(Kind::Folder) => Ok(Self { path: self.path.join(name) }),
                Some(_) => Err(io::ErrorKind::NotADirectory.into()),
                None => Err(io::ErrorKind::NotFound.into()),
            }
        }

        pub(crate) fn kind(&self, name: &str) -> io::Result<Option<Kind>> {
            match fs::symlink_metadata(self.path.join(name)) {
                Ok(metadata) if metadata.is_symlink() => Ok(Some(Kind::Link)),
                Ok(metadata) if metadata.is_dir() => Ok(Some(Kind::Folder)),
                Ok(metadata) if metadata.is_file() => Ok(Some(Kind::File)),
                Ok(_) => Ok(Some(Kind::Special)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }

        pub(crate) fn names(&self) -> io::Result<Vec<String>> {
            let names =
                fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<io::Result<Vec<String>>>()?;
            names.sort();
            Ok(names)
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

        pub(crate) fn link_target(&self, name: &str) -> io::Result<PathBuf> {
            fs::read_link(self.path.join(name))
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

        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "elsewhere the handle is asked")]
        pub(crate) fn is_mount_point(&self, _: &str) -> io::Result<bool> {
            Ok(false)
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
