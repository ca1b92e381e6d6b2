//! [`Chat`]: a session that performs its own effects and follows the refreshes of its skills.

use std::sync::Arc;

use prowess_core::conversation::Conversation;
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
    conversation: Conversation,
}

impl Chat {
    pub(super) fn new(skills: Skills, conversation: Conversation) -> Self {
        Self { skills, conversation }
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
        Ok(self.current().prompt(options)?)
    }

    /// The tools with which the model uses skills, as the value of `tools` in a request. Empty if there are no skills.
    pub fn tools(&mut self, dialect: Dialect) -> Value {
        dialect.tools(&self.current().tools())
    }

    /// Answers one call of the model, in the form of its interface. `None` if it is not a call, or is for a tool that
    /// the options and the policy of the chat do not allow.
    pub fn answer(&mut self, dialect: Dialect, call: &Value) -> Option<Value> {
        let received = dialect.call(call)?;
        if !self.current().owns(&received.call.tool) {
            return None;
        }
        let result = self.call(received.call.clone());
        Some(dialect.result(&received, &result))
    }

    /// Answers a call of a model whose interface is not a [`Dialect`].
    pub fn call(&mut self, call: ToolCall) -> ToolResult {
        let step = self.current().call(call);
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
        let steps = self.current().preload(names);
        steps.into_iter().map(|(name, step)| (name, self.finish(step))).collect()
    }

    /// Activates a skill for the user, with the text that the user wrote after its name.
    pub fn activate(&mut self, name: &str, arguments: &str) -> ToolResult {
        let step = self.current().activate(name, Actor::User, Some(Arguments::line(arguments)), None);
        self.finish(step)
    }

    /// Activates the skills that a message of the user names: `/name arguments` at its start, `$name` anywhere. Empty if
    /// it names none.
    pub fn user_message(&mut self, message: &str) -> Vec<ToolResult> {
        let steps = self.current().invoke(message);
        steps.into_iter().map(|step| self.finish(step)).collect()
    }

    /// The keys of the active skills, sorted, as of the last call.
    pub fn active(&self) -> Vec<&str> {
        self.session().active_skills()
    }

    /// The changes of the active skills since this was last called, by refreshes or while the chat was stored: skills that
    /// are gone, and skills whose SKILL.md changed. Each change is returned once.
    pub fn changes(&mut self) -> CatalogChange {
        self.current();
        self.conversation.changes()
    }

    /// The state of the chat, to be stored: see [`Skills::restore`].
    pub fn state(&self) -> &SessionState {
        self.session().state()
    }

    /// The skills of the chat.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The session, for everything else: granted tools, the log, the text after a compaction.
    pub fn session(&self) -> &Session {
        self.conversation.session()
    }

    /// The session, for what a host changes between calls: filters, turns, policies.
    pub fn session_mut(&mut self) -> &mut Session {
        self.conversation.session_mut()
    }

    fn finish(&mut self, step: Step) -> ToolResult {
        finish(self.conversation.session_mut(), &self.skills.performer(), step)
    }

    /// The session with the catalog of the last refresh.
    fn current(&mut self) -> &mut Session {
        self.conversation.follow(&self.skills.catalog());
        self.conversation.session_mut()
    }
}
