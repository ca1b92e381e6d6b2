//! An open folder: what is in it and just below it, asked of the handle and not of a path that may have changed.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

use std::ffi::OsString;

#[cfg(not(unix))]
pub(crate) use portable::{Folder, is_link_error, leads_out, place_of, stamp_of};
#[cfg(unix)]
pub(crate) use unix::{Folder, is_link_error, leads_out, place_of, stamp_of};

/// What an entry of a folder is, as the folder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a socket, a FIFO.
    Special,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// What something is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// To read its bytes.
    Bytes,
    /// To see what it is; where the system can, without opening it for anything else.
    Look,
}

/// A file as its folder knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) executable: bool,
}

/// Where a path must have no links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// A link as its last part is an error that [`is_link_error`] knows.
    Refuse,
    /// So is a link anywhere on the way.
    RefuseAll,
}
