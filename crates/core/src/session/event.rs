//! What happened in a session, in order: the log that explains its state.

use serde::{Deserialize, Serialize};

/// Who wants something.
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
    /// Somebody asked for it.
    Asked,
    /// Another skill needed its place.
    Evicted,
    /// The filter or another part of the policy hides it now.
    Hidden,
    /// The catalog no longer has it.
    Vanished,
    /// The turn for which it was active is over.
    TurnOver,
    /// It was not used for some turns.
    Unused,
}

/// One thing that happened.
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

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// A catalog came.
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
        /// How many had no place.
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
        /// By whom.
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
    /// An active skill is not what it was when it was activated.
    Changed {
        /// Its key.
        key: String,
    },
    /// Somebody approved a skill.
    Approved {
        /// Its key.
        key: String,
        /// As it was.
        digest: String,
    },
    /// An approval counts no longer: the skill changed, or it was declined.
    NotApproved {
        /// Its key.
        key: String,
    },
    /// A call was refused.
    Refused {
        /// By which reason.
        reason: String,
    },
    /// A skill that was to be active from the start is not.
    NotPreloaded {
        /// Its key.
        key: String,
        /// By which reason.
        reason: String,
    },
}

/// The active skills that events lead to, from those that were active before them, the most recent last.
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
