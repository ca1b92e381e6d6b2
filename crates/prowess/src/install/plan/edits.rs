//! Edits that a command would lose and names that it does not know, as errors.

use prowess_core::internal::did_you_mean;
use prowess_core::text::similar;

use super::ApplyOptions;
use crate::advice::{Hint, HintAction};
use crate::error::{first_of, shown};
use crate::install::compare::{Difference, FileChange, edits_of};
use crate::install::error::{About, InstallError, InstallErrorKind};
use crate::install::records::{InstallTarget, LockedSkill, SkillsLock};
use crate::install::target::manifest_of;

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
