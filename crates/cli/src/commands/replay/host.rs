//! The lines of a replay for what a host does between the calls of a model.

use std::sync::atomic::Ordering;

use prowess::render::{ActivationStyle, Budget, CatalogStyle, Shape, compose, estimate_tokens};
use prowess::select::{Keyword, Query, SelectOptions};
use prowess::session::{
    Dialect, EventKind, Filter, Lifetime, Naming, Options, OriginRule, Policy, PromptOptions, ReinjectBudget,
    Repeat, Session, SessionState, ToolMode, ToolResult, UnknownDialect, Untrusted, WhenFull,
};
use prowess::{HostTools, Scope, TooLarge};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Host;

/// The values of `host`.
const WORDS: [&str; 13] = [
    "begin",
    "active",
    "deactivate",
    "end_turn",
    "log",
    "preload",
    "prompt",
    "refresh",
    "reinject",
    "restore",
    "scope",
    "set_filter",
    "user",
];

/// Does what a host would do.
pub(super) fn act(host: &mut Host, what: &str, arguments: Value) -> Result<ToolResult, String> {
    let chat = &mut host.chat;
    let session = chat.session_mut();
    Ok(match what {
        "begin" => {
            let Begin { dialect, approve, .. } = begin(session, read(arguments)?)?;
            host.approving.store(approve == Some(true), Ordering::Relaxed);
            chat.preload(&[]);
            let dialect: Dialect = dialect.parse().map_err(|error: UnknownDialect| error.to_string())?;
            ToolResult::done("", json!({"tools": chat.tools(dialect)}))
        }
        "active" => active(session),
        "deactivate" => {
            let Deactivate { name } = read(arguments)?;
            let removed = session.deactivate(&name);
            let data =
                json!({"deactivated": removed.is_some(), "removed_tools": removed.unwrap_or_default()});
            ToolResult::done("", data)
        }
        "log" => {
            let ReplayLog { events } = read(arguments)?;
            let unknown = |name: &&String| !EventKind::NAMES.contains(&name.as_str());
            if let Some(name) = events.iter().flatten().find(unknown) {
                let known = EventKind::NAMES.join(", ");
                return Err(format!("there is no such kind of event: {name}; the kinds are {known}"));
            }
            let log = session.state().log().iter().map(|event| json!(event));
            let wanted = |event: &Value| {
                events.as_ref().is_none_or(|names| names.iter().any(|name| event["event"] == name.as_str()))
            };
            ToolResult::done("", json!({"events": log.filter(wanted).collect::<Vec<Value>>()}))
        }
        "refresh" => {
            chat.skills().refresh().map_err(|error| error.to_string())?;
            let change = chat.changes();
            let data = json!({"deactivated": change.deactivated, "changed": change.changed});
            ToolResult::done("", data)
        }
        "end_turn" => {
            let ended = session.end_turn();
            ToolResult::done("", json!({"deactivated": ended}))
        }
        "preload" => {
            let Preload { names } = read(arguments)?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let failed = |(name, result): (String, ToolResult)| {
                result.reason.map(|reason| json!({"name": name, "reason": reason}))
            };
            let failed: Vec<Value> = chat.preload(&names).into_iter().filter_map(failed).collect();
            ToolResult::done("", json!({"active": chat.active(), "failed": failed}))
        }
        "prompt" => prompt(session, read(arguments)?)?,
        "reinject" => {
            let Reinject { each, total } = read(arguments)?;
            let budget = ReinjectBudget::default()
                .with_each(Budget::Characters(each))
                .with_total(Budget::Characters(total));
            let again = session.reinject(budget, &estimate_tokens);
            let data = json!({"included": again.included, "cut": again.cut, "omitted": again.omitted});
            ToolResult::done(again.text, data)
        }
        "restore" => {
            let stored = serde_json::to_string(session.state()).map_err(|error| error.to_string())?;
            let state = SessionState::from_json(&stored).map_err(|error| error.to_string())?;
            let (policy, options) = (session.policy().clone(), session.options().clone());
            let catalog = session.shared_catalog();
            *session =
                Session::restore(state, catalog, policy, options).map_err(|error| error.to_string())?;
            active(session)
        }
        "scope" => {
            let ReplayTools { tools } = read(arguments)?;
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            ToolResult::done("", json!({"tools": session.scope_tools(&tools)}))
        }
        "set_filter" => {
            let SetFilter { filter } = read(arguments)?;
            let gone = session.set_filter(filter);
            ToolResult::done("", json!({"deactivated": gone}))
        }
        "user" => {
            let User { message } = read(arguments)?;
            let results = chat.user_message(&message);
            let texts: Vec<_> = results.iter().map(ToolResult::full_text).collect();
            let data = json!({"skills": results.iter().map(|result| &result.data).collect::<Vec<_>>()});
            match results.iter().find_map(|result| result.reason) {
                None => ToolResult::done(compose(&texts), data),
                Some(reason) => ToolResult::refused(reason, compose(&texts), "").with_data(data),
            }
        }
        other => {
            return Err(format!("a host has no such action: {other}; its actions are {}", WORDS.join(", ")));
        }
    })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    serde_json::from_value(arguments).map_err(|error| without_types(&error.to_string()))
}

/// A message of `serde_json` without the names of Rust types.
fn without_types(message: &str) -> String {
    let mut words = message.split(' ').peekable();
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "struct" => {
                words.next();
                plain.push("an object");
            }
            "enum" => {
                words.next();
                plain.push("one of its words");
            }
            "sequence" => plain.push("list"),
            "map," => plain.push("object,"),
            "map" => plain.push("object"),
            word => plain.push(word),
        }
    }
    plain.join(" ")
}

