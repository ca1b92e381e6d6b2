//! [`Journal`]: the steps of a transaction, written before the first one, so that the next process can complete them.
//!
//! It is in the user's own state folder and never in a project: a repository could contain one.

use std::cell::OnceCell;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use prowess_core::{Digest, Location};
use serde::{Deserialize, Serialize};

use super::placements::Placement;
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, Durability};
use crate::fs::dir::Folder;
use crate::fs::inside::is_inside;
use crate::fs::own;
use crate::registry::trust::Approval;

/// The largest journal that is read.
const MAX_BYTES: usize = 64 << 20;

/// The state of a name in a folder of skills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// A skill with this tree digest.
    Tree(Digest),
    /// A link with this target.
    Link(String),
    /// Anything that is never installed, or a folder that could not be read.
    Other,
}

/// One change of one name in one folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The folder of skills.
    pub(crate) folder: PathBuf,
    /// The name in it.
    pub(crate) name: String,
    /// The name in the staging folder: of the new entry before the step, of the old one after it.
    pub(crate) staged: String,
    /// The state of the name before; none when it is free.
    pub(crate) before: Option<State>,
    /// The state of the name afterwards; none when it is removed.
    pub(crate) after: Option<State>,
    /// The inode number of the entry that is moved: the new one, or the removed one. It shows whether the step was
    /// done, whatever else changed. None on systems without inode numbers.
    #[serde(default)]
    pub(crate) moved: Option<u64>,
    /// Who created what the name had before, as far as it is known, for the record when the step is undone.
    #[serde(default)]
    pub(crate) placed: Option<Placement>,
    /// The digest with which an edited skill had been left there, for the same.
    #[serde(default)]
    pub(crate) left: Option<Digest>,
}

/// One file whose text is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStep {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its text before; none when it did not exist.
    pub(crate) before: Option<String>,
    /// Its text afterwards.
    pub(crate) after: String,
    /// The real folder that it must be in, also when it is a link; none when it may be anywhere.
    #[serde(default)]
    pub(crate) within: Option<PathBuf>,
}

/// An approval that the user gave for an installed skill, or one that ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accepted {
    /// The name in the frontmatter.
    pub(crate) name: String,
    /// The name that it was installed under, when it differs.
    #[serde(default)]
    pub(crate) key: Option<String>,
    /// The place of the SKILL.md.
    pub(crate) skill_file: PathBuf,
    /// The tree digest that is trusted; none ends the trust in everything in its folder.
    pub(crate) digest: Option<Digest>,
}

impl Accepted {
    /// The approval to record; none when it ends one.
    pub(crate) fn approval(&self) -> Option<Approval> {
        let location = Location::from(self.skill_file.to_string_lossy().into_owned());
        let (name, key) = (self.name.clone(), self.key.clone());
        Some(Approval { name, key, location, digest: Some(self.digest?) })
    }
}

/// An edited skill that stays where it is when it is removed from the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftCopy {
    /// Its folder.
    pub(crate) path: PathBuf,
    /// The digest of its files.
    pub(crate) digest: Digest,
    /// The digest with which it had been left before.
    #[serde(default)]
    pub(crate) before: Option<Digest>,
}

/// The state folder of a journal or of what is beside it, which are in a folder of their own there.
pub(super) fn state_of(file: &Path) -> &Path {
    file.ancestors().nth(2).filter(|state| !state.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The project or user folder of a transaction. All paths in its journal are below it or elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    /// Its path as the user named it.
    pub(crate) named: PathBuf,
    /// Its real path.
    pub(crate) real: PathBuf,
    /// Its inode number: another one shows that it was copied and not moved.
    pub(crate) number: Option<u64>,
}

impl Base {
    /// The base at a path.
    pub(crate) fn at(named: &Path) -> Self {
        let real = env::real(named);
        let number = Folder::open_resolved(&real).and_then(|dir| dir.number(".")).ok().flatten();
        Self { named: named.to_owned(), real, number }
    }
}

/// The paths that a journal or a record of staging folders may name: those in the base, and the folders of clients that
/// are elsewhere, by their exact paths.
pub(crate) struct OwnPaths<'p> {
    base: &'p Base,
    elsewhere: &'p dyn Fn() -> Vec<PathBuf>,
    folders: OnceCell<Vec<PathBuf>>,
}

impl<'p> OwnPaths<'p> {
    pub(crate) fn new(base: &'p Base, elsewhere: &'p dyn Fn() -> Vec<PathBuf>) -> Self {
        Self { base, elsewhere, folders: OnceCell::new() }
    }

    /// Whether a path is in the base, and not in its `.git`.
    fn has_in_base(&self, path: &Path) -> bool {
        is_whole(path) && [&self.base.real, &self.base.named].into_iter().any(|base| is_inside(path, base))
    }

    /// Whether a path is that of a folder in which skills may be placed.
    pub(crate) fn has_folder(&self, folder: &Path) -> bool {
        self.has_in_base(folder) || self.is_clients(folder)
    }

    /// Whether a path is below such a folder. A skill can be nested: the folder of skills is somewhere above its file.
    fn has_below(&self, path: &Path) -> bool {
        let is_in_clients = || path.ancestors().skip(1).any(|folder| self.is_clients(folder));
        self.has_in_base(path) || is_whole(path) && is_in_clients()
    }

    fn is_clients(&self, folder: &Path) -> bool {
        self.folders.get_or_init(self.elsewhere).iter().any(|known| known == folder)
    }
}

