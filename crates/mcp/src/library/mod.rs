//! The served library: published skills, snapshots of the library, and the live library that follows changes.

pub(crate) mod live;
mod pages;
pub(crate) mod published;
pub(crate) mod snapshot;
