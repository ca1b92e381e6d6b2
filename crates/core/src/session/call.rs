//! A tool call from its name to its result, through the effects it waits for.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arguments::{self, shown};
use super::effect::{Effect, Failure, Outcome, Step, Ticket, ToolCall};
use super::event::{Actor, What};
use super::naming::Tool;
use super::policy::Act;
use super::result::{Reason, ToolResult};
use super::state::{Stage, Waiting, Want};
use super::{Filter, Session};
use crate::catalog::{Candidate, is_below};
use crate::render::render_catalog;
use crate::select::{Hit, Query};
use crate::skill::Entry;

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
            let offered = self.options.tools.iter().filter(|tool| **tool != Tool::Run || self.policy.run);
            let names: Vec<_> = offered.map(|tool| naming.tool_name(*tool)).collect();
            let hint = format!("the tools for skills are {}", names.join(", "));
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
            Tool::Load => self.load(&values.skill, Actor::Model, filter, None),
            Tool::Unload => self.unload(&values.skill),
            Tool::Read => self.read(values, filter),
            Tool::Run => self.run(values, filter),
        }
    }

    /// Goes on with a call after its effect. A ticket is good for one effect.
    pub fn resume(&mut self, ticket: Ticket, outcome: Outcome) -> Step {
        let known =
            self.state.pending.get(&ticket.number).is_some_and(|waiting| waiting.check == ticket.check);
        let waiting = if known { self.state.pending.remove(&ticket.number) } else { None };
        let Some(waiting) = waiting else {
            let error = "no call waits for this ticket".to_owned();
            return self.refuse(Reason::UnknownTicket, error, "call the tool again");
        };
        if let Want::Search { limit } = waiting.want {
            return self.found(&waiting, limit, outcome);
        }
        let preloaded = match &waiting.want {
            Want::Load { key, preload: true, .. } => Some(key.clone()),
            _ => None,
        };
        let step = self.go_on(waiting, outcome);
        if let Some(key) = preloaded {
            self.note_preload(&key, &step);
        }
        step
    }

    /// The filter of a call, or the session's.
    pub(super) fn filter_for<'f>(&'f self, own: Option<&'f Filter>) -> &'f Filter {
        own.unwrap_or_else(|| self.filter())
    }

    /// Refuses, and writes it down.
    pub(super) fn refuse(&mut self, reason: Reason, error: impl AsRef<str>, hint: impl AsRef<str>) -> Step {
        self.note(What::Refused { reason: reason.code().to_owned() });
        Step::Done(ToolResult::refused(reason, error, hint))
    }

    /// Makes a call wait for an effect.
    pub(super) fn wait(
        &mut self,
        by: Actor,
        filter: Option<Filter>,
        want: Want,
        stage: Stage,
        effect: Effect,
    ) -> Step {
        let number = self.state.next_ticket;
        self.state.next_ticket += 1;
        let about = match &want {
            Want::ReadFile { path, .. } | Want::Run { path, .. } => path.as_str(),
            _ => "",
        };
        let check = mix(&[&self.options.id, want.key().unwrap_or_default(), about], number);
        self.state.pending.insert(number, Waiting { check, by, filter, want, stage });
        Step::Need(Ticket { number, check }, effect)
    }

    /// Finds the skill somebody means among those they may know; by key, else by a name that only one has.
    pub(super) fn resolve(
        &self,
        wanted: &str,
        act: Act,
        by: Actor,
        filter: Option<&Filter>,
    ) -> Result<&Candidate, ToolResult> {
        let filter = self.filter_for(filter);
        let may = |candidate: &&Candidate| self.judge(candidate, act, by, filter).is_ok();
        if let Some(candidate) = self.catalog.get(wanted).filter(may) {
            return Ok(candidate);
        }
        let mut namesakes =
            self.catalog.iter().filter(|c| c.entry.name == wanted && c.entry.key != wanted).filter(may);
        if let (Some(only), None) = (namesakes.next(), namesakes.next()) {
            return Ok(only);
        }
        Err(self.unknown(wanted, by, filter))
    }

    /// The same words whether a skill is hidden or was never there.
    pub(super) fn unknown(&self, wanted: &str, by: Actor, filter: &Filter) -> ToolResult {
        let naming = &self.options.naming;
        let allowed = self.policy.allow.as_ref().is_some_and(|allow| allow.contains(wanted));
        if allowed && !self.policy.deny.contains(wanted) && self.catalog.why(wanted).is_empty() {
            let hint = "the host allows it; its folder or its SKILL.md may be gone";
            return ToolResult::refused(
                Reason::MissingSkill,
                format!("this skill is not there: {}", shown(wanted)),
                hint,
            );
        }
        let visible = self.visible(by, filter);
        let keys = visible.iter().map(|candidate| candidate.entry.key.as_str());
        let hint = match visible.len() {
            0 => "no skill is available; go on without one".to_owned(),
            1..=ALL_NAMES => format!("the skills are {}", listed(keys)),
            _ => format!(
                "the nearest are {}; find others with {}",
                listed(nearest(wanted, keys).into_iter()),
                naming.tool_name(Tool::Search)
            ),
        };
        ToolResult::refused(Reason::UnknownSkill, format!("there is no such skill: {}", shown(wanted)), hint)
    }

    fn list(&mut self, folder: &str, offset: u64, filter: Option<&Filter>) -> Step {
        let catalog = self.shared_catalog();
        let filter = self.filter_for(filter).clone();
        let folder = folder.trim_matches('/');
        let visible = self.visible_in(&catalog, Actor::Model, &filter);
        let inside = |candidate: &&&Candidate| is_below(&candidate.virtual_path, folder);
        let entries: Vec<&Entry> = visible.iter().filter(inside).map(|candidate| &candidate.entry).collect();
        let total = entries.len();
        let first = usize::try_from(offset).unwrap_or(total).min(total);
        let shown: Vec<&Entry> = entries.into_iter().skip(first).take(self.options.max_list.max(1)).collect();
        if shown.is_empty() {
            let none = if total == 0 { "no skill is available" } else { "there are no more skills" };
            return Step::Done(ToolResult::done(none, json!({"skills": [], "total": total})));
        }
        let mut text = render_catalog(&shown, &self.options.catalog);
        let mut data = json!({"skills": rows(&shown), "total": total});
        let end = first + shown.len();
        if end < total {
            let search = self.options.naming.tool_name(Tool::Search);
            let _ = write!(
                text,
                "\n\n{} more skills; go on with offset {end}, or find one with {search}",
                total - end
            );
            if let Some(data) = data.as_object_mut() {
                data.insert("next".to_owned(), end.into());
            }
        }
        let keys = shown.iter().map(|entry| entry.key.clone()).collect();
        self.note(What::Offered { keys, omitted: total - end });
        Step::Done(ToolResult::done(text, data))
    }

    fn search(&mut self, query: String, limit: usize, filter: Option<Filter>) -> Step {
        let visible = self.visible(Actor::Model, self.filter_for(filter.as_ref()));
        let among: Vec<String> = visible.iter().map(|candidate| candidate.entry.key.clone()).collect();
        if among.is_empty() {
            return Step::Done(nothing_found());
        }
        let effect = Effect::Search { query: Query::text(query), among, limit };
        self.wait(Actor::Model, filter, Want::Search { limit }, Stage::Hits, effect)
    }

    fn found(&mut self, waiting: &Waiting, limit: usize, outcome: Outcome) -> Step {
        let hits = match outcome {
            Outcome::Hits { hits } => hits,
            Outcome::Failed { .. } => {
                let list = self.options.naming.tool_name(Tool::List);
                let hint = format!("see all skills with {list}");
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

    pub(super) fn wrong_outcome(&mut self) -> Step {
        let error = "the host answered something else than was asked";
        self.refuse(Reason::WrongOutcome, error, "call the tool again")
    }

    /// Refuses what could not be read, without telling what the host knows of its disk.
    pub(super) fn unread(&mut self, what: &str, why: Failure) -> Step {
        let what = shown(what);
        let files = format!("list the files with {}", self.options.naming.tool_name(Tool::Read));
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
            Failure::Failed => {
                let hint = "try again later, or go on without it".to_owned();
                (Reason::ReadFailed, format!("this could not be read: {what}"), hint)
            }
        };
        self.refuse(reason, error, hint)
    }
}

fn nothing_found() -> ToolResult {
    ToolResult::done("no skill fits; go on without one", json!({"skills": []}))
}

fn rows(entries: &[&Entry]) -> Vec<Value> {
    entries.iter().map(|entry| json!({"name": entry.key, "description": entry.description})).collect()
}

pub(super) fn listed<'k>(keys: impl Iterator<Item = &'k str>) -> String {
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
    let distance = |(_, key): (isize, &'k str)| (crate::check::distance(&wanted, key), key);
    let mut near: Vec<(usize, &str)> = near.into_iter().map(distance).collect();
    near.sort_unstable();
    near.into_iter().take(NEAREST).map(|(_, key)| key).collect()
}

/// A number made of some texts and another number: the same everywhere, told apart by any change.
fn mix(texts: &[&str], number: u64) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ number;
    for text in texts {
        // 0xFF stands in no text, so that parts cannot flow into each other.
        for byte in text.bytes().chain([0xFF]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    sum
}
