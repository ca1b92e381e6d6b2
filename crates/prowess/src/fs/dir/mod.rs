//! An open folder and what is below it, accessed through a handle and not through a path that may have changed.

#[cfg(feature = "install")]
mod changes;
#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

use std::ffi::OsString;

#[cfg(not(unix))]
pub(crate) use portable::{Folder, is_link_error, leads_out, place_of, stamp_of};
#[cfg(unix)]
pub(crate) use unix::{Folder, is_link_error, leads_out, open_through, place_of, stamp_of};

/// The kind of an entry, as its folder lists it.
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
    /// To read it.
    Bytes,
    /// To inspect it; where the system can, without opening it for reading.
    Look,
}

/// The metadata of a file, as its folder has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) executable: bool,
}

/// Which links in a path are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// A link as the last part: an error that [`is_link_error`] recognizes.
    Refuse,
    /// A link in any part.
    RefuseAll,
}
