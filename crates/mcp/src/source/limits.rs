//! Limits on what is accepted from another server.

use std::time::Duration;

use prowess::internal::with_methods;

use crate::protocol::wire;

/// Limits and timeouts for another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// The maximum size of one response, in bytes: a file of 16 MiB as Base64, and some more.
    pub answer_bytes: u64,
    /// The maximum number of JSON values in one response: 50 for each of 10 000 skills.
    pub answer_values: usize,
    /// The maximum size of all responses that make up a list, in bytes.
    pub list_bytes: u64,
    /// The timeout for connecting, and for each response.
    pub time: Duration,
    /// The timeout for a whole list.
    pub list_time: Duration,
    /// How long a server gets no requests after a timeout.
    pub rest: Duration,
    /// The maximum number of pages of a list.
    pub pages: usize,
    /// The maximum number of skills.
    pub skills: usize,
    /// The maximum number of files of a skill; every host must accept this many.
    pub files: usize,
    /// The maximum size of all files of a skill, in bytes; every host must accept this many.
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

with_methods! { McpLimits:
    with_answer_bytes answer_bytes: u64;
    with_answer_values answer_values: usize;
    with_list_bytes list_bytes: u64;
    with_time time: Duration;
    with_list_time list_time: Duration;
    with_rest rest: Duration;
    with_pages pages: usize;
    with_skills skills: usize;
    with_files files: usize;
    with_skill_bytes skill_bytes: u64;
}
