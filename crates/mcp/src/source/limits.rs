//! Limits on what is accepted from another server.

use std::time::Duration;

use crate::options::options;
use crate::protocol::wire;

options! {
    /// Limits and timeouts for another server.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct McpLimits {
        /// The maximum size of one response, in bytes: a file of 16 MiB as Base64, and some more.
        pub answer_bytes: u64 = 24 << 20,
        /// The maximum number of JSON values in one response: 50 for each of 10 000 skills.
        pub answer_values: usize = 500_000,
        /// The maximum size of all responses that make up a list, in bytes.
        pub list_bytes: u64 = 64 << 20,
        /// The timeout for connecting, and for each response.
        pub time: Duration = Duration::from_secs(15),
        /// The timeout for a whole list.
        pub list_time: Duration = Duration::from_secs(30),
        /// How long a server gets no requests after a timeout.
        pub rest: Duration = Duration::from_secs(5),
        /// The maximum number of pages of a list.
        pub pages: usize = 1_000,
        /// The maximum number of skills.
        pub skills: usize = 10_000,
        /// The maximum number of files of a skill; every host must accept this many.
        pub files: usize = wire::MAX_RESOURCES,
        /// The maximum size of all files of a skill, in bytes; every host must accept this many.
        pub skill_bytes: u64 = wire::MAX_BYTES,
    }
}
