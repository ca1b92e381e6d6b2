//! [`Examination`]: everything that the examinations read, opened once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::env::{self, Environment};
use prowess::install::{Installer, Origins};
use prowess::internal::is_inside;
use prowess::library::clients::{self, Client, Root};
use prowess::library::library_with_session;
use prowess::library::views::{Reach, Sight, Views};
use prowess::settings::SettingsError;
use prowess::{Candidate, Catalog, Duplicates, Location, Registry, Scope, SourceError};

use super::super::hints::{self, MOVE_APPROVALS, free_name, is_damaged};
use super::super::{Purpose, library_options};
use super::issue::{Issue, Kind};
use crate::args::Doctor;
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::explain::copies::folder_of;
use crate::ui::command::word;

/// What was opened. The views are missing if a configuration or the approvals keep every command from finding skills.
pub(super) struct Examination {
    pub(super) environment: Environment,
    /// The current folder.
    pub(super) here: PathBuf,
    pub(super) clients: Vec<&'static Client>,
    /// Whether the clients were named.
    pub(super) named: bool,
    pub(super) opened: Option<Opened>,
    pub(super) installer: Option<Installer>,
    pub(super) origins: Origins,
    /// What kept something from being opened.
    pub(super) issues: Vec<Issue>,
}

/// The skills of the clients, and those of all clients together.
pub(super) struct Opened {
    pub(super) views: Views,
    /// Every skill in a folder of the clients.
    pub(super) catalog: Arc<Catalog>,
    /// What all clients together find, with the sources of configurations.
    pub(super) library: Registry,
    pub(super) all: Arc<Catalog>,
}

impl Examination {
    /// Opens everything.
    pub(super) fn open(args: &Doctor) -> Result<Self, CommandError> {
        let environment = Environment::current();
        environment.check().map_err(|error| Failure::from(&error))?;
        let named = !args.clients.is_empty();
        let clients =
            if named { clients_named::all(&args.places())? } else { clients::installed(&environment) };
        let mut issues = Vec::new();
        let opened = match Opened::open(args, &clients, &environment) {
            Ok(opened) => Some(opened),
            Err(Unopened::Library(error)) => {
                issues.push(unopened(&error));
                None
            }
            Err(Unopened::Failed(failure)) => return Err(failure.into()),
        };
        // The user's own configuration was reported already.
        let installer = super::super::install::here().ok();
        let origins = installer.as_ref().map(Installer::origins).unwrap_or_default();
        let here = env::absolute(Path::new("."));
        Ok(Self { environment, here, clients, named, opened, installer, origins, issues })
    }

    /// The folder that a fix of what has this scope must not lead out of: a project has links that the user did not make.
    pub(super) fn bounds(&self, scope: Scope) -> Option<PathBuf> {
        (scope == Scope::Project).then(|| clients::project(&self.here).to_owned())
    }

    /// The folders of the clients, each once.
    pub(super) fn roots(&self) -> Vec<Root> {
        let mut roots: BTreeMap<PathBuf, Root> = BTreeMap::new();
        for client in &self.clients {
            for root in client.roots(&self.here, &self.environment) {
                match roots.get_mut(&root.path) {
                    Some(known) => known.readers.extend(root.readers),
                    None => drop(roots.insert(root.path.clone(), root)),
                }
            }
        }
        roots.into_values().collect()
    }
}

enum Unopened {
    Library(SettingsError),
    Failed(Failure),
}

impl Opened {
    fn open(args: &Doctor, clients: &[&'static Client], environment: &Environment) -> Result<Self, Unopened> {
        let places = args.places();
        // What would stop other commands must not keep this one from looking.
        let options = library_options(&places, Purpose::Look).with_duplicates(Some(Duplicates::First));
        let here = Path::new(".");
        let views = Views::open(here, environment, &options, clients, Reach::Everywhere)
            .map_err(Unopened::Library)?;
        let failed = |error: &dyn std::fmt::Display| {
            Unopened::Failed(Failure::new(error.to_string(), "check the folders of the clients"))
        };
        views.refresh().map_err(|error| failed(&error))?;
        let (library, _) = library_with_session(here, environment, &options).map_err(Unopened::Library)?;
        // No site and no server is asked.
        library.refresh_local().map_err(|error| failed(&error))?;
        let (catalog, all) = (views.registry().catalog(), library.catalog());
        Ok(Self { views, catalog, library, all })
    }
}

/// What was opened, with what each client makes of it.
pub(super) struct Sighted<'o> {
    pub(super) examination: &'o Examination,
    pub(super) opened: &'o Opened,
    /// What each client makes of the skills in its folders.
    pub(super) sights: Vec<(&'static Client, Vec<Sight<'o>>)>,
    pub(super) listed: ListedBy<'o>,
}

