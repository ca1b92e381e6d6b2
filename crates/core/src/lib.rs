//! The pure heart of Prowess.

pub mod span;
