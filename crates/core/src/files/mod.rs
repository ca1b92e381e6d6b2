//! The files of a skill: the [`manifest`] that lists them, and what of a file is given at a time.

pub mod manifest;
pub mod page;
