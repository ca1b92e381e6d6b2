//! [`Stages`]: the staging folders of a place, recorded before they are created, so that only that place removes them.
//!
//! A name does not show who created a folder. A repository can contain a folder with such a name, and one of another
//! user or another state folder may hold the only copy of what its journal needs.

use std::io;
use std::path::{Path, PathBuf};

use super::journal::{OwnPaths, state_of};
use crate::error::{SourceError, SourceErrorKind, shown};
use crate::fs::atomic::{self, Durability, is_stage};
use crate::fs::dir::{Folder, Kind};
use crate::fs::own;

/// The largest record that is read.
const MAX_BYTES: usize = 1 << 20;

/// The staging folders of a place.
#[derive(Debug)]
pub(super) struct Stages {
    file: PathBuf,
    paths: Vec<PathBuf>,
}

/// The file that records them, beside the journal of their place.
pub(super) fn file_beside(journal: &Path) -> PathBuf {
    journal.with_extension("stages")
}

impl Stages {
    /// Reads the record beside a journal.
    pub(super) fn load(journal: &Path) -> io::Result<Self> {
        let file = file_beside(journal);
        let paths = match own::read(state_of(&file), &file, MAX_BYTES) {
            // A damaged record names nothing: folders that may be needed are not removed.
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(SourceError { kind: SourceErrorKind::Io(error), .. }) => return Err(error),
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => Vec::new(),
            // Nothing could be written in its place.
            Err(_) if file.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Err(_) => Vec::new(),
        };
        Ok(Self { file, paths })
    }

    /// Records a folder that is about to be created.
    pub(super) fn add(&mut self, path: PathBuf) -> io::Result<()> {
        if self.paths.contains(&path) {
            return Ok(());
        }
        self.paths.push(path);
        self.save()
    }

    /// Removes those from the record for which `is_done` is true: they are removed, or must not be.
    pub(super) fn forget(&mut self, is_done: impl Fn(&Path) -> bool) -> io::Result<()> {
        let before = self.paths.len();
        self.paths.retain(|path| !is_done(path));
        if self.paths.len() == before && before > 0 { Ok(()) } else { self.save() }
    }

    /// Removes those from the record that this place may not name, so that they are not removed, which is said.
    pub(super) fn forget_outside(&mut self, own: &OwnPaths<'_>) -> io::Result<()> {
        let is_outside = |path: &Path| !path.parent().is_some_and(|folder| own.has_folder(folder));
        if !self.has(is_outside) {
            return Ok(());
        }
        for path in self.present().iter().filter(|path| is_outside(path)) {
            let text =
                format!("this folder is named as unfinished, and is outside, so it stays: {}", shown(path));
            own::note(text, Some("remove it if you do not need it".into()));
        }
        self.forget(is_outside)
    }

    /// Whether one of them is meant.
    pub(super) fn has(&self, is_it: impl Fn(&Path) -> bool) -> bool {
        self.paths.iter().any(|path| is_it(path))
    }

    /// The folders that exist.
    pub(super) fn present(&self) -> Vec<PathBuf> {
        self.paths.iter().filter(|path| path.symlink_metadata().is_ok()).cloned().collect()
    }

    /// Writes the record. It need not survive a crash of the machine: then a folder is left that no reader takes for a
    /// skill.
    fn save(&self) -> io::Result<()> {
        if !self.paths.is_empty() {
            return atomic::write_own(
                Some(state_of(&self.file)),
                &self.file,
                &[&serde_json::to_vec(&self.paths)?],
                Durability::Rebuilt,
            );
        }
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Removes a staging folder. Returns whether nothing is left of it.
pub(super) fn remove(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_stage(name));
    let (Some(folder), Some(name)) = (path.parent(), name) else { return true };
    match Folder::open_real(folder) {
        Ok(dir) => match dir.kind(name) {
            Ok(Some(Kind::Folder)) => dir.remove(name).is_ok(),
            other => other.is_ok(),
        },
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}
