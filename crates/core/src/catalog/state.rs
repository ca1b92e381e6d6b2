//! What became of a skill, in one word.

use super::{Candidate, Obstacle, Standing};

/// The states of a skill, those that are offered first.
pub const STATES: [&str; 6] = ["active", "untrusted", "broken", "disabled", "shadowed", "unseen"];

/// The state of a skill: one of [`STATES`].
pub fn state_of(candidate: &Candidate, standing: &Standing) -> &'static str {
    match (standing, obstacle_of(candidate, standing)) {
        (Standing::Unseen { .. }, _) => "unseen",
        (Standing::Shadowed { .. }, _) => "shadowed",
        (_, Some(Obstacle::Broken { .. })) => "broken",
        (_, Some(Obstacle::Disabled { .. })) => "disabled",
        (_, Some(Obstacle::Untrusted)) => "untrusted",
        (_, None) => "active",
    }
}

/// The obstacle that decides the state. A skill that a client lists may be withheld by Prowess.
pub fn obstacle_of<'c>(candidate: &'c Candidate, standing: &'c Standing) -> Option<&'c Obstacle> {
    match standing {
        Standing::Listed => candidate.obstacle.as_ref(),
        Standing::Blocked { obstacle } => Some(obstacle),
        Standing::Unseen { .. } | Standing::Shadowed { .. } => None,
    }
}
