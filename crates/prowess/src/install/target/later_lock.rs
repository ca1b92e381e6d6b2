//! [`LaterLock`]: a `skills.lock` that another user wrote after an installation was interrupted.
//!
//! Another user, or the same one with another folder of state, does not see the journal, and may have recorded what the
//! interrupted installation had already installed. That must not be undone.

use super::journal::{Journal, State, Step};
use super::steps::text_of;
use crate::fs::parsed::ParsedLimits;
use crate::install::records::{LOCK_FILE, SkillsLock};

/// The lock as it is now, if it has neither the text before nor the text after an interrupted installation.
#[derive(Debug, Default)]
pub(super) struct LaterLock(Option<SkillsLock>);

impl LaterLock {
    /// Reads the lock that a journal would write. One that cannot be read names nothing.
    pub(super) fn of(journal: &Journal) -> Self {
        let is_lock = |path: &std::path::Path| path.file_name().is_some_and(|name| name == LOCK_FILE);
        let Some(step) = journal.files.iter().find(|file| is_lock(&file.path)) else {
            return Self::default();
        };
        let bytes = text_of(&step.path).ok().flatten();
        let bytes =
            bytes.filter(|bytes| ParsedLimits::of(step.within.as_deref()).check(bytes, &step.path).is_ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let later = text.filter(|text| step.before.as_ref() != Some(text) && step.after != *text);
        Self(later.and_then(|text| SkillsLock::parse(&text, &step.path).ok()))
    }

    /// Whether the result of a step is what the lock says by now.
    pub(super) fn has(&self, step: &Step) -> bool {
        let Some(lock) = &self.0 else { return false };
        match (&step.after, lock.get(&step.name)) {
            (Some(State::Tree(digest)), Some(locked)) => Some(*digest) == locked.digest,
            (Some(State::Link(_)), Some(_)) | (None, None) => true,
            _ => false,
        }
    }
}
