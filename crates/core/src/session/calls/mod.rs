//! A tool call from its name to its result, through the effects it waits for.

mod activate;
mod give;
mod read;
pub(in crate::session) mod substitute;
mod user;

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::catalog::{Candidate, is_below};
use crate::render::render_catalog;
use crate::select::{Hit, Query};
use crate::session::effect::{Failure, Outcome, Step, ToolCall};
use crate::session::event::{Actor, What};
use crate::session::interface::arguments::{self, shown};
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::{Stage, Waiting, Want};
use crate::session::{Filter, Session};
use crate::skill::Entry;
use crate::text::visible;

/// How many skills a search returns unless the model says otherwise.
const HITS: usize = 5;
/// Up to so many names a refusal lists all that there are.
const ALL_NAMES: usize = 20;
/// How many it lists of more: the nearest.
const NEAREST: usize = 5;
/// How many names are measured to find these.
const MEASURED: usize = 32;

impl Session {
    /// Answers a tool call, or says what is needed for the answer.
    pub fn call(&mut self, call: ToolCall) -> Step {
        let naming = &self.options.naming;
        let Some(tool) = naming.tool(&call.tool).filter(|tool| self.options.tools.contains(tool)) else {
            let names: Vec<_> = Tool::ALL.into_iter().filter_map(|tool| self.offered(tool)).collect();
            let hint = match names.as_slice() {
                [] => "there are no tools for skills; go on without".to_owned(),
                names => format!("the tools for skills are {}", names.join(", ")),
            };
            return self.refuse(
                Reason::UnknownTool,
                format!("there is no such tool: {}", shown(&call.tool)),
                hint,
            );
        };
        let values = match arguments::read(tool, naming, &call.arguments) {
            Ok(values) => values,
            Err((error, hint)) => return self.refuse(Reason::BadArguments, error, hint),
        };
        let filter = call.filter;
        match tool {
            Tool::List => self.list(&values.folder, values.offset, filter.as_ref()),
            Tool::Search => {
                let most = self.options.max_hits.max(1);
                let limit = values.limit.map_or(HITS, |limit| usize::try_from(limit).unwrap_or(most));
                self.search(values.query, limit.clamp(1, most), filter)
            }
            Tool::Load => self.load(&values.skill, Actor::Model, filter, None, false),
            Tool::Unload => self.unload(&values.skill),
            Tool::Read => self.read(values, filter),
            Tool::Run => self.run(values, filter),
        }
    }

    /// The filter of a call, or the session's.
    pub(in crate::session) fn filter_for<'f>(&'f self, own: Option<&'f Filter>) -> &'f Filter {
        own.unwrap_or_else(|| self.filter())
    }

