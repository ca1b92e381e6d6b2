//! An open folder on systems without usable handles of folders: its path.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Kind, Known, Links, Name, Want};
use crate::fs::codec::checksum;
use crate::fs::stamp::FileStamp;

#[derive(Debug)]
pub(crate) struct Folder {
    pub(super) path: PathBuf,
}

/// A path is a link and must not be one. The standard library has no stable kind of error for this.
#[derive(Debug, thiserror::Error)]
#[error("this is a link")]
struct IsLink;

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        Ok(Self { path: fs::canonicalize(path)? })
    }

    pub(crate) fn place(&self) -> io::Result<PathBuf> {
        Ok(self.path.clone())
    }

    #[expect(clippy::unused_self, reason = "elsewhere the handle is asked")]
    pub(crate) fn counting_device(&self) -> Option<u64> {
        None
    }

    #[expect(clippy::unused_self, reason = "elsewhere the handle is asked")]
    pub(crate) fn is_leaf(&self, _: &Path, _: u64) -> bool {
        false
    }

    #[cfg(feature = "install")]
    #[expect(clippy::unused_self, reason = "elsewhere the handle is asked")]
    pub(crate) fn is_mounted_in(&self, _: &Self) -> bool {
        false
    }

    /// A hash of the path, since there is no inode number.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let path = self.path.to_string_lossy();
        Ok((checksum(path.as_bytes()), path.len() as u64))
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

    pub(crate) fn first_entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
        self.entries(limit)
    }

    pub(crate) fn open_below(&self, path: &Path, links: Links) -> io::Result<File> {
        let path = self.path.join(path);
        let real = || fs::canonicalize(&path).is_ok_and(|real| real.starts_with(&self.path));
        let refused = match links {
            Links::Refuse => fs::symlink_metadata(&path)?.is_symlink(),
            Links::RefuseAll => fs::symlink_metadata(&path)?.is_symlink() || !real(),
        };
        if refused {
            return Err(io::Error::other(IsLink));
        }
        File::options().read(true).open(path)
    }

    pub(crate) fn open_through(path: &Path) -> io::Result<Self> {
        Self::open(path)
    }

    pub(crate) fn to_list(&self) -> io::Result<Self> {
        Self::open(&self.path)
    }

    /// Links to folders are not followed on these systems.
    pub(crate) fn of(_: &File, _: PathBuf) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(feature = "install")]
    pub(crate) fn open_real(path: &Path) -> io::Result<Self> {
        Self::open(path)
    }

    pub(crate) fn real_through(path: &Path) -> io::Result<Self> {
        Self::open(path)
    }

    pub(crate) fn below(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        self.no_links(name.as_ref())?;
        Self::open(&self.path.join(name))
    }

    #[cfg(feature = "install")]
    pub(crate) fn folder_without_links(&self, path: &Path) -> io::Result<Self> {
        self.below(path)
    }

    #[cfg(feature = "install")]
    pub(crate) fn link_target(&self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        fs::read_link(self.path.join(name))
    }

    pub(crate) fn beneath(&self, path: &Path, want: Want) -> io::Result<File> {
        self.without_links(path, want)
    }

    pub(crate) fn without_links(&self, path: &Path, _: Want) -> io::Result<File> {
        self.no_links(path)?;
        File::options().read(true).open(self.path.join(path))
    }

    fn no_links(&self, path: &Path) -> io::Result<()> {
        let mut at = self.path.clone();
        for name in path {
            at.push(name);
            if fs::symlink_metadata(&at)?.is_symlink() {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
        }
        Ok(())
    }

    pub(crate) fn known_below(&self, name: &Path) -> io::Result<Known> {
        let metadata = fs::symlink_metadata(self.path.join(name))?;
        Ok(Known { kind: kind_of(&metadata), size: metadata.len(), executable: false })
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "elsewhere the handle is asked")]
    pub(crate) fn is_mount_point(&self, _: impl AsRef<Path>) -> io::Result<bool> {
        Ok(false)
    }

    pub(crate) fn state_below(&self, path: &Path) -> io::Result<(FileStamp, Kind)> {
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

pub(crate) fn place_of(_: &File, path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<IsLink>())
}

pub(crate) fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

pub(crate) fn stamp_of(metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    FileStamp { size: metadata.len(), modified, ..FileStamp::default() }
}
