//! Notifications of the Linux kernel about changes in folders.

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

/// Events that may change the list of a folder's entries.
const ENTRIES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// Events that may change the contents of its files.
const CONTENTS: WatchFlags = ENTRIES.union(WatchFlags::MODIFY).union(WatchFlags::ATTRIB);

/// Which entries of a watched folder matter.
#[derive(Debug)]
enum Interest {
    All,
    /// Only those on the path to a folder further down.
    Names(BTreeSet<OsString>),
}

/// A queue of notifications.
#[derive(Debug)]
pub(super) struct Hints {
    queue: OwnedFd,
    watched: BTreeMap<i32, Interest>,
    /// Whether the kernel refuses to watch more folders.
    full: bool,
}

/// The maximum number of links in a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Every folder on the path to a target, with the name of the next entry in it. Links are resolved, and the folders on
/// the way to their targets are included.
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

    /// Whether there are folders without notifications.
    pub(super) fn must_poll(&self) -> bool {
        self.full
    }

    /// Waits for a change that matters, or until a point in time. Returns whether there was one.
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

    /// Takes all notifications so far. Returns whether one of them matters.
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
                // The folder is gone, and the kernel has removed the watch.
                self.watched.remove(&event.wd());
                continue;
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            matters |= match (self.watched.get(&event.wd()), name) {
                (Some(Interest::Names(names)), Some(name)) => names.contains(name),
                (Some(_), _) => true,
                // The queue overflowed, or the folder is no longer watched.
                (None, _) => kind.contains(ReadFlags::QUEUE_OVERFLOW),
            };
        }
    }

    /// Watches exactly these folders and the paths to them. Returns whether all were watched already.
    pub(super) fn watch(&mut self, folders: &[PathBuf]) -> io::Result<bool> {
        let wanted: BTreeSet<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let mut ways: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
        for folder in &wanted {
            // A folder in a watched folder needs no path of its own, unless it is a link.
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
            // The kernel may have removed it already.
            let _ = inotify::remove_watch(&self.queue, *gone);
        }
        self.watched = found;
        Ok(complete)
    }

    /// Watches a folder. Returns whether it was watched already, or cannot be.
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
            // A folder that is missing or unreadable sends no notifications, but the one above it does.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
