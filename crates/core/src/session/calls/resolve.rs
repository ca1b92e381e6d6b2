//! From a name to a skill, and the refusals of names that match none or several.

use std::collections::BTreeSet;

use serde_json::json;

use crate::catalog::Candidate;
use crate::session::calls::join_names;
use crate::session::effect::{Step, ToolCall};
use crate::session::event::Actor;
use crate::session::interface::arguments::{self, for_message, whole_for_message};
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::interface::shown::ShownName;
use crate::session::policy::Act;
use crate::session::{Filter, Session};

/// Up to this many skills, a refusal lists all their names.
const ALL_NAMES: usize = 20;
/// With more skills, it lists this many: the nearest names.
const NEAREST: usize = 5;
/// The number of names whose distance is computed to find these.
const MEASURED: usize = 32;

impl Session {
    /// The skill that a call is about, if it is about one that may be used. A host that treats sources differently can
    /// ask before it makes the call.
    pub fn skill_of(&self, call: &ToolCall) -> Option<&Candidate> {
        let naming = &self.options.naming;
        let tool = naming.tool(&call.tool)?;
        let act = match tool {
            Tool::Load => Act::Activate,
            Tool::Read => Act::Read,
            Tool::Run => Act::Run,
            Tool::List | Tool::Search | Tool::Unload => return None,
        };
        let values = arguments::read(tool, naming, &call.arguments).ok()?;
        match self.candidates_named(&values.skill, act, Actor::Model, call.filter.as_ref()).as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Finds a skill among those that the actor may use: by key, else by a name that only one of them has.
    pub(in crate::session) fn resolve(
        &self,
        wanted: &str,
        act: Act,
        by: Actor,
        filter: Option<&Filter>,
    ) -> Result<&Candidate, Box<ToolResult>> {
        match self.candidates_named(wanted, act, by, filter).as_slice() {
            [only] => Ok(only),
            [] => Err(Box::new(self.unknown(wanted, by, self.filter_for(filter)))),
            several => Err(Box::new(ambiguous(wanted, several.iter().map(|one| one.entry.key.as_str())))),
        }
    }

    /// The skills that a key or a name matches.
    fn candidates_named(
        &self,
        wanted: &str,
        act: Act,
        by: Actor,
        filter: Option<&Filter>,
    ) -> Vec<&Candidate> {
        let may = |candidate: &&Candidate| {
            self.judge(candidate, act, by, self.filter_on(&candidate.entry.key, act, filter)).is_ok()
        };
        let mut found: Vec<&Candidate> = self.catalog.get(wanted).filter(may).into_iter().collect();
        if found.is_empty() {
            let namesake = |c: &&Candidate| c.entry.name == wanted && c.entry.key != wanted;
            found.extend(self.catalog.iter().filter(namesake).filter(may));
        }
        // A name that is spelled as our texts show another one must not take its place.
        if let Some(shown) = ShownName::read(wanted) {
            let is_other = |c: &&Candidate| c.entry.key != wanted && c.entry.name != wanted;
            let is_shown = |c: &&Candidate| shown.is(&c.entry.key) || shown.is(&c.entry.name);
            found.extend(self.catalog.iter().filter(is_other).filter(is_shown).filter(may));
        }
        found
    }

    /// The refusal of an unknown name. It is the same whether a skill is hidden or does not exist.
    pub(in crate::session) fn unknown(&self, wanted: &str, by: Actor, filter: &Filter) -> ToolResult {
        let allowed = self.policy.allow.as_ref().is_some_and(|allow| allow.contains(wanted));
        if allowed && !self.policy.deny.contains(wanted) && self.catalog.why(wanted).is_empty() {
            let hint = "the host allows it; its folder or its SKILL.md may be gone";
            return ToolResult::refused(
                Reason::MissingSkill,
                format!("this skill was not found: {}", for_message(wanted)),
                hint,
            );
        }
        let mut offered = self.visible(by, filter);
        // A refused name is never suggested.
        offered.retain(|candidate| candidate.entry.key != wanted);
        let keys = offered.iter().map(|candidate| candidate.entry.key.as_str());
        let hint = match offered.len() {
            0 => "no skill is available; continue without one".to_owned(),
            1..=ALL_NAMES => format!("the skills are {}", join_names(keys)),
            _ => {
                let near = join_names(nearest(wanted, keys).into_iter());
                match self.offered_name(Tool::Search).or_else(|| self.offered_name(Tool::List)) {
                    Some(tool) => format!("the nearest are {near}; find others with {tool}"),
                    None => format!("the nearest are {near}"),
                }
            }
        };
        ToolResult::refused(
            Reason::UnknownSkill,
            format!("there is no such skill: {}", for_message(wanted)),
            hint,
        )
    }

    /// Refuses a call about a skill that is gone, or hidden by now.
    pub(in crate::session) fn skill_gone(&mut self, key: &str, by: Actor, filter: Option<&Filter>) -> Step {
        let refusal = self.unknown(key, by, self.filter_for(filter));
        self.refused(refusal)
    }
}

/// The refusal of a name that several skills have.
pub(in crate::session) fn ambiguous<'k>(wanted: &str, keys: impl Iterator<Item = &'k str>) -> ToolResult {
    let mut keys: Vec<&str> = keys.collect();
    let more = keys.len().saturating_sub(ALL_NAMES);
    keys.truncate(ALL_NAMES);
    // Whole: a name that is cut may be that of several skills again.
    let names: Vec<String> = keys.iter().map(|key| whole_for_message(key)).collect();
    let different: BTreeSet<&String> = names.iter().collect();
    let (are_alike, names) = (different.len() < names.len(), names.join(", "));
    let hint = if are_alike {
        "their names are spelled alike here, so none of them can be named; continue without them".to_owned()
    } else if more == 0 {
        format!("name one of {names}")
    } else {
        format!("name one of {names} and {more} more")
    };
    ToolResult::refused(
        Reason::AmbiguousSkill,
        format!("several skills have this name: {}", for_message(wanted)),
        hint,
    )
    .with_data(json!({"keys": keys, "more": more}))
}

/// The keys that are nearest to a name.
fn nearest<'k>(wanted: &str, keys: impl Iterator<Item = &'k str>) -> Vec<&'k str> {
    let wanted: String = wanted.chars().take(crate::limits::MAX_NAME_CHARS).collect();
    // Computing thousands of distances would cost more than the call. Only the names with the longest common start
    // and end are compared.
    let common = |key: &str| {
        let (a, b) = (wanted.as_bytes(), key.as_bytes());
        let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (start + end).min(b.len()).cast_signed() - a.len().abs_diff(b.len()).cast_signed() / 2
    };
    let mut near: Vec<(isize, &str)> = keys.map(|key| (-common(key), key)).collect();
    if near.len() > MEASURED {
        near.select_nth_unstable(MEASURED);
        near.truncate(MEASURED);
    }
    let distance = |(_, key): (isize, &'k str)| (crate::text::distance(&wanted, key), key);
    let mut near: Vec<(usize, &str)> = near.into_iter().map(distance).collect();
    near.sort_unstable();
    near.into_iter().take(NEAREST).map(|(_, key)| key).collect()
}
