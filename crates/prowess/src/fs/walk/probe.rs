//! Whether a folder is a skill. Its SKILL.md is opened through the handle of the folder above, and each file is found
//! once.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::steps::{Identity, Walk};
use super::visitor::{Opened, Reader, Visitor};
use super::{FILE_NAMES, FileName, ScanOptions, is_missing, joined};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::confine::Within;
use crate::fs::dir::{Folder, Kind, Links, Name, is_link_error, stamp_of};
use crate::fs::{read, sandbox};

/// What a folder is.
#[derive(Debug)]
pub(super) enum Probe<S> {
    /// Not a skill.
    Other,
    /// A skill whose SKILL.md is a link.
    Link(PathBuf),
    /// A skill, with its SKILL.md as it was opened or read.
    Skill {
        /// Whether the file has the usual name exactly.
        is_usual: bool,
        /// The identity of the file if it could be opened.
        identity: Option<Identity>,
        skill: S,
    },
}

/// A SKILL.md that was opened and not read: its path, and the result.
type Unread = (PathBuf, Opened);

impl Probe<Unread> {
    fn opened(path: PathBuf, opened: Opened) -> Self {
        let identity = match &opened {
            Opened::File(_, stamp) | Opened::Known(_, stamp) => Some((stamp.device, stamp.inode)),
            Opened::Failed(_) => None,
        };
        Self::Skill { is_usual: path.ends_with(FILE_NAMES[0]), identity, skill: (path, opened) }
    }
}

impl<S> Probe<S> {
    pub(super) fn is_skill(&self) -> bool {
        !matches!(self, Self::Other)
    }

    /// Whether the folders in this folder are inside a skill.
    pub(super) fn encloses(&self, options: &ScanOptions) -> bool {
        match self {
            Self::Other => false,
            Self::Link(path) => !options.exact_insides || path.ends_with(FILE_NAMES[0]),
            Self::Skill { is_usual, .. } => !options.exact_insides || *is_usual,
        }
    }
}

/// What probing a folder needs. It is immutable, so threads can share it.
#[derive(Debug)]
pub(super) struct Look<'w, R> {
    pub(super) options: &'w ScanOptions,
    pub(super) within: Option<&'w Within>,
    pub(super) reader: &'w R,
}

impl<R: Reader> Look<'_, R> {
    /// Probes the folder `below`, or the folder itself if `below` is empty.
    pub(super) fn probe(&self, folder: &Folder, path: &Path, below: &Path) -> Probe<Unread> {
        let file = |name: &OsStr| self.file(folder, path, below, name);
        match &self.options.file_name {
            FileName::Either => first_of(FILE_NAMES, |name| file(name.as_ref())),
            FileName::Exact(name) => file(name.as_ref()),
            FileName::AnyCase(name) => {
                let inside = Folder::open(path).ok().filter(|inside| self.holds(inside));
                let inside = inside.and_then(|inside| inside.entries(self.options.max_entries).ok());
                // A folder that may be entered and not listed still has a file of this name.
                let Some((entries, _)) = inside else { return file(name.as_ref()) };
                let same =
                    |entry: &Name| entry.name.to_str().is_some_and(|other| other.eq_ignore_ascii_case(name));
                let mut names: Vec<_> = entries.into_iter().filter(same).map(|entry| entry.name).collect();
                // The name as given wins over other spellings of it.
                names.sort_by_key(|found| found.to_str() != Some(name.as_str()));
                first_of(names, |name| file(&name))
            }
        }
    }

    /// Probes a folder, and reads its SKILL.md.
    pub(super) fn probe_and_read(
        &self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        buffer: &mut Vec<u8>,
    ) -> Probe<R::Skill> {
        match self.probe(folder, path, below) {
            Probe::Other => Probe::Other,
            Probe::Link(path) => Probe::Link(path),
            Probe::Skill { is_usual, identity, skill: (path, opened) } => {
                Probe::Skill { is_usual, identity, skill: self.reader.read(path, opened, buffer) }
            }
        }
    }

    /// Whether an open folder is in the folder that the walk must not leave.
    pub(super) fn holds(&self, folder: &Folder) -> bool {
        self.within.is_none_or(|within| within.holds_folder(folder))
    }

    fn file(&self, folder: &Folder, path: &Path, below: &Path, name: &OsStr) -> Probe<Unread> {
        let (path, below) = (joined(path, name), joined(below, name));
        let below = below.as_path();
        if self.reader.knows_anything() {
            match folder.state_below(below) {
                Ok((stamp, Kind::File)) => {
                    if let Some(at) = self.reader.known(&path, &stamp) {
                        return Probe::opened(path, Opened::Known(at, stamp));
                    }
                }
                Err(error) if is_missing(&error) => return Probe::Other,
                _ => {}
            }
        }
        let links = if self.within.is_some() { Links::RefuseAll } else { Links::Refuse };
        match folder.open_below(below, links) {
            Ok(file) => opened(path, file),
            Err(error) if is_missing(&error) => Probe::Other,
            Err(error) if is_link_error(&error) => match folder.state_below(below) {
                Ok((_, Kind::Link)) => Probe::Link(path),
                // The loop is in the path of the folder, not in the file.
                _ => Probe::Other,
            },
            // A folder that cannot be read is reported when it is visited.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && folder.state_below(below).is_err() =>
            {
                Probe::Other
            }
            Err(error) => {
                let problem = SourceError::io(&path, error);
                Probe::opened(path, Opened::Failed(problem))
            }
        }
    }
}

