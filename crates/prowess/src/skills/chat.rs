//! [`Chat`]: a session that performs its own effects and follows the refreshes of its skills.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess_core::select::Query;
use prowess_core::session::{
    Actor, Arguments, CatalogChange, Dialect, Prompt, PromptOptions, Session, SessionState, Step, ToolCall,
    ToolResult,
};
use serde_json::Value;

use super::{Skills, SkillsError};
use crate::drive::finish;

/// One conversation with a model: which skills it sees, and which are active.
///
/// The methods that talk to the model or the user first apply the last refresh. [`Chat::active`], [`Chat::state`] and
/// [`Chat::session`] show the chat as of the last such call. A chat has one caller at a time, and can move between
/// threads.
#[derive(Debug)]
pub struct Chat {
    skills: Skills,
    session: Session,
    /// Changes of the active skills by refreshes since the host last asked.
    swapped: CatalogChange,
}

impl Chat {
    pub(super) fn new(skills: Skills, session: Session) -> Self {
        let mut chat = Self::restored(skills, session, BTreeMap::new());
        // Skills that could not be loaded are in the session's log.
        chat.preload(&[]);
        chat
    }

    /// A chat over a restored session. `before` are the skills that were active in its state, and whether each had
    /// changed since it was activated.
    pub(super) fn restored(skills: Skills, session: Session, before: BTreeMap<String, bool>) -> Self {
        let mut swapped = CatalogChange::default();
        for (key, had_changed) in before {
            match session.state().active().iter().find(|active| active.key == key) {
                None => swapped.deactivated.push(key),
                Some(now) if now.changed && !had_changed => swapped.changed.push(key),
                Some(_) => {}
            }
        }
        Self { skills, session, swapped }
    }

    /// The text for the system prompt: how to use skills, the list of skills, and the instructions of the preloaded
    /// ones. Empty if there are no skills.
    pub fn prompt(&mut self) -> Result<String, SkillsError> {
        self.prompt_about(None)
    }

    /// The text for the system prompt with only the skills that fit a task, or all if none does.
    pub fn prompt_for(&mut self, query: &str) -> Result<String, SkillsError> {
        self.prompt_about(Some(&Query::text(query)))
    }

    fn prompt_about(&mut self, query: Option<&Query>) -> Result<String, SkillsError> {
        let shared = Arc::clone(&self.skills.shared);
        let mut options = PromptOptions::new(&shared.style, shared.budget);
        options.narrow = query.map(|query| (query, &*shared.selector, &shared.narrowing));
        Ok(self.prompt_with(&options)?.text)
    }

    /// The text for the system prompt with other options, and a report of what the budget cut.
    pub fn prompt_with(&mut self, options: &PromptOptions<'_>) -> Result<Prompt, SkillsError> {
        self.follow();
        Ok(self.session.prompt(options)?)
    }

    /// The tools with which the model uses skills, as the value of `tools` in a request. Empty if there are no skills.
    pub fn tools(&mut self, dialect: Dialect) -> Value {
        self.follow();
        dialect.tools(&self.session.tools())
    }

    /// Answers one call of the model, in the form of its interface. `None` if it is not a call, or is for a tool that
    /// the options and the policy of the chat do not allow.
    pub fn answer(&mut self, dialect: Dialect, call: &Value) -> Option<Value> {
        let received = dialect.call(call)?;
        self.follow();
        if !self.session.owns(&received.call.tool) {
            return None;
        }
        let result = self.call(received.call.clone());
        Some(dialect.result(&received, &result))
    }

    /// Answers a call of a model whose interface is not a [`Dialect`].
    pub fn call(&mut self, call: ToolCall) -> ToolResult {
        self.follow();
        let step = self.session.call(call);
        self.finish(step)
    }

    /// Answers all calls in a message of the model that are for a tool of [`Chat::tools`], in order. The message is the
    /// response of the interface, the message in it, or its list of parts.
    pub fn answer_all(&mut self, dialect: Dialect, message: &Value) -> Vec<Value> {
        dialect.calls(message).into_iter().filter_map(|call| self.answer(dialect, call)).collect()
    }

    /// Activates the preloaded skills and those named here, and returns the result of each. Their instructions are part
    /// of the prompt. A new chat has already activated the preloaded ones.
    pub fn preload(&mut self, names: &[&str]) -> Vec<(String, ToolResult)> {
        self.follow();
        let steps = self.session.preload(names);
        steps.into_iter().map(|(name, step)| (name, self.finish(step))).collect()
    }

    /// Activates a skill for the user, with the text that the user wrote after its name.
    pub fn activate(&mut self, name: &str, arguments: &str) -> ToolResult {
        self.follow();
        let step = self.session.activate(name, Actor::User, Some(Arguments::line(arguments)), None);
        self.finish(step)
    }

    /// Activates the skills that a message of the user names: `/name arguments` at its start, `$name` anywhere. Empty if
    /// it names none.
    pub fn user_message(&mut self, message: &str) -> Vec<ToolResult> {
        self.follow();
        let steps = self.session.invoke(message);
        steps.into_iter().map(|step| self.finish(step)).collect()
    }

    /// The keys of the active skills, sorted, as of the last call.
    pub fn active(&self) -> Vec<&str> {
        self.session.active_skills()
    }

    /// The changes of the active skills since this was last called, by refreshes or while the chat was stored: skills that
    /// are gone, and skills whose SKILL.md changed. Each change is returned once.
    pub fn changes(&mut self) -> CatalogChange {
        self.follow();
        std::mem::take(&mut self.swapped)
    }

    /// The state of the chat, to be stored: see [`Skills::restore`].
    pub fn state(&self) -> &SessionState {
        self.session.state()
    }

    /// The skills of the chat.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The session, for everything else: granted tools, the log, the text after a compaction.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, for what a host changes between calls: filters, turns, policies.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    fn finish(&mut self, step: Step) -> ToolResult {
        finish(&mut self.session, &self.skills.performer(), step)
    }

    /// Applies the catalog of the last refresh.
    fn follow(&mut self) {
        let (before, now) = (self.session.shared_catalog(), self.skills.catalog());
        if Arc::ptr_eq(&now, &before) {
            return;
        }
        let CatalogChange { deactivated, mut changed, .. } = self.session.set_catalog(Arc::clone(&now));
        let swapped = &mut self.swapped;
        // The session also lists skills that an earlier refresh changed.
        changed.retain(|key| before.get(key) != now.get(key) && !swapped.changed.contains(key));
        swapped.changed.retain(|key| !deactivated.contains(key));
        swapped.changed.extend(changed);
        swapped.deactivated.extend(deactivated);
    }
}
