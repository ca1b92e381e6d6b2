//! An open folder on Unix: a handle, which stays the same folder if its path changes.

#[cfg(target_os = "linux")]
use std::ffi::OsStr;
use std::ffi::{CStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
#[cfg(target_os = "linux")]
use std::path::Component;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Kind, Known, Links, Name, Want};
use crate::fs::stamp::FileStamp;

/// The flags to open a parent folder with: where the system can, only to pass through it.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;

fn flags_for(want: Want) -> OFlags {
    let read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if want == Want::Look {
        return OFlags::PATH | OFlags::CLOEXEC;
    }
    let _ = want;
    read
}

/// How many bytes of a list of entries are read at once: those of several hundred names.
#[cfg(target_os = "linux")]
const LIST_BYTES: usize = 32 * 1024;

/// How folders are opened: to be listed, and not through a link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(super) handle: OwnedFd,
    pub(super) path: PathBuf,
}

/// Entries of a folder, up to a limit.
struct Listed {
    names: Vec<Name>,
    limit: usize,
    more: bool,
}

impl Listed {
    fn new(limit: usize) -> Self {
        Self { names: Vec::new(), limit, more: false }
    }

    /// Adds an entry; true if it is one too many.
    fn is_full_with(&mut self, folder: &OwnedFd, name: &CStr, kind: FileType) -> io::Result<bool> {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") {
            return Ok(false);
        }
        self.more = self.names.len() >= self.limit;
        if !self.more {
            let kind = match kind {
                FileType::Unknown => FileType::from_raw_mode(
                    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode,
                ),
                known => known,
            };
            self.names.push(Name { name: OsString::from_vec(bytes.to_vec()), kind: kind_of(kind) });
        }
        Ok(self.more)
    }

    /// The entries by name, and whether there are more.
    fn sorted(mut self) -> (Vec<Name>, bool) {
        self.names.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        (self.names, self.more)
    }
}

