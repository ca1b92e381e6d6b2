//! One file per group of rules, with the code that checks them.

pub(crate) mod body;
pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod files;
pub(crate) mod hidden;
pub(crate) mod links;
pub(crate) mod name;
pub(crate) mod quality;
pub(crate) mod tools;

use crate::finding::Finding;

/// Gives a finding about a part of a text its place in the file.
type Locate<'p> = &'p dyn Fn(Finding, std::ops::Range<usize>) -> Finding;
