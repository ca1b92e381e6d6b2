//! The served library: published skills, snapshots of the library, and the live library that follows changes.

pub(crate) mod generations;
mod live;
mod pages;
pub(crate) mod publication;
pub(crate) mod published;
pub(crate) mod scripts;
pub(crate) mod sessions;
pub(crate) mod snapshot;
pub(crate) mod states;
mod turns;
