//! The most that is taken from another server, and how long that may take.

use std::time::Duration;

use crate::protocol::wire;

/// The most that is taken from a server, and how long that may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpLimits {
    /// The size of one answer, in bytes: a file of 16 MiB as base64, and room around it.
    pub answer_bytes: u64,
    /// The number of values in one answer: 50 for each of 10 000 skills.
    pub answer_values: usize,
    /// The size of all answers that make up a list, in bytes.
    pub list_bytes: u64,
    /// The time to connect, and for each answer.
    pub time: Duration,
    /// The time for a whole list.
    pub list_time: Duration,
    /// The time for which a server that did not answer in time is not asked again.
    pub rest: Duration,
    /// The number of pages of a list.
    pub pages: usize,
    /// The number of skills.
    pub skills: usize,
    /// The number of files of a skill; every host must take this many.
    pub files: usize,
    /// The size of all files of a skill, in bytes; every host must take this many.
    pub skill_bytes: u64,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            answer_bytes: 24 << 20,
            answer_values: 500_000,
            list_bytes: 64 << 20,
            time: Duration::from_secs(15),
            list_time: Duration::from_secs(30),
            rest: Duration::from_secs(5),
            pages: 1_000,
            skills: 10_000,
            files: wire::MAX_RESOURCES,
            skill_bytes: wire::MAX_BYTES,
        }
    }
}