/// The first entries of a folder, sorted. A macro, because the entries of a `RawDir` borrow from it, so that it is no
/// iterator.
macro_rules! first_of {
    ($entries:ident, $limit:expr, $handle:expr) => {{
        let mut listed = Listed::new($limit);
        while let Some(entry) = $entries.next() {
            let entry = entry?;
            if listed.is_full_with($handle, entry.file_name(), entry.file_type())? {
                break;
            }
        }
        Ok(listed.sorted())
    }};
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { handle: rustix::fs::openat(CWD, path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Its real path now.
    pub(crate) fn place(&self) -> io::Result<PathBuf> {
        place_of(&self.handle, &self.path)
    }

    /// Its device, if the file system is known to count the folders in a folder as links to it. Others may give any
    /// number.
    #[cfg(target_os = "linux")]
    pub(crate) fn counting_device(&self) -> Option<u64> {
        const EXT: i64 = 0xef53;
        const TMPFS: i64 = 0x0102_1994;
        const XFS: i64 = 0x5846_5342;
        let kind = bits(rustix::fs::fstatfs(&self.handle).ok()?.f_type).cast_signed();
        let counts = [EXT, TMPFS, XFS].contains(&kind);
        counts.then(|| self.identity().ok().map(|(device, _)| device)).flatten()
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "elsewhere the handle is asked")]
    pub(crate) fn counting_device(&self) -> Option<u64> {
        None
    }

    /// Whether a folder in it is known to contain no folders. On this device, the link count tells without a list.
    pub(crate) fn is_leaf(&self, name: &Path, counting: u64) -> bool {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| bits(stat.st_dev) == counting && stat.st_nlink == 2)
    }

    /// Its device and inode number.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let stat = rustix::fs::fstat(&self.handle)?;
        Ok((bits(stat.st_dev), stat.st_ino))
    }

    /// Whether it is mounted in the folder above it, or anywhere if that is not its own: then its entries may be those of
    /// another folder.
    #[cfg(feature = "install")]
    pub(crate) fn is_mounted_in(&self, above: &Self) -> bool {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{StatxAttributes, StatxFlags, statx};
            let stat = statx(&self.handle, "", AtFlags::EMPTY_PATH, StatxFlags::empty());
            if stat.is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)) {
                return true;
            }
        }
        let devices = self.identity().ok().zip(above.identity().ok());
        devices.is_none_or(|((own, _), (above, _))| own != above)
    }

    /// At most `limit` of its entries, sorted by name, and whether there are more.
    pub(crate) fn entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
        let mut entries = Dir::read_from(&self.handle)?;
        first_of!(entries, limit, &self.handle)
    }

    /// The same for a folder that was opened for listing and is listed for the first time: Linux can do this without
    /// opening it again.
    #[cfg(target_os = "linux")]
    pub(crate) fn first_entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
        let mut buffer = Vec::with_capacity(LIST_BYTES);
        let mut entries = rustix::fs::RawDir::new(&self.handle, buffer.spare_capacity_mut());
        first_of!(entries, limit, &self.handle)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn first_entries(&self, limit: usize) -> io::Result<(Vec<Name>, bool)> {
        self.entries(limit)
    }

    /// Opens a path below it, without blocking on a FIFO.
    pub(crate) fn open_below(&self, path: &Path, links: Links) -> io::Result<File> {
        let flags = flags_for(Want::Bytes) | OFlags::NOFOLLOW;
        if links == Links::RefuseAll {
            return open_without_links(&self.handle, path, flags);
        }
        Ok(File::from(rustix::fs::openat(&self.handle, path, flags, Mode::empty())?))
    }

    /// Opens a folder only to pass through it, which needs no permission to list it.
    pub(crate) fn open_through(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: open_through(path)?, path: path.to_owned() })
    }

    /// Whether an entry directly below it is a mount point.
    pub(crate) fn is_mount_point(&self, name: impl AsRef<Path>) -> io::Result<bool> {
        Ok(crate::fs::mounts::is_mount_point(&self.handle, name.as_ref())?)
    }

    /// The same folder, opened for listing.
    pub(crate) fn to_list(&self) -> io::Result<Self> {
        Self::of(&self.handle, self.path.clone())
    }

    /// Opens a folder for listing that was opened for inspection by this path.
    pub(crate) fn of(handle: &impl AsFd, path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { handle: rustix::fs::openat(handle, ".", flags, Mode::empty())?, path })
    }

    /// Opens a folder for listing by a path that must not contain links.
    #[cfg(feature = "install")]
    pub(crate) fn open_real(path: &Path) -> io::Result<Self> {
        Self::without_links_to(path, FOLDER)
    }

    /// Opens a folder by a path that must not contain links, only to pass through it.
    pub(crate) fn real_through(path: &Path) -> io::Result<Self> {
        Self::without_links_to(path, THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    }

    fn without_links_to(path: &Path, flags: OFlags) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{ResolveFlags, openat2};
            match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                // A kernel without openat2, or a filter that does not know it.
                Err(Errno::NOSYS | Errno::PERM) => {}
                handle => return Ok(Self { handle: handle.map_err(no_folder)?, path: path.to_owned() }),
            }
        }
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(no_folder)?;
        // Without that call, a link on the path is only noticed by looking again.
        let (opened, there) = (rustix::fs::fstat(&handle)?, rustix::fs::lstat(path)?);
        if std::fs::canonicalize(path)? != path
            || (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino)
        {
            return Err(no_folder(Errno::LOOP));
        }
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Opens a folder directly below it, which must not be a link.
    pub(crate) fn below(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let name = name.as_ref();
        let handle = rustix::fs::openat(&self.handle, name, FOLDER, Mode::empty()).map_err(no_folder)?;
        Ok(Self { handle, path: self.path.join(name) })
    }

    /// Opens a folder below it for listing, by a path that must not contain links.
    #[cfg(feature = "install")]
    pub(crate) fn folder_without_links(&self, path: &Path) -> io::Result<Self> {
        let handle = open_without_links(&self.handle, path, FOLDER)?.into();
        Ok(Self { handle, path: self.path.join(path) })
    }

    /// The target of a link directly below it, verbatim.
    #[cfg(feature = "install")]
    pub(crate) fn link_target(&self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        let name = name.as_ref();
        let target = rustix::fs::readlinkat(&self.handle, name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Opens a path below it. Links that stay below it are followed where the system can guarantee that. [`leads_out`]
    /// recognizes the error of others.
    pub(crate) fn beneath(&self, path: &Path, want: Want) -> io::Result<File> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match open_beneath(&self.handle, path, flags_for(want), resolve) {
                None => {}
                Some(Err(Errno::AGAIN)) => return follow_beneath(&self.handle, path, flags_for(want)),
                Some(opened) => return Ok(File::from(opened?)),
            }
        }
        self.without_links(path, want)
    }

    /// Opens a path below it that must not contain links.
    pub(crate) fn without_links(&self, path: &Path, want: Want) -> io::Result<File> {
        let file = open_without_links(&self.handle, path, flags_for(want) | OFlags::NOFOLLOW)?;
        // A handle for inspection may be one of the link itself.
        if want == Want::Look && file.metadata()?.is_symlink() {
            return Err(Errno::LOOP.into());
        }
        Ok(file)
    }

    /// The metadata of an entry directly below it. Links are not followed.
    pub(crate) fn known_below(&self, name: &Path) -> io::Result<Known> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Known {
            kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            executable: Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR),
        })
    }

    /// The state of a file below it. Links are not followed.
    pub(crate) fn state_below(&self, path: &Path) -> io::Result<(FileStamp, Kind)> {
        let stat = rustix::fs::statat(&self.handle, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let stamp = FileStamp {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(stat.st_mtime, bits(stat.st_mtime_nsec).cast_signed()),
            changed: nanoseconds(stat.st_ctime, bits(stat.st_ctime_nsec).cast_signed()),
            inode: stat.st_ino,
            device: bits(stat.st_dev),
        };
        Ok((stamp, kind_of(FileType::from_raw_mode(stat.st_mode))))
    }
}

