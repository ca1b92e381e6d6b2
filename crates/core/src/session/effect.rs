//! What a session needs from its host: a [`Step`] is a result, or a [`Ticket`] and the [`Effect`] it waits for.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::Filter;
use super::interface::result::ToolResult;
use crate::files::manifest::Manifest;
use crate::path::RelPath;
use crate::select::{Hit, Query};
use crate::skill::location::{Location, Scope};

/// What a model asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments: an object, or the text of one.
    #[serde(default)]
    pub arguments: Value,
    /// Which skills this call sees, in place of the session's own filter. Everything else in the policy holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

impl ToolCall {
    /// A call without a filter of its own.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        Self { tool: tool.into(), arguments, filter: None }
    }

    /// The same call with a filter of its own.
    #[must_use]
    pub fn with_filter(mut self, filter: Filter) -> Self {
        self.filter = Some(filter);
        self
    }
}

/// The handle of a call that waits for an effect.
///
/// It belongs to one session and one effect; with any other it is refused. Sessions are told apart by the id that the
/// host gave them: two with one id, such as a session and its copy, take each other's. It keeps calls from being mixed
/// up and is no secret. Its text is opaque.
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

/// A text is no ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no ticket")]
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

/// What a call comes to: its result, or what the host must do first.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Step {
    /// It is done.
    Done(ToolResult),
    /// It goes on when the host has performed the effect and calls [`super::Session::resume`].
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
        /// Where it lay when it was listed. A host whose key has come to mean another place answers that it is gone.
        location: Location,
    },
    /// Read a file of a skill: [`Outcome::Read`].
    Read {
        /// The skill.
        key: String,
        /// As for listing.
        location: Location,
        /// The file; `SKILL.md` is the skill's own.
        #[serde(deserialize_with = "RelPath::deserialize_request")]
        path: RelPath,
        /// The first byte.
        offset: u64,
        /// The most bytes.
        limit: usize,
        /// The digest over all files of the skill that somebody approved. The host computes the present one, with
        /// the bytes it returns, and the session compares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect_digest: Option<String>,
    },
    /// Rank skills for a query: [`Outcome::Hits`].
    Search {
        /// What is looked for.
        query: Query,
        /// The keys of the skills that may be found.
        among: Vec<String>,
        /// The most hits.
        limit: usize,
    },
    /// Run a script of a skill: [`Outcome::Ran`].
    Run {
        /// The skill.
        key: String,
        /// As for listing.
        location: Location,
        /// The script.
        path: RelPath,
        /// Its arguments.
        args: Vec<String>,
        /// As for reading.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect_digest: Option<String>,
    },
    /// Ask a person whether a skill may be used: [`Outcome::Approved`] or [`Outcome::Declined`].
    Approve {
        /// The skill.
        key: String,
        /// Where it lies.
        location: Location,
        /// The circle it comes from.
        scope: Scope,
    },
}

/// What an effect came to.
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
        digest: Option<String>,
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
    /// Somebody approved the skill as it is.
    Approved {
        /// The digest over all its files, as it was shown to them.
        digest: String,
    },
    /// Nobody did.
    Declined,
    /// It could not be done.
    Failed {
        /// Why, in general: what a host knows beyond that is not for a model.
        why: Failure,
    },
}

/// Why an effect could not be performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Failure {
    /// There is nothing of this name.
    Missing,
    /// It leads out of the skill.
    Outside,
    /// It is a folder or no regular file.
    NotAFile,
    /// It is too large.
    TooLarge,
    /// The skill can no longer be loaded.
    Broken,
    /// It is not what was listed.
    NotAsListed,
    /// Whatever else.
    Failed,
}
