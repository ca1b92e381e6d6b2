//! Making room in the store: what was not used for the longest time is removed first, whether it is a repository or skills.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::clone::Bare;
use super::received::{Held, Received};
use super::watch::size_of;
use crate::fs::atomic::lock_within;
use crate::install::store::{TREES, is_own};

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
