//! [`LookupError`]: why no skill could be found by a name.

use prowess_core::catalog::{TurnedOffBy, WhyNot};
use prowess_core::{Candidate, Location, Obstacle, Standing, internal};

use super::escape_control;
use crate::advice::{Hint, HintAction};

/// Why [`Registry::get`](crate::Registry::get) or [`Registry::named`](crate::Registry::named) found no skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No skill has this key.
    #[error("there is no such skill: {}{}", escape_control(.key), did_you_mean(.similar))]
    Unknown {
        /// The key.
        key: String,
        /// Keys that resemble it.
        similar: Vec<String>,
    },
    /// There is a skill of this name, and it is not offered.
    #[error("{}", not_offered(.name, .key, .standing))]
    NotOffered {
        /// The name that was asked for.
        name: String,
        /// The key of the skill.
        key: String,
        /// Why it is not offered.
        standing: Box<Standing>,
        /// The place of its SKILL.md.
        location: Location,
    },
    /// Several skills have this name.
    #[error("several skills have this name: {}: {}", escape_control(.name), escape_control(&.keys.join(", ")))]
    Ambiguous {
        /// The name.
        name: String,
        /// The keys of the skills.
        keys: Vec<String>,
    },
}

impl LookupError {
    /// The error about a skill that was found by a name and is not offered, or may not be used.
    pub fn not_offered(name: &str, skill: &Candidate, standing: Standing) -> Self {
        Self::NotOffered {
            name: name.to_owned(),
            key: skill.entry.key.clone(),
            standing: Box::new(standing),
            location: skill.entry.origin.location.clone(),
        }
    }

    /// The stable code, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown-skill",
            Self::NotOffered { .. } => "not-offered",
            Self::Ambiguous { .. } => "ambiguous-skill",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Hint {
        let (key, standing, location) = match self {
            Self::Unknown { .. } => return HintAction::ListSkills.into(),
            Self::Ambiguous { .. } => return "name one of them by its whole key".into(),
            Self::NotOffered { key, standing, location, .. } => (key.clone(), standing, location),
        };
        let Standing::Blocked { obstacle } = &**standing else { return HintAction::Why { key }.into() };
        match obstacle {
            Obstacle::Broken { profile, .. } => {
                HintAction::Check { key, location: location.clone(), profile: *profile }.into()
            }
            Obstacle::Disabled { by: TurnedOffBy::Host } => {
                "the host puts it back with Registry::restore".into()
            }
            Obstacle::Disabled { by: TurnedOffBy::Option(_) } => HintAction::LeaveOptionOut.into(),
            Obstacle::Disabled { .. } => {
                "change skills.disable or skills.enable in that file to use it".into()
            }
            Obstacle::Untrusted => HintAction::Trust { key }.into(),
        }
    }
}

/// The keys that may have been meant.
fn did_you_mean(similar: &[String]) -> String {
    internal::did_you_mean(similar).map(|meant| format!("; {meant}")).unwrap_or_default()
}

/// The state of a skill, its name and its key when it is a different one, and the reason if there is one.
fn not_offered(name: &str, key: &str, standing: &Standing) -> String {
    let why = standing.why_not().unwrap_or(WhyNot { state: "offered", reason: String::new() });
    let mut shown = escape_control(name);
    if name != key {
        shown.push_str(", which is called ");
        shown.push_str(&escape_control(key));
    }
    WhyNot { reason: escape_control(&why.reason), ..why }.about(&shown)
}
