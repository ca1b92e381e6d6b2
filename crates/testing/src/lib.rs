//! What tests of several crates share, so that they depend on the code alone and not on the machine: an allocator that
//! counts, and processes that do not see the caller's settings.

mod counting;
mod surroundings;

pub use counting::{Allocated, Counting, allocated};
#[cfg(unix)]
pub use surroundings::usual_process;
pub use surroundings::without_settings;
