//! Clients in words: those that `--client` names, what one makes of a skill, and which of them run what a skill asks for.

use prowess::client::{Execution, Fact, Runs};
use prowess::env::Environment;
use prowess::internal::{client_meant, did_you_mean};
use prowess::library::clients::{self, Client};
use prowess::{Candidate, Entry, Registry, Standing};

use crate::args::{Places, Scan};
use crate::error::{CommandError, Failure};
use crate::prompt::{is_not_read, not_for_model};
use crate::ui::{self, clean};

/// The word that means the clients on this machine.
const INSTALLED: &str = "installed";

/// How many clients are named in a sentence.
const NAMED: usize = 3;

/// The names of a few clients, such as `Codex, Cursor, Kilo and 29 more`.
pub(crate) fn few(clients: &[&Client]) -> String {
    ui::few(&clients.iter().map(|client| client.name).collect::<Vec<_>>(), NAMED)
}

/// The names of a few clients by their ids, those on this machine first.
pub(crate) fn few_of<'i>(ids: impl IntoIterator<Item = &'i &'static str>, here: &[&Client]) -> String {
    let mut readers: Vec<&Client> = ids.into_iter().filter_map(|id| clients::client(id)).collect();
    readers.sort_by_key(|client| !here.iter().any(|other| other.id == client.id));
    few(&readers)
}

/// The clients that were named, each once.
pub(crate) fn all(places: &Places) -> Result<Vec<&'static Client>, CommandError> {
    let mut named: Vec<&'static Client> = Vec::new();
    for id in &places.clients {
        let found =
            if id == INSTALLED { clients::installed(&Environment::current()) } else { vec![client(id)?] };
        for client in found {
            if !named.iter().any(|other| other.id == client.id) {
                named.push(client);
            }
        }
    }
    if named.is_empty() && !places.clients.is_empty() {
        let hint = "name one, such as --client codex; a client is found by its folder in your home";
        return Err(Failure::new("no client was found on this machine", hint).into());
    }
    Ok(named)
}

/// The one client that was named, for a command that takes no more.
pub(crate) fn one(places: &Places) -> Result<Option<&'static Client>, CommandError> {
    match all(places)?.as_slice() {
        [] => Ok(None),
        [client] => Ok(Some(client)),
        several => {
            let ids: Vec<&str> = several.iter().map(|client| client.id).collect();
            let error = "this command takes one client; list and why take several".to_owned();
            Err(Failure::new(error, format!("name one of {}", ids.join(", "))).into())
        }
    }
}

/// Whether several clients are shown side by side.
pub(crate) fn are_several(places: &Places) -> bool {
    places.clients.len() > 1 || places.clients.iter().any(|id| id == INSTALLED)
}

/// An error if an option changes how folders are walked: a client does that in its own way.
pub(crate) fn walk_as_they_do(places: &Places) -> Result<(), CommandError> {
    let Scan { depth, skip, no_nested, duplicates, .. } = &places.scan;
    let given = [
        ("--depth", depth.is_some()),
        ("--skip", !skip.is_empty()),
        ("--no-nested", *no_nested),
        ("--duplicates", duplicates.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given && !places.clients.is_empty()) {
        Some((option, _)) => {
            let error = format!("{option} has no effect on what a client lists: the client decides");
            Err(Failure::new(error, format!("leave out {option} or --client")).into())
        }
        None => Ok(()),
    }
}

/// An error if one of these ids is not that of a client.
pub(crate) fn check(ids: &[String]) -> Result<(), CommandError> {
    ids.iter().try_for_each(|id| client(id).map(drop))
}

/// The client with this id.
fn client(id: &str) -> Result<&'static Client, CommandError> {
    clients::client(id).ok_or_else(|| {
        let error = format!("no such client: {}", clean(id));
        // Some programs are known by their configuration for MCP alone.
        let connected = prowess_mcp::CLIENT_CONFIGS.iter().find(|config| config.name == id);
        let hint = match connected {
            Some(config) => format!(
                "where it keeps skills is not known; serve them to it with: prowess connect {}",
                config.name
            ),
            None => did_you_mean(&client_meant(id)).unwrap_or_else(|| {
                "name one such as claude-code, codex or gemini-cli; those on this machine are in: prowess list \
                 --client installed"
                    .to_owned()
            }),
        };
        Failure::new(error, hint).into()
    })
}

/// What a client makes of a skill.
pub(crate) fn said_of_client(
    client: &Client,
    candidate: &Candidate,
    standing: &Standing,
    registry: &Registry,
) -> String {
    let name = client.name;
    let several = candidate.sighting.is_some_and(|sighting| sighting.facts.has(Fact::OneOfSeveral));
    match standing {
        Standing::Listed if is_not_read(candidate) => {
            format!("not read, so it is not known how {name} lists it: {}", Fact::NotRead.what())
        }
        Standing::Listed => match not_for_model(candidate, registry) {
            Some(fact) => format!("{name} lists it, but not to its model: {}", fact.what()),
            None if several => format!("{name} lists one skill with this name, not always this one"),
            None => format!("{name} lists it"),
        },
        Standing::Shadowed { .. } if several => {
            format!("{name} lists one skill with this name, not always the same one")
        }
        Standing::Shadowed { .. } => format!("{name} lists another skill with this name"),
        Standing::Unseen { reason, .. } => format!("{name} does not list it: {}", clean(reason)),
        Standing::Blocked { .. } => "left out by an option".to_owned(),
    }
}

/// The name under which a client shows a skill, and why it differs from the one in the file.
pub(crate) fn seen_as(client: &Client, candidate: &Candidate) -> String {
    let Entry { key, name, .. } = &candidate.entry;
    if key == name {
        return key.clone();
    }
    let reads = client.reads();
    let facts = candidate.sighting.unwrap_or_default().facts.common(reads.folder_if);
    let because = if reads.by_folder {
        format!("{} takes the name of the folder", client.name)
    } else if let Some(fact) = facts.iter().next() {
        format!("{} takes the name of the folder, since {}", client.name, fact.what())
    } else {
        format!("{} {}", client.name, reads.rewrite.words())
    };
    format!("{key}; its file says {name}, and {because}")
}

/// A column of the table of clients.
type RunsColumn = fn(&Execution) -> Runs;

/// The rules about something that some agents run, each with the column of the table of clients.
const RUN: [(&str, RunsColumn); 2] =
    [("hooks-present", |runs| runs.hooks), ("dynamic-command", |runs| runs.commands)];

/// Who runs what a problem is about: the client that was asked about, or all that are known to.
pub(crate) fn who_runs(code: &str, client: Option<&Client>) -> Option<String> {
    let (_, column) = RUN.iter().find(|(other, _)| *other == code)?;
    Some(said(*column, client))
}

/// Which agents run hooks.
pub(crate) fn who_runs_hooks() -> String {
    said(|runs| runs.hooks, None)
}

/// Which agents run commands in the instructions.
pub(crate) fn who_runs_commands() -> String {
    said(|runs| runs.commands, None)
}

fn said(column: RunsColumn, client: Option<&Client>) -> String {
    let Some(client) = client else {
        let names: Vec<&str> = clients::running(column).iter().map(|client| client.name).collect();
        return format!("known to run it: {}", names.join(", "));
    };
    match column(&client.reads().runs) {
        Runs::Yes => format!("{} runs it", client.name),
        Runs::Sometimes(condition) => format!("{} runs it, {condition}", client.name),
        Runs::No => format!("{} does not run it", client.name),
        _ => format!("it is not known whether {} runs it; some agents do", client.name),
    }
}
