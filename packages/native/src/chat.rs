//! [`Chat`]: one conversation with a model, behind operations in JSON. It performs the effects of its session.

mod effects;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use prowess::conversation::{SessionAccess, finish};
use prowess::select::Query;
use prowess::session::{
    Actor, Arguments, Dialect, Effect, Filter, ReceivedCall, Session, Step, ToolCall, ToolResult,
};
use prowess_engine::input::Narrowing;
use prowess_engine::{Failure, Response, Session as EngineSession, hits_json, read, result_json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::effects::{entries, foreign};
use crate::asked::{Cancel, within};
use crate::opening::value;
use crate::selector::locked;
use crate::skills::{Parts, Skills};

/// One conversation. Several threads may use it at once: each call of a model has its own ticket.
pub struct Chat {
    skills: Skills,
    session: Mutex<EngineSession>,
    /// Beside the session, so that a chat is closed without a wait for what is under way.
    closed: AtomicBool,
    prompt: Map<String, Value>,
}

impl fmt::Debug for Chat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Chat").field(&self.skills).finish()
    }
}

/// The settings of a chat; an absent part is that of its skills.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    policy: Option<Value>,
    options: Option<Value>,
    prompt: Map<String, Value>,
}

impl Settings {
    /// The part for the session, and the settings of prompts over the usual ones.
    fn parts(self, usual: &Map<String, Value>) -> (String, Map<String, Value>) {
        let mut prompt = usual.clone();
        prompt.extend(self.prompt);
        (json!({"policy": self.policy, "options": self.options}).to_string(), prompt)
    }
}

impl Chat {
    pub(crate) fn new(skills: Skills, id: &str, settings: &str) -> Result<Self, Failure> {
        let Parts { usual, prompt, .. } = skills.parts();
        let (settings, prompt) = read::<Settings>(settings)?.parts(prompt);
        let session = EngineSession::new(id, skills.catalog(), usual, &settings)?;
        Ok(Self::of(skills, session, prompt))
    }

    pub(crate) fn restored(skills: Skills, state: &str, settings: &str) -> Result<Self, Failure> {
        let Parts { usual, prompt, .. } = skills.parts();
        let (settings, prompt) = read::<Settings>(settings)?.parts(prompt);
        let session = EngineSession::restore(state, skills.catalog(), usual, &settings)?;
        Ok(Self::of(skills, session, prompt))
    }

    fn of(skills: Skills, session: EngineSession, prompt: Map<String, Value>) -> Self {
        Self { skills, session: Mutex::new(session), closed: AtomicBool::new(false), prompt }
    }

    /// The skills of the chat.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Ends the chat. Later operations fail as `closed`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Runs an operation of the session below the chat, and performs no effect: `call`, `resume`, `cancel`, `pending`,
    /// `activate`, `invoke`, `preload`, and those of [`Chat::run`] that need none. A step is `{done}` or
    /// `{ticket, effect}`; `bytes` are those of a file that was read.
    pub fn step(&self, operation: &str, input: &str, bytes: &[u8]) -> Result<String, Failure> {
        let _in_use = self.skills.enter()?;
        let mut session = match operation {
            "log" | "state" | "owns" | "result" | "pending" | "cancel" => self.last()?,
            _ => self.current()?,
        };
        session.run(operation, input, bytes)
    }

