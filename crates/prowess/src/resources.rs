//! The files beside a SKILL.md: read in part, never more than a host wants.

use prowess_core::{Candidate, RelPath};

pub use prowess_core::resource::{Contents, DEFAULT_LIMIT, Groups, Resource, TooLarge, base64};

use crate::error::SourceError;
use crate::source::{Slice, Source};

pub(crate) fn skill_md() -> Result<RelPath, SourceError> {
    RelPath::parse("SKILL.md").map_err(|error| SourceError::BadPath { path: "SKILL.md".into(), error })
}

/// Reads a resource through the source that listed its skill.
pub(crate) fn read(
    source: &dyn Source,
    skill: &Candidate,
    path: &RelPath,
    slice: Slice,
    too_large: TooLarge,
) -> Result<Resource, SourceError> {
    // The size comes with the bytes, so a file that is too large is not read to its end.
    let chunk = source.read(skill, path, Slice { offset: slice.offset, limit: slice.limit.max(1) })?;
    Resource::of(path, chunk.bytes, chunk.size, slice.offset, slice.limit, too_large).map_err(|over| {
        SourceError::TooLarge { path: path.as_str().into(), size: over.size, limit: over.limit }
    })
}
