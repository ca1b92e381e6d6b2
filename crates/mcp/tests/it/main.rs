//! The server, asked by rmcp's own client and by hand; and the client, with our server and with servers that lie.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

mod bodies;
mod changed;
mod crowd;
mod far;
mod hidden;
mod host;
mod liar;
mod lists;
mod paths;
mod pipe;
mod preload;
#[cfg(unix)]
mod programs;
mod rough_pipe;
mod source;
mod streams;
mod support;
mod support_web;
mod transports;
mod typed;
mod unread;
mod web;
