//! [`Unaccepted`]: what a command fetched for the first time, recorded in the store until the user accepts or declines it.
//! If the command is killed before, the next one that fetches removes it, as if the user had declined.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::clone::Bare;
use super::received::Held;
use super::room::{REPOSITORIES, remove_unused};
use crate::fs::atomic::{lock_to_read, lock_within, unused_name};
use crate::fs::read::read_small;
use crate::install::store::{TREES, is_own, root_of_store};

/// The folder of a store with these records. Each process locks its own as long as it runs.
pub(crate) const FOLDER: &str = "unaccepted";
/// The largest record that is read: far more than a command fetches.
const MAX_BYTES: usize = 16 << 20;

/// The record of a command. It is removed when it is dropped: the command is over then, and was not killed.
#[derive(Debug)]
pub(super) struct Unaccepted {
    held: Held,
    file: PathBuf,
    stays: bool,
}

impl Unaccepted {
    /// Begins a record in a store; none when it cannot be written. Then a killed command leaves what it fetched.
    pub(super) fn begin(store: &Path) -> Option<Self> {
        let file = store.join(FOLDER).join(unused_name());
        let held = lock_within(Some(root_of_store(store)), &file, Duration::ZERO).ok().map(Held)?;
        Some(Self { held, file, stays: false })
    }

    /// Leaves the record to the next command that fetches, since something that it names could not be removed.
    pub(super) fn leave(mut self) {
        self.stays = true;
    }

    /// Records a repository or a file with a skill, by its path below the store.
    pub(super) fn add(&mut self, below: &Path) {
        let _ = self.held.0.write_all(format!("{}\n", below.display()).as_bytes());
    }
}

impl Drop for Unaccepted {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.file);
        }
    }
}

/// Removes from a store what killed commands recorded. What another process uses by now stays.
pub(super) fn sweep(store: &Path) {
    if !is_own(store) {
        return;
    }
    for entry in fs::read_dir(store.join(FOLDER)).into_iter().flatten().flatten() {
        // A process that runs holds its record.
        let Ok(Some(held)) = lock_to_read(&entry.path(), Duration::ZERO) else { continue };
        let _held = Held(held);
        let bytes = read_small(&entry.path(), MAX_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            remove(store, Path::new(line));
        }
        let _ = fs::remove_file(entry.path());
    }
}

/// Removes a repository or a file with a skill. Nothing else in the store can be meant.
fn remove(store: &Path, below: &Path) {
    let parts: Vec<Component<'_>> = below.components().collect();
    let [Component::Normal(folder), Component::Normal(_)] = *parts else { return };
    if folder == REPOSITORIES {
        remove_unused(&Bare { url: String::new(), folder: store.join(below) }, Duration::ZERO);
    } else if folder == TREES {
        let _ = fs::remove_file(store.join(below));
    }
}