    /// The same for what is done with one skill: an active one is read as it was activated.
    pub(in crate::session) fn filter_on<'f>(
        &'f self,
        key: &str,
        act: Act,
        own: Option<&'f Filter>,
    ) -> &'f Filter {
        let reads = matches!(act, Act::Read | Act::Run);
        let active = self.state.find(key).filter(|_| reads && own.is_none());
        active.and_then(|active| active.filter.as_ref()).unwrap_or_else(|| self.filter_for(own))
    }

    /// Refuses, and writes it down.
    pub(in crate::session) fn refuse(
        &mut self,
        reason: Reason,
        error: impl AsRef<str>,
        hint: impl AsRef<str>,
    ) -> Step {
        self.note(What::Refused { reason: reason.code().to_owned() });
        Step::Done(ToolResult::refused(reason, error, hint))
    }

    /// The skill that a call is about, if it is about one that may be used: what is read for the answer is read of this
    /// skill. A host that treats sources differently can ask before it makes the call.
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
        match self.meant(&values.skill, act, Actor::Model, call.filter.as_ref()).as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Finds the skill somebody means among those they may know; by key, else by a name that only one has.
    pub(in crate::session) fn resolve(
        &self,
        wanted: &str,
        act: Act,
        by: Actor,
        filter: Option<&Filter>,
    ) -> Result<&Candidate, ToolResult> {
        match self.meant(wanted, act, by, filter).as_slice() {
            [only] => Ok(only),
            [] => Err(self.unknown(wanted, by, self.filter_for(filter))),
            several => Err(ambiguous(wanted, several.iter().map(|one| one.entry.key.as_str()))),
        }
    }

    /// The skills that a key or a name may mean.
    fn meant(&self, wanted: &str, act: Act, by: Actor, filter: Option<&Filter>) -> Vec<&Candidate> {
        let may = |candidate: &&Candidate| {
            self.judge(candidate, act, by, self.filter_on(&candidate.entry.key, act, filter)).is_ok()
        };
        if let Some(candidate) = self.catalog.get(wanted).filter(may) {
            return vec![candidate];
        }
        let namesake = |c: &&Candidate| c.entry.name == wanted && c.entry.key != wanted;
        self.catalog.iter().filter(namesake).filter(may).collect()
    }

    /// The same words whether a skill is hidden or was never there.
    pub(in crate::session) fn unknown(&self, wanted: &str, by: Actor, filter: &Filter) -> ToolResult {
        let allowed = self.policy.allow.as_ref().is_some_and(|allow| allow.contains(wanted));
        if allowed && !self.policy.deny.contains(wanted) && self.catalog.why(wanted).is_empty() {
            let hint = "the host allows it; its folder or its SKILL.md may be gone";
            return ToolResult::refused(
                Reason::MissingSkill,
                format!("this skill is not there: {}", shown(wanted)),
                hint,
            );
        }
        let mut visible = self.visible(by, filter);
        // A name that was refused is never suggested in its own place.
        visible.retain(|candidate| candidate.entry.key != wanted);
        let keys = visible.iter().map(|candidate| candidate.entry.key.as_str());
        let hint = match visible.len() {
            0 => "no skill is available; go on without one".to_owned(),
            1..=ALL_NAMES => format!("the skills are {}", listed(keys)),
            _ => {
                let near = listed(nearest(wanted, keys).into_iter());
                match self.offered(Tool::Search).or_else(|| self.offered(Tool::List)) {
                    Some(tool) => format!("the nearest are {near}; find others with {tool}"),
                    None => format!("the nearest are {near}"),
                }
            }
        };
        ToolResult::refused(Reason::UnknownSkill, format!("there is no such skill: {}", shown(wanted)), hint)
    }

    fn list(&mut self, folder: &str, offset: u64, filter: Option<&Filter>) -> Step {
        let catalog = self.shared_catalog();
        let filter = self.filter_for(filter).clone();
        let visible = self.visible_in(&catalog, Actor::Model, &filter);
        let inside = |candidate: &&&Candidate| is_below(&candidate.virtual_path, folder);
        let entries: Vec<&Entry> = visible.iter().filter(inside).map(|candidate| &candidate.entry).collect();
        let total = entries.len();
        let first = usize::try_from(offset).unwrap_or(total).min(total);
        let shown: Vec<&Entry> = entries.into_iter().skip(first).take(self.options.max_list.max(1)).collect();
        if shown.is_empty() {
            let folder = arguments::shown(folder);
            let none = match (total, folder.as_str()) {
                (0, _) if visible.is_empty() => "no skill is available".to_owned(),
                (0, folder) => format!("no skill is in this folder: {folder}"),
                _ => format!("this is past the last skill: offset {offset} of {total}"),
            };
            return Step::Done(ToolResult::done(none, json!({"skills": [], "total": total})));
        }
        let mut text = render_catalog(&shown, &self.options.catalog);
        let mut data = json!({"skills": rows(&shown), "total": total});
        let end = first + shown.len();
        if end < total {
            let _ = write!(text, "\n\n{} more skills; go on with offset {end}", total - end);
            if let Some(search) = self.offered(Tool::Search) {
                let _ = write!(text, ", or find one with {search}");
            }
            if let Some(data) = data.as_object_mut() {
                data.insert("next".to_owned(), end.into());
            }
        }
        let keys = shown.iter().map(|entry| entry.key.clone()).collect();
        self.note(What::Offered { keys, omitted: total - end });
        Step::Done(ToolResult::done(text, data))
    }

    fn search(&mut self, query: String, limit: usize, filter: Option<Filter>) -> Step {
        let own = self.filter_for(filter.as_ref());
        let seen = |candidate: &Candidate| self.judge(candidate, Act::See, Actor::Model, own).is_ok();
        if !self.catalog.iter().any(seen) {
            return Step::Done(nothing_found());
        }
        let want = Want::Search { query: Query::text(query), limit };
        self.wait(Actor::Model, filter, want, Stage::Hits)
    }

    pub(in crate::session) fn found(&mut self, waiting: &Waiting, limit: usize, outcome: Outcome) -> Step {
        let hits = match outcome {
            Outcome::Hits { hits } => hits,
            Outcome::Failed { .. } => {
                let hint = match self.offered(Tool::List) {
                    Some(list) => format!("see all skills with {list}"),
                    None => "try again later, or go on without a skill".to_owned(),
                };
                return self.refuse(Reason::SearchFailed, "the skills could not be searched", hint);
            }
            _ => return self.wrong_outcome(),
        };
        let catalog = self.shared_catalog();
        let filter = self.filter_for(waiting.filter.as_ref());
        let seen = |hit: &Hit| {
            let candidate = catalog.get(&hit.key)?;
            self.judge(candidate, Act::See, waiting.by, filter).ok()?;
            Some((hit.score, &candidate.entry))
        };
        let found: Vec<(f32, &Entry)> = hits.iter().filter_map(seen).take(limit).collect();
        if found.is_empty() {
            return Step::Done(nothing_found());
        }
        let entries: Vec<&Entry> = found.iter().map(|(_, entry)| *entry).collect();
        let mut skills = rows(&entries);
        for (row, (score, _)) in skills.iter_mut().zip(&found) {
            if let Some(row) = row.as_object_mut() {
                row.insert("score".to_owned(), json!(score));
            }
        }
        let text = render_catalog(&entries, &self.options.catalog);
        self.note(What::Found { keys: entries.iter().map(|entry| entry.key.clone()).collect() });
        Step::Done(ToolResult::done(text, json!({"skills": skills})))
    }

    pub(in crate::session) fn wrong_outcome(&mut self) -> Step {
        let error = "the host answered something else than was asked";
        self.refuse(Reason::WrongOutcome, error, "call the tool again")
    }

    /// Refuses what could not be read, without telling what the host knows of its disk.
    pub(in crate::session) fn unread(&mut self, what: &str, why: Failure) -> Step {
        let what = shown(what);
        let files = match self.offered(Tool::Read) {
            Some(read) => format!("list the files with {read}"),
            None => "go on without it".to_owned(),
        };
        let (reason, error, hint) = match why {
            Failure::Missing => (Reason::MissingFile, format!("there is no such file: {what}"), files),
            Failure::Outside => {
                let hint = "only files below the skill's own folder can be read".to_owned();
                (Reason::BadPath, format!("this leads out of the skill: {what}"), hint)
            }
            Failure::NotAFile => (Reason::BadPath, format!("this is not a file: {what}"), files),
            Failure::TooLarge => {
                let hint = "read a part of it, with offset and limit".to_owned();
                (Reason::TooLarge, format!("the file is too large: {what}"), hint)
            }
            Failure::Broken => {
                let hint = "its SKILL.md has a fault; go on without it".to_owned();
                (Reason::BrokenSkill, format!("this skill can no longer be loaded: {what}"), hint)
            }
            Failure::NotAsListed => {
                let hint = "go on without it, and tell the user".to_owned();
                (Reason::Changed, format!("it is not what was listed: {what}"), hint)
            }
            Failure::Failed => {
                let hint = "try again later, or go on without it".to_owned();
                (Reason::ReadFailed, format!("this could not be read: {what}"), hint)
            }
        };
        self.refuse(reason, error, hint)
    }
}

