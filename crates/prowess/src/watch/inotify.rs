//! What the Linux kernel says of changes in folders.

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
    let mut names: Vec<OsString> = env::absolute(path).iter().rev().map(std::ffi::OsStr::to_owned).collect();
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
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