/// The error for a link that is not followed: it is not a folder. The system reports too many links.
fn no_folder(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::new(io::ErrorKind::NotADirectory, "a link has the place of a folder"),
        error => error.into(),
    }
}

/// Opens a folder only to pass through it, which needs no permission to list it.
pub(crate) fn open_through(path: &Path) -> io::Result<OwnedFd> {
    let flags = THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

#[cfg(target_os = "linux")]
fn open_without_links(handle: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<File> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match open_beneath(handle, path, flags, resolve) {
        None | Some(Err(Errno::AGAIN)) => step_by_step(handle, path, flags),
        Some(opened) => Ok(File::from(opened?)),
    }
}

/// Opens a path below a folder by `openat2`. `None` if the kernel does not have it, or a filter does not know it; `AGAIN` if
/// it could not tell whether the path stays below the folder.
#[cfg(target_os = "linux")]
fn open_beneath(
    handle: &OwnedFd,
    path: &Path,
    flags: OFlags,
    resolve: rustix::fs::ResolveFlags,
) -> Option<rustix::io::Result<OwnedFd>> {
    // While any process renames or mounts anything, the kernel cannot tell whether `..` stays below the folder. On a machine
    // with many processors that may be all the time.
    const TRIES: usize = 16;
    let open = || rustix::fs::openat2(handle, path, flags, Mode::empty(), resolve);
    let opened = std::iter::repeat_with(open).take(TRIES).find(|it| !matches!(it, Err(Errno::AGAIN)));
    match opened.unwrap_or(Err(Errno::AGAIN)) {
        Err(Errno::NOSYS | Errno::PERM) => None,
        opened => Some(opened),
    }
}

/// Opens a path below a folder as `openat2` does, through links that stay below it, but by one name at a time: each folder
/// on the way is kept open, and `..` is the one before, so the kernel never has to look for it.
#[cfg(target_os = "linux")]
fn follow_beneath(handle: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<File> {
    // As many as the kernel follows.
    const MAX_LINKS: usize = 40;
    let on_the_way = THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = Vec::new();
    put_names(&mut names, path)?;
    let (mut folders, mut links) = (Vec::<OwnedFd>::new(), 0);
    while let Some(name) = names.pop() {
        if name == ".." {
            folders.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let at = folders.last().unwrap_or(handle);
        match rustix::fs::readlinkat(at, &name, Vec::new()) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Errno::LOOP.into());
                }
                put_names(&mut names, Path::new(OsStr::from_bytes(target.to_bytes())))?;
            }
            // It is no link.
            Err(Errno::INVAL) if names.is_empty() => {
                let file =
                    File::from(rustix::fs::openat(at, &name, flags | OFlags::NOFOLLOW, Mode::empty())?);
                // A handle for inspection may be one of a link that has just come.
                return if file.metadata()?.is_symlink() { Err(Errno::LOOP.into()) } else { Ok(file) };
            }
            Err(Errno::INVAL) => {
                let folder = rustix::fs::openat(at, &name, on_the_way, Mode::empty())?;
                folders.push(folder);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(File::from(rustix::fs::openat(folders.last().unwrap_or(handle), ".", flags, Mode::empty())?))
}

/// Puts the names of a relative path on a stack, the first one on top.
#[cfg(target_os = "linux")]
fn put_names(names: &mut Vec<OsString>, path: &Path) -> rustix::io::Result<()> {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => names.push("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
use step_by_step as open_without_links;

/// Opens each folder of a path through the handle of the one before.
fn step_by_step(handle: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<File> {
    let on_the_way = THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names = path.iter().peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { on_the_way } else { flags };
        at = Some(rustix::fs::openat(at.as_ref().unwrap_or(handle), name, flags, Mode::empty())?);
    }
    at.map(File::from).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The real path of an open file or folder now. `path` is the path that it was opened with.
#[cfg(target_os = "linux")]
pub(crate) fn place_of(handle: &impl AsFd, path: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let asked = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()));
    // Without /proc, only the path can be resolved.
    asked.or_else(|_| std::fs::canonicalize(path))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn place_of(_: &impl AsFd, path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// A number of the system as the standard library gives it. Its type differs between systems.
fn bits<T: Copy + TryInto<u64> + TryInto<i64>>(number: T) -> u64 {
    let signed = || TryInto::<i64>::try_into(number).ok().map(i64::cast_unsigned);
    TryInto::<u64>::try_into(number).ok().or_else(signed).unwrap_or_default()
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

/// Whether an error means that a path is a link and must not be one.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether an error means that a link leads out, or is in a path without links.
pub(crate) fn leads_out(error: &io::Error) -> bool {
    [Errno::XDEV, Errno::LOOP, Errno::NOTDIR]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// The state of a file.
pub(crate) fn stamp_of(metadata: &Metadata) -> FileStamp {
    FileStamp {
        size: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
        device: metadata.dev(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_that_is_followed_by_names_leads_where_the_kernel_leads() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["below/a/b", "below/links", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["below/x", "below/a/b/x", "outside/x"] {
            fs::write(at(file), file).unwrap();
        }
        for (link, target) in [
            ("file", "../a/b/x"),
            ("folder", "../a/b/"),
            ("here", "."),
            ("above", ".."),
            ("around", "../links/../a/./b"),
            ("chain", "folder/x"),
            ("out", "../../outside/x"),
            ("root", "/"),
            ("loop", "loop"),
            ("none", "../a/none"),
        ] {
            symlink(target, at("below/links").join(link)).unwrap();
        }
        let mut last = "x".to_owned();
        for number in 0..42 {
            symlink(&last, at("below").join(number.to_string())).unwrap();
            last = number.to_string();
        }
        let below = Folder::open(&at("below")).unwrap();
        let resolve = rustix::fs::ResolveFlags::BENEATH | rustix::fs::ResolveFlags::NO_MAGICLINKS;
        let known = |opened: io::Result<File>| {
            opened
                .and_then(|file| file.metadata())
                .map(|file| file.ino())
                .map_err(|error| error.raw_os_error())
        };
        let names = "x a/b/x a/b/../b/x a/.. a/../.. ../outside/x a/x a/b/x/.. . .. /x \
            links/file links/folder links/folder/x links/folder/../b/x links/here/here/file links/above/x \
            links/above/.. links/above/../below/x links/around/x links/chain links/out links/root links/loop links/none \
            links/file/x 0 38 39 40 41";
        for path in names.split_whitespace().map(Path::new) {
            for want in [Want::Bytes, Want::Look] {
                let flags = flags_for(want);
                let Some(opened) = open_beneath(&below.handle, path, flags, resolve) else { return };
                let followed = follow_beneath(&below.handle, path, flags);
                // While another test renames anything, the kernel may not know.
                if !matches!(opened, Err(Errno::AGAIN)) {
                    let opened = opened.map(File::from).map_err(io::Error::from);
                    assert_eq!(known(followed), known(opened), "{}", path.display());
                }
            }
        }
    }
}
