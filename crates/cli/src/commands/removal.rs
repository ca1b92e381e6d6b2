//! [`Removal`]: whether one of two identical copies of a skill can go, and how. Whatever advises it asks here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use prowess::install::Origins;
use prowess::{Candidate, Catalog, Location, Scope};

use super::copies::folder_of;
use super::hints::{command_for, word};
use super::install::scope_option;
use crate::ui::ShortPaths;

/// What can be done with a copy that no client on this machine needs.
pub(super) enum Removal {
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
    pub(super) fn of(copy: &Candidate, kept: &Candidate, places: &RealPlaces, origins: &Origins) -> Self {
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

/// The places of skills by their real files.
#[derive(Default)]
pub(super) struct RealPlaces {
    by_file: BTreeMap<PathBuf, BTreeSet<Location>>,
}

impl RealPlaces {
    /// Adds every skill that was found.
    pub(super) fn add(&mut self, catalog: &Catalog) {
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
pub(super) fn real_file(place: &Location) -> Option<PathBuf> {
    fs::canonicalize(place.path()?).ok()
}
