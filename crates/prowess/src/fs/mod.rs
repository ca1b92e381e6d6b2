//! Files and folders: bounded reads, open folders that no link leads out of, the walk, and atomic writes.

pub(crate) mod atomic;
pub(crate) mod codec;
pub(crate) mod confine;
pub(crate) mod dir;
#[cfg(feature = "install")]
pub(crate) mod exact;
pub(crate) mod file_cache;
pub(crate) mod inside;
pub(crate) mod listing;
pub(crate) mod location;
#[cfg(any(unix, feature = "install"))]
pub(crate) mod modes;
pub(crate) mod mounts;
pub(crate) mod own;
pub(crate) mod parsed;
pub mod read;
pub(crate) mod removal;
pub(crate) mod sandbox;
pub(crate) mod set_aside;
pub(crate) mod stamp;
pub mod walk;
