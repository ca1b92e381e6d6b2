//! [`Given`]: what a source in JavaScript listed last, as a source of the library.
//!
//! JavaScript lists its sources and reads every SKILL.md before a refresh, and reads other files itself. So no thread of
//! the addon waits for a callback.

use std::sync::{Mutex, MutexGuard, PoisonError};

use prowess_native::{ForeignError, ForeignSource, Listed};
use serde_json::Value;

/// What a source listed: its skills, or why it could not list them.
pub(crate) type Answer = Result<Vec<Listed>, ForeignError>;

/// The last answer of a source in JavaScript.
pub(crate) struct Given(Mutex<Answer>);

impl Given {
    pub(crate) fn new(answer: Answer) -> Self {
        Self(Mutex::new(answer))
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the answer.
    pub(crate) fn fill(&self, answer: Answer) {
        *self.answer() = answer;
    }
}

impl ForeignSource for Given {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        self.answer().clone()
    }

    fn files(&self, _: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        Ok(None)
    }

    fn read(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        let text = |skill: &Listed| skill.text.clone().filter(|_| path == "SKILL.md");
        let answer = self.answer();
        Ok(answer.iter().flatten().find(|skill| skill.id == id).and_then(text))
    }
}
