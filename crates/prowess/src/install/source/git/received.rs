//! [`Received`]: what one command fetches: how many bytes, and which repositories and stored skills are new. It holds the
//! repositories that the command uses, so that no other process removes them to make room.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use super::clone::Bare;
use super::room::{self, Unaccepted, remove_unused};
use super::watch::size_of;
use crate::env;
use crate::fs::atomic::{lock_to_read, lock_within};
use crate::internal::locked;

/// How long a command that a signal ends waits for its own threads to leave a repository.
const ENDING: Duration = Duration::from_secs(2);

/// What one command used and fetched.
#[derive(Debug, Default)]
pub(crate) struct Received {
    command: Mutex<InCommand>,
    /// The store, once what killed commands fetched was removed from it.
    store: OnceLock<PathBuf>,
}

#[derive(Debug, Default)]
struct InCommand {
    /// The repositories, by their folders.
    repositories: BTreeMap<PathBuf, Used>,
    /// The files of the store with its skills, and whether each was there before the command.
    skills: BTreeMap<PathBuf, bool>,
    /// The bytes that were fetched into repositories that were removed again.
    removed: u64,
    /// What is new, for the next command if this one is killed; none before there is something.
    unaccepted: Option<Unaccepted>,
}

impl InCommand {
    /// Records that something is new in the store.
    fn note_new(&mut self, store: Option<&PathBuf>, path: &Path) {
        let Some((store, below)) = store.and_then(|store| Some((store, path.strip_prefix(store).ok()?)))
        else {
            return;
        };
        if self.unaccepted.is_none() {
            self.unaccepted = Unaccepted::begin(store);
        }
        if let Some(unaccepted) = &mut self.unaccepted {
            unaccepted.add(below);
        }
    }
}

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

impl Used {
    fn grown(&self) -> u64 {
        self.sizes.1.saturating_sub(self.sizes.0)
    }
}

/// A lock that is released when it is dropped, even if a process that was just started has a copy of the file.
#[derive(Debug)]
pub(super) struct Held(pub(super) File);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Received {
    /// Removes what killed commands fetched into a store and the user did not accept. The first call does it.
    pub(crate) fn sweep(&self, store: &Path) {
        self.store.get_or_init(|| {
            let store = env::absolute(store);
            room::sweep(&store);
            store
        });
    }

    /// Notes that a repository is used. The caller holds its lock.
    pub(super) fn begin(&self, bare: &Bare) {
        let mut command = locked(&self.command);
        if !command.repositories.contains_key(&bare.folder) && !bare.is_there() {
            command.note_new(self.store.get(), &bare.folder);
        }
        command.repositories.entry(bare.folder.clone()).or_insert_with(|| {
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
        if let Some(used) = locked(&self.command).repositories.get_mut(&bare.folder) {
            // What was removed again was received all the same.
            used.sizes.1 = used.sizes.1.max(size_of(&bare.objects()));
        }
    }

    /// The most bytes that a repository may have so that the command receives no more than a limit.
    pub(super) fn most(&self, bare: &Bare, limit: u64) -> u64 {
        let all = locked(&self.command);
        let others = all.repositories.iter().filter(|(at, _)| **at != bare.folder);
        let others: u64 = others.map(|(_, used)| used.grown()).sum();
        let before = all.repositories.get(&bare.folder).map_or(0, |used| used.sizes.0);
        before.saturating_add(limit.saturating_sub(others.saturating_add(all.removed)))
    }

    /// Notes a file of the store with a skill of the command, and whether it was there before.
    pub(crate) fn stored(&self, file: &Path, was_there: bool) {
        let (mut command, file) = (locked(&self.command), env::absolute(file));
        if !was_there && !command.skills.contains_key(&file) {
            command.note_new(self.store.get(), &file);
        }
        command.skills.entry(file).or_insert(was_there);
    }

    /// Whether a file of the store has a skill of the command.
    pub(super) fn needs(&self, file: &Path) -> bool {
        locked(&self.command).skills.contains_key(&env::absolute(file))
    }

    /// Ends the command: what it fetched stays, and the next one counts from zero.
    pub(crate) fn accept(&self) {
        drop(std::mem::take(&mut *locked(&self.command)));
    }

    /// Ends the command, and removes what it fetched for the first time: skills, and repositories that no other process
    /// uses.
    pub(crate) fn discard(&self) {
        self.remove_new(Duration::ZERO);
        self.accept();
    }

    /// As [`discard`](Self::discard), from another thread than the one that fetches, whose git was ended.
    pub(crate) fn discard_while_ending(&self) {
        self.remove_new(ENDING);
        self.accept();
    }

    /// Removes what the command fetched for the first time. Its bytes still count. A repository that is in use for longer
    /// than `wait` stays.
    pub(super) fn remove_new(&self, wait: Duration) {
        let mut all = locked(&self.command);
        let InCommand { repositories, skills, removed, unaccepted } = std::mem::take(&mut *all);
        all.removed = repositories.values().map(Used::grown).fold(removed, u64::saturating_add);
        drop(all);
        let mut is_gone = true;
        for (_, used) in repositories {
            let Used { bare, was_there, _held: held, .. } = used;
            drop(held);
            if !was_there {
                is_gone &= remove_unused(&bare, wait);
            }
        }
        for (file, _) in skills.into_iter().filter(|(_, was_there)| !was_there) {
            // A process that uses the same skill has read it, and one that misses it fetches it.
            let _ = std::fs::remove_file(file);
        }
        if let Some(unaccepted) = unaccepted.filter(|_| !is_gone) {
            unaccepted.leave();
        }
    }
}
