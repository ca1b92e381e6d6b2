//! The clients that `--client` names.

use prowess::env::Environment;
use prowess::library::clients::{self, CLIENTS, Client};

use crate::args::Places;
use crate::error::{CommandError, Failure};

/// The word that means the clients on this machine.
const INSTALLED: &str = "installed";

/// The clients that were named, each once.
pub(super) fn all(places: &Places) -> Result<Vec<&'static Client>, CommandError> {
    let mut named: Vec<&'static Client> = Vec::new();
    for id in &places.clients {
        let found = if id == INSTALLED { installed()? } else { vec![client(id)?] };
        for client in found {
            if !named.iter().any(|other| other.id == client.id) {
                named.push(client);
            }
        }
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

fn client(id: &str) -> Result<&'static Client, CommandError> {
    clients::client(id).ok_or_else(|| {
        let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        let hint = format!("the clients are {}", known.join(", "));
        Failure::new(format!("no such client: {id}"), hint).into()
    })
}

fn installed() -> Result<Vec<&'static Client>, CommandError> {
    let found = clients::installed(&Environment::current());
    if found.is_empty() {
        let hint = "name one, such as --client codex; a client is found by its folder in your home";
        return Err(Failure::new("no client was found on this machine", hint).into());
    }
    Ok(found)
}
