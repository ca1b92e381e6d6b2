//! The installed skills, whether they are unchanged, and methods that install and remove one skill by its reference.

pub(super) mod compare;
mod differences;
mod names;
mod origins;
mod resolve;
mod unrecorded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_core::{Digest, Document, Origin, Scope, parse};

use self::compare::{Difference, FileChange, Listing, changes_at, is_tree};
use self::differences::differences;
pub use self::differences::{ClientDifference, ClientState};
pub(crate) use self::names::InstalledNames;
pub use self::names::upstream_name;
pub use self::origins::{InstalledOrigin, Origins};
pub(crate) use self::resolve::{folder_named, named};
pub(crate) use self::unrecorded::users_own;
use super::apply::{Placements, State, manifest_of, state_of};
use super::error::{InstallError, InstallErrorKind};
use super::installer::{InstallOptions, Installer, Write, open_skills};
use super::plan::{AcceptedSkills, Order, copy};
use super::records::{InstallScope, InstallTarget, LockedSkill, SKILLS_FOLDER, org_of};
use super::source::Refusal;
use super::spec::{InstallPlace, InstallSpec, SkillRef};
use crate::env;
use crate::fs::listing::MOUNTED;
use crate::fs::location::location_of;
use crate::fs::mounts::first_mount;
use crate::fs::read::read_skill;
use crate::fs::walk::FILE_NAMES;
use crate::registry::trust::{Approvals, Trust};

/// A skill that the records name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledSkill {
    /// The organisation, for a skill that was installed by a reference or from a repository with an owner.
    pub org: Option<String>,
    /// The name of its folder.
    pub name: String,
    /// Its scope.
    pub scope: InstallScope,
    /// Its folder.
    pub path: PathBuf,
    /// Whether it is unchanged since it was installed.
    pub state: InstalledState,
    /// Its entry in the lock.
    pub locked: LockedSkill,
    /// Whether this user fetched it from the source in the lock. If not, only the lock says that it is from there.
    pub fetched: bool,
    /// Clients that do not have the skill as they should.
    pub clients: Vec<ClientDifference>,
    /// Whether the user accepted these files here, or trusts the folder of the project. If not, agents do not use them.
    pub trusted: bool,
    /// The name in its SKILL.md, if the lock says that its author calls it by another one.
    pub misnamed: Option<String>,
}

impl InstalledSkill {
    /// Whether it is unchanged since it was installed, here and for every client where the user keeps nothing else.
    pub fn is_clean(&self) -> bool {
        self.state == InstalledState::Clean
            && self.clients.iter().all(|client| client.state == ClientState::Left)
    }

    /// Whether nothing differs from what was installed except line ends, here and for every client.
    pub fn is_intact(&self) -> bool {
        matches!(self.state, InstalledState::Clean | InstalledState::LineEnds(_))
            && self
                .clients
                .iter()
                .all(|client| matches!(client.state, ClientState::LineEnds(_) | ClientState::Left))
    }

    /// Whether restoring it would lose something: what is missing, another version and other line ends are no edits.
    pub fn has_losable_edits(&self) -> bool {
        let is_kept = |client: &ClientDifference| {
            use ClientState::{Left, LineEnds, Missing, OtherVersion};
            matches!(client.state, Missing | LineEnds(_) | OtherVersion | Left)
        };
        matches!(self.state, InstalledState::Edited(_) | InstalledState::Replaced { .. })
            || !self.clients.iter().all(is_kept)
    }
}

/// Whether a skill is unchanged since it was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstalledState {
    /// Every byte is unchanged.
    Clean,
    /// These files differ; none are named when the store does not know what was installed.
    Edited(Vec<(String, FileChange)>),
    /// These files have other line ends, and nothing else differs.
    LineEnds(Vec<(String, FileChange)>),
    /// It is another version that was installed here before, such as that of another branch. Nothing was edited.
    OtherVersion,
    /// Something else is in its place, or it cannot be compared.
    Replaced {
        /// Why.
        reason: String,
        /// The files that are known to differ all the same.
        files: Vec<(String, FileChange)>,
    },
    /// Its folder does not exist.
    Missing,
}

fn replaced(reason: String) -> InstalledState {
    InstalledState::Replaced { reason, files: Vec::new() }
}

