//! [`ClientFolder`]: a folder in which a client looks for skills, and what is there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{CreatedDirs, open, state};
use crate::env::{self, Environment};
use crate::fs::dir::Folder;
use crate::install::apply::{Placement, Placements, State};
use crate::install::error::InstallError;
use crate::install::records::{InstallTarget, LockedSkill, Records, SKILLS_FOLDER};
use crate::install::verify::compare::{Listing, is_tree};
use crate::library::clients::CLIENTS;

/// The folder in which a client looks for skills.
pub(crate) struct ClientFolder {
    pub(crate) client: String,
    /// The path as the rest of Prowess names it.
    pub(crate) folder: PathBuf,
    /// The open folder, by its real path; none when it does not exist.
    pub(crate) open: Option<Folder>,
}

/// The folders of all clients that do not look in the folder of installed skills, each once: clients may share a
/// folder, or reach one by two paths.
pub(crate) fn client_folders(
    place: &InstallTarget,
    records: &Records,
    environment: &Environment,
    mut created: Option<&mut CreatedDirs>,
) -> Result<Vec<ClientFolder>, InstallError> {
    let own = place.skills_folder(false)?;
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for client in records.wanted.clients() {
        let Some(folder) = place.client_folder(client, environment)? else { continue };
        if let Some(created) = &mut created {
            created.expect(&folder);
        }
        let real = place.folder(&folder, created.is_some())?;
        let is_new = seen.insert(real.clone().unwrap_or_else(|| folder.clone()));
        if is_new && (real.is_none() || real != own) {
            let open = real.as_deref().map(open).transpose()?;
            found.push(ClientFolder { client: client.clone(), folder, open });
        }
    }
    Ok(found)
}

/// The folders of clients that `skills.toml` does not name, each once, and none that a client has which it names.
pub(super) fn folders_elsewhere(
    place: &InstallTarget,
    records: &Records,
    environment: &Environment,
) -> Result<Vec<ClientFolder>, InstallError> {
    let wanted = records.wanted.clients();
    let others =
        CLIENTS.iter().map(|client| client.id).filter(|id| !wanted.iter().any(|wanted| wanted == id));
    let mut seen: BTreeSet<PathBuf> = wanted
        .iter()
        .filter_map(|id| ClientFolder::lenient(place, id, environment))
        .filter_map(|folder| Some(folder.open?.path().to_owned()))
        .chain(place.skills_folder(false)?)
        .collect();
    let mut folders: Vec<ClientFolder> =
        others.filter_map(|id| ClientFolder::lenient(place, id, environment)).collect();
    folders.retain(|folder| folder.open.as_ref().is_some_and(|open| seen.insert(open.path().to_owned())));
    Ok(folders)
}

impl ClientFolder {
    /// The folder of a client that does not get skills; none when it cannot be opened.
    pub(crate) fn lenient(place: &InstallTarget, client: &str, environment: &Environment) -> Option<Self> {
        let folder = place.client_folder(client, environment).ok()??;
        let real = place.folder(&folder, false).ok()??;
        Some(Self { client: client.to_owned(), folder, open: Some(open(&real).ok()?) })
    }

    /// The target of a link from here to an installed skill: relative, so that a project can be moved, unless this
    /// folder is really elsewhere.
    pub(crate) fn target(&self, place: &InstallTarget, name: &str) -> String {
        let base = env::real(&place.base);
        let real = self.open.as_ref().map(Folder::path);
        match self.folder.strip_prefix(&place.base) {
            Ok(below) if real.is_none_or(|real| base.join(below) == *real) => {
                let up = "../".repeat(below.components().count());
                format!("{up}{SKILLS_FOLDER}/{name}")
            }
            _ => place.skill(name).to_string_lossy().into_owned(),
        }
    }

    pub(crate) fn state(&self, name: &str) -> Result<Option<State>, InstallError> {
        self.open.as_ref().map_or(Ok(None), |dir| state(dir, name))
    }

    /// Who created what is there under a name, as far as it is recorded.
    pub(crate) fn placement<'p>(&self, name: &str, placements: &'p Placements) -> Option<&'p Placement> {
        placements.get(&self.open.as_ref()?.path().join(name))
    }

    /// Whether a client has an installed skill as it should.
    pub(crate) fn is_fine(
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
