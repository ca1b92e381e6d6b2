//! Behaviour of the whole library, over vectors, real files and hostile ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

mod conformance;
mod corpus;
mod data;
#[cfg(unix)]
mod drive;
mod hostile;
#[cfg(target_os = "linux")]
mod io_count;
#[cfg(unix)]
mod registry;
