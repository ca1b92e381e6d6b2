//! Skills that were installed and that no record names any more, such as those of another branch.

use std::path::PathBuf;

use crate::install::error::InstallError;
use crate::install::installer::{Installer, open_skills};
use crate::install::links::AcceptedSkills;
use crate::install::records::{InstallScope, SKILLS_FOLDER};
use crate::install::target::{Dir, Placements};

impl Installer {
    /// The folders of skills that this user installed in a place, and that neither `skills.toml` nor the lock names now,
    /// with the copies that clients have of such skills. Agents still find them. A folder that the user made is not one of
    /// them: its files are from no source, and Prowess did not place it.
    pub fn unrecorded(&self, scope: InstallScope) -> Result<Vec<PathBuf>, InstallError> {
        let place = self.place(scope)?;
        let records = place.read()?;
        let is_unrecorded =
            |name: &str| records.lock.get(name).is_none() && records.wanted.get(name).is_none();
        let failed = |error| InstallError::io("list", &place.base.join(SKILLS_FOLDER), error);
        let dir = open_skills(&place)?;
        let names = dir.as_ref().map_or(Ok(Vec::new()), |dir| dir.names().map_err(failed))?;
        let (accepted, listing) = (AcceptedSkills::of(&place)?, self.listing());
        let names = names.into_iter().filter(|name| is_unrecorded(name)).filter(|name| {
            let accepted = accepted.digest_in(&place.skill(name));
            accepted.is_some_and(|tree| self.fetch_log().is_from_source(tree, &listing))
        });
        let mut found: Vec<PathBuf> = names.map(|name| place.skill(&name)).collect();
        let placements = Placements::load(&place.books)?;
        found.extend(placements.placed().filter(|path| {
            let is_copy = path.parent() != dir.as_ref().map(Dir::path);
            let name = path.file_name().and_then(|name| name.to_str());
            is_copy
                && name.is_some_and(is_unrecorded)
                && path.symlink_metadata().is_ok_and(|there| there.is_dir())
        }));
        Ok(found)
    }
}
