//! Skills that were installed and that no record names any more, such as those of another branch.

use std::path::PathBuf;

use crate::install::error::InstallError;
use crate::install::installer::{Installer, open_skills};
use crate::install::links::AcceptedSkills;
use crate::install::records::{InstallScope, SKILLS_FOLDER};

impl Installer {
    /// The folders of skills that this user installed in a place, and that neither `skills.toml` nor the lock names now.
    /// Agents still find them. A folder that the user made is not one of them: its files are from no source.
    pub fn unrecorded(&self, scope: InstallScope) -> Result<Vec<PathBuf>, InstallError> {
        let place = self.place(scope)?;
        let Some(dir) = open_skills(&place)? else { return Ok(Vec::new()) };
        let records = place.read()?;
        let failed = |error| InstallError::io("list", &place.base.join(SKILLS_FOLDER), error);
        let (accepted, listing) = (AcceptedSkills::of(&place)?, self.listing());
        let names = dir.names().map_err(failed)?.into_iter();
        let names = names
            .filter(|name| records.lock.get(name).is_none() && records.wanted.get(name).is_none())
            .filter(|name| {
                let accepted = accepted.digest_in(&place.skill(name));
                accepted.is_some_and(|tree| self.fetch_log().is_from_source(tree, &listing))
            });
        Ok(names.map(|name| place.skill(&name)).collect())
    }
}
