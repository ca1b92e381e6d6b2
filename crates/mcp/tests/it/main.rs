//! The server, tested with rmcp's client and with raw messages; and the client, with this server and with fake ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "these are tests"
)]

mod changed_files;
mod hidden_skills;
mod http;
mod http_bodies;
mod http_streams;
mod kept_bytes;
mod large_responses;
mod many_clients;
mod open_requests;
mod operate;
mod path_vectors;
mod preload;
mod protocol_versions;
mod remote_sources;
mod source_http_errors;
mod source_lists;
#[cfg(unix)]
mod source_processes;
mod source_round_trip;
mod source_trust;
mod stdio;
mod stdio_errors;
mod support;
mod tokens;

#[global_allocator]
static ALLOCATOR: prowess_testing::Counting = prowess_testing::Counting;
