//! [`CommandError`]: why a command could not do its work, as error, cause and hint.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use prowess::env::RelativePath;
use prowess::internal::{
    ConfigSetError, ConnectionError, EditedFileError, UnknownKey, WriteError, plain_cause, shown_address,
};
use prowess::{ConfigError, Location, LookupError, SourceError};
use serde_json::{Value, json};

use crate::commands::hints;
use crate::commands::shown;
use crate::report::json::VERSION;
use crate::ui::Text;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The reader of the output is gone.
    ClosedPipe,
    /// A file that should be up to date is not: a problem that was found, like those of `check` and `verify`.
    OutOfDate(Failure),
    /// It could not be done, or the command line is wrong.
    Failed(Failure),
}

/// Something that could not be done, as the user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The code of the library's error.
    pub(crate) code: &'static str,
    /// What it is about, when that is a path.
    pub(crate) path: Option<String>,
    /// What could not be done.
    pub(crate) error: String,
    /// Why, each one step deeper.
    pub(crate) causes: Vec<String>,
    /// What to do.
    pub(crate) hints: Vec<Hint>,
}

/// What to do, as the user reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) text: Text,
    /// The code of the library's action in it.
    pub(crate) action: Option<&'static str>,
}

impl Hint {
    /// With words after all others.
    pub(crate) fn after(mut self, words: &str) -> Self {
        self.text = self.text.words(words);
        self
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(to)
    }
}

impl<T: Into<Text>> From<T> for Hint {
    fn from(text: T) -> Self {
        Self { text: text.into(), action: None }
    }
}

impl Failure {
    /// A failure with this message and hint.
    pub(crate) fn new(error: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { code: "failed", path: None, error: error.into(), causes: Vec::new(), hints: vec![hint.into()] }
    }

    /// The same with one more cause.
    pub(crate) fn with_cause(mut self, cause: impl Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// The failure and its causes in one sentence, for a log.
    pub(crate) fn sentence(&self) -> String {
        let parts = std::iter::once(self.error.as_str()).chain(self.causes.iter().map(String::as_str));
        parts.collect::<Vec<_>>().join(": ")
    }

    /// The code of the action in its hints.
    pub(crate) fn action(&self) -> Option<&'static str> {
        self.hints.iter().find_map(|hint| hint.action)
    }

    /// All hints in one.
    pub(crate) fn hint(&self) -> Text {
        Text::join(self.hints.iter().map(|hint| hint.text.clone()), "; ")
    }

    /// The failure in the envelope of every JSON output.
    pub(crate) fn json(&self) -> Value {
        let hint = Some(self.hint().to_string()).filter(|hint| !hint.is_empty());
        json!({
            "version": VERSION,
            "error": {
                "message": self.error,
                "causes": self.causes,
                "hint": hint,
                "code": self.code,
                "action": self.action(),
            },
        })
    }

    fn of(error: &dyn Error, path: String, hint: impl Into<Hint>) -> Self {
        let mut causes = Vec::new();
        let mut deeper = error.source();
        while let Some(cause) = deeper {
            causes.push(plain_cause(&cause.to_string()));
            deeper = cause.source();
        }
        Self { path: Some(path), causes, ..Self::new(error.to_string(), hint) }
    }
}

impl From<&SourceError> for Failure {
    fn from(error: &SourceError) -> Self {
        let place = match &error.at {
            Location::Url(url) => shown_address(url),
            at => shown(Path::new(&*at.text())),
        };
        Self { code: error.kind.code(), ..Self::of(error, place, hints::of_source(error)) }
    }
}

impl From<&LookupError> for Failure {
    fn from(error: &LookupError) -> Self {
        Self { code: error.code(), ..Self::new(error.to_string(), hints::of(&error.hint(), "", None)) }
    }
}

impl From<&ConfigError> for Failure {
    fn from(error: &ConfigError) -> Self {
        Self { code: error.code(), ..Self::of(error, shown(error.path()), hints::of_config(error)) }
    }
}

impl From<&RelativePath> for Failure {
    fn from(error: &RelativePath) -> Self {
        Self { code: "not-set", ..Self::new(error.to_string(), error.hint()) }
    }
}

impl From<&WriteError> for Failure {
    fn from(error: &WriteError) -> Self {
        Self { code: "not-written", ..Self::of(error, shown(error.path()), error.hint()) }
    }
}

impl Failure {
    /// A configuration of a client, by its name on the command line, was not changed.
    pub(crate) fn of_connection(error: &ConnectionError, client: &str) -> Self {
        let path = match error {
            ConnectionError::File(EditedFileError::Read(error)) => error.at.path().unwrap_or_default(),
            _ => "",
        };
        Self::of(error, path.to_owned(), hints::of_connection(error, client))
    }
}

impl From<&ConfigSetError> for Failure {
    fn from(error: &ConfigSetError) -> Self {
        let hint = match error {
            ConfigSetError::Broken(broken) => hints::of_config(broken).after("; nothing was changed"),
            other => hints::of(&other.hint(), "", None),
        };
        Self::of(error, String::new(), hint)
    }
}

impl From<UnknownKey> for CommandError {
    fn from(error: UnknownKey) -> Self {
        let failure = Failure::new(error.to_string(), hints::of(error.hint(), "", None));
        Self::Failed(Failure { code: "unknown-key", ..failure })
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<LookupError> for CommandError {
    fn from(error: LookupError) -> Self {
        Self::Failed(Failure::from(&error))
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
        let failure = Failure::new("could not write the result", "check where the output goes");
        Self::Failed(failure.with_cause(plain_cause(&error.to_string())))
    }

    /// The error of reading standard input.
    /// Standard input is not connected to anything.
    pub(crate) fn no_input() -> Self {
        Self::Failed(Failure::new(
            "standard input is closed, so there is nothing to read",
            "pipe a SKILL.md into it, or name a path",
        ))
    }

    pub(crate) fn reading_input(error: &io::Error) -> Self {
        let failure =
            Failure::new("could not read standard input", "pipe a SKILL.md into it, or name a path");
        Self::Failed(failure.with_cause(plain_cause(&error.to_string())))
    }
}
