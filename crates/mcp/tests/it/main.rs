//! The server, asked by rmcp's own client and by hand, in this process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "these are tests"
)]

mod hidden;
mod pipe;
mod support;
mod typed;
mod web;
