//! Files of Prowess itself that it believes: approvals, journals, logs, caches, and the user's configuration. Only what
//! this user or root wrote is read, from folders that no other user can change.
//!
//! Each of them is below a root: the folder of Prowess in the user's state, caches or configuration, or one that a host
//! gives. The folders in it are ours, and so are the roots of the user: they are closed to other users. A root of a host
//! keeps its mode, and is not believed if other users can write in it. Folders above a root may be shared.

#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::read;
use super::set_aside::set_aside_name;
use crate::advice::Hint;
use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind, shown};

/// The most notes that wait to be said, in a host that never asks for them.
const MAX_NOTES: usize = 100;

/// What the user should know, until it is said.
static NOTES: Mutex<Vec<StateNote>> = Mutex::new(Vec::new());

/// Something about the files of Prowess itself that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateNote {
    /// What was ignored or changed.
    pub text: String,
    /// What to do about it.
    pub hint: Option<Hint>,
}

/// What was ignored or changed since the last call, each once.
pub fn state_notes() -> Vec<StateNote> {
    std::mem::take(&mut *NOTES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Notes an error about something that is not believed.
pub(crate) fn note_ignored(error: &SourceError) {
    note(error.to_string(), Some(error.hint()));
}

/// Notes something that was ignored or changed.
pub(crate) fn note(text: String, hint: Option<Hint>) {
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    add(&mut notes, StateNote { text, hint });
}

/// Adds a note unless it is there. In place of those that are too many, one says that there are more.
fn add(notes: &mut Vec<StateNote>, note: StateNote) {
    if notes.contains(&note) {
        return;
    }
    match notes.len() {
        len if len < MAX_NOTES => notes.push(note),
        MAX_NOTES => {
            let text = "there is more that was ignored or changed of the files of prowess".to_owned();
            notes.push(StateNote { text, hint: None });
        }
        _ => {}
    }
}

/// Reads a file below a root. One that is not believed counts as missing, and this is noted.
#[cfg(any(test, feature = "http", feature = "install"))]
pub(crate) fn read(root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    or_missing(read_judged(root, file, limit))
}

/// Reads a file below a root. One that is not believed is an error: [`SourceErrorKind::Distrusted`].
pub(crate) fn read_judged(root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    read::read_whole(open(root, file)?, file, limit)
}

/// Reads a cache in a folder that is not ours, or below a root that [`may_cache`] closed: only the file is judged.
pub(crate) fn read_cached(file: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    or_missing(open_cached(file).and_then(|open| read::read_whole(open, file, limit)))
}

/// Counts what is not believed as missing, and notes it.
pub(crate) fn or_missing<T>(read: Result<T, SourceError>) -> Result<T, SourceError> {
    read.map_err(|error| match error.kind {
        SourceErrorKind::Distrusted { .. } => {
            note_ignored(&error);
            SourceErrorKind::Missing.at_location(error.at)
        }
        _ => error,
    })
}

/// Gives a file below a root another name if it is not believed, and notes the name, so that it is not overwritten.
pub(crate) fn set_aside(root: &Path, file: &Path) -> io::Result<()> {
    let Err(SourceError { kind: SourceErrorKind::Distrusted { why }, .. }) = open(root, file) else {
        return Ok(());
    };
    let kept = set_aside_name(file);
    std::fs::rename(file, &kept)?;
    let text = format!("set aside, since {why}, as {}: {}", shown(&kept), shown(file));
    note(text, Some("look at it; then remove it, or take what you need from it".into()));
    Ok(())
}

/// The variables and the defaults of the folders that have a folder of Prowess.
const ROOTS: [(&str, &str); 3] =
    [("XDG_STATE_HOME", ".local/state"), ("XDG_CACHE_HOME", ".cache"), ("XDG_CONFIG_HOME", ".config")];

/// Closes the user's folders of Prowess to other users, as far as they exist.
pub fn close_roots(environment: &Environment) {
    for root in ROOTS.iter().filter_map(|(variable, default)| environment.xdg(variable, default)) {
        let root = root.join("prowess");
        // One that is not believed is reported with what is not read in it.
        let _ = enter(&root, &root, Want::Closed);
    }
}

/// Whether the user's folder of caches is believed, or does not exist. It is closed to other users.
pub(crate) fn may_cache(root: &Path) -> bool {
    is_believed(root, root, Want::Closed)
}

/// Whether a folder below a root is believed, or does not exist.
#[cfg(feature = "install")]
pub(crate) fn may_use(root: &Path, folder: &Path) -> bool {
    is_believed(root, folder, Want::Look)
}

/// An error unless a folder below a root is believed, or does not exist.
#[cfg(feature = "install")]
pub(crate) fn check_folder(root: &Path, folder: &Path) -> io::Result<()> {
    match enter(root, folder, Want::Look) {
        Err(Refusal::Io(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Err(Refusal::Distrusted(why)) => Err(why.denied(folder)),
        _ => Ok(()),
    }
}

fn is_believed(root: &Path, folder: &Path, want: Want) -> bool {
    let Err(Refusal::Distrusted(why)) = enter(root, folder, want) else { return true };
    note_ignored(&SourceErrorKind::Distrusted { why: why.of_folder() }.at(folder));
    false
}

/// What a folder is entered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has owners and modes"))]
enum Want {
    /// To read a file in it.
    Look,
    /// To write in it. Folders that are missing are created.
    Made,
    /// To close it: it is a root of the user.
    Closed,
}

/// Creates a folder and those above it, for this user alone. Below a root, each folder must be one that is believed.
/// Returns the new ones, the innermost first.
pub(crate) fn make_folder(root: Option<&Path>, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    let Some(root) = root else {
        private_folders(folder)?;
        return Ok(missing);
    };
    match enter(root, folder, Want::Made) {
        Ok(_) => Ok(missing),
        Err(Refusal::Io(error)) => Err(error),
        Err(Refusal::Distrusted(why)) => Err(why.denied(folder)),
    }
}

fn private_folders(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// What keeps this user from a file of Prowess itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Something belongs to another user.
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
        /// The number of this user.
        user: u32,
    },
    /// The permissions of this file or folder, which belongs to this user.
    Mode(PathBuf),
}

/// What something on the way to a file of Prowess itself is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// To open what is in this folder.
    Pass,
    /// To write in this folder.
    Write,
    /// To read this file. It is written by a new one that takes its place.
    Read,
    /// To take this lock, whose mode is set.
    Lock,
}

/// What keeps this user from a file or folder below a root: the first folder on the way, the file, or its lock. None when
/// owners and permissions do not show it.
pub fn denied(root: &Path, file: &Path) -> Option<Denied> {
    let below = file.strip_prefix(root).ok()?;
    let is_folder = file.is_dir();
    let mut way = vec![root.to_owned()];
    for part in below {
        way.push(way.last()?.join(part));
    }
    way.push(file.with_extension("lock"));
    way.into_iter().find_map(|path| {
        let need = match () {
            () if path == *file && is_folder || Some(&*path) == file.parent() && !is_folder => Need::Write,
            () if path.extension().is_some_and(|end| end == "lock") => Need::Lock,
            () if path == *file => Need::Read,
            () => Need::Pass,
        };
        keeps_out(path, need)
    })
}

/// What keeps this user from reading a file or folder: itself, or a folder above it. None when owners and permissions do not
/// show it.
pub fn closed(path: &Path) -> Option<Denied> {
    let reached = path.ancestors().find(|path| path.metadata().is_ok())?;
    let need = if reached.is_dir() { Need::Pass } else { Need::Read };
    if is_denied(reached, need) { Some(by_owner(reached.to_owned())) } else { None }
}

/// Why a file or folder is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has owners and modes"))]
enum Why {
    /// Another user owns the file.
    Owner,
    /// Others can write the file.
    Writable,
    /// Another user owns a folder.
    Folder,
    /// Others can write in a folder.
    Open,
    /// Another user made a symlink.
    Link,
    /// Others can put another symlink in the place of this one.
    Replaceable,
}

impl Why {
    /// The reason for a file.
    fn of_file(self) -> &'static str {
        match self {
            Self::Owner => "it belongs to another user",
            Self::Writable => "other users can write it",
            Self::Folder => "its folder belongs to another user",
            Self::Open => "other users can write in its folder",
            Self::Link => "it is reached by a symlink of another user",
            Self::Replaceable => "it is reached by a symlink that other users can replace",
        }
    }

    /// The error for a folder.
    fn denied(self, folder: &Path) -> io::Error {
        let reason = format!("{}: {}", self.of_folder(), shown(folder));
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    }

    /// The reason for a folder.
    fn of_folder(self) -> &'static str {
        match self {
            Self::Folder => Self::Owner.of_file(),
            Self::Open => "other users can write in it",
            other => other.of_file(),
        }
    }
}

