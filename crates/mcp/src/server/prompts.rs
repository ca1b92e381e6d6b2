//! User-invocable skills as prompts, and the completion of names and paths.

use std::time::Instant;

use prowess::internal::ShownName;
use prowess::session::{Actor, Arguments};
use prowess::{Candidate, RelPath};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResult,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::{Value, json};

use crate::library::snapshot::Snapshot;
use crate::protocol::wire::Era;
use crate::server::Shared;
use crate::server::blocking;
use crate::server::connection::Connection;
use crate::server::errors::excerpt;
use crate::server::resources::TEMPLATE;
use crate::server::tools::run;

/// The argument with everything that a user types after the name of a skill.
const ALL: &str = "arguments";

/// The maximum number of unknown arguments that an error names.
const MAX_UNKNOWN: usize = 10;

/// A prompt for each skill that a user may start, in pages.
pub(crate) fn list(shared: &Shared, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
    let after = shared.after("prompts", cursor)?;
    let snapshot = shared.live.current();
    // Of two names that are spelled alike here, the one that is written so stands for both, and is refused as ambiguous.
    let is_first = |skill: &&Candidate| {
        let (key, shown) = (&skill.entry.key, shown_name(&skill.entry.key));
        *key == shown || !snapshot.is_invocable(&shown)
    };
    let mut rest = snapshot.invocable_after(after.as_deref()).filter(is_first);
    let page: Vec<&Candidate> = rest.by_ref().take(snapshot.page_size()).collect();
    let more = rest.next().is_some();
    let next = page.last().filter(|_| more).map(|skill| shared.cursors.make("prompts", &skill.entry.key));
    let mut result = ListPromptsResult::with_all_items(page.into_iter().map(described).collect());
    result.next_cursor = next;
    Ok(result)
}

/// Text with hidden characters made visible.
fn visible(text: &str) -> String {
    prowess::text::visible(text).into_owned()
}

/// A name on one line, with hidden characters made visible.
fn shown_name(name: &str) -> String {
    prowess::text::inline(name).into_owned()
}

fn described(skill: &Candidate) -> Prompt {
    let entry = &skill.entry;
    let named = entry
        .client
        .arguments
        .iter()
        .filter(|name| *name != ALL)
        .map(|name| PromptArgument::new(shown_name(name)));
    let hint = visible(entry.client.argument_hint.as_deref().unwrap_or("What to do, in plain words."));
    let all = PromptArgument::new(ALL).with_description(hint);
    let arguments = named.chain([all]).map(|argument| argument.with_required(false)).collect();
    Prompt::new(shown_name(&entry.key), Some(visible(&entry.description)), Some(arguments))
}

/// The skills that the name of a prompt means: the one with this key, else all that our texts show so. The latter compares
/// the name with every skill.
pub(crate) fn prompted<'s>(snapshot: &'s Snapshot, name: &str) -> Vec<&'s Candidate> {
    let exact = snapshot.candidate(name).filter(|_| snapshot.is_invocable(name));
    let Some(shown) = ShownName::read(name) else { return exact.into_iter().collect() };
    // A name that is spelled as our texts show another one must not take its place.
    let others = snapshot.invocable_after(None).filter(|skill| skill.entry.key != name);
    exact.into_iter().chain(others.filter(|skill| shown.is(&skill.entry.key))).collect()
}

/// The key of the skill that the name of a prompt means.
pub(crate) fn key_of(shared: &Shared, name: &str) -> Option<String> {
    match prompted(&shared.live.current(), name).as_slice() {
        [only] => Some(only.entry.key.clone()),
        _ => None,
    }
}

