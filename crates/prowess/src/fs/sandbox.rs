//! Reads a skill's files so that nothing outside of it can be reached, whatever links it contains and whatever is
//! replaced meanwhile.
//!
//! The skill's folder is opened once, and the system resolves every path beneath that handle. A link that stays inside
//! is followed. Two kinds of links may lead out: a SKILL.md that is a link to a file of the same name elsewhere, and
//! links into the folder of that file, as stores lay files out. There, what is checked is never a path but the opened
//! file: the target of SKILL.md must be the file that was listed, and the store must contain it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use prowess_core::RelPath;

use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::{Folder, Kind, Links, Want, leads_out, stamp_of};
use crate::fs::read::{self, Chunk, Slice};
use crate::fs::stamp::FileStamp;
use crate::fs::walk::{FILE_NAMES, is_no_part};

/// Whether links out of a skill are followed: only where the system identifies files and opens paths without links.
const FOLLOWS_OUT: bool = cfg!(target_os = "linux");

/// The folder of a skill, opened once.
#[derive(Debug)]
pub(crate) struct SkillFolder<'s> {
    path: &'s Path,
    root: Folder,
    /// The name of its SKILL.md.
    own: &'s OsStr,
    /// The state of its SKILL.md when it was listed; `None` if it was not listed yet.
    seen: Option<FileStamp>,
}

impl<'s> SkillFolder<'s> {
    /// Opens the folder of a skill whose SKILL.md had this state when it was listed.
    pub(crate) fn listed(path: &'s Path, own: &'s OsStr, seen: FileStamp) -> Result<Self, SourceError> {
        Ok(Self { seen: Some(seen), ..Self::named(path, own)? })
    }

    /// Opens the folder of a skill that was not listed yet.
    pub(crate) fn first_seen(path: &'s Path) -> Result<Self, SourceError> {
        let [first, second] = FILE_NAMES.map(OsStr::new);
        let mut folder = Self::named(path, first)?;
        if folder.root.state_below(Path::new(first)).is_err() {
            folder.own = second;
        }
        Ok(folder)
    }

    fn named(path: &'s Path, own: &'s OsStr) -> Result<Self, SourceError> {
        let root = Folder::open_through(path).map_err(|error| SourceError::io(path, error))?;
        Ok(Self { path, root, own, seen: None })
    }

    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    pub(crate) fn root(&self) -> &Folder {
        &self.root
    }

    /// Whether SKILL.md is certainly the file that was listed, unchanged. Its inode number alone would not tell: a new
    /// file may get the number of a deleted one.
    pub(crate) fn holds_what_was_listed(&self) -> Result<bool, SourceError> {
        let own = self.path.join(self.own);
        let (stamp, kind) =
            self.root.state_below(Path::new(self.own)).map_err(|error| SourceError::io(&own, error))?;
        Ok(kind == Kind::File && self.seen == Some(stamp))
    }

    /// Opens SKILL.md. If it is a link out of the folder, it must lead to a file of that name, and to the one that was
    /// listed.
    pub(crate) fn own_file(&self) -> Result<File, SourceError> {
        let (name, shown) = (Path::new(self.own), self.path.join(self.own));
        let failed = |error| SourceError::io(&shown, error);
        // Opening a device can have an effect.
        if self.root.state_below(name).map_err(failed)?.1 == Kind::Special {
            read::regular(&shown, &fs::symlink_metadata(&shown).map_err(failed)?)?;
        }
        let file = match self.root.beneath(name, Want::Bytes) {
            Ok(file) => file,
            Err(error) if leads_out(&error) => {
                let target = fs::canonicalize(&shown).map_err(failed)?;
                match target.strip_prefix(self.real()?) {
                    Ok(below) => self.root.without_links(below, Want::Bytes).map_err(failed)?,
                    Err(_) => self.own_file_elsewhere(&target)?,
                }
            }
            Err(error) => return Err(failed(error)),
        };
        read::regular(&shown, &file.metadata().map_err(failed)?)?;
        Ok(file)
    }

