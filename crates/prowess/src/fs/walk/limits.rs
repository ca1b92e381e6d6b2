//! The limits of a walk: where it ends, and whether its options made it skip what may be a skill.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::steps::Walk;
use super::visitor::{Reader, Visitor};
use super::{FILE_NAMES, FileName, ScanOptions, is_never_entered};
use crate::error::{Counted, SourceError, SourceErrorKind};
use crate::fs::dir::{Folder, Kind, Name};

/// How many entries of a folder are looked at to see whether skills may be in it.
const MAX_LOOKED_AT: usize = 1_000;

impl<R: Reader, V: Visitor<R::Skill>> Walk<'_, R, V> {
    /// Counts a folder that is only reachable through links. False beyond the limit, which is reported once.
    pub(super) fn count_outside(&mut self, path: impl FnOnce() -> PathBuf) -> Result<bool, SourceError> {
        self.outside += 1;
        let limit = self.options.max_outside;
        if self.outside == limit + 1 {
            self.note(SourceErrorKind::TooMany { what: Counted::FoldersBehindLinks, limit }.at(path()))?;
        }
        Ok(self.outside <= limit)
    }

    /// Counts a folder. An error beyond the limit ends the walk.
    pub(super) fn count(&mut self, path: impl FnOnce() -> PathBuf) -> Result<(), SourceError> {
        self.counted += 1;
        let limit = self.options.max_folders;
        if self.counted > limit {
            return Err(SourceErrorKind::TooMany { what: Counted::Folders, limit }.at(path()));
        }
        Ok(())
    }

    /// Notes that something was passed over, and tells the visitor the first time.
    pub(super) fn pass_over(&mut self) {
        if std::mem::take(&mut self.whole) {
            self.visitor.passed_over();
        }
    }
}

/// Whether a skipped folder may contain skills.
pub(super) fn may_have_skills(name: &OsStr) -> bool {
    !is_never_entered(name)
}

/// Whether a folder contains folders in which skills may be. It need not be readable.
pub(super) fn may_contain_skills(path: &Path) -> bool {
    let entries = Folder::open(path).and_then(|folder| folder.entries(MAX_LOOKED_AT));
    let folder = |entry: &Name| entry.kind == Kind::Folder && may_have_skills(&entry.name);
    entries.map_or(true, |(names, more)| more || names.iter().any(folder))
}

/// Whether a folder has a SKILL.md in another spelling than the options look for.
pub(super) fn has_other_spelling(names: &[Name], options: &ScanOptions) -> bool {
    let known: &[&str] = match &options.file_name {
        FileName::AnyCase(_) => return false,
        FileName::Either => &FILE_NAMES,
        FileName::Exact(name) => &[name.as_str()],
    };
    let file = |entry: &&Name| entry.kind != Kind::Folder;
    let files = || names.iter().filter(file).filter_map(|entry| entry.name.to_str());
    !files().any(|name| known.contains(&name)) && files().any(|name| name.eq_ignore_ascii_case(FILE_NAMES[0]))
}
