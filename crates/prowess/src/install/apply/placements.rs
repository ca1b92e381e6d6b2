//! [`Placements`]: which folders of skills Prowess created for a place, and which it left to the user.
//!
//! Equal bytes do not show who wrote a folder: a user may have copied it, or installed it from there. Only what is
//! recorded here, or in a lock, is replaced or removed without a question.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::Digest;
use serde::{Deserialize, Serialize};

use super::journal::{Journal, LeftCopy, State, Step, state_of};
use super::transaction::Books;
use crate::env;
use crate::error::{SourceErrorKind, shown};
use crate::fs::atomic::{self, Durability};
use crate::fs::own;
use crate::fs::set_aside::{first_set_aside_name, set_aside_name};
use crate::install::error::InstallError;
use crate::install::records::SKILLS_FOLDER;

/// The largest record that is read.
const MAX_BYTES: usize = 64 << 20;
/// The version of the record that is written.
const VERSION: u32 = 1;

/// Who created the folder at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    /// Prowess, with files of this digest.
    Placed(Digest),
    /// The user, before a skill was installed that would be there.
    Users,
}

/// The folders of a place, by their real paths.
#[derive(Clone, Debug)]
pub(crate) struct Placements {
    file: PathBuf,
    record: Record,
    /// Whether the file cannot be used; it is set aside before another one is written.
    is_unusable: bool,
}

/// The record as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// Whether an earlier record was lost: then a folder that is not named may be the user's.
    #[serde(default)]
    lost: bool,
    folders: BTreeMap<String, Placement>,
    /// The digests of edited skills that were left where they are when they were removed from the records. What is there
    /// with other files since then is the user's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    left: BTreeMap<String, Digest>,
}

impl Record {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: Option<u32>,
        }
        let failed = |error: serde_json::Error| error.to_string();
        match serde_json::from_slice::<Versioned>(bytes).map_err(failed)?.version {
            Some(VERSION) => serde_json::from_slice(bytes).map_err(failed),
            Some(_) => Err("another version of prowess wrote it".to_owned()),
            // The first form has the folders alone. Their paths are absolute, so none is called like that.
            None => {
                let folders = serde_json::from_slice(bytes).map_err(failed)?;
                Ok(Self { folders, ..Self::default() })
            }
        }
    }
}

impl Placements {
    /// Reads the record beside the journal of a place. One that is damaged or not believed names nothing, and counts as
    /// lost, which is noted.
    pub(crate) fn load(books: &Books) -> Result<Self, InstallError> {
        let file = books.journal.with_extension("placed");
        let read = match own::read_judged(state_of(&file), &file, MAX_BYTES) {
            Ok(bytes) => Record::parse(&bytes).map_err(|reason| format!("{}: {reason}", shown(&file))),
            Err(error) => match error.kind {
                SourceErrorKind::Missing => {
                    // A process may have been killed after it set the record aside.
                    let lost = first_set_aside_name(&file).symlink_metadata().is_ok();
                    Ok(Record { lost, ..Record::default() })
                }
                SourceErrorKind::Io(error) => return Err(InstallError::io("read", &file, error)),
                _ => Err(error.full_message()),
            },
        };
        let (record, is_unusable) = match read {
            Ok(record) => (record, false),
            Err(reason) => {
                let hint =
                    "folders of clients that it may have named as yours stay, and prowess verify names them";
                own::note(
                    format!("the record of the folders that prowess placed could not be used: {reason}"),
                    Some(hint.into()),
                );
                (Record { lost: true, ..Record::default() }, true)
            }
        };
        Ok(Self { file, record, is_unusable })
    }

    /// The projects in which Prowess placed a skill, by the records in a folder of state that can be read.
    pub(crate) fn bases(state: &Path) -> BTreeSet<PathBuf> {
        let files = std::fs::read_dir(state.join("install")).into_iter().flatten().flatten();
        let files =
            files.map(|entry| entry.path()).filter(|file| file.extension().is_some_and(|it| it == "placed"));
        let records = files.filter_map(|file| {
            let bytes = own::read_judged(state_of(&file), &file, MAX_BYTES).ok()?;
            Record::parse(&bytes).ok()
        });
        let base = |path: &String| {
            let skills = Path::new(path).parent()?;
            skills.ends_with(SKILLS_FOLDER).then(|| skills.ancestors().nth(2).map(Path::to_owned))?
        };
        records.flat_map(|record| record.folders.keys().filter_map(base).collect::<Vec<_>>()).collect()
    }

    /// Who created a folder, as far as it is known. The folder above it is real.
    pub(crate) fn get(&self, path: &Path) -> Option<&Placement> {
        self.record.folders.get(&*path.to_string_lossy())
    }

    /// The digest of the files that Prowess placed at a path.
    pub(crate) fn digest(&self, path: &Path) -> Option<Digest> {
        match self.get(path)? {
            Placement::Placed(digest) => Some(*digest),
            Placement::Users => None,
        }
    }

