//! Folders of skills that no record names any more, such as those of another branch, and those that are the user's own.

use std::path::{Path, PathBuf};

use prowess_core::Digest;

use super::compare::is_unchanged;
use crate::env::Environment;
use crate::fs::dir::Folder;
use crate::install::apply::{Placements, State, mark_of};
use crate::install::error::InstallError;
use crate::install::installer::{Installer, open_skills};
use crate::install::plan::{AcceptedSkills, open, state};
use crate::install::records::{InstallScope, InstallTarget, SKILLS_FOLDER};

impl Installer {
    /// The folders of skills that this user installed in a place, and that neither `skills.toml` nor the lock names now,
    /// with the copies that clients have of such skills. Agents still find them. They have the files that Prowess placed
    /// there, or those that were left when an edited skill was removed: anything else may be the user's own, also where
    /// something was installed before.
    pub fn unrecorded(&self, scope: InstallScope) -> Result<Vec<PathBuf>, InstallError> {
        let place = self.place(scope)?;
        let records = place.read()?;
        let is_unrecorded =
            |name: &str| records.lock.get(name).is_none() && records.wanted.get(name).is_none();
        let failed = |error| InstallError::io("list", &place.base.join(SKILLS_FOLDER), error);
        let dir = open_skills(&place)?;
        let names = dir.as_ref().map_or(Ok(Vec::new()), |dir| dir.names().map_err(failed))?;
        let (accepted, listing) = (AcceptedSkills::of(&place)?, self.listing());
        let placements = Placements::load(&place.books)?;
        let is_as_known = |dir: &Folder, name: &str, placed: Option<Digest>| {
            let path = dir.path().join(name);
            let left = placements.left(&path);
            // Only what may have to be named is read, and what cannot be read may be anything.
            let there = placed.or(left).and_then(|_| state(dir, name).ok().flatten());
            there.is_some_and(|there| {
                placed.is_some_and(|placed| is_unchanged(&there, &path, Some(placed), &listing))
                    || !matches!(there, State::Link(_)) && left == Some(mark_of(&path, &there))
            })
        };
        let mut found = Vec::new();
        for name in names.iter().filter(|name| is_unrecorded(name)) {
            let Some(dir) = &dir else { continue };
            // As for a removal: where it is not recorded who placed the files, they are from a repository.
            let accepted = accepted.approval_in(&place.skill(name)).and_then(|own| own.digest);
            let accepted = accepted.filter(|tree| self.fetch_log().is_from_repository(*tree, &listing));
            let path = dir.path().join(name);
            let placed = placements.get(&path).map_or(accepted, |_| placements.digest(&path));
            if is_as_known(dir, name, placed) {
                found.push(place.skill(name));
            }
        }
        let is_copy = |path: &Path| path.parent() != dir.as_ref().map(Folder::path);
        for path in placements.placed_or_left().filter(|path| is_copy(path)) {
            let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_unrecorded(name));
            let (Some(name), Some(folder)) = (name, path.parent()) else { continue };
            let Ok(folder) = open(folder) else { continue };
            if is_as_known(&folder, name, placements.digest(path)) {
                found.push(path.to_owned());
            }
        }
        Ok(found)
    }
}

/// Whether what is under a name in a folder where a client of the user looks is the user's own, for every folder and name.
/// While the record of placed folders cannot be read or is not believed, nothing is.
pub(crate) fn users_own(environment: &Environment) -> impl Fn(&Path, &str) -> bool + use<> {
    let (home, state) = (environment.home(), environment.xdg("XDG_STATE_HOME", ".local/state"));
    let known = home.zip(state).and_then(|(home, state)| {
        let place = InstallTarget::new(InstallScope::User, &home, &state.join("prowess"));
        let placements = Placements::load(&place.books).ok().filter(Placements::has_users_own)?;
        Some((home.join(SKILLS_FOLDER), placements))
    });
    move |folder, name| {
        known.as_ref().is_some_and(|(installed, placements)| placements.is_users_own(folder, name, installed))
    }
}
