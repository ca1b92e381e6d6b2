//! [`Loss`]: a path that a command replaces or removes although no record describes what is there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::edits::named;
use crate::error::shown;
use crate::install::change::Change;
use crate::install::compare::{FileChange, Listing, changes, made_by_users};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::LockedSkill;
use crate::install::target::{State, manifest_of};
use crate::registry::digests;

/// How many entries of a folder that has no digest are compared.
const MAX_ENTRIES: usize = 100_000;

/// A path that is replaced or removed although it was edited or not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The path.
    pub path: PathBuf,
    /// Its files that differ from what was installed; all its files when that is not known. None of a link, or of
    /// something that cannot be listed.
    pub files: Vec<(String, FileChange)>,
    /// Differs after anything in it has changed.
    mark: String,
}

impl Loss {
    pub(in crate::install) fn of(
        path: PathBuf,
        there: &State,
        installed: Option<&LockedSkill>,
        listing: Listing<'_>,
    ) -> Self {
        let mark = match there {
            State::Tree(digest) => digest.to_string(),
            State::Link(to) => format!("link {to}"),
            State::Other => entries_of(&path),
        };
        let files = match (there, manifest_of(&path)) {
            (State::Link(_), _) | (_, Err(_)) => Vec::new(),
            (_, Ok(there)) => {
                let before = installed.and_then(|locked| listing(locked.digest?)).unwrap_or_default();
                made_by_users(changes(&before, &there), &path)
            }
        };
        Self { path, files, mark }
    }
}

/// An error when something would be lost that the user was not shown.
pub(super) fn check_shown(done: &[Change], shown_before: &[Loss]) -> Result<(), InstallError> {
    let mut losses = done.iter().flat_map(|change| &change.replaced);
    let Some(new) = losses.find(|loss| !shown_before.contains(loss)) else { return Ok(()) };
    let before = shown_before.iter().find(|loss| loss.path == new.path).map_or(&[][..], |loss| &loss.files);
    let late: Vec<_> = new.files.iter().filter(|file| !before.contains(file)).cloned().collect();
    // A file that was shown may have changed once more.
    let files = named(if late.is_empty() { new.files.clone() } else { late });
    let message = format!("this changed after you were asked: {}{files}", shown(&new.path));
    let hint = "nothing was changed; look at it, then run the command again";
    Err(InstallError::new(InstallErrorKind::NotShown, message, hint))
}

/// A digest over the names, sizes and times of everything below a path.
fn entries_of(path: &Path) -> String {
    let (mut lines, mut left) = (String::new(), vec![path.to_owned()]);
    for _ in 0..MAX_ENTRIES {
        let Some(path) = left.pop() else { break };
        let _ = write!(lines, "{}\0", path.to_string_lossy());
        if let Ok(metadata) = path.symlink_metadata() {
            let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let _ = writeln!(lines, "{} {:?}", metadata.len(), changed);
            if metadata.is_dir() {
                let below = std::fs::read_dir(&path).into_iter().flatten().flatten();
                let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
                below.sort();
                left.extend(below);
            }
        }
    }
    digests::of_bytes(lines.as_bytes()).to_string()
}
