//! [`Changes`]: what an operation did with each skill, its clients and the records.

use std::path::PathBuf;

use super::Loss;
use crate::install::records::LockedSkill;

/// What happens to edits in an installed skill that would be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edits {
    /// The operation stops, names the files and changes nothing.
    #[default]
    Stop,
    /// The edited skill stays unchanged.
    Keep,
    /// The skill is replaced, and the edits are lost.
    Overwrite,
}

/// What happened to a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// It was not installed before.
    Installed,
    /// It was replaced by other files.
    Updated,
    /// It was already up to date.
    Unchanged,
    /// It has edits and was left unchanged.
    Kept,
    /// Something that was not installed has its name, and was left unchanged.
    LeftThere,
    /// The records do not name it any more. Its folder stays, since it is not known that Prowess placed it.
    NotPlaced,
    /// The lock names it, and it is not installed: clients do not get it before the next `sync`.
    NotInstalled,
    /// It was removed.
    Removed,
    /// It was fetched to the store and not installed.
    Fetched,
    /// It was locked, and its files were not touched.
    Locked,
    /// `skills.toml` does not have it. It is still installed, so it stays in the lock until its files are removed.
    StillInstalled,
}

/// What an operation did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// What happened to each skill.
    pub skills: Vec<Change>,
    /// The records that were written: `skills.toml`, `skills.lock`.
    pub records: Vec<PathBuf>,
}

impl Change {
    pub(crate) fn of(locked: LockedSkill, path: PathBuf, action: Action) -> Self {
        Self {
            name: locked.name.clone(),
            action,
            path,
            locked,
            fetched: false,
            recorded: true,
            newly_trusted: false,
            clients: Vec::new(),
            replaced: Vec::new(),
            left: Vec::new(),
        }
    }
}

impl Changes {
    /// Everything that was replaced or removed although it was edited or not installed. After a dry run, this is what the
    /// user agrees to lose: see [`InstallOptions::shown`](super::InstallOptions::shown).
    pub fn losses(&self) -> Vec<Loss> {
        self.skills.iter().flat_map(|change| change.replaced.iter().cloned()).collect()
    }
}

/// What happened to one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The name of its folder.
    pub name: String,
    /// What happened to it.
    pub action: Action,
    /// Its folder.
    pub path: PathBuf,
    /// Its entry in the lock; of a removed skill, its last one.
    pub locked: LockedSkill,
    /// Whether this user fetched it from the source in the lock, now or before. If not, only the lock says that it is
    /// from there.
    pub fetched: bool,
    /// Whether the records name it. They do not name a removed skill, also if its edited files were kept.
    pub recorded: bool,
    /// Whether the user accepted its files, and had not before.
    pub newly_trusted: bool,
    /// The links and copies for clients that were made or removed.
    pub clients: Vec<ClientChange>,
    /// What was replaced or removed although it was edited or not installed.
    pub replaced: Vec<Loss>,
    /// Paths in folders of clients that were left unchanged: those clients do not get the skill, or keep something
    /// else.
    pub left: Vec<LeftAlone>,
}

/// A link or copy for a client that was made or removed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ClientChange {
    /// The client.
    pub client: String,
    /// What happened.
    pub action: ClientAction,
    /// Where the client looks for the skill.
    pub path: PathBuf,
}

/// What happened where a client looks for a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClientAction {
    /// It has a link to the skill now.
    Linked,
    /// It has a copy of the skill now.
    Copied,
    /// Its link or copy was removed.
    Removed,
}

/// A path in a client's folder that was left unchanged.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LeftAlone {
    /// The client.
    pub client: String,
    /// The path.
    pub path: PathBuf,
    /// Whether an installed skill comes from there.
    pub is_source: bool,
}
