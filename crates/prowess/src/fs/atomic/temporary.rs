//! Temporary files and folders: their hidden names, and their removal.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::folder_of;
use crate::fs::removal::remove_tree;

/// A temporary file or folder, which is removed when this is dropped. After a rename there is nothing to remove.
///
/// Its handle holds a lock while it is in use. One without a lock was left behind by a process that was killed, and the
/// next process that writes to the folder removes it.
pub(super) struct Temporary {
    pub(super) path: PathBuf,
}

/// How the name of a temporary file begins and ends.
const UNFINISHED: (&str, &str) = (".prowess-", ".tmp");
/// The maximum number of entries of a folder that are searched for temporary files.
const MAX_SWEPT: usize = 10_000;

/// How the name of a folder ends in which an installation stages skills.
const STAGE: &str = ".stage";

/// Whether this is the name of something unfinished, which is never a file of a skill.
pub(crate) fn is_temporary(name: &str) -> bool {
    is_unfinished(name, UNFINISHED.1) || is_stage(name)
}

/// Whether this is the name of a staging folder. A journal may still need it, so only an installation removes it.
pub(crate) fn is_stage(name: &str) -> bool {
    is_unfinished(name, STAGE)
}

fn is_unfinished(name: &str, end: &str) -> bool {
    let number = name.strip_prefix(UNFINISHED.0).and_then(|rest| rest.strip_suffix(end));
    let number = number.filter(|number| !number.is_empty());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'))
}

impl Temporary {
    /// A new temporary file beside a path, and its handle.
    pub(super) fn file(path: &Path, options: &mut fs::OpenOptions) -> io::Result<(Self, File)> {
        Self::new(path, |path| options.create_new(true).open(path), |file| file.lock().is_ok())
    }

    /// A new temporary folder beside a path, and the handle that locks it.
    pub(super) fn folder(path: &Path) -> io::Result<(Self, Option<File>)> {
        let open = |path: &Path| fs::create_dir(path).map(|()| File::options().read(true).open(path).ok());
        Self::new(path, open, |handle| handle.as_ref().is_some_and(|handle| handle.lock().is_ok()))
    }

    fn new<H>(
        path: &Path,
        mut make: impl FnMut(&Path) -> io::Result<H>,
        lock: impl Fn(&H) -> bool,
    ) -> io::Result<(Self, H)> {
        let folder = folder_of(path);
        sweep(folder);
        loop {
            let path = folder.join(unused_name());
            let handle = make(&path)?;
            let temporary = Self { path };
            // Another process may have removed it before it was locked. Where there are no locks, nothing is removed.
            if !lock(&handle) || temporary.path.symlink_metadata().is_ok() {
                return Ok((temporary, handle));
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    let _ = remove_tree(path);
}

/// A hidden name that no other process guesses or uses.
pub(crate) fn unused_name() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(std::process::id());
    format!("{}{random:016x}{}", UNFINISHED.0, UNFINISHED.1)
}

/// The name of a new staging folder.
#[cfg(feature = "install")]
pub(crate) fn unused_stage_name() -> String {
    unused_name().replace(UNFINISHED.1, STAGE)
}

/// Removes temporary files in a folder whose process was killed.
pub fn sweep(folder: &Path) {
    each_abandoned(folder, remove);
}

/// The temporary files in a folder whose process was killed.
pub fn abandoned(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    each_abandoned(folder, |path| found.push(path.to_owned()));
    found.sort();
    found
}

/// Calls a function with each temporary file whose process was killed, while the lock on the file is held.
fn each_abandoned(folder: &Path, mut call: impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().take(MAX_SWEPT).flatten() {
        if !entry.file_name().to_str().is_some_and(|name| is_unfinished(name, UNFINISHED.1)) {
            continue;
        }
        let kind = entry.file_type();
        // A link or a device of that name is not ours, and opening it may have an effect.
        if !kind.is_ok_and(|kind| kind.is_file() || kind.is_dir()) {
            continue;
        }
        // Something else may be there by now, so the open file is checked again.
        let ours = |left: &File| left.metadata().is_ok_and(|left| left.is_file() || left.is_dir());
        if let Ok(left) = open_without_waiting(&entry.path())
            && ours(&left)
            && left.try_lock().is_ok()
        {
            call(&entry.path());
        }
    }
}

/// Opens a path unless it is a link, without blocking on a FIFO.
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}
