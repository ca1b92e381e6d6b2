//! [`CommandError`]: why a command could not do its work, as error, cause and hint.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;

use prowess::env::{self, RelativePath};
use prowess::library::clients;
use prowess::{ConfigError, SourceError, WriteError, plain_cause};
use serde_json::{Value, json};

use crate::commands::hints::trust_command;
use crate::commands::shown;
use crate::report::json::VERSION;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The reader of the output is gone.
    ClosedPipe,
    /// It could not be done, or the command line makes no sense.
    Failed(Failure),
}

/// Something that could not be done, in the words people see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What it is about, when that is a path.
    pub(crate) path: Option<String>,
    /// What could not be done.
    pub(crate) error: String,
    /// Why, each one step deeper.
    pub(crate) causes: Vec<String>,
    /// What to do.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// A failure in these words, with what to do about it.
    pub(crate) fn new(error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: None, error: error.into(), causes: Vec::new(), hints: vec![hint.into()] }
    }

    /// The same with one more cause.
    pub(crate) fn with_cause(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// The failure in the envelope of every JSON output.
    pub(crate) fn json(&self) -> Value {
        let hint = Some(self.hints.join("; ")).filter(|hint| !hint.is_empty());
        json!({
            "version": VERSION,
            "error": { "message": self.error, "causes": self.causes, "hint": hint },
        })
    }

    fn of(error: &dyn Error, path: String, hint: &str) -> Self {
        let mut causes = Vec::new();
        let mut deeper = error.source();
        while let Some(cause) = deeper {
            causes.push(plain_cause(&cause.to_string()));
            deeper = cause.source();
        }
        Self { path: Some(path), error: error.to_string(), causes, hints: vec![hint.to_owned()] }
    }
}

impl From<&SourceError> for Failure {
    fn from(error: &SourceError) -> Self {
        let hint = in_project(error, None).unwrap_or_else(|| error.hint().into_owned());
        Self::of(error, shown(error.path()), &hint)
    }
}

impl From<&ConfigError> for Failure {
    fn from(error: &ConfigError) -> Self {
        let hint = of_config(error).unwrap_or_else(|| error.hint().into_owned());
        Self::of(error, shown(error.path()), &hint)
    }
}

fn of_config(error: &ConfigError) -> Option<String> {
    match error {
        ConfigError::Read(read) => in_project(read, error.path().parent()),
        ConfigError::Content { .. } => None,
    }
}

/// What to do when trust in a project is what is missing: the folder is named, since a command may run below it.
fn in_project(error: &SourceError, from: Option<&Path>) -> Option<String> {
    let more = match error {
        SourceError::Config(error) => return of_config(error),
        SourceError::Entry { error, .. } => return in_project(error, from),
        SourceError::OutsideProject { .. } | SourceError::NotAsked { .. } => "",
        SourceError::ProjectTooLarge { .. } => "; or name the folders you want with --in",
        _ => return None,
    };
    let from = from.map_or_else(|| env::absolute(Path::new(".")), Path::to_owned);
    Some(format!("trust the project's folder with: {}{more}", trust_command(clients::project(&from))))
}

impl From<&RelativePath> for Failure {
    fn from(error: &RelativePath) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}

impl From<&WriteError> for Failure {
    fn from(error: &WriteError) -> Self {
        Self::of(error, shown(error.path()), error.hint())
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<SourceError> for CommandError {
    fn from(error: SourceError) -> Self {
        Self::Failed(Failure::from(&error))
    }
}

impl CommandError {
    /// The error of writing results.
    pub(crate) fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        let failure = Failure::new("could not write the result", "look at where the output goes");
        Self::Failed(failure.with_cause(plain_cause(&error.to_string())))
    }

    /// The error of reading standard input.
    pub(crate) fn reading_input(error: &io::Error) -> Self {
        let failure =
            Failure::new("could not read standard input", "pipe a SKILL.md into it, or name a path");
        Self::Failed(failure.with_cause(plain_cause(&error.to_string())))
    }
}
