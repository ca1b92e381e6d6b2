//! What is known about skills and why: one report of a skill, and what its commands share to explain it.

pub(crate) mod clients_named;
pub(crate) mod copies;
pub(crate) mod left_out;
pub(crate) mod missing;
pub(crate) mod needed;
pub(crate) mod provenance;
pub(crate) mod report;
pub(crate) mod trust;
pub(crate) mod unread;
