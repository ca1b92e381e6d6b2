//! Reading a skill's files so that nothing outside of it can be reached, whatever links it holds.
//!
//! The skill's folder is opened, and every path is resolved beneath that handle by the system itself. A link that
//! stays inside is followed. One that leaves is followed only into the folder where the target of SKILL.md lies, as
//! stores lay files out; what was opened is then asked where it is, so there is no moment between check and use.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use prowess_core::RelPath;

use crate::error::SourceError;
use crate::files;
use crate::scan::LEFT_OUT;
use crate::source::{Chunk, Slice};

/// Opens a regular file of a skill. `skill_file` is the name of its SKILL.md.
pub(crate) fn open(folder: &Path, path: &RelPath, skill_file: &str) -> Result<File, SourceError> {
    let shown = folder.join(path.as_str());
    // What is in no list of the skill's files is in no digest of them either, so it is not to be had.
    if path.components().any(|component| LEFT_OUT.contains(&component)) {
        return Err(SourceError::Missing { path: shown });
    }
    let file = system::open_beneath(folder, Path::new(path.as_str()), skill_file, &shown)?;
    files::regular(&shown, &file.metadata().map_err(|error| SourceError::io(&shown, error))?)?;
    Ok(file)
}

/// Opens the SKILL.md itself, which may be a link to anywhere: the skill is where it leads.
pub(crate) fn open_skill_file(folder: &Path, name: &str) -> Result<File, SourceError> {
    files::open_regular(&folder.join(name))
}

/// Reads a part of an open file.
pub(crate) fn read_slice(mut file: File, path: &Path, slice: Slice) -> Result<Chunk, SourceError> {
    let failed = |error| SourceError::io(path, error);
    let size = file.metadata().map_err(failed)?.len();
    if slice.offset > 0 {
        file.seek(SeekFrom::Start(slice.offset)).map_err(failed)?;
    }
    // One byte more lets the end be seen without growing.
    let expected = usize::try_from(size.saturating_sub(slice.offset)).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = Vec::with_capacity(expected.min(slice.limit));
    file.take(slice.limit as u64).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Chunk { size: size.max(slice.offset.min(size) + bytes.len() as u64), bytes })
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, File};
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2, statat};
    use rustix::io::Errno;

    use super::SourceError;
    use crate::scan::FILE_NAMES;

    const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    pub(super) fn open_beneath(
        folder: &Path,
        path: &Path,
        skill_file: &str,
        shown: &Path,
    ) -> Result<File, SourceError> {
        let failed = |error: Errno| SourceError::io(shown, error.into());
        let root = directory(folder).map_err(|error| SourceError::io(folder, error.into()))?;
        // Since the skill was found, something else may have been put in its place, such as a link to another folder.
        // Only a folder with a SKILL.md is one whose files may be read.
        if statat(&root, skill_file, AtFlags::empty()).is_err() {
            return Err(SourceError::Missing { path: folder.join(skill_file) });
        }
        match beneath(&root, path) {
            Ok(file) => Ok(file.into()),
            Err(Errno::XDEV) => around_and_back(&root, path)
                .or_else(|| through_the_store(folder, &root, path, skill_file))
                .ok_or_else(|| SourceError::Outside { path: shown.to_owned() }),
            // A kernel without openat2, or a filter that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => {
                step_by_step(root, path).map(File::from).map_err(|error| match error {
                    Errno::LOOP | Errno::NOTDIR => SourceError::Outside { path: shown.to_owned() },
                    other => failed(other),
                })
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn directory(path: &Path) -> Result<OwnedFd, Errno> {
        openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }

    fn beneath(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        openat2(root, path, READ, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
    }

    /// A file of the skill that a link leads to by a path that begins elsewhere, such as an absolute one.
    fn around_and_back(root: &OwnedFd, path: &Path) -> Option<File> {
        let target = openat(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let below = place_of(&target)?.strip_prefix(place_of(root)?).ok()?.to_owned();
        beneath(root, &below).ok().map(File::from)
    }

    /// A file that a link leads to, when it lies in the folder of SKILL.md's own target.
    fn through_the_store(folder: &Path, root: &OwnedFd, path: &Path, skill_file: &str) -> Option<File> {
        let skill = openat(root, skill_file, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let skill = place_of(&skill)?;
        let store = skill.parent()?.to_owned();
        // A link to some note is no store, and a folder above the skill would open everything in it.
        let is_skill = FILE_NAMES.iter().any(|name| skill.file_name().is_some_and(|file| file == *name));
        if !is_skill || fs::canonicalize(folder).ok()?.starts_with(&store) {
            return None;
        }
        // Where the link leads is asked of what it opened; the bytes come from beneath the store all the same.
        let target = openat(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let below = place_of(&target)?.strip_prefix(&store).ok()?.to_owned();
        beneath(&directory(&store).ok()?, &below).ok().map(File::from)
    }

    /// Where an open file is now.
    fn place_of(handle: &OwnedFd) -> Option<PathBuf> {
        fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()
    }

    /// The same without links: each folder on the way is opened in the one before.
    fn step_by_step(root: OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        let mut at = root;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let flags = if names.peek().is_some() {
                OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
            } else {
                READ
            };
            at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(at)
    }
}

/// Elsewhere no link is followed at all.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::{self, File};
    use std::path::Path;

    use super::SourceError;

    pub(super) fn open_beneath(
        folder: &Path,
        path: &Path,
        skill_file: &str,
        shown: &Path,
    ) -> Result<File, SourceError> {
        if !folder.join(skill_file).exists() {
            return Err(SourceError::Missing { path: folder.join(skill_file) });
        }
        let mut at = folder.to_owned();
        for name in path {
            at.push(name);
            let metadata = fs::symlink_metadata(&at).map_err(|error| SourceError::io(shown, error))?;
            if metadata.is_symlink() {
                return Err(SourceError::Outside { path: shown.to_owned() });
            }
        }
        crate::files::open_regular(&at)
    }
}
