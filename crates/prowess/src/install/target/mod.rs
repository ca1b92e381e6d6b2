//! Changing folders of skills so that a kill at any instant leaves each skill old or new, never a mix.

mod dir;
mod journal;
mod transaction;

pub(crate) use dir::Dir;
pub(crate) use journal::{Accepted, State};
pub(crate) use transaction::{Books, Transaction, manifest_of, read_tree, recover, state_of};
