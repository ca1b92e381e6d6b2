//! [`Loss`]: a path that a command replaces or removes although no record describes what is there. Edits that would be lost,
//! and names that a command does not know, as errors.

use std::path::PathBuf;

use prowess_core::Digest;
use prowess_core::internal::did_you_mean;
use prowess_core::text::similar;

use super::ApplyOptions;
use super::change::Change;
use crate::advice::{Hint, HintAction};
use crate::error::{first_of, shown};
use crate::install::apply::{State, manifest_of, mark_of};
use crate::install::error::{About, InstallError, InstallErrorKind};
use crate::install::records::{InstallTarget, LockedSkill, SkillsLock};
use crate::install::verify::compare::{Difference, FileChange, Listing, changes_at, edits_of};

/// How many changed files an error names.
const MAX_NAMED: usize = 5;

/// The error for edits that would be lost.
pub(super) fn edited(how: &ApplyOptions<'_>, old: &LockedSkill) -> InstallError {
    let path = how.place.skill(&old.name);
    if let Some(error) = InstallError::mounted_in(&path) {
        return error;
    }
    let hint = "keep the edits, or overwrite them";
    let failed = |message: String| InstallError::new(InstallErrorKind::Edited, message, hint);
    if let Ok(to) = std::fs::read_link(&path) {
        failed(format!(
            "this skill was replaced by a link after it was installed: {} to {}",
            shown(&path),
            shown(&to)
        ))
    } else {
        match manifest_of(&path) {
            Err(error) => {
                let reason = error.full_message();
                failed(format!(
                    "this skill cannot be compared with what was installed: {}: {reason}",
                    old.name
                ))
            }
            Ok(there) => {
                let edits = Difference::of(&path, &there, old.digest, how.listing).files();
                let edits = format!("{}{}", shown(&path), named(edits.unwrap_or_default()));
                failed(format!("this skill was edited after it was installed: {edits}"))
                    .about(About::Edits(edits))
            }
        }
    }
}

/// The error for a skill that the lock does not have and that may have been edited, so that its files would be lost.
pub(super) fn edited_unlocked(how: &ApplyOptions<'_>, old: &LockedSkill) -> InstallError {
    let path = how.place.skill(&old.name);
    if let Some(error) = InstallError::mounted_in(&path) {
        return error;
    }
    let edits = edits_of(&path, old.digest, how.listing);
    let what = match edits {
        Some(_) => "this skill was edited after it was installed, and skills.lock does not have it",
        None => "skills.lock does not have this skill, so it is not known whether it was edited",
    };
    let message = format!("{what}: {}{}", shown(&path), named(edits.unwrap_or_default()));
    InstallError::new(InstallErrorKind::Taken, message, "keep its files, or delete them")
}

/// One error for all edited skills; none when there are none.
pub(super) fn all_edited(mut errors: Vec<InstallError>) -> Option<InstallError> {
    if errors.len() < 2 {
        return errors.pop();
    }
    let edits = |error: &InstallError| match error.subject() {
        Some(About::Edits(edits)) => edits.clone(),
        _ => error.to_string(),
    };
    let each: Vec<String> = errors.iter().map(edits).collect();
    let message = format!("{} skills were edited after they were installed: {}", each.len(), each.join("; "));
    Some(InstallError::new(InstallErrorKind::Edited, message, "keep the edits, or overwrite them"))
}

/// The first of some changed files, as the end of a message.
pub(super) fn named(files: Vec<(String, FileChange)>) -> String {
    let names = first_of(files.iter().map(|(path, _)| path), MAX_NAMED);
    if names.is_empty() { names } else { format!(": {names}") }
}

/// The error for a name that no installed skill has.
pub(crate) fn unknown(place: &InstallTarget, name: &str, lock: &SkillsLock) -> InstallError {
    let all = || lock.skills().iter().map(|skill| &*skill.name);
    let names: Vec<&str> = all().take(MAX_NAMED + 1).collect();
    let hint = if let Some(meant) = did_you_mean(&similar(name, all())) {
        meant.into()
    } else if names.is_empty() {
        let nothing = format!("nothing is installed for this {}; ", place.scope.word());
        Hint::from(HintAction::ListInstalled { elsewhere: true }).before(nothing)
    } else if names.len() > MAX_NAMED {
        HintAction::ListInstalled { elsewhere: false }.into()
    } else {
        format!("installed are: {}", names.join(", ")).into()
    };
    let message = format!("no skill of this name is installed for this {}: {name}", place.scope.word());
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// A path that is replaced or removed although it was edited or not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The path.
    pub path: PathBuf,
    /// Its files that differ from what was installed; all its files when that is not known. A folder with a `/` behind its
    /// path is lost as a whole: a repository of git, or a folder whose files cannot be listed. An empty path is that of
    /// the loss itself, which is a file. None of a link.
    pub files: Vec<(String, FileChange)>,
    /// Differs after anything in it has changed.
    mark: Digest,
}

impl Loss {
    /// What is lost of what is at a path, where files with the digest `installed` were placed, if any were.
    pub(in crate::install) fn of(
        path: PathBuf,
        there: &State,
        installed: Option<Digest>,
        listing: Listing<'_>,
    ) -> Self {
        let files = match there {
            State::Link(_) => Vec::new(),
            _ if !path.is_dir() => vec![(String::new(), FileChange::Changed)],
            _ => changes_at(&path, &installed.and_then(listing).unwrap_or_default()),
        };
        Self { mark: mark_of(&path, there), path, files }
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