fn active(session: &Session) -> ToolResult {
    ToolResult::done("", json!({"skills": session.active_skills(), "tools": session.active_tools()}))
}

/// A new session over the same skills, with its own policy and options.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Begin {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    filter: Filter,
    untrusted: Untrusted,
    mode: ToolMode,
    tools: HostTools,
    naming: String,
    namespace: String,
    dialect: String,
    max_active: usize,
    when_full: WhenFull,
    lifetime: Lifetime,
    repeat: Repeat,
    hint_files: bool,
    /// The largest file whose contents an activation shows; none are shown when it is absent.
    inline_bytes: Option<usize>,
    /// Whether an activation is the instructions alone.
    plain: bool,
    max_activation_bytes: usize,
    max_kept_bytes: usize,
    /// If set, every skill must be approved, and this is the answer of the host.
    approve: Option<bool>,
    max_files: usize,
    max_bytes: usize,
    too_large: TooLarge,
    max_enum: usize,
    catalog_in_tool: Option<Shape>,
    instruction: Option<String>,
}

impl Default for Begin {
    fn default() -> Self {
        let Options { max_active, when_full, lifetime, repeat, hint_files, .. } = Options::default();
        let Options { max_resource_bytes, max_files, too_large, max_enum, .. } = Options::default();
        let Options { max_activation_bytes, max_kept_bytes, .. } = Options::default();
        let Policy { filter, untrusted, tools: mode, .. } = Policy::default();
        Self {
            allow: None,
            deny: Vec::new(),
            filter,
            untrusted,
            mode,
            tools: HostTools::default(),
            naming: "default".to_owned(),
            namespace: String::new(),
            dialect: Dialect::default().name().to_owned(),
            max_active,
            when_full,
            lifetime,
            repeat,
            hint_files,
            inline_bytes: None,
            plain: false,
            max_activation_bytes,
            max_kept_bytes,
            approve: None,
            max_files,
            max_bytes: max_resource_bytes,
            too_large,
            max_enum,
            catalog_in_tool: None,
            instruction: None,
        }
    }
}

fn begin(session: &mut Session, asked: Begin) -> Result<Begin, String> {
    let naming: Naming =
        asked.naming.parse().map_err(|error: prowess::session::UnknownNaming| error.to_string())?;
    let naming = naming
        .with_namespace(&asked.namespace)
        .map_err(|_| "a model cannot call names with this namespace")?;
    let rule = OriginRule::usual(Scope::Explicit).with_approve(true);
    let mut activation = ActivationStyle::default().with_plain(asked.plain);
    activation.max_inline_bytes = asked.inline_bytes.unwrap_or(activation.max_inline_bytes);
    let mut policy = Policy::default()
        .with_deny(asked.deny.iter().cloned())
        .with_filter(asked.filter.clone())
        .with_untrusted(asked.untrusted)
        .with_tools(asked.mode)
        .with_host_tools(asked.tools.clone());
    policy.allow = asked.allow.clone().map(|names| names.into_iter().collect());
    policy.origins = asked.approve.map(|_| (Scope::Explicit, rule)).into_iter().collect();
    let in_tool = asked.catalog_in_tool.map(|shape| (CatalogStyle::new(shape), Budget::Unlimited));
    let options = Options::default()
        .with_naming(naming)
        .with_max_active(asked.max_active)
        .with_when_full(asked.when_full)
        .with_lifetime(asked.lifetime)
        .with_repeat(asked.repeat)
        .with_hint_files(asked.hint_files)
        .with_inline_resources(asked.inline_bytes.is_some())
        .with_activation(activation)
        .with_max_activation_bytes(asked.max_activation_bytes)
        .with_max_kept_bytes(asked.max_kept_bytes)
        .with_max_files(asked.max_files)
        .with_max_resource_bytes(asked.max_bytes)
        .with_too_large(asked.too_large)
        .with_max_enum(asked.max_enum)
        .with_catalog_in_tool(in_tool)
        .with_instruction(asked.instruction.clone());
    *session = Session::new("replay", session.shared_catalog(), policy, options);
    Ok(asked)
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ask {
    style: CatalogStyle,
    characters: Option<usize>,
    query: Option<String>,
    top_k: Option<usize>,
    folder: String,
}

impl Default for Ask {
    fn default() -> Self {
        let top_k = SelectOptions::default().top_k;
        Self { style: CatalogStyle::default(), characters: None, query: None, top_k, folder: String::new() }
    }
}

fn prompt(session: &mut Session, asked: Ask) -> Result<ToolResult, String> {
    let budget = asked.characters.map_or(Budget::Unlimited, Budget::Characters);
    let mut options = PromptOptions::new(&asked.style, budget).with_folder(&asked.folder);
    let (selector, narrow) = (Keyword::default(), SelectOptions::default().with_top_k(asked.top_k));
    let query = asked.query.map(Query::text);
    if let Some(query) = &query {
        options = options.with_query(query, &selector, &narrow);
    }
    let prompt = session.prompt(&options).map_err(|error| error.to_string())?;
    let report = prompt.report;
    let data = json!({"total": report.total, "included": report.included, "omitted": report.omitted, "shortened": report.shortened});
    Ok(ToolResult::done(prompt.text, data))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preload {
    #[serde(default)]
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reinject {
    #[serde(default = "unlimited")]
    each: usize,
    #[serde(default = "unlimited")]
    total: usize,
}

const fn unlimited() -> usize {
    usize::MAX
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Deactivate {
    name: String,
}

/// The kinds of events to return; all when absent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayLog {
    events: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayTools {
    tools: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFilter {
    filter: Filter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct User {
    message: String,
}
