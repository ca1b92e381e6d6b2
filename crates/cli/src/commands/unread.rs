//! What could not be read: in words, as JSON, and in the exit code.

use std::error::Error as _;

use prowess::{Registry, SourceError};
use serde::Serialize;

use crate::Outcome;
use crate::error::Failure;
use crate::ui::Ui;

/// Reports what could not be read.
pub(super) fn say_problems(registry: &Registry, ui: &mut Ui) {
    for problem in registry.problems() {
        ui.failure(&Failure::from(&*problem));
    }
}

/// The outcome of a command that opened the library: what could not be read may be what the user asked for.
pub(super) fn ended(outcome: Outcome, registry: &Registry) -> Outcome {
    if registry.problems().is_empty() { outcome } else { Outcome::Incomplete }
}

/// A file or folder that could not be read.
#[derive(Serialize)]
pub(super) struct Unread {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    hint: String,
}

impl Unread {
    /// Everything that could not be read at the last refresh.
    pub(super) fn all(registry: &Registry) -> Vec<Self> {
        registry.problems().iter().map(|problem| Self::of(problem)).collect()
    }

    /// One of them.
    pub(super) fn of(error: &SourceError) -> Self {
        Self {
            error: error.to_string(),
            cause: error.source().map(ToString::to_string),
            hint: Failure::from(error).hints.join("; "),
        }
    }
}