    /// Runs an operation, and performs its effects:
    ///
    /// | operation | input | output |
    /// | --- | --- | --- |
    /// | `call` | `{tool, arguments, filter}` | the result: `{ok, text, data, reason}` |
    /// | `answer` | `{dialect, message}` | the result in the form of the interface; null if the call is not ours |
    /// | `answerAll` | `{dialect, message}` | those of every call of ours in a response |
    /// | `activate` | `{name, by, arguments, filter}` | the result; `by` is `user` by default |
    /// | `userMessage` | the message | the results for the skills that it names |
    /// | `preload` | names | `{name, result}` for each, and for the skills that are active from the start |
    /// | `resumePending` | – | the results of calls that a restored chat waits for |
    /// | `prompt` | `{query, style, budget, narrowing, folder, preloaded}` | the text for the prompt with a report |
    /// | `changes` | – | what refreshes changed since this was last asked: `{deactivated, changed}` |
    ///
    /// Every other operation is that of [`Chat::step`]: `tools`, `toolDefinitions`, `owns`, `active`, `changed`,
    /// `deactivate`, `endTurn`, `setFilter`, `setPolicy`, `visible`, `whyHidden`, `scopeTools`, `reinject`, `log`,
    /// `state`.
    pub fn run(&self, operation: &str, input: &str, cancel: &Cancel) -> Result<String, Failure> {
        let _in_use = self.skills.enter()?;
        cancel.check()?;
        within(cancel, || self.operate(operation, input, cancel))
    }

    fn operate(&self, operation: &str, input: &str, cancel: &Cancel) -> Result<String, Failure> {
        let value = match operation {
            "call" => result_json(&self.call(read(input)?, cancel)?),
            "answer" => {
                let response = Response::read(input)?;
                match response.call() {
                    Some(received) => self.answer(response.dialect(), received, cancel)?.into(),
                    None => Value::Null,
                }
            }
            "answerAll" => {
                let response = Response::read(input)?;
                let mut answers = Vec::new();
                for received in response.calls() {
                    answers.extend(self.answer(response.dialect(), received, cancel)?);
                }
                answers.into()
            }
            "activate" => {
                let Activate { name, by, arguments, filter } = read(input)?;
                let arguments = arguments.as_deref().map(Arguments::line);
                let by = by.unwrap_or(Actor::User);
                let step = self.current()?.core().activate(&name, by, arguments, filter);
                result_json(&self.finish(step, cancel)?)
            }
            "userMessage" => {
                let steps = self.current()?.core().invoke(&read::<String>(input)?);
                self.finish_all(steps, cancel)?.iter().map(result_json).collect()
            }
            "preload" => {
                let names: Vec<String> = read(input)?;
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let steps = self.current()?.core().preload(&names);
                let (names, steps): (Vec<String>, Vec<Step>) = steps.into_iter().unzip();
                let results = self.finish_all(steps, cancel)?;
                let with_name = |(name, result)| json!({"name": name, "result": result_json(&result)});
                names.into_iter().zip(results).map(with_name).collect()
            }
            "resumePending" => {
                let waiting: Vec<_> = self.current()?.core().pending().collect();
                let steps = waiting.into_iter().map(|(ticket, effect)| Step::Need(ticket, effect));
                // After a failure the others still wait: they were open before.
                let results = steps.map(|step| Ok(result_json(&self.finish(step, cancel)?)));
                results.collect::<Result<Vec<Value>, Failure>>()?.into()
            }
            "prompt" => return self.prompt(read(input)?),
            "log" | "state" | "owns" | "result" => return self.last()?.run(operation, input, &[]),
            other => return self.current()?.run(other, input, &[]),
        };
        Ok(value.to_string())
    }

    fn check_open(&self) -> Result<(), Failure> {
        let closed = self.closed.load(Ordering::Relaxed);
        if closed { Err(Failure::new("closed", "this chat is closed")) } else { Ok(()) }
    }

