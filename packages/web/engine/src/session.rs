//! [`Session`]: a session of the core behind operations in JSON.

use std::sync::Arc;

use prowess_core::conversation::Conversation;
use prowess_core::render::{Budget, Shape, estimate_tokens};
use prowess_core::select::{Hit, HitReason, NotNarrowed, Query, SelectError, SelectOptions, Selector};
use prowess_core::session::{
    Act, Actor, Arguments, CatalogChange, Dialect, Failure as EffectFailure, Filter, Options, Outcome,
    Policy, PromptOptions, Reason, ReceivedCall, ReinjectBudget, Session as CoreSession, SessionState,
    Ticket, ToolCall, ToolResult, UnknownDialect,
};
use prowess_core::{Catalog, Digest, Entry};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::calls::calls;
use crate::failure::{Failure, read};
use crate::input::{GivenFile, GivenOptions, Limit, Narrowing, Style, budget, manifest};
use crate::output::{self, effect_json, step};
use crate::policy::GivenPolicy;

/// The budget of a prompt by default: two percent of a window of 200 000 tokens.
const WINDOW: usize = 200_000;

/// The settings of a session; an absent member is that of the library.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    policy: Option<GivenPolicy>,
    options: Option<GivenOptions>,
}

impl Settings {
    fn parts(self, usual: &Usual) -> Result<(Policy, Options), Failure> {
        let (policy, options) = (self.policy.unwrap_or_default(), self.options.unwrap_or_default());
        Ok((policy.over(&usual.policy), options.over(&usual.options)?))
    }
}

/// What a library says about its sessions.
#[derive(Clone, Debug, Default)]
pub struct Usual {
    /// What they may do.
    pub policy: Policy,
    /// How they behave.
    pub options: Options,
}

/// A session of a model. It does no input or output: a step says what it needs.
#[derive(Debug)]
pub struct Session(Conversation);

impl Session {
    /// A new session over a catalog.
    pub fn new(id: &str, catalog: Arc<Catalog>, usual: &Usual, settings: &str) -> Result<Self, Failure> {
        let (policy, options) = read::<Settings>(settings)?.parts(usual)?;
        Ok(Self(Conversation::new(CoreSession::new(id, catalog, policy, options))))
    }

    /// Restores a session from its state.
    pub fn restore(
        state: &str,
        catalog: Arc<Catalog>,
        usual: &Usual,
        settings: &str,
    ) -> Result<Self, Failure> {
        let (policy, options) = read::<Settings>(settings)?.parts(usual)?;
        let failed = |error: prowess_core::session::RestoreError| Failure::new("restore", error.to_string());
        let state = SessionState::from_json(state).map_err(failed)?;
        let restored = CoreSession::restore(state, catalog, policy, options).map_err(failed)?;
        Ok(Self(Conversation::new(restored)))
    }

    /// The session of the core.
    pub fn core(&mut self) -> &mut CoreSession {
        self.0.session_mut()
    }

    /// Uses the catalog of the last refresh.
    pub fn follow(&mut self, now: &Arc<Catalog>) {
        self.0.follow(now);
    }