/// The state of a skill whose folder does not have the digest of the lock.
fn differing(path: &Path, locked: &LockedSkill, listing: Listing<'_>) -> InstalledState {
    if let Some(mount) = first_mount(path) {
        let at = mount.strip_prefix(path).ok().filter(|at| !at.as_os_str().is_empty());
        let at = at.map(|at| format!("{}: ", at.display())).unwrap_or_default();
        return replaced(format!("{at}{MOUNTED}"));
    }
    let uncomparable = |reason| {
        let before = locked.digest.and_then(listing);
        let files = before.map(|before| changes_at(path, &before)).unwrap_or_default();
        InstalledState::Replaced { reason, files }
    };
    let there = match manifest_of(path) {
        Err(error) => return uncomparable(error.full_message()),
        Ok(there) => there,
    };
    if let Some(left) = there.left_out.iter().find(|left| left.unreadable) {
        return uncomparable(format!("{}: {}", left.path, left.reason));
    }
    match Difference::of(path, &there, locked.digest, listing) {
        Difference::LineEnds(files) => InstalledState::LineEnds(files),
        Difference::Edited(files) => InstalledState::Edited(files.unwrap_or_default()),
    }
}

/// The name in the SKILL.md of a skill whose files are those of the lock, if the lock says another one.
pub(super) fn misnamed(path: &Path, locked: &LockedSkill) -> Option<String> {
    let head = FILE_NAMES.iter().find_map(|file| read_skill(&path.join(file)).ok())?;
    name_beside(&parse(&head.bytes), locked)
}

/// The name in a SKILL.md, if the lock says another one.
pub(super) fn name_beside(document: &Document, locked: &LockedSkill) -> Option<String> {
    // Without a name in the file, the author's name was that of a folder, which only the lock knows.
    let name = document.name(&Origin::text(""))?;
    (name != locked.declared_name() && !name.chars().any(char::is_control)).then_some(name)
}

/// Whether the user trusts a skill with these files.
fn is_trusted(trust: &Trust, scope: InstallScope, path: &Path, digest: Digest) -> bool {
    let scope = match scope {
        InstallScope::Project => Scope::Project,
        InstallScope::User => Scope::User,
    };
    FILE_NAMES.iter().any(|file| {
        let origin = Origin::at(location_of(&path.join(file))).with_scope(scope);
        trust.accepted(&origin).covers(digest)
    })
}

impl Installer {
    /// Compares every installed skill with the lock. An interrupted installation is completed first.
    pub fn verify(&self, scope: InstallScope) -> Result<Vec<InstalledSkill>, InstallError> {
        let place = self.place(scope)?;
        let _held = self.settled(&place, &mut |_| {})?;
        self.compared(&place)
    }

    /// Compares every installed skill with the lock, and changes nothing: what [`Installer::leftovers`] names stays.
    pub fn compare(&self, scope: InstallScope) -> Result<Vec<InstalledSkill>, InstallError> {
        let place = self.place(scope)?;
        let _held = self.looking(&place, &mut |_| {})?;
        self.compared(&place)
    }

    /// Compares every installed skill with the lock. The caller holds the lock of the place.
    fn compared(&self, place: &InstallTarget) -> Result<Vec<InstalledSkill>, InstallError> {
        let records = place.read()?;
        let dir = open_skills(place)?;
        let failed = |error| InstallError::io("read", &place.base.join(SKILLS_FOLDER), error);
        let listing = self.listing();
        let mut differences: BTreeMap<String, Vec<ClientDifference>> = BTreeMap::new();
        for (name, difference) in self::differences(place, &records, self.environment(), &listing)? {
            differences.entry(name).or_default().push(difference);
        }
        // Approvals that cannot be read trust nothing; other commands report them.
        let trust = Approvals::load(&place.books.approvals).map(Trust::in_approved).unwrap_or_default();
        let accepted = AcceptedSkills::of(place).ok();
        let placements = Placements::load(&place.books)?;
        let was_installed = |path: &Path, digest: Digest| {
            let name = path.file_name().unwrap_or_default();
            if dir.as_ref().is_some_and(|dir| placements.digest(&dir.path().join(name)) == Some(digest)) {
                return true;
            }
            let accepted = accepted.as_ref().and_then(|all| all.approval_in(path)?.digest);
            accepted == Some(digest) && self.fetch_log().is_from_source(digest, &listing)
        };
        let mut skills = Vec::new();
        for locked in records.lock.skills() {
            let path = place.skill(&locked.name);
            let there =
                dir.as_ref().map(|dir| state_of(dir, &locked.name)).transpose().map_err(failed)?.flatten();
            let trusted = match &there {
                Some(State::Tree(digest)) => is_trusted(&trust, place.scope, &path, *digest),
                _ => false,
            };
            let state = match there {
                None => InstalledState::Missing,
                Some(State::Tree(digest)) if is_tree(digest, locked.digest, &path, &listing) => {
                    InstalledState::Clean
                }
                Some(State::Tree(digest)) if was_installed(&path, digest) => InstalledState::OtherVersion,
                Some(State::Link(to)) => replaced(format!("it is a link to {to}")),
                Some(_) => differing(&path, locked, &listing),
            };
            let clients = differences.remove(&locked.name).unwrap_or_default();
            let misnamed = match state {
                InstalledState::Clean | InstalledState::LineEnds(_) => misnamed(&path, locked),
                _ => None,
            };
            skills.push(InstalledSkill {
                org: org_of(locked),
                name: locked.name.clone(),
                scope: place.scope,
                path,
                state,
                locked: locked.clone(),
                fetched: self.fetch_log().has(locked),
                clients,
                trusted,
                misnamed,
            });
        }
        Ok(skills)
    }

