//! [`Chat`]: a session that performs its own effects and follows the refreshes of its skills.

use std::sync::Arc;

use prowess_core::select::Query;
use prowess_core::session::{
    Actor, Arguments, CatalogChange, Dialect, Prompt, PromptOptions, Session, SessionState, Step, ToolCall,
    ToolResult,
};
use serde_json::Value;

use super::{Skills, SkillsError};
use crate::drive::finish;

/// One conversation with a model: what it sees of the skills, and what it has loaded.
///
/// Every method first takes in what a refresh changed. The chat itself is a state machine, so it is used by one caller at
/// a time; it may move between threads.
#[derive(Debug)]
pub struct Chat {
    skills: Skills,
    session: Session,
    /// What refreshes did to the active skills since the host last asked.
    swapped: CatalogChange,
}

impl Chat {
    pub(super) fn new(skills: Skills, session: Session) -> Self {
        let mut chat = Self::restored(skills, session);
        // What could not be loaded is in the log of the session.
        chat.preload(&[]);
        chat
    }

    pub(super) fn restored(skills: Skills, session: Session) -> Self {
        Self { skills, session, swapped: CatalogChange::default() }
    }

    /// The text for the system prompt: how to use skills, which there are, and the instructions of those that are active
    /// from the start. It is empty when there is no skill.
    pub fn prompt(&mut self) -> Result<String, SkillsError> {
        self.prompt_about(None)
    }

    /// The same with only the skills that fit a task; with all when none does.
    pub fn prompt_for(&mut self, query: &str) -> Result<String, SkillsError> {
        self.prompt_about(Some(&Query::text(query)))
    }

    fn prompt_about(&mut self, query: Option<&Query>) -> Result<String, SkillsError> {
        let shared = Arc::clone(&self.skills.shared);
        let mut options = PromptOptions::new(&shared.style, shared.budget);
        options.narrow = query.map(|query| (query, &*shared.selector, &shared.narrowing));
        Ok(self.prompt_with(&options)?.text)
    }

    /// The same with other options, and with a report of what the budget cut.
    pub fn prompt_with(&mut self, options: &PromptOptions<'_>) -> Result<Prompt, SkillsError> {
        self.follow();
        Ok(self.session.prompt(options)?)
    }

    /// The tools with which the model uses skills, as its interface takes them under `tools`. There are none when there
    /// is no skill.
    pub fn tools(&mut self, dialect: Dialect) -> Value {
        self.follow();
        dialect.tools(&self.session.tools())
    }

    /// Answers one call of the model, in the form of its interface. None when the call is not for a tool of
    /// [`Chat::tools`], or is no call.
    pub fn answer(&mut self, dialect: Dialect, call: &Value) -> Option<Value> {
        let received = dialect.call(call)?;
        if !self.session.options().naming.owns(&received.call.tool) {
            return None;
        }
        let result = self.call(received.call.clone());
        Some(dialect.result(&received, &result))
    }

    /// Answers a call in no particular form: for a model whose interface is not a [`Dialect`].
    pub fn call(&mut self, call: ToolCall) -> ToolResult {
        self.follow();
        let step = self.session.call(call);
        self.finish(step)
    }

    /// Answers every call in a message of the model that is for a tool of [`Chat::tools`], in their order. The message is
    /// the response of the interface, the message in it, or its list of parts.
    pub fn answer_all(&mut self, dialect: Dialect, message: &Value) -> Vec<Value> {
        dialect.calls(message).into_iter().filter_map(|call| self.answer(dialect, call)).collect()
    }

    /// Activates the skills that are active from the start, and those named here, and returns the result of each. Their
    /// instructions are part of the prompt. A new chat has done this without further names.
    pub fn preload(&mut self, names: &[&str]) -> Vec<(String, ToolResult)> {
        self.follow();
        let steps = self.session.preload(names);
        steps.into_iter().map(|(name, step)| (name, self.finish(step))).collect()
    }

    /// Activates a skill for the user, with what the user wrote behind its name.
    pub fn activate(&mut self, name: &str, arguments: &str) -> ToolResult {
        self.follow();
        let step = self.session.activate(name, Actor::User, Some(Arguments::line(arguments)), None);
        self.finish(step)
    }

    /// Activates the skills that a message of the user names: `/name arguments` at its start, `$name` anywhere. None
    /// when it names none.
    pub fn user_message(&mut self, message: &str) -> Vec<ToolResult> {
        self.follow();
        let steps = self.session.invoke(message);
        steps.into_iter().map(|step| self.finish(step)).collect()
    }

    /// The keys of the active skills, sorted, as of the last call.
    pub fn active(&self) -> Vec<&str> {
        self.session.active_skills()
    }

    /// What refreshes did to the active skills since this was last called: those that are gone, and those that say
    /// something else now.
    pub fn changes(&mut self) -> CatalogChange {
        self.follow();
        std::mem::take(&mut self.swapped)
    }

    /// What the chat remembers, to be stored: see [`Skills::restore`].
    pub fn state(&self) -> &SessionState {
        self.session.state()
    }

    /// The skills it is about.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The session below, for everything else a host may ask: granted tools, the log, what to say after a compaction.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session below, for what a host does between calls: filters, turns, policies.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    fn finish(&mut self, step: Step) -> ToolResult {
        finish(&mut self.session, &self.skills.performer(), step)
    }

    /// Takes in the catalog of the last refresh.
    fn follow(&mut self) {
        let now = self.skills.catalog();
        if Arc::ptr_eq(&now, &self.session.shared_catalog()) {
            return;
        }
        let CatalogChange { deactivated, changed, .. } = self.session.set_catalog(now);
        self.swapped.deactivated.extend(deactivated);
        // The session names all that changed since they were activated.
        self.swapped.changed = changed;
    }
}
