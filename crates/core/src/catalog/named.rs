//! The one resolution of a name to skills, for every command and every message.

use super::{Candidate, Catalog, Obstacle, Standing};
use crate::text::{inline, similar, visible};

/// The result of resolving a name in a catalog. Exhaustive: none, one, several, or none that is offered.
#[derive(Clone, Debug, PartialEq)]
pub enum Named<'c> {
    /// One skill that is offered.
    One(&'c Candidate),
    /// Several skills that are offered; only their keys distinguish them.
    Several(Vec<&'c Candidate>),
    /// At least one skill that was found and is not offered, each with the reason.
    NotOffered(Vec<(&'c Candidate, &'c Standing)>),
    /// No skill.
    Unknown,
}

impl Catalog {
    /// Resolves a name: to the offered skill with this key, else to the skills that [`Catalog::why`] finds.
    pub fn named(&self, name: &str) -> Named<'_> {
        if let Some(skill) = self.get(name) {
            return Named::One(skill);
        }
        let found = self.why(name);
        let offered: Vec<&Candidate> = found
            .iter()
            .filter(|(_, standing)| **standing == Standing::Listed)
            .map(|(skill, _)| *skill)
            .collect();
        match offered.as_slice() {
            [only] => Named::One(only),
            [] if found.is_empty() => Named::Unknown,
            [] => Named::NotOffered(found),
            _ => Named::Several(offered),
        }
    }

    /// Every candidate that a name refers to, with its state, which says why it is not offered.
    ///
    /// These are the candidates with this key or name. When there are none, those whose folder has this name, since a
    /// skill may call itself something else. When there are none of these either, the same without regard to case, and
    /// at last those whose key, name or folder a text shows so, with escapes.
    pub fn why(&self, name: &str) -> Vec<(&Candidate, &Standing)> {
        let folder = |skill: &Candidate| skill.entry.origin.folder.as_deref() == Some(name);
        let found = self.matching(|skill| skill.answers_to(name));
        let found = if found.is_empty() { self.matching(folder) } else { found };
        if !found.is_empty() {
            return found;
        }
        let by = |is_it: &dyn Fn(&str) -> bool| {
            self.matching(|skill| {
                let entry = &skill.entry;
                let folder = entry.origin.folder.as_deref().unwrap_or_default();
                [&entry.key, &entry.name, folder].iter().any(|text| is_it(text))
            })
        };
        let lower = name.to_lowercase();
        let found = by(&|text| text.to_lowercase() == lower);
        if !found.is_empty() || !name.contains('\\') {
            return found;
        }
        by(&|text| inline(text) == name || visible(text) == name)
    }

    fn matching(&self, is_meant: impl Fn(&Candidate) -> bool) -> Vec<(&Candidate, &Standing)> {
        self.all().filter(|(skill, _)| is_meant(skill)).collect()
    }

    /// The keys that are similar to an unknown one, the closest first. That key itself is never among them.
    pub fn similar(&self, key: &str) -> Vec<&str> {
        similar(key, self.all().map(|(candidate, _)| candidate.entry.key.as_str()))
    }
}

/// Why a skill is not offered or may not be used, in words for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// The words after "this skill is": `broken`, `turned off`, `shadowed`, `not seen` or `not trusted`.
    pub state: &'static str,
    /// What is wrong with it, or which file turned it off; empty when the state is enough.
    pub reason: String,
}

impl WhyNot {
    /// The sentence about the skill with this name.
    pub fn about(&self, name: &str) -> String {
        let Self { state, reason } = self;
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        format!("this skill is {state}: {name}{reason}")
    }

    fn new(state: &'static str, reason: String) -> Self {
        Self { state, reason }
    }
}

impl Standing {
    /// Why a skill with this standing is not offered; none when it is.
    pub fn why_not(&self) -> Option<WhyNot> {
        match self {
            Self::Listed => None,
            Self::Shadowed { by } => Some(WhyNot::new("shadowed", format!("by {by}"))),
            Self::Unseen { reason, .. } => Some(WhyNot::new("not seen", reason.clone())),
            Self::Blocked { obstacle } => Some(obstacle.why_not()),
        }
    }
}

impl Obstacle {
    /// The obstacle in words.
    pub fn why_not(&self) -> WhyNot {
        match self {
            Self::Broken { problems, profile } => {
                let first = problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
                let mut reason = match problems.len() {
                    0 | 1 => first.to_owned(),
                    2 => format!("{first}, and 1 more problem"),
                    count => format!("{first}, and {} more problems", count - 1),
                };
                if let Some(profile) = profile {
                    reason.push_str("; judged by the profile ");
                    reason.push_str(profile.name());
                }
                WhyNot::new("broken", reason)
            }
            Self::Disabled { by } => WhyNot::new("turned off", format!("by {by}")),
            Self::Untrusted => WhyNot::new("not trusted", String::new()),
        }
    }
}
