//! The skills that are served: what is published of each, the library in one state, and the library as it changes.

pub(crate) mod live;
pub(crate) mod published;
pub(crate) mod snapshot;
