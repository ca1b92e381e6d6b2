//! Whether a folder is a skill: its SKILL.md is opened from the folder above, and each file is found once.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::Stamp;

use super::walk::{Opened, Visitor, Walk};
use super::{FILE_NAMES, FileName, is_missing, joined};
use crate::error::SourceError;
use crate::fs::dir::{Folder, Kind, Links, Name, is_link_error, stamp_of};
use crate::fs::{read, sandbox};

impl<V: Visitor> Walk<'_, V> {
    /// Whether the folder `below` (empty for the folder itself) is a skill; if so, the visitor is told.
    pub(super) fn probe(
        &mut self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        linked: bool,
    ) -> Result<bool, SourceError> {
        let options = self.options;
        let found = match &options.file_name {
            FileName::Either => {
                let [first, second] = FILE_NAMES;
                self.probe_file(folder, path, below, first.as_ref(), linked)?
                    || self.probe_file(folder, path, below, second.as_ref(), linked)?
            }
            FileName::Exact(name) => self.probe_file(folder, path, below, name.as_ref(), linked)?,
            FileName::AnyCase(name) => {
                let inside = Folder::open(path).ok().filter(|inside| self.holds(inside, path));
                let inside = inside.and_then(|inside| inside.entries(options.max_entries).ok());
                let entries = inside.map(|(names, _)| names).unwrap_or_default();
                let same =
                    |entry: &Name| entry.name.to_str().is_some_and(|other| other.eq_ignore_ascii_case(name));
                let mut names: Vec<_> = entries.into_iter().filter(same).map(|entry| entry.name).collect();
                // The name as given wins over other spellings of it.
                names.sort_by_key(|found| found.to_str() != Some(name.as_str()));
                let mut found = false;
                for name in names {
                    found = found || self.probe_file(folder, path, below, &name, linked)?;
                }
                found
            }
        };
        Ok(found)
    }

    fn probe_file(
        &mut self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        name: &OsStr,
        linked: bool,
    ) -> Result<bool, SourceError> {
        let (path, below) = (joined(path, name), joined(below, name));
        let below = below.as_path();
        if self.visitor.knows_anything() {
            match folder.state_below(below) {
                Ok((stamp, Kind::File)) if self.visitor.is_known(&path, &stamp) => {
                    if self.is_first(&stamp, linked) {
                        self.visitor.found(path, Opened::Known(stamp))?;
                    }
                    return Ok(true);
                }
                Err(error) if is_missing(&error) => return Ok(false),
                _ => {}
            }
        }
        let links = if self.within.is_some() { Links::RefuseAll } else { Links::Refuse };
        match folder.open_below(below, links) {
            Ok(file) => self.take(path, file, linked),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) if is_link_error(&error) => {
                // The loop may be in the folder and not in the file.
                if matches!(folder.state_below(below), Ok((_, Kind::Link))) {
                    self.linked_files.push(path);
                    return Ok(true);
                }
                Ok(false)
            }
            // A folder that may not be looked into is said to be so when it is its turn.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && folder.state_below(below).is_err() =>
            {
                Ok(false)
            }
            Err(error) => {
                self.visitor.found(path.clone(), Opened::Failed(SourceError::io(&path, error)))?;
                Ok(true)
            }
        }
    }

    /// Tells the visitor of an open file; false when it is a folder.
    fn take(&mut self, path: PathBuf, file: File, linked: bool) -> Result<bool, SourceError> {
        let opened = match file.metadata() {
            Ok(metadata) if metadata.is_dir() => return Ok(false),
            Ok(metadata) => match read::regular(&path, &metadata) {
                Ok(()) => {
                    let stamp = stamp_of(&metadata);
                    if !self.is_first(&stamp, linked) {
                        return Ok(true);
                    }
                    Opened::File(file, stamp)
                }
                Err(problem) => Opened::Failed(problem),
            },
            Err(error) => Opened::Failed(SourceError::io(&path, error)),
        };
        self.visitor.found(path, opened)?;
        Ok(true)
    }

    /// A SKILL.md that is itself a link: one skill with its target, if that was found.
    pub(super) fn take_link(&mut self, path: PathBuf) -> Result<(), SourceError> {
        match sandbox::open_skill_file(&path) {
            Ok(file) => match self.within.as_ref().map(|within| within.check(&file, &path)) {
                Some(Err(problem)) => self.visitor.found(path, Opened::Failed(problem)),
                _ => self.take(path, file, true).map(|_| ()),
            },
            Err(SourceError::Folder { .. }) => Ok(()),
            // A link that leads nowhere or to another file is found all the same: it can be asked what is wrong.
            Err(problem) => self.visitor.found(path, Opened::Failed(problem)),
        }
    }

    /// Whether a file was not found before; only what links lead to can have been.
    fn is_first(&mut self, stamp: &Stamp, linked: bool) -> bool {
        let identity = (stamp.device, stamp.inode);
        if !linked || stamp.inode == 0 {
            self.found_files.push(identity);
            return true;
        }
        self.seen_files.extend(self.found_files.drain(..));
        self.seen_files.insert(identity)
    }
}
