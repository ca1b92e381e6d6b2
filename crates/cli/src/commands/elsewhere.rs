//! Where else a skill is that was not found in the given places.

use prowess::client::{Climb, Fact};
use prowess::env::{self, Environment};
use prowess::install::{InstallScope, Origins};
use prowess::library::clients::{self, CLIENTS, Client, Root};
use prowess::library::library;
use prowess::library::views::{Reach, Views};
use prowess::{Location, Scope, Standing};
use serde::Serialize;
use std::path::{Path, PathBuf};

use super::hints::command_for;
use super::install::scope_option;
use super::why::join;
use super::{Purpose, clients_named, library_options, unread_registry};
use crate::args::Places;
use crate::error::{CommandError, Failure};
use crate::ui::clean;

/// How many folders above the current one are looked at.
const MAX_ABOVE: usize = 32;

/// The skills with a name in the folders of other clients, and the folders of the given client.
#[derive(Default, Serialize)]
pub(super) struct Elsewhere {
    /// The skills.
    #[serde(rename = "elsewhere")]
    skills: Vec<FoundElsewhere>,
    /// The folders of the given client.
    looks_in: Vec<PathBuf>,
    /// The folder above in which the client would have to be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_in: Option<PathBuf>,
    /// A folder of the user in which the client follows a link.
    #[serde(skip)]
    link_in: Option<PathBuf>,
    /// Whose skill it is, if it was installed and the client can get it.
    #[serde(skip)]
    installed: Option<InstallScope>,
    #[serde(skip)]
    client: Option<&'static Client>,
    /// Whether Prowess skips the folders of the skills.
    #[serde(skip)]
    is_skipped: bool,
}

/// What is in folders that Prowess skips, and why it does.
const SKIPPED: [(Fact, &str); 3] = [
    (Fact::InModules, "in node_modules, which Prowess skips"),
    (Fact::HiddenFolder, "in a hidden folder, which Prowess skips"),
    (Fact::BelowHidden, "below a hidden folder, which Prowess skips"),
];

/// A skill that was found elsewhere.
#[derive(PartialEq, Eq, Serialize)]
struct FoundElsewhere {
    path: Location,
    /// The clients that look there.
    readers: Vec<&'static str>,
    /// Why the client does not see it.
    reason: String,
}

impl Elsewhere {
    /// Looks in every folder of every client for a skill that is not in the given places. No server is asked.
    pub(super) fn of(name: &str, places: &Places, origins: &Origins) -> Result<Self, CommandError> {
        let client = clients_named::one(places)?;
        if client.is_none() && places.sources.is_empty() {
            return Ok(Self::skipped(name, places).unwrap_or_default());
        }
        let everywhere = Places { no_cache: places.no_cache, ..Places::default() };
        let (registry, _) = unread_registry(&everywhere, Purpose::Look, None)?;
        registry
            .refresh_local()
            .map_err(|error| Failure::new(error.to_string(), "list all skills with: prowess list --all"))?;
        let here = env::absolute(Path::new("."));
        let mut roots = client.map_or_else(Vec::new, |client| client.roots(&here, &Environment::current()));
        // A folder inside another is one that the client fills itself.
        let all: Vec<PathBuf> = roots.iter().map(|root| root.path.clone()).collect();
        let is_inside = |path: &Path| all.iter().any(|other| path != other && path.starts_with(other));
        roots.retain(|root| !is_inside(&root.path));
        let above = client.and_then(|client| Above::of(name, client, &here, places));
        let catalog = registry.catalog();
        let mut skills: Vec<FoundElsewhere> = Vec::new();
        for (candidate, _) in catalog.why(name) {
            let path = candidate.entry.origin.location.clone();
            let is_above = above.as_ref().is_some_and(|above| above.path == path);
            let reason = match client {
                Some(client) if is_above => above_reason(client),
                _ => reason(Path::new(&*path.text()), client, &roots),
            };
            skills.push(FoundElsewhere { path, readers: candidate.readers.clone(), reason });
        }
        if let (Some(client), Some(above)) = (client, &above)
            && !skills.iter().any(|place| place.path == above.path)
        {
            let (path, reason) = (above.path.clone(), above_reason(client));
            skills.insert(0, FoundElsewhere { path, readers: Vec::new(), reason });
        }
        let follows = client.is_some_and(|client| !client.reads().refuses.has(Fact::LinkedFolder));
        // A folder of the system is not the user's to change.
        let home = Environment::current().home();
        let is_own = |root: &&Root| home.as_ref().is_some_and(|home| root.path.starts_with(home));
        let of_user = roots.iter().filter(|root| root.scope == Scope::User && follows).find(is_own);
        let installed =
            origins.named(name).next().filter(|_| !client.is_some_and(|client| client.user.is_empty()));
        Ok(Self {
            skills,
            link_in: of_user.map(|root| root.path.clone()),
            looks_in: roots.into_iter().map(|root| root.path).collect(),
            start_in: above.map(|above| above.folder),
            installed: installed.map(|origin| origin.scope),
            client,
            is_skipped: false,
        })
    }

