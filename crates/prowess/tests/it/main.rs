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

#[global_allocator]
static ALLOCATOR: prowess_testing::Counting = prowess_testing::Counting;

mod agreement;
#[cfg(feature = "archive")]
mod archives;
#[cfg(unix)]
mod cached;
#[cfg(unix)]
mod clients;
mod conformance;
mod corpus;
mod data;
#[cfg(unix)]
mod digests;
#[cfg(unix)]
mod drive;
mod embedding;
mod first_host;
mod hostile;
#[cfg(all(target_os = "linux", feature = "watch"))]
mod hot_reload;
#[cfg(feature = "install")]
mod installer;
#[cfg(all(unix, feature = "install"))]
mod installer_attacks;
#[cfg(feature = "install")]
mod installer_calls;
#[cfg(feature = "install")]
mod installer_git;
#[cfg(all(unix, feature = "install"))]
mod installer_names;
#[cfg(all(unix, feature = "install"))]
mod installer_places;
#[cfg(all(unix, feature = "install"))]
mod installer_records;
#[cfg(all(unix, feature = "install"))]
mod installer_requests;
#[cfg(feature = "install")]
mod installer_sync;
#[cfg(feature = "install")]
mod installer_verify;
#[cfg(target_os = "linux")]
mod io_count;
mod main_api;
mod pages;
#[cfg(unix)]
mod places;
mod plain_data;
#[cfg(unix)]
mod projects;
#[cfg(unix)]
mod registered;
#[cfg(unix)]
mod registry;
#[cfg(unix)]
mod resources;
#[cfg(unix)]
#[cfg(unix)]
mod scripts;
mod search;
mod search_host;
#[cfg(unix)]
mod servers;
#[cfg(feature = "http")]
mod sites;
mod sources;
#[cfg(unix)]
mod swapped;
mod trees;
#[cfg(unix)]
mod trust;
#[cfg(unix)]
mod untrusted;
#[cfg(feature = "http")]
mod web;
#[cfg(feature = "http")]
mod web_server;
mod whose_calls;
