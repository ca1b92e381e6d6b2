//! Compares the files that are there with those that were installed.

mod difference;
mod file_change;
mod modes;
mod unchanged;

use prowess_core::{Digest, Manifest};

pub(crate) use self::difference::{Difference, edits_of};
pub use self::file_change::FileChange;
pub(crate) use self::file_change::changes;
pub(crate) use self::modes::{as_kept, holds_modes, is_tree, made_by_users};
pub(crate) use self::unchanged::is_unchanged;

/// The files of a tree by its digest, when they are known.
pub(crate) type Listing<'l> = &'l dyn Fn(Digest) -> Option<Manifest>;
