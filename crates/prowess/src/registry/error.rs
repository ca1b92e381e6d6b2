//! [`RegistryError`]: why an operation of a registry failed.

use prowess_core::catalog::DuplicateError;

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
}
