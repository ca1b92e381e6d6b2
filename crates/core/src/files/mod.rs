//! The files of a skill: the [`Manifest`] that lists them, and the pages in which large files are read.

pub(crate) mod manifest;
pub(crate) mod page;
pub(crate) mod repository;

pub use manifest::{FileEntry, FileKind, LeftOut, Manifest, is_generated};
pub use page::{Contents, DEFAULT_LIMIT, Groups, OverLimit, Resource, TooLarge};
pub use repository::Repository;