fn is_whole(path: &Path) -> bool {
    path.is_absolute() && !path.iter().any(|part| part == "..")
}

/// Everything that a transaction does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    version: u32,
    /// Where it was begun.
    #[serde(default)]
    pub(crate) base: Base,
    /// The name of the staging folder in each folder of skills.
    pub(crate) stage: String,
    /// The changes, in their order.
    pub(crate) steps: Vec<Step>,
    /// The files that are written after them.
    pub(crate) files: Vec<FileStep>,
    /// The approvals of the user.
    pub(crate) accepted: Vec<Accepted>,
    /// Folders of the user that were left where clients look for a skill.
    #[serde(default)]
    pub(crate) users: Vec<PathBuf>,
    /// Edited copies of removed skills that were left where clients look.
    #[serde(default)]
    pub(crate) left: Vec<LeftCopy>,
    /// Paths with nothing there any more, whose skills no record names.
    #[serde(default)]
    pub(crate) forgotten: Vec<PathBuf>,
    /// The revision of the user's approvals before this transaction changed them.
    #[serde(default)]
    pub(crate) approvals: Option<u64>,
}

impl Journal {
    /// An empty journal for a staging folder.
    pub(crate) fn new(base: Base, stage: String) -> Self {
        Self { version: 1, base, stage, ..Self::default() }
    }

    /// The same journal after its base was moved or restored: every path is below the new one.
    pub(crate) fn moved_to(mut self, base: &Base) -> Self {
        // A journal of an earlier version does not name its base.
        if self.base.real.as_os_str().is_empty() {
            return self;
        }
        if self.base.real == base.real {
            // A folder that was restored from a copy has other inode numbers.
            if self.base.number != base.number {
                self.steps.iter_mut().for_each(|step| step.moved = None);
            }
            return self;
        }
        let old = std::mem::replace(&mut self.base, base.clone());
        let moved = |path: &mut PathBuf| {
            let below = [(&old.real, &base.real), (&old.named, &base.named)].into_iter();
            let mut below = below.filter_map(|(old, new)| Some(new.join(path.strip_prefix(old).ok()?)));
            if let Some(new) = below.next() {
                *path = new;
            }
        };
        for step in &mut self.steps {
            moved(&mut step.folder);
            // A copy has other inode numbers; then the files show which steps were performed.
            step.moved = step.moved.filter(|_| old.number == base.number);
        }
        for file in &mut self.files {
            moved(&mut file.path);
            file.within.iter_mut().for_each(moved);
        }
        for accepted in &mut self.accepted {
            moved(&mut accepted.skill_file);
        }
        self.users.iter_mut().for_each(moved);
        self.left.iter_mut().for_each(|left| moved(&mut left.path));
        self.forgotten.iter_mut().for_each(moved);
        self
    }

    /// Reads the journal that a process left behind, if there is one. The error for one that can never be read is
    /// [`InvalidData`](io::ErrorKind::InvalidData).
    pub(crate) fn load(file: &Path) -> io::Result<Option<Self>> {
        let bytes = match own::read(state_of(file), file, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => return Ok(None),
            Err(SourceError { kind: SourceErrorKind::Io(error), .. }) => return Err(error),
            // It is too large or not a file, and the next attempt would fail too.
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.full_message())),
        };
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let journal: Self = serde_json::from_slice(&bytes).map_err(invalid)?;
        if journal.version != 1 || !atomic::is_stage(&journal.stage) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "another version of prowess wrote it"));
        }
        Ok(Some(journal))
    }

    /// A path that it must not change, if there is one: each entry has a plain name, and every path is one that a place
    /// may name.
    pub(crate) fn outside(&self, own: &OwnPaths<'_>) -> Option<PathBuf> {
        let is_plain = |name: &str| {
            let mut parts = Path::new(name).components();
            matches!(parts.next(), Some(Component::Normal(part)) if part == name) && parts.next().is_none()
        };
        let steps = self
            .steps
            .iter()
            .filter(|step| !own.has_folder(&step.folder) || !is_plain(&step.name) || !is_plain(&step.staged));
        let steps = steps.map(|step| step.folder.join(&step.name));
        let files = self.files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.within));
        let files = files.filter(|path| !own.has_in_base(path));
        // What is forgotten is only removed from a record.
        let noted = self.users.iter().chain(self.left.iter().map(|left| &left.path));
        let noted = noted.filter(|path| !own.has_below(path));
        let accepted = self.accepted.iter().map(|accepted| &accepted.skill_file);
        let accepted = accepted.filter(|path| !own.has_below(path));
        steps.chain(files.chain(noted).chain(accepted).cloned()).next()
    }

    /// Writes it to disk. From now on the transaction will be completed.
    pub(crate) fn save(&self, file: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        if bytes.len() > MAX_BYTES {
            let reason = format!("it would have {} bytes, of at most {MAX_BYTES}", bytes.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        atomic::write_own(Some(state_of(file)), file, &[&bytes], Durability::Synced)
    }

    /// Removes it, when the transaction is complete or undone.
    pub(crate) fn clear(file: &Path) -> io::Result<()> {
        fs::remove_file(file)?;
        // Before anything that it names is removed.
        atomic::sync_folder_of(file);
        Ok(())
    }

    /// The folders that its steps change, each once.
    pub(crate) fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = self.steps.iter().map(|step| step.folder.as_path()).collect();
        folders.sort();
        folders.dedup();
        folders
    }
}
