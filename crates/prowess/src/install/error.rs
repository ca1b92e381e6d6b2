//! [`InstallError`]: why something could not be installed, removed or verified, and what to do about it.

use std::error::Error;
use std::io;
use std::path::Path;

use super::records::{InstallScope, InstallTarget};
use super::spec::InstallSpec;
use crate::advice::Hint;
use crate::error::{SourceError, SourceErrorKind, escape_control, plain_cause, shown};
use crate::fs::mounts::first_mount;

macro_rules! kinds {
    ($($kind:ident $code:literal $meaning:literal;)+) => {
        /// The kind of a failure, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum InstallErrorKind {
            $(#[doc = $meaning] $kind,)+
        }

        impl InstallErrorKind {
            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$kind => $code,)+ }
            }
        }
    };
}

kinds! {
    Request "request" "The request is invalid: a reference, a source or a name.";
    NotFound "not-found" "Nothing has this name, or nothing is at this place.";
    Missing "missing" "The lock has a skill, and its folder does not exist.";
    Ambiguous "ambiguous" "Several skills match.";
    SameName "same-name" "Two skills have one name; only their paths distinguish them.";
    Exists "exists" "Something exists there already.";
    Taken "taken" "Something else is where a client looks for an installed skill.";
    HoldsSource "holds-source" "What would be replaced or removed is the source of an installed skill, or contains it.";
    Edited "edited" "An installed skill has edits that would be lost.";
    Mounted "mounted" "Something is mounted in what would be replaced or removed.";
    NotShown "not-shown" "What would be lost is not what the user was shown.";
    Refused "refused" "The source holds something that is never installed: an escaping link, a device, an unsafe path.";
    TooLarge "too-large" "The source is larger than the limits.";
    Mismatch "mismatch" "The fetched files are not those of the lock.";
    Unreachable "unreachable" "The commit that a record names is on no branch or tag of its repository.";
    OutOfDate "out-of-date" "`skills.toml` and `skills.lock` disagree, and may not be changed.";
    Damaged "damaged" "`skills.toml`, `skills.lock` or the store is damaged.";
    Offline "offline" "It must be fetched, and the network is disabled.";
    Git "git" "git is missing or failed.";
    Busy "busy" "Another process holds the lock of the project.";
    Changed "changed" "Another process changed `skills.toml` or `skills.lock` in the meantime.";
    Interrupted "interrupted" "An interrupted installation must be completed first.";
    Io "io" "The system refused or failed.";
}

/// The subject of an error, where its kind does not say enough to correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A limit on skills.
    Limit(InstallLimit),
    /// A commit that does not exist.
    Commit,
    /// The edits of a skill: its folder and files, for an error about several skills.
    Edits(String),
    /// What to add again.
    Relocks(Vec<Relock>),
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
    /// The bytes that one command fetches from all repositories.
    FetchedBytes,
}

impl InstallLimit {
    /// The phrase for messages.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Bytes => "bytes",
            Self::FileBytes => "bytes in one file",
            Self::Depth => "depth",
            Self::TotalBytes => "bytes of all skills together",
            Self::FetchedBytes => "fetched bytes",
        }
    }
}

/// A skill to add again, so that the lock gets the commit that its source has now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relock {
    /// Where it is installed from.
    pub spec: InstallSpec,
    /// The name that it is installed under, if that is not its own.
    pub alias: Option<String>,
}

/// The hint for something that is where a file of ours should be.
pub(crate) const MOVE_AWAY: &str = "something else is in its place: move it away, then run the command again";

/// The hint for something that is mounted in what would be changed.
pub(super) const UNMOUNT: &str = "unmount it, then run the command again";

/// The cause of an error about a path that is named already.
fn cause_of(error: SourceError) -> io::Error {
    match error.kind {
        SourceErrorKind::Io(error) | SourceErrorKind::Unwritable(error) => error,
        _ => io::Error::other(error.full_message()),
    }
}