    /// Runs an operation of the session. `bytes` are those of a file that was read.
    pub fn run(&mut self, operation: &str, input: &str, bytes: &[u8]) -> Result<String, Failure> {
        if operation == "changes" {
            let CatalogChange { deactivated, changed, .. } = self.0.changes();
            return Ok(json!({"deactivated": deactivated, "changed": changed}).to_string());
        }
        let session = self.core();
        let value = match operation {
            "call" => step(&session.call(read::<ToolCall>(input)?)),
            "resume" => resume(session, read(input)?, bytes)?,
            "cancel" => session.cancel(ticket(read(input)?)?).into(),
            "pending" => session
                .pending()
                .map(|(ticket, effect)| json!({"ticket": ticket, "effect": effect_json(&effect)}))
                .collect(),
            "activate" => activate(session, read(input)?),
            "invoke" => session.invoke(&read::<String>(input)?).iter().map(step).collect(),
            "preload" => {
                let names: Vec<String> = read(input)?;
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                session
                    .preload(&names)
                    .iter()
                    .map(|(name, next)| json!({"name": name, "step": step(next)}))
                    .collect()
            }
            "deactivate" => json!(session.deactivate(&read::<String>(input)?)),
            "endTurn" => json!(session.end_turn()),
            "setFilter" => json!(session.set_filter(read::<Filter>(input)?)),
            "setPolicy" => json!(session.set_policy(read::<GivenPolicy>(input)?.over(&Policy::default()))),
            "active" => json!({"skills": session.active_skills(), "tools": session.active_tools()}),
            "changed" => json!(session.changed_since()),
            "scopeTools" => {
                let tools: Vec<String> = read(input)?;
                json!(session.scope_tools(&tools.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            "visible" => {
                let by: Actor = read(input)?;
                let filter = session.filter().clone();
                session.visible(by, &filter).into_iter().map(|skill| output::candidate(skill, None)).collect()
            }
            "visibleKeys" => {
                let (by, filter): (Actor, _) = (read(input)?, session.filter().clone());
                session.visible(by, &filter).into_iter().map(|skill| Value::from(&*skill.entry.key)).collect()
            }
            "whyHidden" => why_hidden(session, read(input)?),
            "tools" => dialect(&read::<String>(input)?)?.tools(&session.tools()),
            "toolDefinitions" => session
                .tools()
                .iter()
                .map(|tool| {
                    json!({
                        "name": tool.name,
                        "description": tool.description,
                        "inputSchema": tool.input_schema,
                        "readOnly": tool.read_only,
                        "idempotent": tool.idempotent,
                        "parallelSafe": tool.parallel_safe,
                    })
                })
                .collect(),
            "calls" => calls(session, input)?,
            "result" => result(read(input)?)?,
            "owns" => session.owns(&read::<String>(input)?).into(),
            "prompt" => prompt(session, read(input)?)?,
            "reinject" => reinject(session, read(input)?),
            "log" => session.state().log().iter().map(output::event).collect(),
            "state" => json!(session.state()),
            other => return Err(Failure::argument(format!("a session has no such operation: {other}"))),
        };
        Ok(value.to_string())
    }
}

fn ticket(text: String) -> Result<Ticket, Failure> {
    Ticket::try_from(text).map_err(|error| Failure::argument(error.to_string()))
}

pub(crate) fn dialect(name: &str) -> Result<Dialect, Failure> {
    name.parse().map_err(|error: UnknownDialect| {
        let names = Dialect::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
        Failure::argument(format!("{error}; the dialects are {names}"))
    })
}

/// The outcome of an effect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum GivenOutcome {
    Files(Vec<GivenFile>),
    Read { size: u64, digest: Option<Digest> },
    Hits(Vec<GivenHit>),
    Ran { code: Option<i32>, output: String },
    Approved(Digest),
    Declined,
    Failed(EffectFailure),
}

/// A hit of a selector of the host.
#[derive(Deserialize)]
struct GivenHit {
    key: String,
    score: f32,
    #[serde(default)]
    why: Vec<GivenReason>,
}

#[derive(Deserialize)]
struct GivenReason {
    term: String,
    field: Option<prowess_core::select::Field>,
    score: Option<f32>,
}

impl From<GivenHit> for Hit {
    fn from(given: GivenHit) -> Self {
        let skill = prowess_core::select::Field::Skill;
        let why = given.why.into_iter().map(|reason| {
            HitReason::new(reason.term, reason.field.unwrap_or(skill), reason.score.unwrap_or_default())
        });
        Self::new(given.key, given.score, why.collect())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resume {
    ticket: String,
    outcome: GivenOutcome,
}

fn resume(session: &mut CoreSession, asked: Resume, bytes: &[u8]) -> Result<Value, Failure> {
    let ticket = ticket(asked.ticket)?;
    let outcome = match asked.outcome {
        GivenOutcome::Files(files) => Outcome::Files { files: manifest(files)? },
        GivenOutcome::Read { size, digest } => Outcome::Read { bytes: bytes.to_vec(), size, digest },
        GivenOutcome::Hits(hits) => Outcome::Hits { hits: hits.into_iter().map(Hit::from).collect() },
        GivenOutcome::Ran { code, output } => Outcome::Ran { code, output },
        GivenOutcome::Approved(digest) => Outcome::Approved { digest },
        GivenOutcome::Declined => Outcome::Declined,
        GivenOutcome::Failed(why) => Outcome::Failed { why },
    };
    Ok(step(&session.resume(ticket, outcome)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Activate {
    name: String,
    by: Actor,
    arguments: Option<String>,
    filter: Option<Filter>,
}

fn activate(session: &mut CoreSession, asked: Activate) -> Value {
    let arguments = asked.arguments.as_deref().map(Arguments::line);
    step(&session.activate(&asked.name, asked.by, arguments, asked.filter))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhyHidden {
    key: String,
    by: Actor,
}

fn why_hidden(session: &CoreSession, asked: WhyHidden) -> Value {
    json!(session.why_hidden(&asked.key, Act::See, asked.by))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenResult {
    dialect: String,
    id: Option<String>,
    tool: String,
    result: Returned,
}

/// A result as a call returned it.
#[derive(Deserialize)]
struct Returned {
    ok: bool,
    text: String,
    data: Value,
    reason: Option<String>,
}

/// A result in the form of an interface.
fn result(asked: GivenResult) -> Result<Value, Failure> {
    let Returned { ok, text, data, reason } = asked.result;
    let reason = reason.and_then(|code| Reason::ALL.iter().find(|reason| reason.code() == code));
    let result = match reason {
        Some(reason) => ToolResult::refused(*reason, text, "").with_data(data),
        None if ok => ToolResult::done(text, data),
        None => ToolResult::failed(text, data),
    };
    let received = ReceivedCall { id: asked.id, call: ToolCall::new(asked.tool, Value::Null) };
    Ok(dialect(&asked.dialect)?.result(&received, &result))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    style: Style,
    /// Absent for the usual budget.
    budget: Option<GivenBudget>,
    query: Option<String>,
    /// What the selector found for the query, or why it failed.
    hits: Vec<GivenHit>,
    failed: Option<String>,
    narrowing: Narrowing,
    folder: String,
    preloaded: Option<bool>,
}

/// A budget, or its absence by name.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a budget has a whole number of tokens or of characters, or is the word unlimited"
)]
enum GivenBudget {
    Limit(Limit),
    Unlimited(Unlimited),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Unlimited {
    Unlimited,
}

/// A selector whose answer is known already.
struct Known {
    hits: Vec<Hit>,
    failed: Option<String>,
}

impl Selector for Known {
    fn select(&self, _: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        if let Some(reason) = &self.failed {
            return Err(SelectError::Command { program: "selector".to_owned(), reason: reason.clone() });
        }
        let there = |hit: &&Hit| among.iter().any(|entry| entry.key == hit.key);
        Ok(self.hits.iter().filter(there).take(limit).cloned().collect())
    }
}

fn prompt(session: &mut CoreSession, asked: Asked) -> Result<Value, Failure> {
    let style = asked.style.style(Shape::Compact);
    let limit = match asked.budget {
        None => Budget::two_percent(WINDOW),
        Some(GivenBudget::Limit(limit)) => limit.into(),
        Some(GivenBudget::Unlimited(Unlimited::Unlimited)) => Budget::Unlimited,
    };
    let mut options = PromptOptions::new(&style, limit)
        .with_folder(&asked.folder)
        .with_preloaded(asked.preloaded.unwrap_or(true));
    let narrowing: SelectOptions = asked.narrowing.options();
    let query = asked.query.map(Query::text);
    let known = Known { hits: asked.hits.into_iter().map(Hit::from).collect(), failed: asked.failed };
    if let Some(query) = &query {
        options = options.with_query(query, &known, &narrowing);
    }
    let prompt = session.prompt(&options).map_err(|error| Failure::new("select", error.to_string()))?;
    let not_narrowed = prompt.not_narrowed.map(|why| match why {
        NotNarrowed::NoSelector => "no-selector",
        NotNarrowed::EmptyQuery => "empty-query",
        NotNarrowed::NothingFound => "nothing-found",
        NotNarrowed::Failed(_) => "failed",
    });
    Ok(json!({
        "text": prompt.text,
        "tokens": estimate_tokens(&prompt.text),
        "skills": prompt.skills,
        "total": prompt.report.total,
        "included": prompt.report.included,
        "omitted": prompt.report.omitted,
        "shortened": prompt.report.shortened,
        "notNarrowed": not_narrowed,
    }))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Reinject {
    each: Option<Limit>,
    total: Option<Limit>,
}

fn reinject(session: &CoreSession, asked: Reinject) -> Value {
    let usual = ReinjectBudget::default();
    let limits = usual
        .with_each(asked.each.map_or(usual.each, |limit| budget(Some(limit))))
        .with_total(asked.total.map_or(usual.total, |limit| budget(Some(limit))));
    let again = session.reinject(limits, &estimate_tokens);
    json!({"text": again.text, "included": again.included, "cut": again.cut, "omitted": again.omitted})
}
