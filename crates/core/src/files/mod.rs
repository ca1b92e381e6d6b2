//! The files of a skill: the [`Manifest`] that lists them, and the part of a file that is given at a time.

pub(crate) mod manifest;
pub(crate) mod page;

pub use manifest::{FileEntry, FileKind, LeftOut, Manifest};
pub use page::{Contents, DEFAULT_LIMIT, Groups, OverLimit, Resource, TooLarge};