    /// The folders that Prowess placed, and those of edited skills that were left, each once.
    pub(crate) fn placed_or_left(&self) -> impl Iterator<Item = &Path> {
        let Record { folders, left, .. } = &self.record;
        let placed =
            folders.iter().filter(|(_, by)| matches!(by, Placement::Placed(_))).map(|(path, _)| path);
        placed.chain(left.keys()).collect::<BTreeSet<_>>().into_iter().map(Path::new)
    }

    /// The digest of the files that an edited skill had when it was left at a path.
    pub(crate) fn left(&self, path: &Path) -> Option<Digest> {
        self.record.left.get(&*path.to_string_lossy()).copied()
    }

    /// The paths at which nothing is any more, of skills that no record names. What is there later is not from Prowess.
    pub(crate) fn gone(&self, is_recorded: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let is_gone = |path: &&Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
            !name.is_some_and(&is_recorded) && path.symlink_metadata().is_err_and(is_missing)
        };
        let known = self.record.folders.keys().chain(self.record.left.keys());
        known.map(Path::new).filter(is_gone).map(Path::to_owned).collect()
    }

    /// Whether what a client has under a name of an installed skill is the user's own, and no installed copy: an earlier
    /// command was told to keep it. The folder of the client may be reached by links. A link of the user to an installed
    /// skill leads to that.
    pub(crate) fn is_users_own(&self, folder: &Path, name: &str, installed: &Path) -> bool {
        let path = env::real(folder).join(name);
        if self.get(&path) != Some(&Placement::Users) {
            return false;
        }
        let leads_to = env::real(&path);
        !leads_to.starts_with(env::real(installed))
            && !leads_to.ancestors().any(|above| self.digest(above).is_some())
    }

    /// Whether anything was left to the user, so that [`is_users_own`](Self::is_users_own) is worth asking.
    pub(crate) fn has_users_own(&self) -> bool {
        self.record.folders.values().any(|by| *by == Placement::Users)
    }

    /// Whether an earlier record was lost, so that a folder that is not named may be the user's.
    pub(crate) fn is_lost(&self) -> bool {
        self.record.lost
    }

    /// The record after a transaction was undone, to be [saved](Self::save); none when it stays as it is. What was left to
    /// the user stays the user's, which loses nothing. What was not undone is at the paths that `stay`.
    pub(super) fn before(&self, journal: &Journal, stay: &BTreeSet<PathBuf>) -> Option<Self> {
        let mut placements = self.clone();
        let Record { folders, left, .. } = &mut placements.record;
        for step in &journal.steps {
            let path = step.folder.join(&step.name);
            if stay.contains(&path) {
                set(folders, &path, placed_by(step));
            } else {
                set(folders, &path, step.placed.clone());
                set(left, &path, step.left);
            }
        }
        for copy in journal.left.iter().filter(|copy| !stay.contains(&copy.path)) {
            set(left, &copy.path, copy.before);
        }
        (placements.record != self.record).then_some(placements)
    }

    /// The record after a transaction, to be [saved](Self::save); none when it stays as it is.
    pub(super) fn after(&self, journal: &Journal) -> Option<Self> {
        let mut placements = self.clone();
        let Record { folders, left, .. } = &mut placements.record;
        let steps = journal.steps.iter().map(|step| (step.folder.join(&step.name), placed_by(step)));
        let users = journal.users.iter().map(|path| (path.clone(), Some(Placement::Users)));
        let forgotten = journal.forgotten.iter().map(|path| (path.clone(), None));
        for (path, by) in steps.chain(users).chain(forgotten) {
            left.remove(&*path.to_string_lossy());
            set(folders, &path, by);
        }
        for LeftCopy { path, digest, .. } in &journal.left {
            left.insert(path.to_string_lossy().into_owned(), *digest);
        }
        (placements.record != self.record).then_some(placements)
    }

    /// Writes the record. One that cannot be used is kept under another name, which is said.
    pub(super) fn save(mut self) -> Result<(), InstallError> {
        let failed = |error| InstallError::io("record what was installed", &self.file, error);
        if self.is_unusable {
            let kept = set_aside_name(&self.file);
            std::fs::rename(&self.file, &kept).map_err(failed)?;
            own::note(format!("the record that could not be used is kept: {}", shown(&kept)), None);
        }
        self.record.version = VERSION;
        let write = || -> io::Result<()> {
            let bytes = serde_json::to_vec(&self.record)?;
            atomic::write_own(Some(state_of(&self.file)), &self.file, &[&bytes], Durability::Synced)
        };
        write().map_err(failed)
    }
}

/// Who created what is at the path of a step once it is done; none for a link, and for nothing.
fn placed_by(step: &Step) -> Option<Placement> {
    match &step.after {
        Some(State::Tree(digest)) => Some(Placement::Placed(*digest)),
        _ => None,
    }
}

/// Sets what is recorded of a path.
fn set<T>(record: &mut BTreeMap<String, T>, path: &Path, value: Option<T>) {
    let path = path.to_string_lossy().into_owned();
    match value {
        Some(value) => drop(record.insert(path, value)),
        None => drop(record.remove(&path)),
    }
}