/// Why an operation of the [`Installer`](super::Installer) failed. What was installed before is still installed.
#[derive(Debug, thiserror::Error)]
#[error("{}{message}", of_skill(.skill.as_deref()))]
pub struct InstallError {
    kind: InstallErrorKind,
    /// The skill that it is about, unless the message names it.
    skill: Option<Box<str>>,
    message: Box<str>,
    hint: Box<Hint>,
    about: Option<Box<About>>,
    scope: Option<InstallScope>,
    folder: Option<Box<Path>>,
    entry: Option<Box<str>>,
    path: Option<Box<Path>>,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl InstallError {
    /// A failure in words: what could not be done, and what to do. Control characters in the message are escaped, since it may contain text from outside.
    pub fn new(kind: InstallErrorKind, message: impl AsRef<str>, hint: impl Into<Hint>) -> Self {
        Self {
            kind,
            skill: None,
            message: escape_control(message.as_ref()).into(),
            hint: Box::new(hint.into()),
            about: None,
            scope: None,
            folder: None,
            entry: None,
            path: None,
            source: None,
        }
    }

    /// Sets what it is about.
    #[must_use]
    pub(crate) fn about(mut self, about: About) -> Self {
        self.about = Some(Box::new(about));
        self
    }

    /// The subject, if its kind does not say enough.
    pub(crate) fn subject(&self) -> Option<&About> {
        self.about.as_deref()
    }

    /// Adds the skill that it is about, unless the message names it.
    #[must_use]
    pub(crate) fn of_skill(mut self, skill: &str) -> Self {
        let named = matches!(self.kind, InstallErrorKind::TooLarge | InstallErrorKind::Refused);
        if named && !skill.is_empty() && !self.to_string().contains(skill) {
            let inner = self.skill.map(|inner| format!(": {inner}")).unwrap_or_default();
            self.skill = Some((escape_control(skill) + &inner).into());
        }
        self
    }

    /// What went wrong and why, in one line, without the skill that it is about.
    pub(crate) fn message_without_skill(&self) -> String {
        self.with_cause(&self.message)
    }

    fn with_cause(&self, message: &str) -> String {
        match &self.source {
            Some(cause) => format!("{message}: {}", plain_cause(&cause.to_string())),
            None => message.to_owned(),
        }
    }

    /// Whether the system failed, and not what it was asked for: something that is not there, or may not be read.
    pub(crate) fn is_failure_of_system(&self) -> bool {
        let cause = self.source.as_ref().and_then(|cause| cause.downcast_ref::<io::Error>());
        let asked = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied];
        self.kind == InstallErrorKind::Io && cause.is_none_or(|cause| !asked.contains(&cause.kind()))
    }

    /// Sets the place in which it happened.
    #[must_use]
    pub(crate) fn in_place(mut self, place: &InstallTarget) -> Self {
        (self.scope, self.folder) = (Some(place.scope), Some(place.base.as_path().into()));
        self
    }

    /// The scope in which it happened, if it is about installed skills.
    pub fn scope(&self) -> Option<InstallScope> {
        self.scope
    }

    /// The folder of the project or of the user in which it happened, if it is about installed skills.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Sets the entry of `skills.toml` that asks for it.
    #[must_use]
    pub(crate) fn in_entry(mut self, name: &str) -> Self {
        self.entry = Some(name.into());
        self
    }

    /// The entry of `skills.toml` that asks for it, if there is one.
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// What to add again so that the lock gets what is there now: for [`InstallErrorKind::Unreachable`].
    pub fn relocks(&self) -> &[Relock] {
        match self.subject() {
            Some(About::Relocks(relocks)) => relocks,
            _ => &[],
        }
    }

    /// Sets the hint.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Box::new(hint.into());
        self
    }

    /// Sets the file or folder that it is about.
    #[must_use]
    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the error that caused it.
    #[must_use]
    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// The error of a system call at a path.
    pub(crate) fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room on the disk, then run the command again"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable for this user, then run the command again"
            }
            io::ErrorKind::NotFound => "check the path, then run the command again",
            io::ErrorKind::NotADirectory => {
                "a part of the path is a file: move it away, then run the command again"
            }
            io::ErrorKind::IsADirectory => MOVE_AWAY,
            io::ErrorKind::ResourceBusy => UNMOUNT,
            _ => "run the command again; what was installed before is still there",
        };
        let message = format!("could not {doing}: {}", shown(path));
        Self::new(InstallErrorKind::Io, message, hint).at(path).because(error)
    }

    /// The error for something that would be replaced or removed and holds a mount; none if it holds none.
    pub(super) fn mounted_in(path: &Path) -> Option<Self> {
        let mount = first_mount(path)?;
        let message = format!(
            "something is mounted in this folder, so it is not replaced or removed: {}: {}",
            shown(path),
            shown(&mount)
        );
        Some(Self::new(InstallErrorKind::Mounted, message, UNMOUNT).at(&mount))
    }

    /// The error of a file that could not be read.
    pub(crate) fn unread(path: &Path, error: SourceError) -> Self {
        Self::io("read", path, cause_of(error))
    }

    /// The error for approvals of the user that cannot be read or written.
    pub(crate) fn approvals(doing: &str, file: &Path, error: SourceError) -> Self {
        let is_damaged = !matches!(
            error.kind,
            SourceErrorKind::Io(_) | SourceErrorKind::Unwritable(_) | SourceErrorKind::Busy
        );
        let failed = Self::io(doing, file, cause_of(error));
        if !is_damaged {
            return failed;
        }
        failed.with_hint("repair the file, or move it away: then you are asked again for what you trust")
    }

    /// The file or folder that it is about, if it is known: for [`InstallErrorKind::Io`], that for which the system refused
    /// something.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The kind of the failure.
    pub fn kind(&self) -> InstallErrorKind {
        self.kind
    }

    /// The limit that was reached, if it can be raised.
    pub fn limit(&self) -> Option<InstallLimit> {
        match self.subject() {
            Some(About::Limit(limit)) => Some(*limit),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &Hint {
        &self.hint
    }

    /// What went wrong and why, in one line.
    pub fn full_message(&self) -> String {
        self.with_cause(&self.to_string())
    }
}

/// The skill before a message.
fn of_skill(skill: Option<&str>) -> String {
    skill.map(|skill| format!("{skill}: ")).unwrap_or_default()
}
