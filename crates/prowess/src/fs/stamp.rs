//! The state of a file without its contents. The [`Stamp`] of a skill on disk is made of it.

use prowess_core::Stamp;

/// The state of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// The size in bytes.
    pub(crate) size: u64,
    /// When its contents last changed, in nanoseconds since 1970.
    pub(crate) modified: i64,
    /// When its name, owner or contents last changed, in nanoseconds since 1970.
    pub(crate) changed: i64,
    /// Its inode number.
    pub(crate) inode: u64,
    /// The device.
    pub(crate) device: u64,
}

impl From<FileStamp> for Stamp {
    fn from(file: FileStamp) -> Self {
        let FileStamp { size, modified, changed, inode, device } = file;
        Self::new(changed, [size, modified.cast_unsigned(), inode, device])
    }
}

/// Only for a stamp that was made from the state of a file.
impl From<Stamp> for FileStamp {
    fn from(stamp: Stamp) -> Self {
        let [size, modified, inode, device] = stamp.mark();
        Self { size, modified: modified.cast_signed(), changed: stamp.changed(), inode, device }
    }
}
