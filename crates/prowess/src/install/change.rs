//! [`Change`]: what became of one skill, and what happens to edits on the way.

use std::path::PathBuf;

use super::records::LockedSkill;

/// What happens to edits in an installed skill that would be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edits {
    /// The command stops, names the files and changes nothing.
    #[default]
    Stop,
    /// The edited skill stays as it is.
    Keep,
    /// The skill is replaced, and the edits are lost.
    Overwrite,
}

/// What became of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// It was not there, and is now.
    Installed,
    /// It has other files now.
    Updated,
    /// It is as it was.
    Unchanged,
    /// It has edits, and was left alone.
    Kept,
    /// It is gone.
    Removed,
    /// It was fetched to the store, and nothing else.
    Fetched,
    /// The lock names it as it is now, and its files were not touched.
    Locked,
}

/// What became of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The name of its folder.
    pub name: String,
    /// What became of it.
    pub action: Action,
    /// Its folder.
    pub path: PathBuf,
    /// What the lock says of it now; of a removed one, what it said.
    pub locked: LockedSkill,
    /// What was replaced or removed though it was edited or not installed, by its path.
    pub replaced: Vec<PathBuf>,
    /// What was left alone where clients look for the skill: they do not get it, or keep something else.
    pub left: Vec<LeftAlone>,
}

/// Something where a client looks for a skill that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LeftAlone {
    /// The client.
    pub client: String,
    /// Where it looks.
    pub path: PathBuf,
}
