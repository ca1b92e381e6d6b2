//! The files beside a SKILL.md: read in part, never more than a host wants.

use prowess_core::resource::MARGIN;
use prowess_core::{Candidate, RelPath};

pub use prowess_core::resource::{Contents, DEFAULT_LIMIT, Groups, Resource, TooLarge, base64, from_base64};

use crate::error::SourceError;
use crate::source::{Layer, Slice};

/// Reads a resource through the source that listed its skill.
pub(crate) fn read(
    layer: &Layer,
    skill: &Candidate,
    path: &RelPath,
    slice: Slice,
    too_large: TooLarge,
) -> Result<Resource, SourceError> {
    // The size comes with the bytes, so a file that is too large is not read to its end.
    let chunk =
        layer.read(skill, path, Slice { offset: slice.offset, limit: slice.limit.saturating_add(MARGIN) })?;
    Resource::of(path, chunk.bytes, chunk.size, slice.offset, slice.limit, too_large).map_err(|over| {
        SourceError::TooLarge { path: path.as_str().into(), size: over.size, limit: over.limit }
    })
}
