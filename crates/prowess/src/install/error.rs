//! [`InstallError`]: why something could not be installed, removed or verified, and what to do about it.

use std::error::Error;
use std::io;
use std::path::Path;

use crate::error::{escape_control, plain_cause, shown};

/// What kind of failure it is, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallErrorKind {
    /// What was asked for cannot be read: a reference, a source, a name.
    Request,
    /// There is nothing of that name or at that place.
    NotFound,
    /// Several skills could be meant.
    Ambiguous,
    /// Two skills have one name, and each is meant by its path.
    SameName,
    /// Something is there already.
    Exists,
    /// Something else is where a client looks for an installed skill.
    Taken,
    /// An installed skill has edits that would be lost.
    Edited,
    /// The source holds something that is never installed: an escaping link, a device, an unsafe path.
    Refused,
    /// The source is larger than the limits.
    TooLarge,
    /// What was fetched is not what the lock says.
    Mismatch,
    /// `skills.toml` and `skills.lock` do not agree, and may not be changed.
    OutOfDate,
    /// `skills.toml`, `skills.lock` or the store is damaged.
    Damaged,
    /// git is missing or failed.
    Git,
    /// Another process holds the lock of the project.
    Busy,
    /// Another process changed `skills.toml` or `skills.lock` in between.
    Changed,
    /// The system refused or failed.
    Io,
}

/// What an error is about, where its kind does not say enough to mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A limit on skills.
    Limit(InstallLimit),
    /// A commit that is not there.
    Commit,
}

/// A limit of [`InstallLimits`](super::InstallLimits), by the name of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallLimit {
    /// The files of a skill.
    Files,
    /// The bytes of a skill.
    Bytes,
    /// The bytes of one file.
    FileBytes,
    /// The folders between a skill's folder and a file.
    Depth,
    /// The bytes of all skills of one source together.
    TotalBytes,
}

impl InstallLimit {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Bytes => "bytes",
            Self::FileBytes => "bytes in one file",
            Self::Depth => "depth",
            Self::TotalBytes => "bytes of all skills together",
        }
    }
}

/// Why an operation of the [`Installer`](super::Installer) failed. Whatever was installed before is still there.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct InstallError {
    kind: InstallErrorKind,
    message: String,
    hint: String,
    about: Option<About>,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl InstallError {
    /// A failure in words. Control characters in the message are escaped, since it may name what a stranger wrote.
    pub(crate) fn new(kind: InstallErrorKind, message: impl AsRef<str>, hint: impl Into<String>) -> Self {
        Self { kind, message: escape_control(message.as_ref()), hint: hint.into(), about: None, source: None }
    }

    /// The same with what it is about.
    #[must_use]
    pub(crate) fn about(mut self, about: About) -> Self {
        self.about = Some(about);
        self
    }

    /// Whether it is about this.
    pub(crate) fn is_about(&self, about: About) -> bool {
        self.about == Some(about)
    }

    /// The same with the skill that it is about, when it is one of several.
    #[must_use]
    pub(crate) fn of_skill(mut self, skill: &str) -> Self {
        if self.kind == InstallErrorKind::TooLarge && !skill.is_empty() {
            self.message = format!("{}: {}", escape_control(skill), self.message);
        }
        self
    }

    /// The same with another hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same with the error that caused it.
    #[must_use]
    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// The system failed at a path.
    pub(crate) fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room on the disk, then run the command again"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable for this user, then run the command again"
            }
            io::ErrorKind::NotFound => "check the path, then run the command again",
            _ => "run the command again; what was installed before is still there",
        };
        Self::new(InstallErrorKind::Io, format!("could not {doing}: {}", shown(path)), hint).because(error)
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> InstallErrorKind {
        self.kind
    }

    /// The limit that was reached, if one that can be raised.
    pub fn limit(&self) -> Option<InstallLimit> {
        match self.about {
            Some(About::Limit(limit)) => Some(limit),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// What went wrong and why, in one line.
    pub fn with_cause(&self) -> String {
        match &self.source {
            Some(cause) => format!("{}: {}", self.message, plain_cause(&cause.to_string())),
            None => self.message.clone(),
        }
    }
}