    /// The session with the skills of its last operation.
    fn last(&self) -> Result<MutexGuard<'_, EngineSession>, Failure> {
        self.check_open()?;
        Ok(locked(self.session.lock()))
    }

    /// The session with the skills of the last refresh.
    fn current(&self) -> Result<MutexGuard<'_, EngineSession>, Failure> {
        self.check_open()?;
        Ok(self.following())
    }

    /// The session with the skills of the last refresh, also of a chat that is closed.
    fn following(&self) -> MutexGuard<'_, EngineSession> {
        let mut session = locked(self.session.lock());
        session.follow(&self.skills.catalog());
        session
    }

    fn call(&self, call: ToolCall, cancel: &Cancel) -> Result<ToolResult, Failure> {
        let step = self.current()?.core().call(call);
        self.finish(step, cancel)
    }

    fn answer(
        &self,
        dialect: Dialect,
        received: ReceivedCall,
        cancel: &Cancel,
    ) -> Result<Option<Value>, Failure> {
        if !self.last()?.core().owns(&received.call.tool) {
            return Ok(None);
        }
        let result = self.call(received.call.clone(), cancel)?;
        Ok(Some(dialect.result(&received, &result)))
    }

    /// Finishes calls that began together. After a failure, none of them is left open.
    fn finish_all(&self, steps: Vec<Step>, cancel: &Cancel) -> Result<Vec<ToolResult>, Failure> {
        let mut steps = steps.into_iter();
        let mut results = Vec::new();
        while let Some(step) = steps.next() {
            match self.finish(step, cancel) {
                Ok(result) => results.push(result),
                Err(failure) => {
                    let mut session = self.last()?;
                    for step in steps {
                        if let Step::Need(ticket, _) = step {
                            session.core().cancel(ticket);
                        }
                    }
                    return Err(failure);
                }
            }
        }
        Ok(results)
    }

    /// Performs the effects of a step until the call is done. The session is not locked meanwhile.
    fn finish(&self, step: Step, cancel: &Cancel) -> Result<ToolResult, Failure> {
        let mut chat = self;
        finish(&mut chat, step, |effect| {
            let performed = cancel.check().and_then(|()| self.perform(effect));
            self.check_open()?;
            performed
        })
    }

    /// The text for the prompt. The selector runs before the session is locked.
    fn prompt(&self, mut asked: Map<String, Value>) -> Result<String, Failure> {
        for (name, usual) in &self.prompt {
            match (asked.get_mut(name), usual) {
                (None, _) => drop(asked.insert(name.clone(), usual.clone())),
                (Some(Value::Object(given)), Value::Object(usual)) if name != "budget" => {
                    for (name, value) in usual {
                        given.entry(name.clone()).or_insert_with(|| value.clone());
                    }
                }
                _ => {}
            }
        }
        if asked.get("budget").is_some_and(Value::is_null) {
            asked.insert("budget".to_owned(), "unlimited".into());
        }
        let query = asked.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !query.trim().is_empty() {
            let narrowing: Narrowing = match asked.get("narrowing") {
                Some(narrowing) => value(narrowing.clone())?,
                None => Narrowing::default(),
            };
            let options = narrowing.options();
            let (catalog, keys) = {
                let mut current = self.current()?;
                let session = current.core();
                let visible = session.visible(Actor::Model, &session.filter().clone());
                let keys: Vec<String> = visible.into_iter().map(|skill| skill.entry.key.clone()).collect();
                (session.shared_catalog(), keys)
            };
            match self.skills.ranked(&Query::text(query), &entries(&catalog, &keys), &options) {
                Ok(hits) => drop(asked.insert("hits".to_owned(), hits_json(&hits))),
                Err(failure) => {
                    let fails = options.on_error == prowess::select::OnSelectError::Fail;
                    if fails || matches!(failure.code, "cancelled" | "closed") {
                        return Err(failure);
                    }
                    asked.insert("failed".to_owned(), failure.message.clone().into());
                    let search = Effect::Search { query: Query::default(), among: Vec::new(), limit: 0 };
                    self.report(foreign(failure), &search)?;
                }
            }
        }
        self.current()?.run("prompt", &Value::Object(asked).to_string(), &[])
    }
}

/// The catalog may be newer than an effect; the session asks its policy again.
impl SessionAccess for &Chat {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(self.following().core())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Activate {
    name: String,
    by: Option<Actor>,
    arguments: Option<String>,
    filter: Option<Filter>,
}
