//! The state of each skill of a snapshot: which are served, and why not the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess::Obstacle;
use prowess::internal::{is_unlisted, state_of};

use crate::library::snapshot::Snapshot;

/// How many skills of a library are served, and how many are not, by state. Logs, metrics and messages have their numbers
/// from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillCounts([(&'static str, usize); 7]);

impl SkillCounts {
    /// The states and the number of skills in each, those that are served first.
    pub fn states(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.0.into_iter()
    }

    /// The number of skills in a state.
    pub fn of(&self, state: &str) -> usize {
        self.states().filter(|(name, _)| *name == state).map(|(_, number)| number).sum()
    }

    /// The number of skills that are served.
    pub fn served(&self) -> usize {
        self.of("served")
    }

    /// The skills that were found and are not served: the number for each reason, such as `2 broken, 1 not trusted`.
    /// `None` when all are served.
    pub fn left_out(&self) -> Option<String> {
        let left_out = self.states().filter(|(state, number)| *state != "served" && *number > 0);
        let words = |state| match state {
            "hidden" => "hidden by the filter",
            "disabled" => "turned off",
            "untrusted" => "not trusted",
            other => other,
        };
        let parts: Vec<String> =
            left_out.map(|(state, number)| format!("{number} {}", words(state))).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Snapshot {
    /// The number of skills in each state.
    pub(crate) fn counts(&self) -> SkillCounts {
        let mut states = ["served", "hidden", "broken", "disabled", "untrusted", "shadowed", "unseen"]
            .map(|name| (name, 0));
        for (skill, standing) in self.catalog().all() {
            let state = match state_of(skill, standing) {
                "active" if self.serves(&skill.entry.key) => "served",
                "active" => "hidden",
                other => other,
            };
            for (_, number) in states.iter_mut().filter(|(name, _)| *name == state) {
                *number += 1;
            }
        }
        SkillCounts(states)
    }

    /// The skills that were served in a snapshot before and are not any more.
    pub(crate) fn lost_since(&self, before: &Self) -> Lost {
        let registry = &self.sessions.registry;
        let mut lost = Lost::default();
        for key in before.keys().filter(|key| !self.serves(key)) {
            let found = self.catalog().why(key);
            let reason = match found.first() {
                None => match before.catalog().get(key).filter(|skill| is_unlisted(registry, skill)) {
                    Some(skill) => {
                        *lost.with_their_source.entry(Arc::clone(&skill.source)).or_default() += 1;
                        continue;
                    }
                    None => "it is gone".to_owned(),
                },
                Some((skill, _)) if registry.changed_since_approval(skill) => {
                    "it changed since it was trusted".to_owned()
                }
                Some((skill, standing)) => {
                    let why = standing.why_not().or_else(|| skill.obstacle.as_ref().map(Obstacle::why_not));
                    match why {
                        Some(why) if why.reason.is_empty() => format!("it is {}", why.state),
                        Some(why) => format!("it is {}: {}", why.state, why.reason),
                        None => "the filter hides it".to_owned(),
                    }
                }
            };
            lost.alone.push((key.to_owned(), reason));
        }
        lost
    }
}

/// Skills that are not served any more.
#[derive(Default)]
pub(crate) struct Lost {
    /// Each with the reason.
    pub(crate) alone: Vec<(String, String)>,
    /// The number of those whose source could not be read, for each source.
    pub(crate) with_their_source: BTreeMap<Arc<str>, usize>,
}
