//! What tests of several crates share, so that they depend on the code alone and not on the machine: an allocator that
//! counts, and processes that do not see the caller's settings. [`Stages`] holds the order of the modules of a crate.

mod counting;
mod stages;
mod surroundings;

pub use counting::{Allocated, Counting, allocated};
pub use stages::Stages;
#[cfg(unix)]
pub use surroundings::usual_process;
pub use surroundings::without_settings;
