//! The session of an agent: what a model sees of the skills, what it may call, and which skills are active.
//!
//! A [`Session`] has no input or output of its own. A call returns a [`Step`]: a result, or an [`Effect`] that the host
//! performs before it calls [`Session::resume`]. `prowess::drive` is that loop over a registry.
//!
//! ```
//! use std::sync::Arc;
//!
//! use prowess_core::session::{Effect, Options, Outcome, Policy, Session, Step, ToolCall};
//! use prowess_core::{Candidate, Catalog, Duplicates, Manifest, Origin, parse};
//! use serde_json::json;
//!
//! let file = b"---\nname: tidy-up\ndescription: Tidies up.\n---\nPut things where they belong.\n";
//! let entry = parse(file).skill(&Origin::at("skills/tidy-up/SKILL.md")).unwrap();
//! let catalog = Catalog::new(vec![Arc::new(Candidate::new(entry))], Duplicates::First)?;
//!
//! let mut session = Session::new("chat-1", Arc::new(catalog), Policy::default(), Options::default());
//! let mut step = session.call(ToolCall::new("load_skill", json!({"name": "tidy-up"})));
//! let result = loop {
//!     step = match step {
//!         Step::Done(result) => break result,
//!         Step::Need(ticket, Effect::Read { .. }) => session.resume(
//!             ticket,
//!             Outcome::Read { bytes: file.to_vec(), size: file.len() as u64, digest: None },
//!         ),
//!         Step::Need(ticket, _) => session.resume(ticket, Outcome::Files { files: Manifest::default() }),
//!     };
//! };
//! assert!(result.is_ok() && result.text.contains("Put things where they belong."));
//! assert_eq!(session.active_skills(), ["tidy-up"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod compaction;
mod effect;
mod event;
mod filter;
pub(crate) mod interface;
mod kept;
mod lifecycle;
mod migrate;
mod options;
mod pending;
mod policy;
mod state;
mod tool_scope;

use std::borrow::Cow;
use std::sync::Arc;

pub use calls::substitute::Arguments;
pub use compaction::{ReinjectBudget, Reinjected};
pub use effect::{Effect, Failure, InvalidTicket, Outcome, Step, Ticket, ToolCall};
pub use event::{Actor, EndReason, Event, EventKind, replay};
pub use filter::{Filter, FilterError};
pub use interface::dialect::{Dialect, ReceivedCall, UnknownDialect};
pub use interface::naming::{NAMINGS, NamespaceError, Naming, NamingRow, Tool, UnknownNaming};
pub use interface::prompt::{Placement, Prompt, PromptOptions};
pub use interface::result::{Reason, ToolOutcome, ToolResult};
pub use interface::schema::ToolDef;
pub use kept::MemoryPool;
pub use lifecycle::CatalogChange;
pub use options::{Lifetime, Options, Repeat, WhenFull};
pub use policy::{Act, Ask, Hidden, Names, OriginRule, Policy, Untrusted};
pub use state::{Active, RestoreError, STATE_VERSION, SessionState};
use tool_scope::spellings;
pub use tool_scope::{ToolMode, grants, scope_tools};

use crate::catalog::{Candidate, Catalog};
use crate::digest::Digest;
use crate::skill::Invocation;
use crate::skill::tool_list::{ToolGrant, ToolList};

/// A session: a catalog, a policy, options, and the state so far.
#[derive(Clone, Debug)]
pub struct Session {
    catalog: Arc<Catalog>,
    policy: Policy,
    options: Options,
    state: SessionState,
    share: Option<kept::PoolShare>,
}

impl Session {
    /// A new session. Its `id` distinguishes it from the other sessions of the host: see [`Ticket`].
    pub fn new(id: impl Into<String>, catalog: Arc<Catalog>, policy: Policy, options: Options) -> Self {
        let state = SessionState { id: id.into(), ..SessionState::default() };
        let mut session = Self { catalog, policy, options, state, share: None };
        session.record_discovered();
        session
    }

    /// Restores a stored session with the present catalog, policy and options.
    ///
    /// Skills that no longer exist, or that the policy hides, are deactivated, and the log says so. Pending calls
    /// continue; the policy is asked again when they do.
    pub fn restore(
        state: SessionState,
        catalog: Arc<Catalog>,
        policy: Policy,
        options: Options,
    ) -> Result<Self, RestoreError> {
        if state.version != STATE_VERSION {
            return Err(RestoreError::Version { found: u64::from(state.version) });
        }
        let mut session = Self { catalog, policy, options, state, share: None };
        session.reconcile();
        Ok(session)
    }

    /// The id of the session.
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// The state of the session, to be stored.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The catalog in use.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What the session may do.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How the session behaves.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The filter in force: the last one that was set, else the policy's.
    pub fn filter(&self) -> &Filter {
        self.state.filter.as_ref().unwrap_or(&self.policy.filter)
    }

