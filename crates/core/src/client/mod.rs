//! What one client makes of the skills on a disk: [`Reads`] says as data where it looks and how it reads, and [`view`]
//! gives what it lists.
//!
//! Prowess reads in one way. What it found is compared with the row of a client: a skill has [`Facts`], a row names those
//! that the client refuses, and no client has code of its own.

mod facts;
mod row;
mod view;

pub use facts::{Fact, Facts, Sighting};
pub use row::{Checked, Climb, Place, Reads, Rewrite, Same};
pub use view::{Seeing, Seen, Unseen, View, view};