/// Several skills have the name that somebody gave.
pub(in crate::session) fn ambiguous<'k>(wanted: &str, keys: impl Iterator<Item = &'k str>) -> ToolResult {
    let keys: Vec<&str> = keys.take(ALL_NAMES).collect();
    let mut refusal = ToolResult::refused(
        Reason::AmbiguousSkill,
        format!("several skills have this name: {}", shown(wanted)),
        format!("name one of {}", listed(keys.iter().copied())),
    );
    refusal.data = json!({"keys": keys});
    refusal
}

fn nothing_found() -> ToolResult {
    ToolResult::done("no skill fits; go on without one", json!({"skills": []}))
}

fn rows(entries: &[&Entry]) -> Vec<Value> {
    let row = |entry: &&Entry| json!({"name": entry.key, "description": visible(&entry.description)});
    entries.iter().map(row).collect()
}

pub(in crate::session) fn listed<'k>(keys: impl Iterator<Item = &'k str>) -> String {
    let names: Vec<String> = keys.map(shown).collect();
    names.join(", ")
}

/// The keys that are nearest to a name.
fn nearest<'k>(wanted: &str, keys: impl Iterator<Item = &'k str>) -> Vec<&'k str> {
    let wanted: String = wanted.chars().take(crate::limits::MAX_NAME_CHARS).collect();
    // Exact distances of thousands of names would cost more than the call; those with most in common at both
    // ends come first, and only they are measured.
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
