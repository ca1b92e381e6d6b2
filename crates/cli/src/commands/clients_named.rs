//! The clients that `--client` names.

use prowess::env::Environment;
use prowess::internal::{client_meant, did_you_mean};
use prowess::library::clients::{self, Client};

use crate::args::{Places, Scan};
use crate::error::{CommandError, Failure};
use crate::ui::{self, clean};

/// The word that means the clients on this machine.
const INSTALLED: &str = "installed";

/// How many clients are named in a sentence.
const NAMED: usize = 3;

/// The names of a few clients, such as `Codex, Cursor, Kilo and 29 more`.
pub(super) fn few(clients: &[&Client]) -> String {
    ui::few(&clients.iter().map(|client| client.name).collect::<Vec<_>>(), NAMED)
}

/// The names of a few clients by their ids, those on this machine first.
pub(super) fn few_of<'i>(ids: impl IntoIterator<Item = &'i &'static str>, here: &[&Client]) -> String {
    let mut readers: Vec<&Client> = ids.into_iter().filter_map(|id| clients::client(id)).collect();
    readers.sort_by_key(|client| !here.iter().any(|other| other.id == client.id));
    few(&readers)
}

/// The clients that were named, each once.
pub(super) fn all(places: &Places) -> Result<Vec<&'static Client>, CommandError> {
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
pub(super) fn one(places: &Places) -> Result<Option<&'static Client>, CommandError> {
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
pub(super) fn are_several(places: &Places) -> bool {
    places.clients.len() > 1 || places.clients.iter().any(|id| id == INSTALLED)
}

/// An error if an option changes how folders are walked: a client does that in its own way.
pub(super) fn walk_as_they_do(places: &Places) -> Result<(), CommandError> {
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
pub(super) fn check(ids: &[String]) -> Result<(), CommandError> {
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
