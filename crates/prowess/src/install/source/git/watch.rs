//! [`Watcher`]: measures a running git on the disk. It is stopped when it fetches too much, or nothing for too long.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::GitLimits;

/// Why git was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The repository is larger than this.
    TooLarge(u64),
    /// The command has fetched more than this from all repositories.
    TooMuch(u64),
    /// No part of the repository was received for this long.
    Quiet(Duration),
}

/// Measures the objects of a repository while git fetches into it.
#[derive(Debug)]
pub(super) struct Watcher {
    objects: PathBuf,
    most: u64,
    /// What the repository may have so that the command stays within its own limit, and that limit.
    most_of_command: (u64, u64),
    /// How long nothing may be received. Over HTTP, git itself notices that sooner.
    quiet: Option<Duration>,
    size: u64,
    changed: Instant,
    /// Why git was stopped, if it was.
    pub(super) stop: Option<Stop>,
}

impl Watcher {
    pub(super) fn new(repository: &Path, limits: &GitLimits, most_of_command: u64, on_network: bool) -> Self {
        Self {
            objects: repository.join("objects"),
            most: limits.repository_bytes,
            most_of_command: (most_of_command, limits.command_bytes),
            quiet: on_network.then(|| limits.quiet.saturating_mul(2)),
            size: 0,
            changed: Instant::now(),
            stop: None,
        }
    }

    /// Whether git may continue.
    pub(super) fn go_on(&mut self) -> bool {
        let size = size_of(&self.objects);
        if size != self.size {
            (self.size, self.changed) = (size, Instant::now());
        }
        self.stop = if size > self.most {
            Some(Stop::TooLarge(self.most))
        } else if size > self.most_of_command.0 {
            Some(Stop::TooMuch(self.most_of_command.1))
        } else {
            self.quiet.filter(|quiet| self.changed.elapsed() > *quiet).map(Stop::Quiet)
        };
        self.stop.is_none()
    }
}

/// The size of all objects: those in packs, those being packed, and loose ones.
pub(super) fn size_of(objects: &Path) -> u64 {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    // A file that is gone by now has no size.
    let bytes = |entry: &fs::DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
    let folders = entries(objects).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.flat_map(|folder| entries(&folder.path())).map(|entry| bytes(&entry)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(repository_bytes: u64, quiet: Duration) -> GitLimits {
        GitLimits { repository_bytes, quiet, ..GitLimits::default() }
    }

    #[test]
    fn packs_parts_of_packs_and_loose_objects_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join("objects").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, [0; 100]).unwrap();
        };
        let go_on = || Watcher::new(folder.path(), &limits(250, Duration::MAX), u64::MAX, true).go_on();
        assert!(go_on());
        write("pack/a.pack");
        write("pack/tmp_pack_x");
        assert!(go_on());
        write("ab/cdef");
        assert!(!go_on());
    }

    #[test]
    fn only_over_a_network_silence_ends_a_fetch() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(folder.path(), &limits(1, Duration::ZERO), u64::MAX, true);
        while watcher.go_on() {}
        assert_eq!(watcher.stop, Some(Stop::Quiet(Duration::ZERO)));
        assert!(Watcher::new(folder.path(), &limits(1, Duration::ZERO), u64::MAX, false).go_on());
    }
}
