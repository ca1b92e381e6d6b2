//! Which clients need each of two copies of a skill: those that do not read the other one.

use std::collections::BTreeMap;
use std::path::Path;

use prowess::client::NotListed;
use prowess::env::Environment;
use prowess::library::clients::{self, Client};
use prowess::library::views::{Reach, Views};
use prowess::{Location, RegistryError};

use super::copies::Copy;
use super::{Purpose, library_options};
use crate::args::Places;

/// How many clients are named in a sentence.
const NAMED: usize = 3;

/// The clients on this machine that read each skill: those that list it, or would if no other had its name.
#[derive(Default)]
pub(super) struct Needed {
    by_place: BTreeMap<Location, Vec<&'static Client>>,
}

impl Needed {
    /// Asks the clients on this machine, and another one.
    pub(super) fn of(other: Option<&'static Client>) -> Self {
        let environment = Environment::current();
        let mut clients = clients::installed(&environment);
        clients.extend(other.filter(|other| !has(&clients, other)));
        let options = library_options(&Places::default(), Purpose::Look);
        let Ok(views) = Views::open(Path::new("."), &environment, &options, &clients, Reach::Clients) else {
            return Self::default();
        };
        Self::read(&views).unwrap_or_default()
    }

    fn read(views: &Views) -> Result<Self, RegistryError> {
        views.refresh()?;
        let catalog = views.registry().catalog();
        let mut by_place: BTreeMap<Location, Vec<&'static Client>> = BTreeMap::new();
        for client in views.clients() {
            for sight in views.of(client, &catalog) {
                let reads = match &sight.seen {
                    Ok(_) => true,
                    Err(not) => {
                        matches!(not.why, NotListed::SameName { .. } | NotListed::SameFile { .. })
                    }
                };
                if reads {
                    by_place.entry(sight.skill.entry.origin.location.clone()).or_default().push(client);
                }
            }
        }
        Ok(Self { by_place })
    }

    /// What to do about a skill that is not offered because another has its name. If the two are no copies and each
    /// client that reads this one reads the other, `otherwise`.
    pub(super) fn hint(
        &self,
        skill: &Location,
        by: &Location,
        copy: Option<Copy>,
        otherwise: &str,
    ) -> String {
        let at = |place: &Location| self.by_place.get(place).map(Vec::as_slice).unwrap_or_default();
        let (these, those) = (at(skill), at(by));
        let (here, there) = (only(these, those), only(those, these));
        let identical = copy.is_some_and(|copy| copy.identical);
        match (identical, here.is_empty(), there.is_empty()) {
            (true, false, false) => {
                format!("keep both: {} only this one, {} only the other", reads(&here), reads(&there))
            }
            (true, false, true) => format!("keep this one, and remove the other: {} only this", reads(&here)),
            (true, true, _) if these.is_empty() && those.is_empty() => {
                "remove one of the two, if no agent needs both".to_owned()
            }
            (true, true, _) if these.is_empty() => {
                "remove this copy: no client on this machine reads it".to_owned()
            }
            (true, true, _) => "remove this copy: each client that reads it reads the other, too".to_owned(),
            (false, false, _) => {
                // What is removed would be missing there.
                let rename = otherwise.split(", or remove").next().unwrap_or(otherwise);
                format!("{rename}, or make them alike: {} only this one", reads(&here))
            }
            (false, true, _) => otherwise.to_owned(),
        }
    }
}

fn has(clients: &[&'static Client], client: &Client) -> bool {
    clients.iter().any(|other| other.id == client.id)
}

/// The clients that are not among the others.
fn only(clients: &[&'static Client], others: &[&'static Client]) -> Vec<&'static Client> {
    clients.iter().copied().filter(|client| !has(others, client)).collect()
}

/// The clients with their verb: `Claude Code reads`.
fn reads(clients: &[&Client]) -> String {
    let names: Vec<&str> = clients.iter().take(NAMED).map(|client| client.name).collect();
    match (names.as_slice(), clients.len().saturating_sub(NAMED)) {
        ([name], _) => format!("{name} reads"),
        (names, 0) => format!("{} read", names.join(", ")),
        (names, more) => format!("{} and {more} more read", names.join(", ")),
    }
}
