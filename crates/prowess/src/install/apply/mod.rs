//! Changes folders of skills so that after a kill at any time each skill is old or new, never a mix.

mod contents;
mod journal;
mod placements;
mod recover;
pub(super) mod settle;
mod stages;
mod steps;
mod transaction;

pub(crate) use contents::{manifest_of, mark_of, names_in, read_tree, state_of, tree_of};
pub(crate) use journal::{Accepted, State};
pub(crate) use placements::{Placement, Placements};
pub(crate) use recover::{
    Recovered, check_readable, has_leftovers, is_interrupted, own_stages, recover, sweep_state,
};
pub(crate) use stages::unknown_stages;
pub(crate) use transaction::{Books, Transaction};
