//! [`Received`]: what one command fetches: how many bytes, and which repositories are new. It holds the repositories that
//! the command uses, so that no other process removes them to make room.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::clone::Bare;
use super::watch::size_of;
use crate::fs::atomic::{lock_to_read, lock_within};
use crate::internal::locked;

/// The repositories that one command used, by their folders.
#[derive(Debug, Default)]
pub(crate) struct Received(Mutex<BTreeMap<PathBuf, Used>>);

#[derive(Debug)]
struct Used {
    bare: Bare,
    /// Its size before the command, and by now.
    sizes: (u64, u64),
    /// Whether it was there before the command.
    was_there: bool,
    /// Held while the command may read it.
    _held: Option<Held>,
}

/// A lock that is released when it is dropped, even if a process that was just started has a copy of the file.
#[derive(Debug)]
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Received {
    /// Notes that a repository is used. The caller holds its lock.
    pub(super) fn begin(&self, bare: &Bare) {
        locked(&self.0).entry(bare.folder.clone()).or_insert_with(|| {
            // Made by a lock that ends at once. If another process holds it, it is there.
            drop(lock_within(None, &bare.use_file(), Duration::ZERO).map(Held));
            let held = lock_to_read(&bare.use_file(), Duration::from_secs(1)).ok().flatten().map(Held);
            // The time of its last use decides what is removed first.
            let _ = held.as_ref().map(|held| held.0.set_modified(SystemTime::now()));
            let size = size_of(&bare.objects());
            Used { bare: bare.clone(), sizes: (size, size), was_there: bare.is_there(), _held: held }
        });
    }

    /// Measures a repository after something was fetched.
    pub(super) fn measure(&self, bare: &Bare) {
        if let Some(used) = locked(&self.0).get_mut(&bare.folder) {
            // What was removed again was received all the same.
            used.sizes.1 = used.sizes.1.max(size_of(&bare.objects()));
        }
    }

    /// The most bytes that a repository may have so that the command receives no more than a limit.
    pub(super) fn most(&self, bare: &Bare, limit: u64) -> u64 {
        let all = locked(&self.0);
        let grown = |used: &Used| used.sizes.1.saturating_sub(used.sizes.0);
        let others: u64 = all.iter().filter(|(at, _)| **at != bare.folder).map(|(_, used)| grown(used)).sum();
        let before = all.get(&bare.folder).map_or(0, |used| used.sizes.0);
        before.saturating_add(limit.saturating_sub(others))
    }

    /// Removes the repositories that the command fetched for the first time, unless another process uses them.
    pub(crate) fn discard(&self) {
        for (_, used) in std::mem::take(&mut *locked(&self.0)) {
            let Used { bare, was_there, _held: held, .. } = used;
            drop(held);
            if !was_there {
                remove_unused(&bare);
            }
        }
    }
}

/// Removes the repositories that were not used for the longest time, until all have at most so many bytes. One that any
/// process uses stays.
pub(super) fn make_room(clones: &Path, most: u64) {
    let mut found: Vec<(SystemTime, u64, Bare)> = Vec::new();
    for entry in std::fs::read_dir(clones).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let bare = Bare { url: String::new(), folder: entry.path() };
            let used = std::fs::metadata(bare.use_file()).and_then(|file| file.modified());
            found.push((used.unwrap_or(SystemTime::UNIX_EPOCH), size_of(&bare.objects()), bare));
        }
    }
    let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
    found.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.2.folder.cmp(&other.2.folder)));
    for (_, size, bare) in found {
        if total <= most {
            return;
        }
        if remove_unused(&bare) {
            total = total.saturating_sub(size);
        }
    }
}

/// Removes a repository unless a process uses it; returns whether it is gone.
fn remove_unused(bare: &Bare) -> bool {
    let now = Duration::ZERO;
    let Ok(_used) = lock_within(None, &bare.use_file(), now).map(Held) else { return false };
    let Ok(_lock) = lock_within(None, &bare.lock_file(), now).map(Held) else { return false };
    bare.remove().is_ok()
}
