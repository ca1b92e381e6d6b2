//! Which clients need each of two copies of a skill, and [`Removal`]: whether one of them can go, and how. Whatever advises
//! it asks here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use prowess::client::{NotListed, Reads};
use prowess::env::Environment;
use prowess::install::Origins;
use prowess::internal::{ConfigFile, EffectiveSettings};
use prowess::library::clients::{self, Client};
use prowess::library::views::{Reach, Views, rename_fix, same_name_fix};
use prowess::source::open::Opening;
use prowess::{Candidate, Catalog, Location, RegistryError, Scope, env};

use crate::args::Places;
use crate::commands::install::scope_option;
use crate::commands::{Purpose, library_options};
use crate::explain::clients_named;
use crate::explain::copies::{Copy, folder_of};
use crate::ui::command::{command_for, word};
use crate::ui::{ShortPaths, Text, clean};

/// The clients on this machine that read each skill: those that list it, or would if no other had its name. A client that
/// finds it through a link reads it, too.
#[derive(Default)]
pub(crate) struct Needed {
    by_file: BTreeMap<PathBuf, Vec<&'static Client>>,
    places: RealPlaces,
}

impl Needed {
    /// Asks the clients on this machine, and another one. The catalog is what was found besides.
    pub(crate) fn of(other: Option<&'static Client>, catalog: &Catalog) -> Self {
        let mut needed = Self::of_clients(other);
        needed.places.add(catalog);
        needed
    }

    fn of_clients(other: Option<&'static Client>) -> Self {
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
        let mut needed = Self::default();
        needed.places.add(&catalog);
        for client in views.clients() {
            for sight in views.of(client, &catalog) {
                let reads = match &sight.seen {
                    Ok(_) => true,
                    Err(not) => {
                        matches!(not.why, NotListed::SameName { .. } | NotListed::SameFile { .. })
                    }
                };
                let file = real_file(&sight.skill.entry.origin.location).filter(|_| reads);
                let readers = file.map(|file| needed.by_file.entry(file).or_default());
                if let Some(readers) = readers.filter(|readers| !has(readers, client)) {
                    readers.push(client);
                }
            }
        }
        Ok(needed)
    }

    /// What to do about a skill that is not offered because another has its name. If the two are no copies and each
    /// client that reads this one reads the other, what a client that reads like this needs.
    pub(crate) fn hint(
        &self,
        skill: &Candidate,
        by: &Location,
        copy: Option<&Copy>,
        (catalog, origins): (&Catalog, &Origins),
        reads: &Reads,
    ) -> Text {
        let at = |place: &Location| {
            let file = real_file(place);
            file.and_then(|file| self.by_file.get(&file)).map(Vec::as_slice).unwrap_or_default()
        };
        let (these, those) = (at(&skill.entry.origin.location), at(by));
        let (here, there) = (only(these, those), only(those, these));
        let winner = catalog.all().map(|(other, _)| other).find(|other| other.entry.origin.location == *by);
        // What is removed would be missing where only it is read.
        let (rename, otherwise) = (rename_fix(reads), || same_name_fix(reads).into());
        let (Some(copy), Some(winner)) = (copy, winner) else {
            return if here.is_empty() { otherwise() } else { alike(rename, &here) };
        };
        let is_mixed =
            [skill, winner].iter().filter(|skill| skill.entry.origin.scope == Scope::Project).count() == 1;
        match (copy.identical, here.is_empty(), there.is_empty()) {
            (false, false, _) => alike(rename, &here),
            (false, true, _) => match copy.besides() {
                Some(besides) => {
                    format!("keep both, or look first at what only one of them has: {besides}").into()
                }
                None if is_mixed => rename.into(),
                None => otherwise(),
            },
            (true, false, false) => {
                format!("keep both: {} only this one, {} only the other", read_by(&here), read_by(&there))
                    .into()
            }
            (true, false, true) => {
                let why = format!("keep this one, and remove the other: {} only this", read_by(&here));
                advice(&Removal::of(winner, skill, &self.places, origins), why)
            }
            (true, true, _) => {
                let why = if these.is_empty() && those.is_empty() {
                    "remove one of the two, if no agent needs both"
                } else if these.is_empty() {
                    "remove this copy: no client on this machine reads it"
                } else {
                    "remove this copy: each client that reads it reads the other, too"
                };
                advice(&Removal::of(skill, winner, &self.places, origins), why.to_owned())
            }
        }
    }
}

/// The advice to remove a copy, if it can go.
fn advice(removal: &Removal, why: String) -> Text {
    match removal {
        Removal::NoCopy(reason) => format!("nothing is wrong: {}", clean(reason)).into(),
        Removal::Keep(reason) => format!("keep both: {}", clean(reason)).into(),
        Removal::Uninstall(command) => {
            Text::from(why).words("; it is installed, so do it").with(clean(command))
        }
        Removal::Delete => why.into(),
    }
}

