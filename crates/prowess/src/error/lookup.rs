//! [`LookupError`]: why no skill could be found by a name.

use std::borrow::Cow;

use prowess_core::Location;
use prowess_core::catalog::WhyNot;

use super::escape_control;

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
    #[error("this skill is {}: {}{}", .why.state, called(.name, .key), after_colon(&.why.reason))]
    NotOffered {
        /// The name that was asked for.
        name: String,
        /// The key of the skill.
        key: String,
        /// Why it is not offered.
        why: WhyNot,
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
    /// What to do about it.
    pub fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Unknown { .. } => "list the skills to see their keys",
            Self::Ambiguous { .. } => "name one of them by its whole key",
            Self::NotOffered { why, .. } => match why.state {
                "broken" => "check the skill to see every problem",
                "turned off" if why.reason.ends_with("which unregistered it") => {
                    "the host puts it back with Registry::restore"
                }
                "turned off" => "change skills.disable or skills.enable in that file to use it",
                "not trusted" => "look at it, then approve it or trust its folder",
                _ => "see all skills of this name with Catalog::why",
            },
        })
    }
}

/// The keys that may have been meant.
fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(" or ")) }
}

/// A name, and the key of the skill when it is a different one.
fn called(name: &str, key: &str) -> String {
    if name == key {
        escape_control(key)
    } else {
        format!("{}, which is called {}", escape_control(name), escape_control(key))
    }
}

/// A reason after a colon, if there is one.
fn after_colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", escape_control(reason)) }
}
