//! What could not be read: in words, as JSON, and in the exit code.

use std::error::Error as _;
use std::sync::Arc;

use prowess::client::Fact;
use prowess::library::clients::Client;
use prowess::{Registry, SourceError, SourceErrorKind};
use serde::Serialize;

use crate::Outcome;
use crate::error::Failure;
use crate::ui::Ui;

/// Reports what could not be read, and what is not known about the client whose view a registry has.
pub(super) fn say_problems(registry: &Registry, ui: &mut Ui) {
    for failure in failures(registry) {
        ui.failure(&failure);
    }
    if let Some(client) = registry.client() {
        say_unverified([client], ui);
    }
}

/// What could not be read, in words.
pub(super) fn failures(registry: &Registry) -> Vec<Failure> {
    problems(registry).iter().map(|problem| failure(problem, registry)).collect()
}

/// Says of which clients only the folders are known.
pub(super) fn say_unverified(clients: impl IntoIterator<Item = &'static Client>, ui: &mut Ui) {
    let unverified = clients.into_iter().filter(|client| client.reads().checked.is_none());
    let names: Vec<&str> = unverified.map(|client| client.name).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        ui.note(&format!("{names}: folders only, not verified; taken to read as Prowess does"));
    }
}

/// What could not be read and matters. A link that the client does not follow does not.
fn problems(registry: &Registry) -> Vec<Arc<SourceError>> {
    let mut problems = registry.problems();
    let follows = |client: &Client| !client.reads().refuses.has(Fact::LinkedFolder);
    if !registry.client().is_none_or(follows) {
        let is_root = |problem: &SourceError| registry.labels().any(|label| problem.at == *label);
        problems
            .retain(|problem| !matches!(problem.kind, SourceErrorKind::OutsideProject) || is_root(problem));
    }
    problems
}

/// A problem in words. What a client does and what Prowess withholds are told apart.
pub(super) fn failure(problem: &SourceError, registry: &Registry) -> Failure {
    let failure = Failure::from(problem);
    match (&problem.kind, registry.client()) {
        (SourceErrorKind::OutsideProject, Some(client)) => failure.with_cause(format!(
            "{} follows links; Prowess does not, out of a project that is not trusted",
            client.name
        )),
        _ => failure,
    }
}

/// The outcome of a command that opened the library: what could not be read may be what the user asked for.
pub(super) fn ended(outcome: Outcome, registry: &Registry) -> Outcome {
    if problems(registry).is_empty() { outcome } else { Outcome::Incomplete }
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
        let of = |problem: &Arc<SourceError>| Self {
            cause: failure(problem, registry).causes.into_iter().next(),
            ..Self::of(problem)
        };
        problems(registry).iter().map(of).collect()
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