/// The advice to keep two skills, of which some clients read only one.
fn alike(rename: &str, here: &[&'static Client]) -> Text {
    format!("{rename}, or make them alike: {} only this one", read_by(here)).into()
}

fn has(clients: &[&'static Client], client: &Client) -> bool {
    clients.iter().any(|other| other.id == client.id)
}

/// The clients that are not among the others.
fn only(clients: &[&'static Client], others: &[&'static Client]) -> Vec<&'static Client> {
    clients.iter().copied().filter(|client| !has(others, client)).collect()
}

/// The clients with their verb: `Claude Code reads`.
fn read_by(clients: &[&Client]) -> String {
    format!("{} {}", clients_named::few(clients), if clients.len() == 1 { "reads" } else { "read" })
}

/// What can be done with a copy that no client on this machine needs.
pub(crate) enum Removal {
    /// It is no second copy: something leads to it, or Prowess made both.
    NoCopy(String),
    /// It stays, for this reason.
    Keep(String),
    /// It was installed, and this command removes it.
    Uninstall(String),
    /// What it consists of can be deleted.
    Delete,
}

impl Removal {
    /// Decides about a copy of a skill that is kept. The copy has been found to be identical.
    pub(crate) fn of(copy: &Candidate, kept: &Candidate, places: &RealPlaces, origins: &Origins) -> Self {
        let of_project = |skill: &Candidate| skill.entry.origin.scope == Scope::Project;
        match (of_project(copy), of_project(kept)) {
            (true, true) => return Self::Keep("others who use the project may need it".to_owned()),
            (false, false) => {}
            _ => {
                return Self::Keep(
                    "the project has other users, and your own is there in every folder".to_owned(),
                );
            }
        }
        let origin = origins.of(copy);
        if origin.zip(origins.of(kept)).is_some_and(|(copy, kept)| copy.path == kept.path) {
            return Self::NoCopy("prowess made this copy for clients".to_owned());
        }
        if let Some(other) = places.leading_to(copy) {
            let other = ShortPaths::new().of(&other.text());
            return Self::NoCopy(format!("it is also at {other}, through a link"));
        }
        if !origins.unread().is_empty() {
            return Self::Keep("it is not known whether an installed skill comes from it".to_owned());
        }
        let file = Path::new(copy.entry.origin.location.path().unwrap_or_default());
        let folder = folder_of(copy).unwrap_or(file);
        if let Some(name) = origins.coming_from(folder) {
            return Self::Keep(format!("an installed skill comes from it, {name}"));
        }
        if let Some(file) = naming_source(folder) {
            return Self::Keep(format!("{} names it as a source", file.display()));
        }
        if [copy, kept].iter().any(|skill| origins.has_lost_source(skill)) {
            return Self::Keep("no lock says where an installed skill comes from".to_owned());
        }
        let Some(origin) = origin else { return Self::Delete };
        let name = &origin.locked.name;
        let verb = format!("remove{}", scope_option(origin.scope));
        // Edited files are only removed with an option that says so.
        match word(Path::new(name)).filter(|_| origins.is_edited(origin) == Some(false)) {
            Some(_) => Self::Uninstall(command_for(&verb, name, "")),
            None => Self::Keep("it is installed, and was edited".to_owned()),
        }
    }
}

/// The configuration that names a folder as a source of skills, or one that it is in or that is in it.
fn naming_source(folder: &Path) -> Option<PathBuf> {
    let environment = Environment::current();
    let settings = EffectiveSettings::of(&env::absolute(Path::new(".")), &environment, &[]).ok()?;
    let real_of = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let real = real_of(folder);
    let names_it = |file: &&ConfigFile| {
        let opening = Opening::named(file.folder(), None);
        let places = file.counts.sources.iter().filter_map(|spec| opening.place(spec, &environment).ok()?);
        places.map(|place| real_of(&place)).any(|place| place.starts_with(&real) || real.starts_with(&place))
    };
    settings.files().find(names_it).map(|file| file.path.clone())
}

/// The places of skills by their real files.
#[derive(Default)]
pub(crate) struct RealPlaces {
    by_file: BTreeMap<PathBuf, BTreeSet<Location>>,
}

impl RealPlaces {
    /// Adds every skill that was found.
    pub(crate) fn add(&mut self, catalog: &Catalog) {
        for (skill, _) in catalog.all() {
            for place in [&skill.entry.origin.location].into_iter().chain(&skill.also_at) {
                if let Some(file) = real_file(place) {
                    self.by_file.entry(file).or_default().insert(place.clone());
                }
            }
        }
    }

    /// A place outside of the folder of a skill from which a link leads into it.
    fn leading_to(&self, skill: &Candidate) -> Option<&Location> {
        let own = &skill.entry.origin.location;
        let file = real_file(own)?;
        let folder = folder_of(skill);
        let is_below = |place: &Location| {
            folder.is_some_and(|folder| place.path().is_some_and(|path| Path::new(path).starts_with(folder)))
        };
        let is_another = |place: &&Location| *place != own && !is_below(place);
        let real = folder.map_or(file.as_path(), |_| file.parent().unwrap_or(&file)).to_owned();
        let below = self.by_file.range(real.clone()..).take_while(|(path, _)| path.starts_with(&real));
        below.flat_map(|(_, places)| places).find(is_another)
    }
}

/// The real file of a skill on this machine.
pub(crate) fn real_file(place: &Location) -> Option<PathBuf> {
    fs::canonicalize(place.path()?).ok()
}
