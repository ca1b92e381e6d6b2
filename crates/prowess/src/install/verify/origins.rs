//! [`Origins`]: where installed skills came from, by their folders. The records are read once for all skills.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::{Candidate, Digest, Location, Manifest};

use super::compare::{FileChange, edits_of, is_tree, is_unchanged};
use crate::env;
use crate::fs::dir::Folder;
use crate::install::apply::{Books, Placements, State, state_of};
use crate::install::error::InstallError;
use crate::install::installer::Installer;
use crate::install::plan::AcceptedSkills;
use crate::install::plan::protected::{RecordedSource, SourceAt, recorded_sources};
use crate::install::records::{InstallScope, InstallTarget, LockedSkill, SKILLS_FOLDER};
use crate::install::store::Store;
use crate::library::clients::CLIENTS;

/// How many folders the folder of skills is below its project.
const DEPTH: usize = 2;

/// The entries in the locks of a project and of its user, by the folders of the skills.
#[derive(Debug, Default)]
pub struct Origins {
    by_folder: BTreeMap<String, Arc<InstalledOrigin>>,
    unread: Vec<InstallError>,
    /// Where all skills of the records come from, also those that no lock has.
    sources: Vec<RecordedSource>,
    /// The books of the project and of the user.
    books: Vec<Books>,
    /// Where the files of installed skills are stored.
    store: PathBuf,
    /// The user's approvals.
    approvals: PathBuf,
}

/// Where one installed skill came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledOrigin {
    /// Its scope.
    pub scope: InstallScope,
    /// Its folder.
    pub path: PathBuf,
    /// The folder in which it was found: its own, or a copy for a client.
    pub found_in: PathBuf,
    /// Its entry in the lock.
    pub locked: LockedSkill,
    /// Whether this user fetched it from the source in the lock. If not, only the lock says that it is from there.
    pub fetched: bool,
}

impl Installer {
    /// Where the skills of the project and of the user came from. Records that cannot be read are no error here: see
    /// [`Origins::unread`].
    pub fn origins(&self) -> Origins {
        let mut origins = Origins { store: self.folders().store.clone(), ..Origins::default() };
        for scope in self.scopes() {
            if let Err(error) = self.place(scope).and_then(|place| self.add_origins(&place, &mut origins)) {
                origins.unread.push(error);
            }
        }
        origins
    }

    fn add_origins(&self, place: &InstallTarget, origins: &mut Origins) -> Result<(), InstallError> {
        origins.books.push(place.books.clone());
        let records = place.read()?;
        origins.sources.extend(recorded_sources(place, &records));
        if records.lock.skills().is_empty() {
            return Ok(());
        }
        // The folders of clients contain links to the installed skills, or copies of them.
        let mut folders = vec![place.base.join(SKILLS_FOLDER)];
        for client in records.wanted.clients() {
            folders.extend(place.client_folder(client, self.environment())?);
        }
        let installed = place.base.join(SKILLS_FOLDER);
        // The folder of another client may be a link to theirs, or theirs a link to it.
        let real = std::fs::canonicalize(&installed).ok();
        let others = CLIENTS
            .iter()
            .filter_map(|client| place.client_folder(client.id, self.environment()).ok().flatten());
        let is_same = |folder: &PathBuf| real.is_some() && std::fs::canonicalize(folder).ok() == real;
        let same: Vec<PathBuf> = others.filter(is_same).collect();
        folders.extend(same.iter().cloned());
        let placements = Some(Placements::load(&place.books)?).filter(Placements::has_users_own);
        origins.approvals.clone_from(&place.books.approvals);
        for locked in records.lock.into_skills() {
            let path = place.skill(&locked.name);
            let fetched = self.fetch_log().has(&locked);
            for folder in &folders {
                let there = folder.join(&locked.name);
                let is_own =
                    |placements: &Placements| placements.is_users_own(folder, &locked.name, &installed);
                if placements.as_ref().is_some_and(is_own) {
                    continue;
                }
                let (path, locked) = (path.clone(), locked.clone());
                // A link of a client leads to the skill itself; one of a project may lead elsewhere.
                let is_link = there.is_symlink()
                    && std::fs::canonicalize(&there).ok() == std::fs::canonicalize(&path).ok();
                let found_in = if is_link || same.contains(folder) { path.clone() } else { there.clone() };
                let origin = InstalledOrigin { scope: place.scope, path, found_in, locked, fetched };
                origins.by_folder.insert(there.to_string_lossy().into_owned(), Arc::new(origin));
            }
        }
        Ok(())
    }
}

