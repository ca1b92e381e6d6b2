//! [`SkillsError`]: why an operation of the main API failed.

use prowess_core::LoadError;
use prowess_core::catalog::DuplicateError;
use prowess_core::select::SelectError;
use prowess_core::session::RestoreError;

use crate::advice::Hint;
use crate::error::{LookupError, SourceError};
use crate::registry::{DUPLICATE_HINT, NESTED_HINT, RegistryError, TAKEN_HINT};
use crate::settings::SettingsError;

/// Why an operation of [`Skills`](crate::Skills), [`Chat`](crate::Chat) or [`Skill`](crate::Skill) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillsError {
    /// A folder, a file or a server could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// No skill has this key, or it is not offered.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A document is not a skill: every problem is in the error.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Two skills have the same key, and duplicates are errors.
    #[error(transparent)]
    Duplicate(#[from] DuplicateError),
    /// A skill with this key is registered already.
    #[error("{}", RegistryError::Taken(.0.clone()))]
    Taken(String),
    /// A source refreshed the skills that it was being read for.
    #[error("{}", RegistryError::Nested)]
    Nested,
    /// The user's configuration or approvals could not be read.
    #[error(transparent)]
    Library(Box<SettingsError>),
    /// The selector failed.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A stored chat could not be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The folders could not be watched.
    #[cfg(feature = "watch")]
    #[error("folders cannot be watched")]
    Watch(#[source] std::io::Error),
}

impl SkillsError {
    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Source(error) => error.hint(),
            Self::Lookup(error) => error.hint(),
            Self::Load(_) => "correct the problems in its SKILL.md".into(),
            Self::Duplicate(_) => DUPLICATE_HINT.into(),
            Self::Taken(_) => TAKEN_HINT.into(),
            Self::Nested => NESTED_HINT.into(),
            Self::Library(error) => error.hint(),
            Self::Select(_) => "try again, or use another selector".into(),
            Self::Restore(_) => "start a new chat".into(),
            #[cfg(feature = "watch")]
            Self::Watch(_) => "raise the system's limit on watched folders, or call refresh instead".into(),
        }
    }
}

impl From<SettingsError> for SkillsError {
    fn from(error: SettingsError) -> Self {
        Self::Library(Box::new(error))
    }
}

impl From<RegistryError> for SkillsError {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Source(error) => Self::Source(error),
            RegistryError::Lookup(error) => Self::Lookup(error),
            RegistryError::Duplicate(error) => Self::Duplicate(error),
            RegistryError::Taken(key) => Self::Taken(key),
            RegistryError::Nested => Self::Nested,
        }
    }
}

#[cfg(feature = "watch")]
impl From<crate::watch::WatchError> for SkillsError {
    fn from(error: crate::watch::WatchError) -> Self {
        match error {
            crate::watch::WatchError::System(error) => Self::Watch(error),
            crate::watch::WatchError::Registry(error) => error.into(),
        }
    }
}
