//! Where else a skill is that was not found in the given places.

use prowess::Location;
use prowess::env::{self, Environment};
use prowess::library::clients::{self, Client, Root};
use serde::Serialize;
use std::path::{Path, PathBuf};

use super::{Purpose, unread_registry};
use crate::args::Places;
use crate::error::{CommandError, Failure};
use crate::ui::clean;

/// The skills with a name in the folders of other clients, and the folders of the given client.
#[derive(Default, Serialize)]
pub(super) struct Elsewhere {
    /// The skills.
    #[serde(rename = "elsewhere")]
    skills: Vec<Place>,
    /// The folders of the given client.
    looks_in: Vec<PathBuf>,
    #[serde(skip)]
    client: Option<&'static Client>,
}

/// A skill that was found elsewhere.
#[derive(Serialize)]
struct Place {
    path: Location,
    /// The clients that look there.
    readers: Vec<&'static str>,
    /// Why the client does not see it.
    reason: String,
}

impl Elsewhere {
    /// Looks in every folder of every client for a skill that is not in the given places. No server is asked.
    pub(super) fn of(name: &str, places: &Places) -> Result<Self, CommandError> {
        let client = places.clients.first().and_then(|id| clients::client(id));
        if client.is_none() && places.sources.is_empty() {
            return Ok(Self::default());
        }
        let everywhere = Places { no_cache: places.no_cache, ..Places::default() };
        let (registry, _) = unread_registry(&everywhere, Purpose::Look, None)?;
        registry
            .refresh_local()
            .map_err(|error| Failure::new(error.to_string(), "list all skills with: prowess list --all"))?;
        let roots = client.map_or_else(Vec::new, |client| {
            client.roots(&env::absolute(Path::new(".")), &Environment::current())
        });
        let catalog = registry.catalog();
        let skills = catalog.why(name).into_iter().map(|(candidate, _)| {
            let path = candidate.entry.origin.location.clone();
            let reason = reason(Path::new(&*path.text()), client, &roots);
            Place { path, readers: candidate.readers.clone(), reason }
        });
        Ok(Self {
            skills: skills.collect(),
            looks_in: roots.into_iter().map(|root| root.path).collect(),
            client,
        })
    }

    /// The message if the skill is elsewhere.
    pub(super) fn failure(&self, name: &str) -> Option<Failure> {
        if self.skills.is_empty() {
            return None;
        }
        let (error, hint) = match self.client {
            Some(client) => {
                let looks_in: Vec<_> =
                    self.looks_in.iter().map(|path| clean(&path.to_string_lossy()).into_owned()).collect();
                (
                    format!("{} does not read this skill: {}", client.name, clean(name)),
                    format!(
                        "{} looks in {}; put the skill, or a link to it, into one of these",
                        client.name,
                        looks_in.join(", ")
                    ),
                )
            }
            None => (
                format!("no skill of this name was found in the places that were named: {}", clean(name)),
                "name its folder with --in, or leave --in out".to_owned(),
            ),
        };
        let mut failure = Failure::new(error, hint);
        failure.causes.extend(self.skills.iter().map(|place| {
            let readers = match place.readers.as_slice() {
                [] => String::new(),
                readers => format!("; read by {}", readers.join(", ")),
            };
            format!("it is at {}, {}{readers}", clean(&place.path.text()), clean(&place.reason))
        }));
        Some(failure)
    }
}

/// Why the skill at a path is not found by the client, or in the given places.
fn reason(path: &Path, client: Option<&Client>, roots: &[Root]) -> String {
    let Some(client) = client else { return "which is in none of the places that were named".to_owned() };
    let folder = path.parent().unwrap_or(path);
    let below = |root: &Root| Some(folder.strip_prefix(&root.path).ok()?.components().count());
    match roots.iter().find_map(|root| Some((root, below(root)?))) {
        Some((root, depth)) => format!(
            "{depth} folders below {}, where {} looks {} deep",
            root.path.display(),
            client.name,
            root.depth
        ),
        None => format!("a folder that {} does not read", client.name),
    }
}