/// Activates a skill for a user: its instructions, with the arguments filled in.
pub(crate) fn get(
    shared: &Shared,
    connection: &Connection,
    era: Era,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let snapshot = shared.live.current();
    let shown = excerpt(&request.name);
    let skill = match prompted(&snapshot, &request.name).as_slice() {
        [only] => *only,
        none_or_several => {
            let error = match none_or_several {
                [] => format!("no such prompt: {shown}"),
                _ => {
                    format!("several prompts have this name: {shown}; give one in full, as prompts/list does")
                }
            };
            return Err(ErrorData::invalid_params(error, Some(json!({ "name": shown }))));
        }
    };
    let names = &skill.entry.client.arguments;
    let is_known = |given: &&String| {
        *given == ALL || names.iter().any(|name| name == *given || shown_name(name) == **given)
    };
    let given_names = request.arguments.iter().flat_map(serde_json::Map::keys);
    let unknown: Vec<String> =
        given_names.filter(|given| !is_known(given)).take(MAX_UNKNOWN).map(|given| excerpt(given)).collect();
    if !unknown.is_empty() {
        let known: Vec<String> = names.iter().map(|name| shown_name(name)).chain([ALL.to_owned()]).collect();
        let error = format!(
            "this prompt has no such argument: {}; its arguments are: {}",
            unknown.join(", "),
            known.join(", ")
        );
        return Err(ErrorData::invalid_params(error, Some(json!({ "name": shown }))));
    }
    let given = |name: &str| {
        let given = request.arguments.as_ref()?;
        given.get(name).or_else(|| given.get(shown_name(name).as_str())).map(text)
    };
    let named: Vec<String> =
        skill.entry.client.arguments.iter().map(|name| given(name).unwrap_or_default()).collect();
    // Named arguments come before the rest, each as one word.
    let used = named.iter().rposition(|word| !word.is_empty()).map_or(0, |last| last + 1);
    let mut words: Vec<String> = named.into_iter().take(used).map(|word| quoted(&word)).collect();
    words.extend(given(ALL).filter(|all| !all.is_empty()));
    let arguments = words.join(" ");
    let result = run(connection, &snapshot, era, |session| {
        session.activate(&skill.entry.key, Actor::User, Some(Arguments::line(&arguments)), None)
    });
    if !result.is_ok() {
        return Err(ErrorData::invalid_params(
            result.full_text().into_owned(),
            Some(json!({ "name": shown })),
        ));
    }
    let message = PromptMessage::new_text(Role::User, result.text);
    Ok(GetPromptResult::new(vec![message]).with_description(visible(&skill.entry.description)))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A text quoted as one word of a command line.
fn quoted(word: &str) -> String {
    if !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\')) {
        return word.to_owned();
    }
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// Completes the name of a skill, or the path of one of its files.
pub(crate) fn complete(
    shared: &Shared,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let snapshot = shared.live.current();
    let begun = request.argument.value.as_str();
    // Whether the time was over before every skill was looked at.
    let mut is_cut = false;
    let values: Vec<String> = match &request.r#ref {
        Reference::Resource(template) if template.uri == TEMPLATE => match request.argument.name.as_str() {
            // A prefixed skill has another form of URI, and an unpublished one has none.
            "name" => {
                let end = blocking::end_of_list();
                snapshot
                    .listed_after(None)
                    .filter(|key| key.starts_with(begun) && !key.contains(':'))
                    .take_while(|_| {
                        is_cut = Instant::now() >= end;
                        !is_cut
                    })
                    .filter(|key| snapshot.published_by_now(key).is_some())
                    .map(str::to_owned)
                    .collect()
            }
            "path" => {
                let known = request.context.as_ref().and_then(|context| context.arguments.as_ref());
                let published = known
                    .and_then(|known| known.get("name"))
                    .and_then(|name| snapshot.published_by_now(name));
                let paths = published.iter().flat_map(|published| &published.files.files);
                paths
                    .map(|file| RelPath::as_str(&file.path))
                    .filter(|path| path.starts_with(begun))
                    .map(str::to_owned)
                    .collect()
            }
            _ => Vec::new(),
        },
        Reference::Prompt(prompt) if !prompted(&snapshot, &prompt.name).is_empty() => Vec::new(),
        _ => return Err(ErrorData::invalid_params("this prompt or template is not served", None)),
    };
    let total = values.len();
    let shown: Vec<String> = values.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let more = is_cut || shown.len() < total;
    let total = u32::try_from(total).ok().filter(|_| !is_cut);
    let info = CompletionInfo::with_pagination(shown, total, more)
        .map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(info))
}
