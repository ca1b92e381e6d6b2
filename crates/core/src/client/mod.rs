//! Which skills a client lists: a [`Reads`] row says where it looks and how it reads, and [`view`] computes what it
//! lists.
//!
//! Prowess reads every skill in one way and records its [`Facts`]. The row of a client names the facts that make it
//! skip a skill, so no client has code of its own.

mod fact;
mod facts;
mod row;
mod view;

pub use fact::Fact;
pub use facts::{Facts, Sighting};
pub use row::{CatalogLimit, Checked, Climb, Cuts, Execution, ProjectFolder, Reads, Rewrite, Runs, Same};
pub use view::{NotListed, Seeing, Seen, View, view};