impl Origins {
    /// Where a skill came from; none when it was not installed.
    pub fn of(&self, skill: &Candidate) -> Option<&InstalledOrigin> {
        if self.by_folder.is_empty() {
            return None;
        }
        let mut places = [&skill.entry.origin.location].into_iter().chain(&skill.also_at);
        places.find_map(|place| self.at(place))
    }

    /// Where the installed skill came from that contains a skill; none when that was not installed, or is the skill
    /// itself.
    pub fn around(&self, skill: &Candidate) -> Option<&InstalledOrigin> {
        let folder = Path::new(skill.entry.origin.location.path()?).parent()?;
        folder.ancestors().skip(1).find_map(|above| self.by_folder.get(above.to_str()?)).map(AsRef::as_ref)
    }

    /// Where the installed skill came from that a file is in, by whatever path; none when it is in no installed skill.
    pub fn holding(&self, file: &Path) -> Option<&InstalledOrigin> {
        let at = |file: &Path| file.ancestors().skip(1).find_map(|above| self.by_folder.get(above.to_str()?));
        at(file).or_else(|| at(&env::real(file))).map(AsRef::as_ref)
    }

    /// The files of an installed skill that differ from what was installed; none when that is not known. This reads all
    /// of them.
    pub fn edits(&self, origin: &InstalledOrigin) -> Option<Vec<(String, FileChange)>> {
        edits_of(&origin.found_in, origin.locked.digest, &self.listing())
    }

    /// Whether an installed skill has the files of the lock, perhaps with other line ends; none when they cannot be read.
    /// This reads all of them.
    pub fn is_as_locked(&self, origin: &InstalledOrigin) -> Option<bool> {
        let (there, _) = Self::there(origin)?;
        Some(is_unchanged(&there, &origin.found_in, origin.locked.digest, &self.listing()))
    }

    /// Whether the files of an installed skill are neither those of the lock nor another version, as Prowess placed it; none
    /// when they cannot be read. This reads all of them.
    pub fn is_edited(&self, origin: &InstalledOrigin) -> Option<bool> {
        let (there, path) = Self::there(origin)?;
        let State::Tree(digest) = there else { return Some(true) };
        Some(!self.is_locked_tree(origin, digest) && self.placed_at(&path) != Some(digest))
    }

    /// Whether the files of an installed skill are those of another version, as Prowess placed it. This reads all of them.
    pub fn is_other_version(&self, origin: &InstalledOrigin) -> bool {
        let Some((State::Tree(digest), path)) = Self::there(origin) else { return false };
        !self.is_locked_tree(origin, digest) && self.placed_at(&path) == Some(digest)
    }

    /// What is in place of an installed skill, and its real path.
    fn there(origin: &InstalledOrigin) -> Option<(State, PathBuf)> {
        let dir = Folder::open_resolved(origin.found_in.parent()?).ok()?;
        let there = state_of(&dir, &origin.locked.name).ok()??;
        Some((there, dir.path().join(&origin.locked.name)))
    }

    fn is_locked_tree(&self, origin: &InstalledOrigin, there: Digest) -> bool {
        is_tree(there, origin.locked.digest, &origin.found_in, &self.listing())
    }

