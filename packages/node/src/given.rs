//! [`Given`]: what a source in JavaScript listed last, as a source of the library.
//!
//! JavaScript lists its sources and reads every SKILL.md before a refresh, and reads other files itself. So no thread of
//! the addon waits for a callback.

use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_native::{ForeignError, ForeignSource, Listed};
use serde_json::Value;

/// The skills of a source in JavaScript.
#[derive(Default)]
pub(crate) struct Given(Mutex<Vec<Listed>>);

impl Given {
    fn skills(&self) -> MutexGuard<'_, Vec<Listed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the skills.
    pub(crate) fn fill(&self, skills: Vec<Listed>) {
        *self.skills() = skills;
    }
}

impl ForeignSource for Given {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        Ok(self.skills().clone())
    }

    fn files(&self, _: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        Ok(None)
    }

    fn read(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        let text = |skill: &Listed| skill.text.clone().filter(|_| path == "SKILL.md");
        Ok(self.skills().iter().find(|skill| skill.id == id).and_then(text))
    }
}
