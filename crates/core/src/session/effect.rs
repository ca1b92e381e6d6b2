//! What a session asks of its host: a [`Step`] is a result, or a [`Ticket`] and the [`Effect`] it waits for.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::Filter;
use super::interface::result::ToolResult;
use crate::digest::Digest;
use crate::files::manifest::Manifest;
use crate::path::RelPath;
use crate::select::{Hit, Query};
use crate::skill::location::{Location, Scope};

/// A tool call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments: an object, or a string with the JSON of one.
    #[serde(default)]
    pub arguments: Value,
    /// The filter for this call, which replaces the one of the session. The rest of the policy still applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

impl ToolCall {
    /// A call without a filter of its own.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        Self { tool: tool.into(), arguments, filter: None }
    }

    /// Sets a filter for this call.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// The handle of a pending call.
///
/// It belongs to one session and one effect, and any other session refuses it. Sessions are distinguished by the id that
/// the host gave them: two with the same id, such as a session and its clone, accept each other's tickets. A ticket
/// prevents mix-ups and is not a secret. Its text is opaque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ticket {
    pub(super) number: u64,
    pub(super) check: u64,
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.check)
    }
}

/// The text is not a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a ticket")]
pub struct InvalidTicket;

impl TryFrom<String> for Ticket {
    type Error = InvalidTicket;

    fn try_from(text: String) -> Result<Self, InvalidTicket> {
        let (number, check) = text.split_once('-').ok_or(InvalidTicket)?;
        let number = number.parse().map_err(|_| InvalidTicket)?;
        Ok(Self { number, check: u64::from_str_radix(check, 16).map_err(|_| InvalidTicket)? })
    }
}

impl From<Ticket> for String {
    fn from(ticket: Ticket) -> Self {
        ticket.to_string()
    }
}

/// The next step of a call: its result, or what the host must do first.
///
/// There are these two and no others, so that a host's loop over them is complete.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Step {
    /// The call is done.
    Done(ToolResult),
    /// The call continues when the host has performed the effect and calls [`super::Session::resume`].
    Need(Ticket, Effect),
}

/// Something a session needs from its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "effect")]
#[non_exhaustive]
pub enum Effect {
    /// List the files of a skill: [`Outcome::Files`].
    Files {
        /// The skill.
        key: String,
        /// Its location when it was listed. If the key now means another location, the host answers that the skill is
        /// missing.
        location: Location,
    },
    /// Read a file of a skill: [`Outcome::Read`].
    Read {
        /// The skill.
        key: String,
        /// The location, as in [`Effect::Files`].
        location: Location,
        /// The file; `SKILL.md` is the skill's own.
        #[serde(deserialize_with = "RelPath::deserialize_request")]
        path: RelPath,
        /// The first byte.
        offset: u64,
        /// The maximum number of bytes.
        limit: usize,
        /// The digest over all files of the skill that was approved. The host computes the present digest together
        /// with the bytes it returns, and the session compares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect_digest: Option<Digest>,
    },
    /// Rank skills for a query: [`Outcome::Hits`].
    Search {
        /// The query.
        query: Query,
        /// The keys of the skills that may be found.
        among: Vec<String>,
        /// The maximum number of hits.
        limit: usize,
    },
    /// Run a script of a skill: [`Outcome::Ran`].
    ///
    /// The session has checked the policy, and that the path is plain and relative. If the catalog has the list of the
    /// skill's approved files, the path is one of them. Everything else is for the host to check before it runs anything:
    /// that there is such a file, that it is a script which it wants to run, and its digest. The output is given to the
    /// model as it is.
    Run {
        /// The skill.
        key: String,
        /// The location, as in [`Effect::Files`].
        location: Location,
        /// The file.
        path: RelPath,
        /// Its arguments.
        args: Vec<String>,
        /// The digest over all files of the skill that was approved; none when the skill needs no approval. The session
        /// cannot compare it: the host computes the present digest, and answers [`Failure::NotAsListed`] without running
        /// anything if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect_digest: Option<Digest>,
    },
    /// Ask the user whether a skill may be used: [`Outcome::Approved`] or [`Outcome::Declined`].
    Approve {
        /// The skill.
        key: String,
        /// Its location.
        location: Location,
        /// Its scope.
        scope: Scope,
    },
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
#[non_exhaustive]
pub enum Outcome {
    /// The files of the skill.
    Files {
        /// All of them.
        files: Manifest,
    },
    /// The bytes that were asked for.
    Read {
        /// The bytes.
        bytes: Vec<u8>,
        /// The size of the whole file.
        size: u64,
        /// The digest over all files of the skill, when one is expected.
        digest: Option<Digest>,
    },
    /// The best skills, the best first.
    Hits {
        /// The hits.
        hits: Vec<Hit>,
    },
    /// The script ended.
    Ran {
        /// Its exit code; none when a signal ended it.
        code: Option<i32>,
        /// What it wrote.
        output: String,
    },
    /// The user approved the skill.
    Approved {
        /// The digest over all its files at that time.
        digest: Digest,
    },
    /// The user did not approve it.
    Declined,
    /// The effect could not be performed.
    Failed {
        /// Why, without details that are not for a model.
        why: Failure,
    },
}

/// Why an effect could not be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Failure {
    /// It does not exist.
    Missing,
    /// It leads out of the skill.
    Outside,
    /// It is a folder or no regular file.
    NotAFile,
    /// It is too large.
    TooLarge,
    /// The skill can no longer be loaded.
    Broken,
    /// It differs from what was listed.
    NotAsListed,
    /// Any other failure.
    Failed,
}