    /// The catalog in use, shared.
    pub fn shared_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// The skills that an actor may see, in the order in which prompts show them.
    pub fn visible(&self, by: Actor, filter: &Filter) -> Vec<&Candidate> {
        self.visible_in(&self.catalog, by, filter)
    }

    fn visible_in<'c>(&self, catalog: &'c Catalog, by: Actor, filter: &Filter) -> Vec<&'c Candidate> {
        let seen = |candidate: &&Candidate| self.judge(candidate, Act::See, by, filter).is_ok();
        let Some(allow) = &self.policy.allow else { return catalog.iter().filter(seen).collect() };
        let mut listed: Vec<&Candidate> =
            allow.iter().filter_map(|key| catalog.get(key)).filter(seen).collect();
        // Several skills with different prefixes may have the same name.
        let named = |candidate: &&Candidate| !allow.contains(&candidate.entry.key);
        listed.extend(catalog.iter().filter(named).filter(seen));
        listed
    }

    /// Asks the policy about a skill of the catalog.
    fn judge(&self, candidate: &Candidate, act: Act, by: Actor, filter: &Filter) -> Result<(), Hidden> {
        self.judge_as(candidate, act, by, filter, candidate.entry.invocation)
    }

    /// Asks the policy about a file that was just read, whose invocation fields may have changed.
    fn judge_as(
        &self,
        candidate: &Candidate,
        act: Act,
        by: Actor,
        filter: &Filter,
        invocation: Invocation,
    ) -> Result<(), Hidden> {
        // Both are looked up only where they matter.
        let active = !invocation.model && self.state.find(&candidate.entry.key).is_some();
        let approved = !candidate.is_usable() && self.approved(candidate).is_some();
        self.policy.judge(candidate, &Ask { act, by, filter, active, approved, invocation })
    }

    /// Why a skill may not be used, for the host; none when it may. This is never shown to a model.
    pub fn why_hidden(&self, key: &str, act: Act, by: Actor) -> Option<Hidden> {
        match self.catalog.get(key) {
            None => Some(Hidden::Blocked),
            Some(candidate) => self.judge(candidate, act, by, self.filter()).err(),
        }
    }

    /// The digest of the approved skill, if it was approved.
    fn approved(&self, candidate: &Candidate) -> Option<Digest> {
        let here = self.state.approvals.get(&candidate.entry.key);
        let here = here.filter(|approval| approval.location == candidate.entry.origin.location);
        here.map(|approval| approval.digest).or(candidate.approved)
    }

    /// The keys of the active skills, sorted. [`SessionState::active`] has them in the order of their activation.
    pub fn active_skills(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.state.active.iter().map(|active| active.key.as_str()).collect();
        keys.sort_unstable();
        keys
    }

    /// The active skills that changed in the catalog since they were activated.
    pub fn changed_since(&self) -> Vec<&str> {
        self.state.active.iter().filter(|active| active.changed).map(|active| active.key.as_str()).collect()
    }

    /// The tool lists of the active skills whose lists have an effect.
    fn tool_lists(&self) -> impl Iterator<Item = &ToolList> {
        let counts = |active: &&Active| {
            self.catalog.get(&active.key).is_some_and(|candidate| {
                self.policy.origin(candidate.entry.origin.scope).tools || self.approved(candidate).is_some()
            })
        };
        let none = self.policy.tools == ToolMode::Ignore;
        self.state
            .active
            .iter()
            .filter(move |_| !none)
            .filter(counts)
            .filter_map(|active| active.tools.as_ref())
    }

    /// The tools that the active skills grant and the host has: sorted, without duplicates.
    pub fn active_grants(&self) -> Vec<&ToolGrant> {
        grants(self.tool_lists(), &self.policy.host_tools)
    }

    /// The tools that the active skills grant, as strings such as `Bash(git:*)`: sorted, each once.
    ///
    /// Names are compared without case. If the policy lists the tools of the host, a name is spelt as the host does;
    /// otherwise as the skill does that was activated first of those that grant it.
    pub fn active_tools(&self) -> Vec<String> {
        spellings(self.tool_lists(), &self.policy.host_tools)
    }

    /// The tools of the host that a model may use now: all, unless active skills restrict them.
    pub fn scope_tools<'t>(&self, tools: &[&'t str]) -> Vec<&'t str> {
        let host = &self.policy.host_tools;
        let capped: Vec<&str> = tools.iter().filter(|tool| host.has(tool)).copied().collect();
        if self.policy.tools != ToolMode::Restrict {
            return capped;
        }
        scope_tools(&capped, self.tool_lists().map(Some))
    }

    /// The name of a tool if it is offered to the model: a hint must not name another.
    fn offered_name(&self, tool: Tool) -> Option<Cow<'static, str>> {
        self.allows(tool).then(|| self.options.naming.tool_name(tool))
    }

    fn record(&mut self, kind: EventKind) {
        self.state.record(kind, self.options.max_events);
    }
}

#[cfg(test)]
mod tests;
