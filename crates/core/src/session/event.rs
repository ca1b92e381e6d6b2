//! The log of a session: its events in order.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Actor {
    /// The model, by calling a tool.
    Model,
    /// The user, by naming a skill.
    User,
    /// The host, by preloading one.
    Host,
}

/// Why a skill is no longer active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EndReason {
    /// The model, the user or the host deactivated it.
    Asked,
    /// Another skill took its place.
    Evicted,
    /// The filter or another part of the policy hides it now.
    Hidden,
    /// It is no longer in the catalog.
    Vanished,
    /// The turn for which it was active is over.
    TurnOver,
    /// It was not used for too many turns.
    Unused,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Its number; the first is 0.
    pub number: u64,
    /// The turn in which it happened.
    pub turn: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kind of an event, with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// The number of visible skills changed.
    Discovered {
        /// How many of its skills the model may see.
        visible: usize,
        /// How many it may not.
        hidden: usize,
    },
    /// A prompt or a list showed skills to the model.
    Offered {
        /// Their keys.
        keys: Vec<String>,
        /// How many were left out.
        omitted: usize,
    },
    /// A search found skills.
    Found {
        /// Their keys, the best first.
        keys: Vec<String>,
    },
    /// A skill became active, or was activated again.
    Activated {
        /// Its key.
        key: String,
        /// Who activated it.
        by: Actor,
        /// Whether it was active already.
        again: bool,
    },
    /// A file of a skill was read.
    Read {
        /// The skill.
        key: String,
        /// The file.
        path: String,
    },
    /// A skill is no longer active.
    Deactivated {
        /// Its key.
        key: String,
        /// Why.
        why: EndReason,
    },
    /// An active skill changed since it was activated.
    Changed {
        /// Its key.
        key: String,
    },
    /// A skill was approved.
    Approved {
        /// Its key.
        key: String,
        /// The digest of its files.
        digest: Digest,
    },
    /// A skill is not approved: it changed since its approval, or the user declined.
    NotApproved {
        /// Its key.
        key: String,
    },
    /// A call was refused.
    Refused {
        /// The code of the reason.
        reason: String,
    },
    /// A skill could not be preloaded.
    NotPreloaded {
        /// Its key.
        key: String,
        /// The code of the reason.
        reason: String,
    },
}

impl EventKind {
    /// The words for the kinds, as they are in JSON.
    pub const NAMES: &'static [&'static str] = &[
        "discovered",
        "offered",
        "found",
        "activated",
        "read",
        "deactivated",
        "changed",
        "approved",
        "not-approved",
        "refused",
        "not-preloaded",
    ];
}

/// The active skills after some events, given those before them; the most recently activated last.
pub fn replay<'e>(before: &[String], events: impl IntoIterator<Item = &'e Event>) -> Vec<String> {
    let mut active = before.to_vec();
    for event in events {
        match &event.kind {
            EventKind::Activated { key, .. } => {
                active.retain(|other| other != key);
                active.push(key.clone());
            }
            EventKind::Deactivated { key, .. } => active.retain(|other| other != key),
            _ => {}
        }
    }
    active
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_kinds_are_those_in_json() {
        let error = serde_json::from_str::<EventKind>(r#"{"event": "bogus"}"#).unwrap_err().to_string();
        let known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, EventKind::NAMES);
    }
}
