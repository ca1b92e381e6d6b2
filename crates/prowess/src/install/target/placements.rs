//! [`Placements`]: which folders of skills Prowess created for a place, and which it left to the user.
//!
//! Equal bytes do not show who wrote a folder: a user may have copied it, or installed it from there. Only what is
//! recorded here, or in a lock, is replaced or removed without a question.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::journal::{Journal, State, state_of};
use super::transaction::Books;
use crate::fs::atomic::{self, Durability};
use crate::fs::own;
use crate::install::error::InstallError;

/// The largest record that is read.
const MAX_BYTES: usize = 64 << 20;

/// Who created the folder at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    /// Prowess, with files of this digest.
    Placed(String),
    /// The user, before a skill was installed that would be there.
    Users,
}

/// The folders of a place, by their real paths.
#[derive(Debug)]
pub(crate) struct Placements {
    file: PathBuf,
    by_path: BTreeMap<String, Placement>,
}

impl Placements {
    /// Reads the record beside the journal of a place. A record that is missing or damaged names nothing.
    pub(crate) fn load(books: &Books) -> Self {
        let file = books.journal.with_extension("placed");
        let bytes = own::read(state_of(&file), &file, MAX_BYTES).unwrap_or_default();
        Self { by_path: serde_json::from_slice(&bytes).unwrap_or_default(), file }
    }

    /// Who created a folder, as far as it is known. The folder above it is real.
    pub(crate) fn get(&self, path: &Path) -> Option<&Placement> {
        self.by_path.get(&*path.to_string_lossy())
    }

    /// The digest of the files that Prowess placed at a path.
    pub(crate) fn digest(&self, path: &Path) -> Option<&str> {
        match self.get(path)? {
            Placement::Placed(digest) => Some(digest),
            Placement::Users => None,
        }
    }

    /// Records what a transaction did.
    pub(super) fn record(books: &Books, journal: &Journal) -> Result<(), InstallError> {
        let mut placements = Self::load(books);
        let before = placements.by_path.clone();
        let key = |path: &Path| path.to_string_lossy().into_owned();
        for step in &journal.steps {
            let path = key(&step.folder.join(&step.name));
            match &step.after {
                Some(State::Tree(digest)) => {
                    placements.by_path.insert(path, Placement::Placed(digest.clone()));
                }
                _ => drop(placements.by_path.remove(&path)),
            }
        }
        for path in &journal.users {
            placements.by_path.insert(key(path), Placement::Users);
        }
        if placements.by_path == before {
            return Ok(());
        }
        let file = &placements.file;
        placements.save().map_err(|error| InstallError::io("record what was installed", file, error))
    }

    fn save(&self) -> io::Result<()> {
        atomic::write_own(
            Some(state_of(&self.file)),
            &self.file,
            &[&serde_json::to_vec(&self.by_path)?],
            Durability::Synced,
        )
    }
}