    /// Opens the target of a SKILL.md that is a link out of its folder.
    fn own_file_elsewhere(&self, target: &Path) -> Result<File, SourceError> {
        let shown = self.path.join(self.own);
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(SourceErrorKind::Outside.at(shown));
        };
        let failed = |error| SourceError::io(&shown, error);
        // A device or a folder is reported as such, and never opened.
        read::regular(&shown, &fs::metadata(target).map_err(failed)?)?;
        if !self.is_own_name(name) {
            return Err(SourceErrorKind::OtherFile.at(shown));
        }
        if !FOLLOWS_OUT {
            return Err(SourceErrorKind::Outside.at(shown));
        }
        // Whatever is replaced on the way, the opened file has this name and is not a link.
        let folder = Folder::open_through(folder).map_err(failed)?;
        let file = folder.open_below(Path::new(name), Links::Refuse).map_err(failed)?;
        let stamp = stamp_of(&file.metadata().map_err(failed)?);
        match self.seen {
            Some(seen) if !same_file(&stamp, &seen) => Err(SourceErrorKind::Changed.at(shown)),
            _ => Ok(file),
        }
    }

    fn is_own_name(&self, name: &OsStr) -> bool {
        name == self.own || FILE_NAMES.iter().any(|own| name == *own)
    }

    /// Opens a regular file of the skill.
    pub(crate) fn file(&self, path: &RelPath) -> Result<File, SourceError> {
        let shown = self.path.join(path.as_str());
        // A file that is not in the list of files is not in a digest either, so it is not read.
        if path.components().any(is_no_part) {
            return Err(SourceErrorKind::Missing.at(shown));
        }
        let (file, _) = self.reach(Path::new(path.as_str()), Want::Bytes)?;
        read::regular(&shown, &file.metadata().map_err(|error| SourceError::io(&shown, error))?)?;
        Ok(file)
    }

    /// Opens a path below the folder, and says whether the target is in the folder itself. An error if it is outside.
    pub(crate) fn reach(&self, path: &Path, want: Want) -> Result<(File, bool), SourceError> {
        let shown = self.path.join(path);
        let failed = |error| SourceError::io(&shown, error);
        match self.root.beneath(path, want) {
            Ok(file) => return Ok((file, true)),
            Err(error) if leads_out(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        // A link that leads out, or one that leads out and back in, such as an absolute one.
        let target = fs::canonicalize(&shown).map_err(failed)?;
        let outside = || SourceErrorKind::Outside.at(&shown);
        let real = self.real()?;
        if let Ok(below) = target.strip_prefix(&real) {
            return self.root.without_links(below, want).map(|file| (file, true)).map_err(|_| outside());
        }
        let (store, place) = self.store(&real).ok_or_else(outside)?;
        let below = target.strip_prefix(&place).map_err(|_| outside())?;
        store.without_links(below, want).map(|file| (file, false)).map_err(|_| outside())
    }

    /// The real path of the folder.
    fn real(&self) -> Result<PathBuf, SourceError> {
        fs::canonicalize(self.path).map_err(|error| SourceError::io(self.path, error))
    }

    /// The folder that contains the target of a linked SKILL.md, and its path.
    ///
    /// A path does not make it the store, since it could be replaced between two checks: the opened folder must contain
    /// the file that was listed, under the name of a SKILL.md.
    fn store(&self, real: &Path) -> Option<(Folder, PathBuf)> {
        let skill = fs::canonicalize(self.path.join(self.own)).ok()?;
        let (place, name) = (skill.parent()?, skill.file_name()?);
        // A link to an arbitrary file is not a store, and a folder above the skill would expose everything in it.
        if !FOLLOWS_OUT || !self.is_own_name(name) || real.starts_with(place) {
            return None;
        }
        let store = Folder::real_through(place).ok()?;
        let (stamp, kind) = store.state_below(Path::new(name)).ok()?;
        let listed = self.seen.is_none_or(|seen| same_file(&stamp, &seen));
        (kind == Kind::File && listed).then(|| (store, place.to_owned()))
    }
}

/// Whether two states are those of one file. Where the system does not identify files, never.
fn same_file(one: &FileStamp, other: &FileStamp) -> bool {
    one.inode != 0 && (one.device, one.inode) == (other.device, other.inode)
}

/// Opens a SKILL.md that the user named or that was just found, by the same rules as one that was listed.
pub(crate) fn open_skill_file(path: &Path) -> Result<File, SourceError> {
    let folder =
        path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    match (folder, path.file_name()) {
        (Some(folder), Some(own)) => {
            let root = Folder::open_through(folder).map_err(|error| SourceError::io(path, error))?;
            SkillFolder { path: folder, root, own, seen: None }.own_file()
        }
        // The root of the file system, or a path that ends with `..`: the error says that it is not a file.
        _ => read::open_regular(path),
    }
}

/// Whether this user may not open a SKILL.md, or another file by the same rules. Nothing is read.
pub fn is_forbidden(path: &Path) -> bool {
    open_skill_file(path).is_err_and(|error| match error.kind {
        SourceErrorKind::Io(error) => error.kind() == ErrorKind::PermissionDenied,
        _ => false,
    })
}

/// Reads a part of an open file.
pub(crate) fn read_slice(mut file: File, path: &Path, slice: Slice) -> Result<Chunk, SourceError> {
    let failed = |error| SourceError::io(path, error);
    let size = file.metadata().map_err(failed)?.len();
    if slice.offset > 0 {
        file.seek(SeekFrom::Start(slice.offset)).map_err(failed)?;
    }
    // One byte more, so that reading notices the end without growing the buffer.
    let expected = usize::try_from(size.saturating_sub(slice.offset)).unwrap_or(usize::MAX).saturating_add(1);
    let mut bytes = Vec::with_capacity(expected.min(slice.limit));
    file.take(slice.limit as u64).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Chunk { size: size.max(slice.offset.min(size) + bytes.len() as u64), bytes })
}
