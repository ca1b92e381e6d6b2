//! [`RegistryError`]: why an operation of a registry failed.

use prowess_core::catalog::DuplicateError;

use crate::advice::Hint;
use crate::error::{LookupError, SourceError};

/// Why an operation of a registry failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// No skill has this key, or it is not offered.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Two skills have the same key, and duplicates are an error.
    #[error(transparent)]
    Duplicate(#[from] DuplicateError),
    /// A skill with this key is registered already.
    #[error("a skill with this key is registered already: {0}; replace it, or give this one another name")]
    Taken(String),
    /// A source refreshed the skills that it was being read for.
    #[error("a source refreshed the skills while a refresh was reading it")]
    Nested,
}

/// What to do about two skills with one key.
pub(crate) const DUPLICATE_HINT: &str = "rename one of them, or let the first or the last one win";
/// What to do about a key that is taken.
pub(crate) const TAKEN_HINT: &str = "replace that skill, or give this one another name";
/// What to do about a refresh inside a refresh.
pub(crate) const NESTED_HINT: &str =
    "return from the source first; until then, use the catalog of the last refresh";

impl RegistryError {
    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Source(error) => error.hint(),
            Self::Lookup(error) => error.hint(),
            Self::Duplicate(_) => DUPLICATE_HINT.into(),
            Self::Taken(_) => TAKEN_HINT.into(),
            Self::Nested => NESTED_HINT.into(),
        }
    }
}
