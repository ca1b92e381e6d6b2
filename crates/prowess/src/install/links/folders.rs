//! [`ClientFolder`]: a folder in which a client looks for skills, and what is there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::env::{self, Environment};
use crate::fs::dir::Folder;
use crate::install::apply::{Made, open, state};
use crate::install::compare::{Listing, is_tree};
use crate::install::error::InstallError;
use crate::install::records::{InstallTarget, LockedSkill, Records, SKILLS_FOLDER};
use crate::install::target::{Placement, Placements, State};

/// The folder in which a client looks for skills.
pub(super) struct ClientFolder {
    pub(super) client: String,
    /// The path as the rest of Prowess names it.
    pub(super) folder: PathBuf,
    /// Its real path and the open folder; none when it does not exist.
    pub(super) open: Option<(PathBuf, Folder)>,
}

/// The folders of all clients that do not look in the folder of installed skills, each once: clients may share a
/// folder, or reach one by two paths.
pub(super) fn client_folders(
    place: &InstallTarget,
    records: &Records,
    environment: &Environment,
    mut made: Option<&mut Made>,
) -> Result<Vec<ClientFolder>, InstallError> {
    let own = place.skills_folder(false)?;
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for client in records.wanted.clients() {
        let Some(folder) = place.client_folder(client, environment)? else { continue };
        if let Some(made) = &mut made {
            made.expect(&folder);
        }
        let real = place.folder(&folder, made.is_some())?;
        let is_new = seen.insert(real.clone().unwrap_or_else(|| folder.clone()));
        if is_new && (real.is_none() || real != own) {
            let open = real.map(|real| open(&real).map(|dir| (real, dir))).transpose()?;
            found.push(ClientFolder { client: client.clone(), folder, open });
        }
    }
    Ok(found)
}

impl ClientFolder {
    /// The folder of a client that does not get skills; none when it cannot be opened.
    pub(super) fn lenient(place: &InstallTarget, client: &str, environment: &Environment) -> Option<Self> {
        let folder = place.client_folder(client, environment).ok()??;
        let real = place.folder(&folder, false).ok()??;
        let dir = open(&real).ok()?;
        Some(Self { client: client.to_owned(), folder, open: Some((real, dir)) })
    }

    /// The target of a link from here to an installed skill: relative, so that a project can be moved, unless this
    /// folder is really elsewhere.
    pub(super) fn target(&self, place: &InstallTarget, name: &str) -> String {
        let base = env::real(&place.base);
        let real = self.open.as_ref().map(|(real, _)| real);
        match self.folder.strip_prefix(&place.base) {
            Ok(below) if real.is_none_or(|real| base.join(below) == *real) => {
                let up = "../".repeat(below.components().count());
                format!("{up}{SKILLS_FOLDER}/{name}")
            }
            _ => place.skill(name).to_string_lossy().into_owned(),
        }
    }

    pub(super) fn state(&self, name: &str) -> Result<Option<State>, InstallError> {
        self.open.as_ref().map_or(Ok(None), |(_, dir)| state(dir, name))
    }

    /// Who created what is there under a name, as far as it is recorded.
    pub(super) fn placement<'p>(&self, name: &str, placements: &'p Placements) -> Option<&'p Placement> {
        let (real, _) = self.open.as_ref()?;
        placements.get(&real.join(name))
    }

    /// Whether the user had a command keep what is there under a name.
    pub(super) fn is_left(&self, name: &str, placements: &Placements) -> bool {
        matches!(self.placement(name, placements), Some(Placement::Users))
    }

    /// Whether a client has an installed skill as it should.
    pub(super) fn is_fine(
        &self,
        there: Option<&State>,
        place: &InstallTarget,
        locked: &LockedSkill,
        (copies, listing): (bool, Listing<'_>),
    ) -> bool {
        match there {
            Some(State::Link(to)) => !copies && *to == self.target(place, &locked.name),
            Some(State::Tree(digest)) => copies && is_tree(*digest, locked.digest, &self.folder, listing),
            _ => false,
        }
    }
}