    /// All installed skills, sorted by scope, then by organisation and name. Nothing is written.
    pub fn list(&self) -> Result<Vec<InstalledSkill>, InstallError> {
        let mut skills = Vec::new();
        for scope in self.listed_scopes() {
            skills.extend(self.compare(scope)?);
        }
        skills.sort_by(|a, b| (a.scope, &a.org, &a.name).cmp(&(b.scope, &b.org, &b.name)));
        Ok(skills)
    }

    /// The scopes whose skills are listed. The user's own folder is not a project.
    pub fn listed_scopes(&self) -> impl Iterator<Item = InstallScope> + use<> {
        let user = self.folders().user.as_deref();
        let own = user.is_some_and(|user| env::real(user) == env::real(&self.folders().project));
        self.scopes().filter(move |scope| !own || *scope == InstallScope::User)
    }

    /// Installs a skill by its reference, optionally under another name. Returns its folder.
    pub fn install(
        &self,
        skill: &SkillRef,
        scope: InstallScope,
        alias: Option<&str>,
    ) -> Result<PathBuf, InstallError> {
        self.install_spec(&InstallSpec::of(InstallPlace::Reference(skill.clone())), scope, alias)
    }

    /// Installs a skill from a folder of this machine. Returns its new folder.
    pub fn install_local(&self, path: &Path, scope: InstallScope) -> Result<PathBuf, InstallError> {
        self.install_spec(&InstallSpec::of(InstallPlace::Folder(path.to_owned())), scope, None)
    }

    /// Copies a skill into a folder by its reference, without a record. Returns its folder there.
    pub fn install_into(&self, skill: &SkillRef, folder: &Path) -> Result<PathBuf, InstallError> {
        self.copy_into(&InstallSpec::of(InstallPlace::Reference(skill.clone())), folder)
    }

    /// Copies a skill of this machine into a folder, without a record. Returns its folder there.
    pub fn install_local_into(&self, path: &Path, folder: &Path) -> Result<PathBuf, InstallError> {
        self.copy_into(&InstallSpec::of(InstallPlace::Folder(path.to_owned())), folder)
    }

    /// Removes an installed skill by its reference. The project takes precedence over the user.
    pub fn remove(&self, skill: &SkillRef) -> Result<(), InstallError> {
        let (place, _) = self.locate(skill)?;
        // By the reference: another process may give the folder to another skill before its lock is taken.
        self.uninstall(place.scope, &[skill.to_string()], &InstallOptions::default(), &mut |_| {}).map(drop)
    }

    fn install_spec(
        &self,
        spec: &InstallSpec,
        scope: InstallScope,
        alias: Option<&str>,
    ) -> Result<PathBuf, InstallError> {
        let mut available = self.find(scope, &self.source(spec)?)?;
        let chosen = available.choose(&[], false)?;
        let skills = self.prepare(scope, &mut available, &chosen, alias, &mut |_| {})?;
        // The caller of the library accepts it by this call.
        let options = InstallOptions { accepted: true, ..InstallOptions::default() };
        let name = skills.first().map(|skill| skill.name().to_owned()).unwrap_or_default();
        let place = self.place(scope)?;
        let orders = skills.into_iter().map(|skill| Order::Install(Box::new(skill))).collect();
        self.change(scope, &options, Write::unless(false), &mut |_| {}, |place, _| {
            // Under the lock, so that of two calls at once one succeeds.
            if place.skill(&name).symlink_metadata().is_err() {
                return Ok(orders);
            }
            let message = format!("a skill of this name is installed already: {name}");
            Err(InstallError::new(InstallErrorKind::Exists, message, "remove it first, or use another name"))
        })?;
        Ok(place.skill(&name))
    }

    fn copy_into(&self, spec: &InstallSpec, folder: &Path) -> Result<PathBuf, InstallError> {
        let fetcher = self.fetcher(&self.place(InstallScope::Project)?);
        let mut available = self.within_limit(fetcher.find(&fetcher.resolve(spec)?))?;
        let chosen = available.choose(&[], false)?;
        let Some(skill) = self.within_limit(fetcher.take(&mut available, &chosen, Refusal::OfAll))?.pop()
        else {
            let message = format!("there is no skill there: {spec}");
            return Err(InstallError::new(InstallErrorKind::NotFound, message, "name another source"));
        };
        let skill = skill?;
        self.accept_fetched(std::iter::empty());
        copy(&self.folders().state, folder, skill.name(), &skill.tree)
    }
}