/// The first probe that is a skill.
fn first_of<N, S>(names: impl IntoIterator<Item = N>, probe: impl FnMut(N) -> Probe<S>) -> Probe<S> {
    names.into_iter().map(probe).find(Probe::is_skill).unwrap_or(Probe::Other)
}

/// What an open file is. A folder named SKILL.md does not make a skill.
fn opened(path: PathBuf, file: File) -> Probe<Unread> {
    let opened = match file.metadata() {
        Ok(metadata) if metadata.is_dir() => return Probe::Other,
        Ok(metadata) => match read::regular(&path, &metadata) {
            Ok(()) => Opened::File(file, stamp_of(&metadata)),
            Err(problem) => Opened::Failed(problem),
        },
        Err(error) => Opened::Failed(SourceError::io(&path, error)),
    };
    Probe::opened(path, opened)
}

impl<'w, R: Reader, V: Visitor<R::Skill>> Walk<'w, R, V> {
    pub(super) fn look(&self) -> Look<'w, R> {
        Look { options: self.options, within: self.within, reader: self.reader }
    }

    /// Probes the folder `below`, or the folder itself if `below` is empty. If it is a skill, the visitor receives it.
    /// Returns whether the folders in it are inside a skill.
    pub(super) fn probe(
        &mut self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        linked: bool,
    ) -> Result<bool, SourceError> {
        let probe = self.look().probe(folder, path, below);
        self.take_opened(probe, linked)
    }

    /// Hands a skill that was opened to the visitor.
    fn take_opened(&mut self, probe: Probe<Unread>, linked: bool) -> Result<bool, SourceError> {
        self.take(probe, linked, |reader, (path, opened), buffer| reader.read(path, opened, buffer))
    }

    /// Hands a skill to the visitor. It is read only if it was not found before. Returns whether the folders in its
    /// folder are inside a skill.
    pub(super) fn take<S>(
        &mut self,
        probe: Probe<S>,
        linked: bool,
        read: impl FnOnce(&R, S, &mut Vec<u8>) -> R::Skill,
    ) -> Result<bool, SourceError> {
        let encloses = probe.encloses(self.options);
        match probe {
            Probe::Other => {}
            Probe::Link(path) => {
                self.visitor.linked_file(&path);
                self.linked_files.push(path);
            }
            Probe::Skill { identity, skill, .. } => {
                if identity.is_none_or(|identity| self.is_first(identity, linked)) {
                    let skill = read(self.reader, skill, &mut self.buffer);
                    self.visitor.found(skill)?;
                }
            }
        }
        Ok(encloses)
    }

    /// A SKILL.md that is a link. It is the same skill as its target, if that was found.
    pub(super) fn take_link(&mut self, path: PathBuf) -> Result<(), SourceError> {
        let probe = match sandbox::open_skill_file(&path) {
            Ok(file) => match self.within.map(|within| within.check(&file, &path)) {
                Some(Err(problem)) => Probe::opened(path, Opened::Failed(problem)),
                _ => opened(path, file),
            },
            Err(SourceError { kind: SourceErrorKind::Folder, .. }) => Probe::Other,
            // A link that leads nowhere or to another file is still found: `why` can then say what is wrong.
            Err(problem) => Probe::opened(path, Opened::Failed(problem)),
        };
        self.take_opened(probe, true).map(|_| ())
    }

    /// Whether a file was not found before. Only targets of links can have been.
    fn is_first(&mut self, identity: Identity, linked: bool) -> bool {
        let (_, inode) = identity;
        if !linked || inode == 0 || self.options.repeat_linked {
            self.found_files.push(identity);
            return true;
        }
        self.seen_files.extend(self.found_files.drain(..));
        self.seen_files.insert(identity)
    }
}
