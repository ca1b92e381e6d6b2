//! The state of each skill of a snapshot: which are served, and why not the others.

use prowess::Obstacle;
use prowess::internal::state_of;

use crate::library::snapshot::Snapshot;

impl Snapshot {
    /// The number of skills in each state.
    pub(crate) fn states(&self) -> [(&'static str, usize); 7] {
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
        states
    }

    /// The skills that were served in a snapshot before and are not any more, each with the reason.
    pub(crate) fn lost_since(&self, before: &Self) -> Vec<(String, String)> {
        let lost = before.keys().filter(|key| !self.serves(key));
        let reason = |key: &str| {
            let found = self.catalog().why(key);
            let Some((skill, standing)) = found.first() else { return "it is gone".to_owned() };
            let why = standing.why_not().or_else(|| skill.obstacle.as_ref().map(Obstacle::why_not));
            match why {
                Some(why) if why.reason.is_empty() => format!("it is {}", why.state),
                Some(why) => format!("it is {}: {}", why.state, why.reason),
                None => "the filter hides it".to_owned(),
            }
        };
        lost.map(|key| (key.to_owned(), reason(key))).collect()
    }
}
