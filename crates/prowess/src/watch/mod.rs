//! Hot reload: folders are watched, and what changes in them becomes a new catalog and a [`Delta`].
//!
//! What the system says of a change is only a hint to look again. A look is complete when every folder that was looked
//! into was being watched before the look began: whatever changes from then on is another hint. So nothing is missed,
//! be it saved by renaming, moved, deleted and made again, or a thousand files at once.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_core::Delta;

use crate::registry::{Registry, RegistryError};

/// How a watcher waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long it must be quiet before a change is looked at.
    pub quiet: Duration,
    /// How long a change waits at most for it to be quiet.
    pub longest: Duration,
    /// How often to look where the system does not tell of changes, or of no more folders.
    pub poll: Duration,
    /// How often sources elsewhere are asked again, which tell of nothing; never, if no time is given.
    pub ask: Option<Duration>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            longest: Duration::from_secs(2),
            poll: Duration::from_secs(2),
            ask: Some(Duration::from_secs(60)),
        }
    }
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system does not let folders be watched.
    #[error("folders cannot be watched")]
    System(#[from] io::Error),
    /// The sources could not be listed. The catalog stays as it was, and a later look may succeed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// A registry that follows its folders.
///
/// ```
/// use prowess::watch::{WatchOptions, Watcher};
/// use prowess::{DirSource, Registry, ScanOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let mut registry = Registry::new();
/// registry.add(DirSource::new(folder, ScanOptions::unbounded()));
/// let mut watcher = Watcher::new(registry.into(), WatchOptions::default())?;
///
/// std::fs::create_dir(folder.join("tidy-up"))?;
/// std::fs::write(folder.join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\n")?;
/// // A host would call `next`, which waits; this takes in what has happened so far.
/// assert_eq!(watcher.settle()?.added, ["tidy-up"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watcher {
    registry: Arc<Registry>,
    options: WatchOptions,
    hints: system::Hints,
    /// The last look was not complete, so there is another to come.
    unfinished: bool,
    /// When sources elsewhere are to be asked.
    ask_at: Option<Instant>,
}

impl Watcher {
    /// Lists the sources of a registry and watches their folders from now on.
    pub fn new(registry: Arc<Registry>, options: WatchOptions) -> Result<Self, WatchError> {
        let hints = system::Hints::new()?;
        let ask_at = options.ask.filter(|_| registry.has_far()).map(|_| Instant::now());
        let mut watcher = Self { registry, options, hints, unfinished: false, ask_at };
        watcher.look()?;
        Ok(watcher)
    }

