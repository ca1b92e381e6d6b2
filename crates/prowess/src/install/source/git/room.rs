//! What is removed from the store: what was not used for the longest time, to make room, and what a command fetched for the
//! first time and the user did not accept.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::clone::Bare;
use super::received::{Held, Received};
use super::watch::size_of;
use crate::fs::atomic::{lock_to_read, lock_within, unused_name};
use crate::fs::read::read_small;
use crate::install::store::{TREES, is_own, root_of_store};

/// The folder of a store with the repositories.
pub(crate) const REPOSITORIES: &str = "git";

/// What can be removed from a store.
enum Kept {
    Repository(Bare),
    /// A file with a skill.
    Skill(PathBuf),
}

/// Removes what was not used for the longest time from a store, until it has at most so many bytes. A repository that any
/// process uses stays, and so does a skill of this command.
pub(crate) fn make_room(store: &Path, most: u64, received: &Received) {
    if !is_own(store) {
        return;
    }
    let mut found: Vec<(SystemTime, PathBuf, u64, Kept)> = Vec::new();
    for entry in entries(&store.join(REPOSITORIES)) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let bare = Bare { url: String::new(), folder: entry.path() };
            let used = fs::metadata(bare.use_file()).and_then(|file| file.modified());
            let used = used.unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((used, entry.path(), size_of(&bare.objects()), Kept::Repository(bare)));
        }
    }
    for entry in entries(&store.join(TREES)) {
        let Some(file) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
        let used = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        found.push((used, entry.path(), file.len(), Kept::Skill(entry.path())));
    }
    let mut total = found.iter().fold(0_u64, |total, (_, _, size, _)| total.saturating_add(*size));
    found.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    for (_, _, size, kept) in found {
        if total <= most {
            return;
        }
        let is_gone = match kept {
            Kept::Repository(bare) => remove_unused(&bare, Duration::ZERO),
            Kept::Skill(file) => !received.needs(&file) && fs::remove_file(file).is_ok(),
        };
        if is_gone {
            total = total.saturating_sub(size);
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Removes a repository unless a process uses it for longer than `wait`; returns whether it is gone. Its lock files stay:
/// a process that waits for one of them would get the lock of a file that no other process sees.
pub(super) fn remove_unused(bare: &Bare, wait: Duration) -> bool {
    let Ok(_used) = lock_within(None, &bare.use_file(), wait).map(Held) else { return false };
    let Ok(_lock) = lock_within(None, &bare.lock_file(), wait).map(Held) else { return false };
    bare.remove().is_ok()
}

/// The folder of a store with these records. Each process locks its own as long as it runs.
pub(crate) const UNACCEPTED: &str = "unaccepted";
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
        let file = store.join(UNACCEPTED).join(unused_name());
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
    for entry in fs::read_dir(store.join(UNACCEPTED)).into_iter().flatten().flatten() {
        // A process that runs holds its record.
        let Ok(Some(held)) = lock_to_read(&entry.path(), Duration::ZERO) else { continue };
        let _held = Held(held);
        let bytes = read_small(&entry.path(), MAX_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            remove_named(store, Path::new(line));
        }
        let _ = fs::remove_file(entry.path());
    }
}

/// Removes a repository or a file with a skill. Nothing else in the store can be meant.
fn remove_named(store: &Path, below: &Path) {
    let parts: Vec<Component<'_>> = below.components().collect();
    let [Component::Normal(folder), Component::Normal(_)] = *parts else { return };
    if folder == REPOSITORIES {
        remove_unused(&Bare { url: String::new(), folder: store.join(below) }, Duration::ZERO);
    } else if folder == TREES {
        let _ = fs::remove_file(store.join(below));
    }
}
