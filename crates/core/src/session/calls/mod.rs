//! A tool call from its name to its result, through the effects it waits for.

mod advance;
mod list;
mod load;
mod read;
mod resolve;
mod run;
mod search;
pub(in crate::session) mod substitute;
mod unload;
mod user;

pub(in crate::session) use load::fingerprint;

use crate::session::effect::{Step, ToolCall};
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments::{self, for_message};
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::{Filter, Session};

/// How many skills a search returns unless the model says otherwise.
const HITS: usize = 5;

impl Session {
    /// Answers a tool call, or returns the effect that is needed for the answer.
    pub fn call(&mut self, call: ToolCall) -> Step {
        let naming = &self.options.naming;
        let Some(tool) = naming.tool(&call.tool).filter(|tool| self.options.tools.contains(tool)) else {
            let names: Vec<_> =
                Tool::ALL.iter().copied().filter_map(|tool| self.offered_name(tool)).collect();
            let hint = match names.as_slice() {
                [] => "there are no tools for skills; continue without them".to_owned(),
                names => format!("the tools for skills are {}", names.join(", ")),
            };
            return self.refuse(
                Reason::UnknownTool,
                format!("there is no such tool: {}", for_message(&call.tool)),
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

    /// The filter of a call, or that of the session.
    pub(in crate::session) fn filter_for<'f>(&'f self, own: Option<&'f Filter>) -> &'f Filter {
        own.unwrap_or_else(|| self.filter())
    }

    /// The same for one skill: an active skill is read with the filter that activated it.
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

    /// Refuses a call for a reason.
    pub(in crate::session) fn refuse(
        &mut self,
        reason: Reason,
        error: impl Into<String>,
        hint: impl Into<String>,
    ) -> Step {
        self.refused(ToolResult::refused(reason, error, hint))
    }

    /// Refuses a call with this result, and records its reason.
    pub(in crate::session) fn refused(&mut self, refusal: ToolResult) -> Step {
        self.record(EventKind::Refused { reason: refusal.reason.map_or("", Reason::code).to_owned() });
        Step::Done(refusal)
    }

    pub(in crate::session) fn wrong_outcome(&mut self) -> Step {
        let error = "the host returned the wrong kind of outcome";
        self.refuse(Reason::WrongOutcome, error, "call the tool again")
    }
}

pub(in crate::session) fn join_names<'k>(keys: impl Iterator<Item = &'k str>) -> String {
    let names: Vec<String> = keys.map(for_message).collect();
    names.join(", ")
}
