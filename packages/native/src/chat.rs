//! [`Chat`]: one conversation with a model, behind operations in JSON. It performs the effects of its session.

mod effects;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use prowess::Catalog;
use prowess::select::Query;
use prowess::session::{Actor, Arguments, Dialect, Effect, Filter, ReceivedCall, Step, ToolCall, ToolResult};
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
    state: Mutex<State>,
    /// Beside the state, so that a chat is closed without a wait for what is under way.
    closed: AtomicBool,
    prompt: Map<String, Value>,
}

struct State {
    session: EngineSession,
    /// What refreshes changed since the host last asked.
    deactivated: Vec<String>,
    changed: Vec<String>,
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
        let state = State { session, deactivated: Vec::new(), changed: Vec::new() };
        Self { skills, state: Mutex::new(state), closed: AtomicBool::new(false), prompt }
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
        let mut state = match operation {
            "log" | "state" | "owns" | "result" | "pending" | "cancel" => self.state()?,
            _ => self.current()?,
        };
        state.session.run(operation, input, bytes)
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
                let step = self.current()?.session.core().activate(&name, by, arguments, filter);
                result_json(&self.finish(step, cancel)?)
            }
            "userMessage" => {
                let steps = self.current()?.session.core().invoke(&read::<String>(input)?);
                self.finish_all(steps, cancel)?.iter().map(result_json).collect()
            }
            "preload" => {
                let names: Vec<String> = read(input)?;
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let steps = self.current()?.session.core().preload(&names);
                let (names, steps): (Vec<String>, Vec<Step>) = steps.into_iter().unzip();
                let results = self.finish_all(steps, cancel)?;
                let with_name = |(name, result)| json!({"name": name, "result": result_json(&result)});
                names.into_iter().zip(results).map(with_name).collect()
            }
            "resumePending" => {
                let waiting: Vec<_> = self.current()?.session.core().pending().collect();
                let steps = waiting.into_iter().map(|(ticket, effect)| Step::Need(ticket, effect));
                // After a failure the others still wait: they were open before.
                let results = steps.map(|step| Ok(result_json(&self.finish(step, cancel)?)));
                results.collect::<Result<Vec<Value>, Failure>>()?.into()
            }
            "prompt" => return self.prompt(read(input)?),
            "changes" => {
                let mut state = self.current()?;
                let deactivated = std::mem::take(&mut state.deactivated);
                json!({"deactivated": deactivated, "changed": std::mem::take(&mut state.changed)})
            }
            "log" | "state" | "owns" | "result" => return self.state()?.session.run(operation, input, &[]),
            other => return self.current()?.session.run(other, input, &[]),
        };
        Ok(value.to_string())
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Failure::new("closed", "this chat is closed"));
        }
        Ok(locked(self.state.lock()))
    }

    /// The session with the skills of the last refresh.
    fn current(&self) -> Result<MutexGuard<'_, State>, Failure> {
        let mut state = self.state()?;
        let now = self.skills.catalog();
        let session = state.session.core();
        let before = session.shared_catalog();
        if !Arc::ptr_eq(&now, &before) {
            let change = session.set_catalog(Arc::clone(&now));
            state.note(change.deactivated, change.changed, &before, &now);
        }
        Ok(state)
    }

    fn call(&self, call: ToolCall, cancel: &Cancel) -> Result<ToolResult, Failure> {
        let step = self.current()?.session.core().call(call);
        self.finish(step, cancel)
    }

    fn answer(
        &self,
        dialect: Dialect,
        received: ReceivedCall,
        cancel: &Cancel,
    ) -> Result<Option<Value>, Failure> {
        if !self.state()?.session.core().owns(&received.call.tool) {
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
                    let mut state = self.state()?;
                    for step in steps {
                        if let Step::Need(ticket, _) = step {
                            state.session.core().cancel(ticket);
                        }
                    }
                    return Err(failure);
                }
            }
        }
        Ok(results)
    }

    /// Performs the effects of a step until the call is done. The session is not locked meanwhile.
    fn finish(&self, mut step: Step, cancel: &Cancel) -> Result<ToolResult, Failure> {
        loop {
            step = match step {
                Step::Done(result) => return Ok(result),
                Step::Need(ticket, effect) => {
                    let performed = cancel.check().and_then(|()| self.perform(&effect));
                    let mut state = match &performed {
                        // The catalog may be newer than the effect; the session asks its policy again.
                        Ok(_) => self.current()?,
                        Err(_) => self.state()?,
                    };
                    match performed {
                        Ok(outcome) => state.session.core().resume(ticket, outcome),
                        Err(failure) => {
                            state.session.core().cancel(ticket);
                            return Err(failure);
                        }
                    }
                }
            };
        }
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
                let mut state = self.current()?;
                let session = state.session.core();
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
        self.current()?.session.run("prompt", &Value::Object(asked).to_string(), &[])
    }
}

impl State {
    /// Notes what a refresh changed. The session also lists skills that an earlier refresh changed.
    fn note(&mut self, gone: Vec<String>, mut changed: Vec<String>, before: &Catalog, now: &Catalog) {
        changed.retain(|key| before.get(key) != now.get(key) && !self.changed.contains(key));
        self.changed.retain(|key| !gone.contains(key));
        self.changed.extend(changed);
        self.deactivated.extend(gone);
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