impl<'o> Sighted<'o> {
    pub(super) fn of(examination: &'o Examination, opened: &'o Opened) -> Self {
        let views = &opened.views;
        let sights: Vec<_> =
            views.clients().map(|client| (client, views.of(client, &opened.catalog))).collect();
        let listed = ListedBy::of(&sights);
        Self { examination, opened, sights, listed }
    }

    /// Every sight of every client.
    pub(super) fn all(&self) -> impl Iterator<Item = &Sight<'o>> {
        self.sights.iter().flat_map(|(_, sights)| sights)
    }
}

/// The clients that list each skill, by the place of the skill.
pub(super) struct ListedBy<'l> {
    by_place: BTreeMap<&'l Location, Vec<&'static Client>>,
}

impl<'l> ListedBy<'l> {
    fn of(sights: &[(&'static Client, Vec<Sight<'l>>)]) -> Self {
        let mut by_place: BTreeMap<&Location, Vec<&'static Client>> = BTreeMap::new();
        for (client, sights) in sights {
            for sight in sights.iter().filter(|sight| sight.seen.is_ok()) {
                by_place.entry(&sight.skill.entry.origin.location).or_default().push(client);
            }
        }
        Self { by_place }
    }

    /// The clients that list a skill.
    pub(super) fn clients(&self, skill: &Candidate) -> &[&'static Client] {
        self.at(&skill.entry.origin.location)
    }

    pub(super) fn at(&self, place: &Location) -> &[&'static Client] {
        self.by_place.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// The skills that a client lists, by their real files.
    pub(super) fn real_files(&self) -> BTreeSet<PathBuf> {
        let paths = self.by_place.keys().filter_map(|place| place.path());
        paths.filter_map(|path| std::fs::canonicalize(path).ok()).collect()
    }
}

/// The names of clients, in a sentence.
pub(super) fn names(clients: &[&'static Client]) -> String {
    clients.iter().map(|client| client.name).collect::<Vec<_>>().join(", ")
}

/// Whether a path is really below a folder, if it has to be.
pub(super) fn stays(path: &Path, within: Option<&Path>) -> bool {
    let Some(within) = within else { return true };
    let both = std::fs::canonicalize(path).ok().zip(std::fs::canonicalize(within).ok());
    both.is_some_and(|(path, within)| is_inside(&path, &within))
}

/// What a skill consists of on this machine: its folder, or its SKILL.md if it has no folder of its own.
pub(super) fn path_of(skill: &Candidate) -> Option<&Path> {
    let file = Path::new(skill.entry.origin.location.path()?);
    Some(folder_of(skill).unwrap_or(file))
}

/// The issue of what keeps every command from finding skills.
fn unopened(error: &SettingsError) -> Issue {
    match error {
        SettingsError::Config(error) => of_failure(Kind::ConfigBroken, &Failure::from(error)),
        SettingsError::Approvals(error) => approvals(error),
        other => {
            Issue::new(Kind::ConfigBroken, other.to_string()).advised(hints::of(&other.hint(), "", None).text)
        }
    }
}

/// The issue of approvals that cannot be read. A file of a newer version stays where it is.
fn approvals(error: &SourceError) -> Issue {
    let issue = of_failure(Kind::ApprovalsBroken, &Failure::from(error));
    let Some(file) = error.at.path().map(Path::new) else { return issue };
    let free = free_name(file, "broken").and_then(|free| word(&free));
    let command = word(file).zip(free).filter(|_| is_damaged(&error.kind));
    match command {
        Some((file, free)) => issue.fixed(MOVE_APPROVALS).fixed_by(Some(format!("mv {file} {free}"))),
        None => issue,
    }
}

/// The issue of something that could not be done.
pub(super) fn of_failure(kind: Kind, failure: &Failure) -> Issue {
    let mut issue = Issue::new(kind, failure.sentence());
    issue.at.clone_from(&failure.path);
    issue.fix.action = failure.action();
    issue.advised(failure.hint())
}
