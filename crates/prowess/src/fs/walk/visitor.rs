//! What a walk does with each SKILL.md: the visitor says.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::fs::stamp::FileStamp;

/// What the walk has in hand when it found a SKILL.md.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The open file and its state.
    File(File, FileStamp),
    /// Where the visitor knows this state, and the state.
    Known(usize, FileStamp),
    /// Why it cannot be read.
    Failed(SourceError),
}

/// Who is told of every SKILL.md. What takes `&self` may be asked on any thread, and ahead of the walk.
pub(crate) trait Visitor: Sync {
    /// What is made of a SKILL.md.
    type Skill: Send;

    /// Where the contents of the file in this state are known, so that it need not be opened.
    fn known(&self, path: &Path, stamp: &FileStamp) -> Option<usize>;

    /// Whether asking [`Self::known`] is worth a look at the file before opening it.
    fn knows_anything(&self) -> bool {
        true
    }

    /// Reads a SKILL.md; the buffer is for anything.
    fn read(&self, path: &Path, opened: Opened, buffer: &mut Vec<u8>) -> Self::Skill;

    /// A folder is about to be listed.
    fn entered(&mut self, _: &Path) {}

    /// A folder with this many entries was listed. An error ends the walk.
    fn listed(&mut self, _: &Path, _: usize) -> Result<(), SourceError> {
        Ok(())
    }

    /// There is a link that may lead to a folder, now or later.
    fn linked(&mut self, _: &Path) {}

    /// A SKILL.md was found and read. An error ends the walk.
    fn found(&mut self, path: PathBuf, skill: Self::Skill) -> Result<(), SourceError>;
}
