//! [`SessionState`]: the state of a session, as plain data that can be stored at any moment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::calls::substitute::Arguments;
use super::event::{Actor, EndReason, Event, EventKind};
use super::filter::Filter;
use super::migrate;
use crate::catalog::Stamp;
use crate::digest::Digest;
use crate::files::manifest::Manifest;
use crate::path::RelPath;
use crate::render::Activation;
use crate::select::Query;
use crate::skill::location::Location;
use crate::skill::tool_list::ToolList;

/// The version of the stored form.
pub const STATE_VERSION: u32 = 3;

/// Why a stored state cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It was written by another version.
    #[error("this session was stored by another version: {found}, this one reads {known}; begin a new session", known = STATE_VERSION)]
    Version {
        /// The version it has.
        found: u64,
    },
    /// It is not the state of a session.
    #[error("this is not a stored session: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
}

/// The state of a session. It can be stored at any moment; calls that wait for an effect are part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    pub(super) version: u32,
    /// The id of the session.
    pub(super) id: String,
    /// The active skills, the most recently activated last.
    pub(super) active: Vec<Active>,
    /// The pending calls, by the number of their ticket.
    pub(super) pending: BTreeMap<u64, PendingCall>,
    /// What was approved in this session, by key.
    pub(super) approvals: BTreeMap<String, Approval>,
    /// The filter that replaced the one of the policy.
    pub(super) filter: Option<Filter>,
    /// How many skills were visible and hidden when that was last recorded.
    pub(super) discovered: Option<(usize, usize)>,
    pub(super) next_ticket: u64,
    pub(super) turn: u64,
    pub(super) next_event: u64,
    /// The skills that were active before the first event that is kept.
    pub(super) active_before: Vec<String>,
    pub(super) log: Vec<Event>,
}

/// An active skill, with what the model was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Active {
    /// Its key.
    pub key: String,
    /// Its location.
    pub location: Location,
    /// Who activated it.
    pub by: Actor,
    /// Whether it was preloaded, and so is part of the prompt.
    pub preloaded: bool,
    /// What the model was given.
    pub activation: Activation,
    /// The tools it asks for.
    pub tools: Option<ToolList>,
    /// The turn in which it was last used.
    pub used: u64,
    /// Whether it changed in the catalog since then.
    pub changed: bool,
    pub(super) stamp: Stamp,
    /// A checksum of its file.
    #[serde(rename = "mark", with = "crate::catalog::wide")]
    pub(super) fingerprint: u64,
    /// The filter of the call that activated it, in force until the session gets another.
    pub(super) filter: Option<Filter>,
}

impl Active {
    /// The text the model was given.
    pub fn text(&self) -> String {
        self.activation.text()
    }
}

/// The approval of one skill at one location with one digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Approval {
    pub(super) location: Location,
    pub(super) digest: Digest,
}

/// A call that waits for an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingCall {
    #[serde(with = "crate::catalog::wide")]
    pub(super) check: u64,
    /// Who made it.
    pub(super) by: Actor,
    /// The filter of the call.
    pub(super) filter: Option<Filter>,
    /// What it is for.
    pub(super) want: Goal,
    /// The location of the skill when the call began to wait.
    pub(super) location: Location,
    /// What it waits for.
    pub(super) stage: Stage,
}

/// What a call is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Goal {
    Load {
        key: String,
        arguments: Option<Arguments>,
        preload: bool,
    },
    ListFiles {
        key: String,
        offset: u64,
        limit: usize,
    },
    ReadFile {
        key: String,
        #[serde(deserialize_with = "RelPath::deserialize_request")]
        path: RelPath,
        offset: u64,
        limit: usize,
    },
    Search {
        query: Query,
        limit: usize,
    },
    Run {
        key: String,
        path: RelPath,
        args: Vec<String>,
    },
}

/// The effect that a call waits for, with what earlier effects returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    Approval,
    Files,
    /// The files of the skill were listed; some of them are read to be shown with it.
    Inline {
        files: Option<Manifest>,
        expect_digest: Option<Digest>,
        read: Vec<(RelPath, String)>,
        left: Vec<RelPath>,
    },
    /// The files of the skill were listed and read, where the call needs them.
    Bytes {
        files: Option<Manifest>,
        inlined: Vec<(RelPath, String)>,
        expect_digest: Option<Digest>,
    },
    Hits,
    Exit {
        expect_digest: Option<Digest>,
    },
}

impl Goal {
    /// The skill it is about.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Load { key, .. }
            | Self::ListFiles { key, .. }
            | Self::ReadFile { key, .. }
            | Self::Run { key, .. } => Some(key),
            Self::Search { .. } => None,
        }
    }
}

impl Default for SessionState {
    fn default() -> Self {
        Self {
            version: STATE_VERSION,
            id: String::new(),
            active: Vec::new(),
            pending: BTreeMap::new(),
            approvals: BTreeMap::new(),
            filter: None,
            discovered: None,
            next_ticket: 0,
            turn: 0,
            next_event: 0,
            active_before: Vec::new(),
            log: Vec::new(),
        }
    }
}

impl SessionState {
    /// Reads a stored state. One of the previous version is converted; any other version is an error that says so.
    pub fn from_json(text: &str) -> Result<Self, RestoreError> {
        let damaged = |reason: String| RestoreError::Damaged { reason };
        let mut value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            None => return Err(damaged("it has no version".to_owned())),
            Some(found) if found == u64::from(STATE_VERSION) => {}
            Some(migrate::VERSION_2) => migrate::from_version_2(&mut value).map_err(damaged)?,
            Some(found) => return Err(RestoreError::Version { found }),
        }
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
    }

    /// The active skills, the most recently activated last.
    pub fn active(&self) -> &[Active] {
        &self.active
    }

    /// The events that are kept, the oldest first.
    pub fn log(&self) -> &[Event] {
        &self.log
    }

    /// The skills that were active before the first of those events.
    pub fn active_before(&self) -> &[String] {
        &self.active_before
    }

    /// The number of pending calls.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// The turn, counted from 0.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    pub(super) fn find(&self, key: &str) -> Option<&Active> {
        self.active.iter().find(|active| active.key == key)
    }

    /// Adds an event to the log. The oldest events are dropped, and `active_before` keeps their effect.
    pub(super) fn record(&mut self, kind: EventKind, most: usize) {
        self.log.push(Event { number: self.next_event, turn: self.turn, kind });
        self.next_event += 1;
        // In steps, so that a long session does not move its log with every event.
        if self.log.len() > most.saturating_add(most / 4 + 1) {
            let old: Vec<Event> = self.log.drain(..self.log.len() - most.min(self.log.len())).collect();
            self.active_before = super::event::replay(&self.active_before, &old);
        }
    }

    pub(super) fn deactivate(&mut self, key: &str, why: EndReason, most: usize) -> Option<Active> {
        let at = self.active.iter().position(|active| active.key == key)?;
        let active = self.active.remove(at);
        self.record(EventKind::Deactivated { key: key.to_owned(), why }, most);
        Some(active)
    }
}
