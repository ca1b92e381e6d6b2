//! What a walk does with each SKILL.md: a [`Reader`] reads it, and a [`Visitor`] receives the result.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::fs::stamp::FileStamp;

/// A SKILL.md that the walk found.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The open file and its state.
    File(File, FileStamp),
    /// The index of this state in what the visitor knows, and the state.
    Known(usize, FileStamp),
    /// Why it cannot be read.
    Failed(SourceError),
}

/// Reads every SKILL.md of a walk. Several threads may use it, ahead of the walk.
pub(crate) trait Reader: Sync {
    /// The result of reading a SKILL.md.
    type Skill: Send;

    /// The index of a file in this state in what the reader knows, if it need not be opened.
    fn known(&self, path: &Path, stamp: &FileStamp) -> Option<usize>;

    /// Whether calling [`Self::known`] is worth a `stat` of the file before opening it.
    fn knows_anything(&self) -> bool {
        true
    }

    /// Reads the SKILL.md at a path. The buffer may be used freely.
    fn read(&self, path: PathBuf, opened: Opened, buffer: &mut Vec<u8>) -> Self::Skill;
}

/// A reader that opens nothing: only the paths matter.
#[derive(Debug)]
pub(crate) struct OnlyPaths;

impl Reader for OnlyPaths {
    type Skill = PathBuf;

    fn known(&self, _: &Path, _: &FileStamp) -> Option<usize> {
        Some(0)
    }

    fn read(&self, path: PathBuf, _: Opened, _: &mut Vec<u8>) -> PathBuf {
        path
    }
}

/// Receives what a walk finds, on the thread of the walk and in its order.
pub(crate) trait Visitor<Skill> {
    /// Called before a folder is listed.
    fn entered(&mut self, _: &Path) {}

    /// Called after a folder with this many entries was listed. An error ends the walk.
    fn listed(&mut self, _: &Path, _: usize) -> Result<(), SourceError> {
        Ok(())
    }

    /// Called for a link that leads to a folder, or may do so later.
    fn linked(&mut self, _: &Path) {}

    /// Called for a SKILL.md that is a link.
    fn linked_file(&mut self, _: &Path) {}

    /// Whether the visitor wants to know that something was passed over.
    fn counts_all(&self) -> bool {
        false
    }

    /// Called at the first folder or file that the options exclude and that a walk without them could find a skill in.
    fn passed_over(&mut self) {}

    /// Called for each SKILL.md after it was read. An error ends the walk.
    fn found(&mut self, skill: Skill) -> Result<(), SourceError>;
}
