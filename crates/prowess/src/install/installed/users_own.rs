//! [`users_own`]: which folders with the name of an installed skill are the user's own.

use std::path::Path;

use crate::env::Environment;
use crate::install::records::{InstallScope, InstallTarget, SKILLS_FOLDER};
use crate::install::target::Placements;

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