/// Why something could not be opened.
#[derive(Debug)]
enum Refusal {
    Distrusted(Why),
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

#[cfg(unix)]
pub(crate) use unix::open_cached;
#[cfg(unix)]
use unix::{by_owner, enter, is_denied, keeps_out, open};
#[cfg(all(unix, feature = "install"))]
pub(crate) use unix::{check_owner, check_writable};

#[cfg(not(unix))]
fn keeps_out(_: PathBuf, _: Need) -> Option<Denied> {
    None
}

#[cfg(not(unix))]
fn is_denied(_: &Path, _: Need) -> bool {
    false
}

#[cfg(not(unix))]
fn by_owner(path: PathBuf) -> Denied {
    Denied::Mode(path)
}

/// An error unless this user may write in a folder.
#[cfg(all(not(unix), feature = "install"))]
pub(crate) fn check_writable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// An error unless this user may change the mode of an open file.
#[cfg(all(not(unix), feature = "install"))]
pub(crate) fn check_owner(_: &File) -> io::Result<()> {
    Ok(())
}

/// Opens a file below a root, if it is believed.
#[cfg(not(unix))]
fn open(_: &Path, file: &Path) -> Result<File, SourceError> {
    read::open_regular(file)
}

/// Opens a file, if its owner is believed.
#[cfg(not(unix))]
pub(crate) fn open_cached(file: &Path) -> Result<File, SourceError> {
    read::open_regular(file)
}

#[cfg(not(unix))]
fn enter(_: &Path, folder: &Path, want: Want) -> Result<(), Refusal> {
    if want == Want::Made {
        private_folders(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_are_too_many_are_counted_as_more() {
        let mut notes = Vec::new();
        for number in 0..MAX_NOTES + 5 {
            add(&mut notes, StateNote { text: number.to_string(), hint: None });
        }
        assert_eq!(notes.len(), MAX_NOTES + 1);
        assert!(notes.last().is_some_and(|note| note.text.starts_with("there is more")));
    }
}
