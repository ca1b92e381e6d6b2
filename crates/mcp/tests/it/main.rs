//! The server, asked by rmcp's own client and by hand, in this process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

mod crowd;
mod hidden;
mod paths;
mod pipe;
mod rough_pipe;
mod support;
mod support_web;
mod typed;
mod web;