    /// The registry, whose catalog changes with every look.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Waits for a change that makes a difference; nothing when the time is up before there was one.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Delta>, WatchError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if !self.wait(deadline)? {
                return Ok(None);
            }
            let delta = self.look()?;
            if !delta.is_empty() {
                return Ok(Some(delta));
            }
        }
    }

    /// Takes in everything that has happened until now, without waiting.
    pub fn settle(&mut self) -> Result<Delta, WatchError> {
        self.look()
    }

    /// Waits for a hint and then for quiet; false when the time is up without a hint.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, WatchError> {
        if self.unfinished {
            return Ok(true);
        }
        let poll = self.hints.must_poll().then(|| Instant::now() + self.options.poll);
        let poll = poll.into_iter().chain(self.ask_at).min();
        loop {
            let until = match (deadline, poll) {
                (Some(deadline), Some(poll)) => Some(deadline.min(poll)),
                (deadline, poll) => deadline.or(poll),
            };
            if self.hints.wait(until)? {
                break;
            }
            let now = Instant::now();
            if poll.is_some_and(|poll| now >= poll) {
                return Ok(true);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(false);
            }
        }
        let longest = Instant::now() + self.options.longest;
        while Instant::now() < longest && self.hints.wait(Some(Instant::now() + self.options.quiet))? {}
        Ok(true)
    }

    /// Looks again, until every folder that was looked into had been watched before. Where changes never end, what was
    /// seen so far is told after the longest time, and the next look comes at once.
    fn look(&mut self) -> Result<Delta, WatchError> {
        let before = self.registry.catalog();
        let longest = Instant::now() + self.options.longest;
        loop {
            self.hints.drain()?;
            let refreshed = if self.ask_at.is_some_and(|at| at <= Instant::now()) {
                let refreshed = self.registry.refresh();
                self.ask_at = self.options.ask.and_then(|often| Instant::now().checked_add(often));
                refreshed
            } else {
                self.registry.refresh_near()
            };
            let folders: Vec<PathBuf> = self.registry.folders();
            let complete = self.hints.watch(&folders)?;
            self.unfinished = !complete;
            refreshed?;
            if complete || Instant::now() >= longest {
                return Ok(self.registry.catalog().since(&before));
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ffi::{OsStr, OsString};
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use crate::env;

    /// What may change the list of a folder's entries.
    const ENTRIES: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);

    /// What may change what its files say.
    const CONTENTS: WatchFlags = ENTRIES.union(WatchFlags::MODIFY).union(WatchFlags::ATTRIB);

    /// Which entries of a watched folder matter.
    #[derive(Debug)]
    enum Interest {
        All,
        /// Those that lead to a folder further down.
        Names(BTreeSet<OsString>),
    }

    /// What the kernel tells of changes.
    #[derive(Debug)]
    pub(super) struct Hints {
        queue: OwnedFd,
        watched: BTreeMap<i32, Interest>,
        /// The kernel watches no more folders.
        full: bool,
    }

    /// How many links a way may have, as the kernel has it.
    const MAX_LINKS: usize = 40;

    /// Every folder that is passed on the way to a path, and the name that is taken there; links and what they lead
    /// through are a part of it.
    fn way(path: &Path) -> Vec<(PathBuf, OsString)> {
        let mut passed = Vec::new();
        let mut at = PathBuf::from("/");
        let mut links = 0;
        let mut names: Vec<OsString> =
            env::absolute(path).iter().rev().map(std::ffi::OsStr::to_owned).collect();
        while let Some(name) = names.pop() {
            if name == "/" {
                at = PathBuf::from("/");
            } else if name == ".." {
                at.pop();
            } else if name != "." {
                let next = at.join(&name);
                passed.push((at.clone(), name));
                match std::fs::read_link(&next) {
                    Ok(target) if links < MAX_LINKS => {
                        links += 1;
                        names.extend(target.iter().rev().map(std::ffi::OsStr::to_owned));
                    }
                    _ => at = next,
                }
            }
        }
        passed
    }

    impl Hints {
        pub(super) fn new() -> io::Result<Self> {
            let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            Ok(Self { queue, watched: BTreeMap::new(), full: false })
        }

        /// Whether there are folders whose changes are not told.
        pub(super) fn must_poll(&self) -> bool {
            self.full
        }

        /// Waits until something that matters has happened, or until a moment; whether it has.
        pub(super) fn wait(&mut self, until: Option<Instant>) -> io::Result<bool> {
            loop {
                if self.drain()? {
                    return Ok(true);
                }
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(false);
                }
                let time = left.and_then(|left| Timespec::try_from(left).ok());
                match poll(&mut [PollFd::new(&self.queue, PollFlags::IN)], time.as_ref()) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }

        /// Takes what has been told so far; whether any of it matters.
        pub(super) fn drain(&mut self) -> io::Result<bool> {
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut events = inotify::Reader::new(&self.queue, &mut buffer);
            let mut matters = false;
            loop {
                let event = match events.next() {
                    Ok(event) => event,
                    Err(Errno::WOULDBLOCK) => return Ok(matters),
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                let kind = event.events();
                if kind.contains(ReadFlags::IGNORED) {
                    // The folder is gone, and the kernel forgets it.
                    self.watched.remove(&event.wd());
                    continue;
                }
                let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                matters |= match (self.watched.get(&event.wd()), name) {
                    (Some(Interest::Names(names)), Some(name)) => names.contains(name),
                    (Some(_), _) => true,
                    // The queue was too short for all that happened; or a folder that is watched no more.
                    (None, _) => kind.contains(ReadFlags::QUEUE_OVERFLOW),
                };
            }
        }

        /// Watches exactly these folders and the way to them; whether all were watched before.
        pub(super) fn watch(&mut self, folders: &[PathBuf]) -> io::Result<bool> {
            let wanted: BTreeSet<&Path> = folders.iter().map(PathBuf::as_path).collect();
            let mut ways: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
            for folder in &wanted {
                // What lies in a watched folder and is no link is on no way of its own.
                if folder.parent().is_some_and(|above| wanted.contains(above)) && !folder.is_symlink() {
                    continue;
                }
                for (above, name) in way(folder) {
                    ways.entry(above).or_default().insert(name);
                }
            }
            self.full = false;
            let (mut found, mut complete) = (BTreeMap::new(), true);
            for (folder, names) in ways {
                complete &= self.add(&folder, ENTRIES, Interest::Names(names), &mut found)?;
            }
            for folder in wanted {
                complete &= self.add(folder, CONTENTS, Interest::All, &mut found)?;
            }
            for gone in self.watched.keys().filter(|known| !found.contains_key(known)) {
                // It may be gone by itself.
                let _ = inotify::remove_watch(&self.queue, *gone);
            }
            self.watched = found;
            Ok(complete)
        }

        /// Watches a folder; whether it was before, or cannot be.
        fn add(
            &mut self,
            folder: &Path,
            kinds: WatchFlags,
            interest: Interest,
            found: &mut BTreeMap<i32, Interest>,
        ) -> io::Result<bool> {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            match inotify::add_watch(&self.queue, folder, kinds) {
                Ok(watch) => {
                    let known = match self.watched.get(&watch) {
                        Some(Interest::All) => true,
                        Some(Interest::Names(known)) => {
                            matches!(&interest, Interest::Names(names) if names.is_subset(known))
                        }
                        None => false,
                    };
                    match (found.remove(&watch), interest) {
                        (Some(Interest::Names(mut one)), Interest::Names(mut other)) => {
                            one.append(&mut other);
                            found.insert(watch, Interest::Names(one));
                        }
                        (Some(Interest::All), _) | (_, Interest::All) => {
                            found.insert(watch, Interest::All);
                        }
                        (None, names) => {
                            found.insert(watch, names);
                        }
                    }
                    Ok(known)
                }
                Err(Errno::NOSPC | Errno::NOMEM) => {
                    self.full = true;
                    Ok(true)
                }
                // What is not there or may not be looked into tells nothing; what lies above it does.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => {
                    Ok(true)
                }
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Elsewhere it is only looked from time to time.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::PathBuf;
    use std::time::Instant;

    #[derive(Debug)]
    pub(super) struct Hints;

    impl Hints {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn must_poll(&self) -> bool {
            true
        }

        pub(super) fn wait(&mut self, until: Option<Instant>) -> io::Result<bool> {
            if let Some(until) = until {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            Ok(false)
        }

        pub(super) fn drain(&mut self) -> io::Result<bool> {
            Ok(false)
        }

        pub(super) fn watch(&mut self, _: &[PathBuf]) -> io::Result<bool> {
            Ok(true)
        }
    }
}
