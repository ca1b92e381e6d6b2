//! An open folder: what is in it and just below it, asked of the handle and not of a path that may have changed.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use prowess_core::Stamp;

/// What an entry of a folder is, as the folder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a socket, a FIFO.
    Special,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// Whether the last part of a path may be a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Follow,
    /// A link is an error that [`is_link_error`] knows.
    Refuse,
}

#[cfg(unix)]
pub(crate) use unix::Folder;
#[cfg(unix)]
pub(crate) use unix::{is_link_error, stamp_of};

#[cfg(not(unix))]
pub(crate) use portable::Folder;
#[cfg(not(unix))]
pub(crate) use portable::{is_link_error, stamp_of};

#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

    use super::{File, Kind, Links, Metadata, Name, OsString, Path, Stamp, io};

    /// An open folder.
    #[derive(Debug)]
    pub(crate) struct Folder {
        handle: OwnedFd,
    }

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Self { handle: rustix::fs::openat(CWD, path, flags, Mode::empty())? })
        }

        /// What tells it apart from every other folder.
        pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
            let stat = rustix::fs::fstat(&self.handle)?;
            Ok((stat.st_dev, stat.st_ino))
        }

        /// Its entries, sorted by name, at most `limit` of them; and whether there were more.
        pub(crate) fn entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.handle)? {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if matches!(name, b"." | b"..") {
                    continue;
                }
                if names.len() >= limit {
                    return Ok((names, true));
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => kind_of(FileType::from_raw_mode(
                        rustix::fs::statat(&self.handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?
                            .st_mode,
                    )),
                    known => kind_of(known),
                };
                names.push(Name { name: OsString::from_vec(name.to_vec()), kind });
            }
            names.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
            Ok((names, false))
        }

        /// Opens what lies at a path below it, without waiting for a writer.
        pub(crate) fn open_below(&self, path: &Path, links: Links) -> io::Result<File> {
            let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            if links == Links::Refuse {
                flags |= OFlags::NOFOLLOW;
            }
            Ok(File::from(rustix::fs::openat(&self.handle, path, flags, Mode::empty())?))
        }

        /// The state of what lies at a path below it; a link is itself.
        pub(crate) fn state_below(&self, path: &Path) -> io::Result<(Stamp, Kind)> {
            let stat = rustix::fs::statat(&self.handle, path, AtFlags::SYMLINK_NOFOLLOW)?;
            let nanoseconds = |seconds: i64, nanoseconds: u64| {
                seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.cast_signed())
            };
            let stamp = Stamp {
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
                changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
                inode: stat.st_ino,
                device: stat.st_dev,
            };
            Ok((stamp, kind_of(FileType::from_raw_mode(stat.st_mode))))
        }
    }

    fn kind_of(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        }
    }

    /// Whether an error says that the path is a link and was not to be.
    pub(crate) fn is_link_error(error: &io::Error) -> bool {
        error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
    }

    /// What tells this state of a file apart from another.
    pub(crate) fn stamp_of(metadata: &Metadata) -> Stamp {
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Stamp {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }
}

/// The same with paths, for systems where handles of folders are of no use.
#[cfg(not(unix))]
mod portable {
    use std::fs;
    use std::path::PathBuf;
    use std::time::UNIX_EPOCH;

    use super::{File, Kind, Links, Metadata, Name, Path, Stamp, io};

    #[derive(Debug)]
    pub(crate) struct Folder {
        path: PathBuf,
    }

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            fs::read_dir(path)?;
            Ok(Self { path: fs::canonicalize(path)? })
        }

        /// A number made of the path, since there is no other.
        pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
            let bytes = self.path.to_string_lossy().into_owned().into_bytes();
            let hash = |seed: u64| {
                bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
            };
            Ok((hash(0xcbf2_9ce4_8422_2325), hash(0x6c62_272e_07bb_0142)))
        }

        pub(crate) fn entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if names.len() >= limit {
                    return Ok((names, true));
                }
                names.push(Name { name: entry.file_name(), kind: kind_of(&entry.metadata()?) });
            }
            names.sort_by(|a, b| a.name.cmp(&b.name));
            Ok((names, false))
        }

        pub(crate) fn open_below(&self, path: &Path, links: Links) -> io::Result<File> {
            let path = self.path.join(path);
            if links == Links::Refuse && fs::symlink_metadata(&path)?.is_symlink() {
                return Err(io::Error::new(io::ErrorKind::FilesystemLoop, "a link"));
            }
            File::options().read(true).open(path)
        }

        pub(crate) fn state_below(&self, path: &Path) -> io::Result<(Stamp, Kind)> {
            let metadata = fs::symlink_metadata(self.path.join(path))?;
            Ok((stamp_of(&metadata), kind_of(&metadata)))
        }
    }

    fn kind_of(metadata: &Metadata) -> Kind {
        match metadata.file_type() {
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Special,
        }
    }

    pub(crate) fn is_link_error(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::FilesystemLoop
    }

    pub(crate) fn stamp_of(metadata: &Metadata) -> Stamp {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
        Stamp { size: metadata.len(), modified, ..Stamp::default() }
    }
}