    /// The skills with a name in folders of clients that Prowess skips: hidden ones, and `node_modules`.
    fn skipped(name: &str, places: &Places) -> Option<Self> {
        let clients: Vec<&Client> =
            CLIENTS.iter().filter(|client| client.reads().checked.is_some()).collect();
        let options = library_options(places, Purpose::Look);
        let (here, environment) = (Path::new("."), Environment::current());
        let views = Views::open(here, &environment, &options, &clients, Reach::Everywhere).ok()?;
        views.refresh().ok()?;
        let catalog = views.registry().catalog();
        let mut skills: Vec<FoundElsewhere> = Vec::new();
        for (candidate, _) in catalog.why(name) {
            let Some((_, reason)) =
                SKIPPED.iter().find(|(fact, _)| candidate.sighting.is_some_and(|seen| seen.facts.has(*fact)))
            else {
                continue;
            };
            let path = candidate.entry.origin.location.clone();
            let lists = |client: &&&Client| {
                let mut sights = views.of(client, &catalog).into_iter();
                sights.any(|sight| sight.skill.entry.origin.location == path && sight.seen.is_ok())
            };
            let readers = clients.iter().filter(lists).map(|client| client.id).collect();
            skills.push(FoundElsewhere { path, readers, reason: (*reason).to_owned() });
        }
        (!skills.is_empty()).then(|| Self { skills, is_skipped: true, ..Self::default() })
    }

    /// Adds what another client has elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        join(&mut self.skills, other.skills);
        join(&mut self.looks_in, other.looks_in);
        self.start_in = self.start_in.take().or(other.start_in);
    }

    /// The message if the skill is elsewhere.
    pub(super) fn failure(&self, name: &str) -> Option<Failure> {
        if self.skills.is_empty() {
            return None;
        }
        let (error, hint) = match self.client {
            Some(client) => {
                (format!("{} does not read this skill: {}", client.name, clean(name)), self.hint(client))
            }
            None if self.is_skipped => {
                let reader = self.skills.iter().find_map(|skill| skill.readers.first());
                let see = reader.map(|id| command_for("why", name, &format!(" --client {id}")));
                let see = see.map(|see| format!("; see it as {} does with: {see}", reader.unwrap_or(&"")));
                (
                    format!("no skill of this name was found: {}", clean(name)),
                    format!("rename the folder, or move the skill out of it{}", see.unwrap_or_default()),
                )
            }
            None => (
                format!("no skill of this name was found in the places that were named: {}", clean(name)),
                "name its folder with --in, or leave --in out".to_owned(),
            ),
        };
        let mut failure = Failure::new(error, hint);
        let here = clients::installed(&Environment::current());
        failure.causes.extend(self.skills.iter().map(|place| {
            let readers = match place.readers.as_slice() {
                [] => String::new(),
                readers => format!("; read by {}", clients_named::few_of(readers, &here)),
            };
            format!("it is at {}, {}{readers}", clean(&place.path.text()), clean(&place.reason))
        }));
        Some(failure)
    }

    /// What to do so that a client reads the skill.
    fn hint(&self, client: &Client) -> String {
        if let Some(scope) = self.installed {
            return format!(
                "install it for {} with: prowess sync --client {}{}",
                client.name,
                client.id,
                scope_option(scope)
            );
        }
        let text = |path: &PathBuf| clean(&path.to_string_lossy()).into_owned();
        if let Some(folder) = &self.start_in {
            let climbs = |place: &prowess::client::ProjectFolder| {
                !matches!(place.climb, Climb::Here | Climb::BeyondRepository)
            };
            let outside = !clients::project(&env::absolute(Path::new("."))).join(".git").exists();
            let git = outside && client.reads().project.iter().any(climbs);
            let git = if git { ", or run git init there" } else { "" };
            return format!("start {} in {}{git}", client.name, text(folder));
        }
        let looks_in: Vec<String> = self.looks_in.iter().map(text).collect();
        let link = self.link_in.as_ref().map(|folder| format!(", or a link to it into {}", text(folder)));
        format!(
            "{} looks in {}; put the skill into one of these{}",
            client.name,
            looks_in.join(", "),
            link.unwrap_or_default()
        )
    }
}

/// A skill that the client would list if it were started in a folder above.
struct Above {
    folder: PathBuf,
    path: Location,
}

impl Above {
    /// The closest folder above from which the client lists a skill with this name, below the user's home.
    fn of(name: &str, client: &'static Client, here: &Path, places: &Places) -> Option<Self> {
        let environment = Environment::current();
        let options = library_options(places, Purpose::Look)
            .with_client(Some(client))
            .with_as_client(Some(Reach::Clients));
        here.ancestors()
            .skip(1)
            .take(MAX_ABOVE)
            .take_while(|folder| !environment.has_home_in(folder))
            .find_map(|folder| {
                let registry = library(folder, &environment, &options).ok()?;
                registry.refresh_local().ok()?;
                let catalog = registry.catalog();
                let found = catalog.why(name).into_iter().find(|(_, at)| **at == Standing::Listed)?;
                Some(Self { folder: folder.to_owned(), path: found.0.entry.origin.location.clone() })
            })
    }
}

fn above_reason(client: &Client) -> String {
    format!("in a folder above, where {} does not look from here", client.name)
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
