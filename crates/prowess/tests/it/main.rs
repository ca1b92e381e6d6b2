//! The integration tests of Prowess, one module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conformance;