    fn listing(&self) -> impl Fn(Digest) -> Option<Manifest> + use<> {
        let store = Store::at(self.store.clone());
        move |digest| store.listing(digest)
    }

    /// The skills that were installed under a name, of the project first.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &InstalledOrigin> {
        let own = |origin: &&InstalledOrigin| origin.locked.name == name && origin.found_in == origin.path;
        let mut found: Vec<&InstalledOrigin> =
            self.by_folder.values().map(AsRef::as_ref).filter(own).collect();
        found.sort_by_key(|origin| origin.scope);
        found.into_iter()
    }

    /// Where the skill with this file came from; none when it was not installed.
    pub fn of_file(&self, skill_file: &Location) -> Option<&InstalledOrigin> {
        self.at(skill_file)
    }

    /// The first skill of the records that comes from a folder on this machine, from one in it, or from one that contains
    /// it, by its name. It need not be in a lock, which may be lost. The records of every project count in which Prowess
    /// placed something: this reads them.
    pub fn coming_from(&self, folder: &Path) -> Option<String> {
        let folder = env::real(folder);
        let comes_from = |recorded: &&RecordedSource| match &recorded.source {
            SourceAt::Here(source) => source.overlaps(&folder),
            SourceAt::Away | SourceAt::Unknown => false,
        };
        if let Some(recorded) = self.sources.iter().find(comes_from) {
            return Some(recorded.name.clone());
        }
        let state = self.books.first()?.approvals.parent()?;
        let is_known = |base: &PathBuf| self.books.iter().any(|books| env::real(&books.base) == *base);
        Placements::bases(state).into_iter().filter(|base| !is_known(base)).find_map(|base| {
            let place = InstallTarget::new(InstallScope::Project, &base, state);
            let sources = recorded_sources(&place, &place.read().ok()?);
            let recorded = sources.iter().find(comes_from)?;
            Some(format!("{} in {}", recorded.name, base.display()))
        })
    }

    /// Whether a skill was installed and no lock says where from, or may have been: then any folder with the same files
    /// may be its source.
    pub fn has_lost_source(&self, skill: &Candidate) -> bool {
        if self.of(skill).is_some() {
            return false;
        }
        let folder = skill.entry.origin.location.path().and_then(|file| Path::new(file).parent());
        let at = folder.and_then(|folder| Some(env::real(folder.parent()?).join(folder.file_name()?)));
        self.sources.iter().any(|recorded| matches!(recorded.source, SourceAt::Unknown))
            || at.is_some_and(|at| self.placed_at(&at).is_some())
    }

    /// The digest of the files that Prowess placed at a path.
    fn placed_at(&self, path: &Path) -> Option<Digest> {
        let placed = |books| Placements::load(books).ok()?.digest(path);
        self.books.iter().find_map(placed)
    }

    /// Whether the user accepted the files that the lock names, so that installing them again restores what was accepted.
    pub fn restores_accepted(&self, origin: &InstalledOrigin) -> bool {
        let accepted = AcceptedSkills::load(&self.approvals).ok();
        accepted.is_some_and(|all| all.has(&origin.path, origin.locked.digest, &self.listing()))
    }

    fn at(&self, skill_file: &Location) -> Option<&InstalledOrigin> {
        self.by_folder.get(Path::new(skill_file.path()?).parent()?.to_str()?).map(AsRef::as_ref)
    }

    /// Other folders in which the user accepted the files of an installed skill, which are not accepted where it is now:
    /// the project was moved, or is a copy.
    pub fn accepted_in(&self, origin: &InstalledOrigin) -> Vec<String> {
        let base = origin.path.parent().and_then(|skills| skills.ancestors().nth(DEPTH));
        let accepted = AcceptedSkills::load(&self.approvals).ok();
        accepted.zip(base).map_or_else(Vec::new, |(all, base)| all.elsewhere(base, &origin.locked))
    }

    /// The errors of records that could not be read.
    pub fn unread(&self) -> &[InstallError] {
        &self.unread
    }
}
