//! From `@org/name` to the folder of the installed skill. The project takes precedence over the user.

use std::path::{Path, PathBuf};

use prowess_core::{Candidate, Location};

use crate::Registry;
use crate::advice::{Hint, HintAction};
use crate::env::{self, Environment};
use crate::error::{SourceError, SourceErrorKind, shown};
use crate::fs::location::is_in;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::installer::{InstallFolders, Installer};
use crate::install::plan::unknown;
use crate::install::records::{InstallScope, InstallTarget, LockedSkill, SKILLS_FILE, SkillsLock, is_meant};
use crate::install::spec::SkillRef;

impl InstallFolders {
    /// The project of a folder: the nearest folder above it with a `skills.toml` in its git repository, else the root
    /// of that repository. Outside of a repository it is the folder itself, because agents look no further there. The
    /// user's folder, its `.agents` and the folders above it are never projects.
    pub fn project_of(from: &Path, environment: &Environment) -> PathBuf {
        let home = environment.home().map(|home| env::real(&home));
        let own = home.as_ref().map(|home| home.join(".agents"));
        let is_own = |folder: &Path| {
            let folder = Some(env::real(folder));
            folder == home || folder == own
        };
        let above: Vec<&Path> = from.ancestors().take_while(|folder| !is_own(folder)).collect();
        let Some(root) = above.iter().position(|folder| folder.join(".git").exists()) else {
            return from.to_owned();
        };
        let mut inside = above.iter().take(root + 1);
        inside
            .find(|folder| folder.join(SKILLS_FILE).exists())
            .or(above.get(root))
            .map_or(from, |folder| folder)
            .to_owned()
    }
}

impl Installer {
    /// The folder of an installed skill. The project takes precedence over the user.
    pub fn resolve(&self, skill: &SkillRef) -> Result<PathBuf, InstallError> {
        self.present(skill).map(|(_, folder)| folder)
    }

    /// The place and the folder of an installed skill. A lock may have come with a repository, so an entry without a
    /// folder does not hide the skill of the user.
    fn present(&self, skill: &SkillRef) -> Result<(InstallTarget, PathBuf), InstallError> {
        let found = self.locked(skill)?;
        let mut folders = found.iter().map(|(place, locked)| (place, place.skill(&locked.name)));
        if let Some((place, folder)) = folders.find(|(_, folder)| folder.is_dir()) {
            return Ok((place.clone(), folder));
        }
        let Some((place, locked)) = found.first() else { return Err(not_installed(skill)) };
        let message = format!(
            "this skill is in skills.lock and not installed: {skill}: {}",
            shown(&place.skill(&locked.name))
        );
        Err(InstallError::new(InstallErrorKind::Missing, message, how_to_install(place)))
    }

    /// The place and the lock entry of a skill, whether its folder exists or not. The project takes precedence over the
    /// user.
    pub(super) fn locate(&self, skill: &SkillRef) -> Result<(InstallTarget, LockedSkill), InstallError> {
        self.locked(skill)?.into_iter().next().ok_or_else(|| not_installed(skill))
    }

    /// The places whose lock has a skill, in order of precedence, with its entries.
    fn locked(&self, skill: &SkillRef) -> Result<Vec<(InstallTarget, LockedSkill)>, InstallError> {
        let mut found = Vec::new();
        for scope in self.scopes() {
            let place = self.place(scope)?;
            if let Some(locked) = meant(&place, place.lock()?, skill)? {
                found.push((place, locked));
            }
        }
        Ok(found)
    }

    /// The existing scopes, in order of precedence.
    pub(super) fn scopes(&self) -> impl Iterator<Item = InstallScope> + use<> {
        let user = self.folders().user.as_ref().map(|_| InstallScope::User);
        [InstallScope::Project].into_iter().chain(user)
    }
}

/// How to install what the lock of a place has.
fn how_to_install(place: &InstallTarget) -> Hint {
    HintAction::Sync { user: place.scope == InstallScope::User }.into()
}

fn not_installed(skill: &SkillRef) -> InstallError {
    let message = format!("this skill is not installed: {skill}");
    InstallError::new(InstallErrorKind::NotFound, message, "install it first")
}

/// The name of the folder of an installed skill, by that name or by a reference.
pub(crate) fn folder_named(
    name: &str,
    place: &InstallTarget,
    lock: &SkillsLock,
) -> Result<String, InstallError> {
    if !SkillRef::is_meant_by(name) {
        return Ok(name.to_owned());
    }
    let found = meant(place, lock.clone(), &name.parse()?)?;
    found.map(|locked| locked.name).ok_or_else(|| unknown(place, name, lock))
}

/// The entry of a lock that a reference refers to. Of several skills of one repository, it is the one with its name.
fn meant(
    place: &InstallTarget,
    lock: SkillsLock,
    skill: &SkillRef,
) -> Result<Option<LockedSkill>, InstallError> {
    let mut found: Vec<LockedSkill> =
        lock.into_skills().into_iter().filter(|locked| is_meant(locked, skill)).collect();
    if found.len() > 1 && !found.iter().any(|locked| locked.name == skill.name) {
        let names: Vec<&str> = found.iter().map(|locked| &*locked.name).collect();
        let message =
            format!("several skills are installed by this reference: {skill}: {}", names.join(", "));
        let there = names.iter().find(|name| place.skill(name).is_dir());
        let hint = match (there, names.first()) {
            (Some(there), _) => {
                let folder = place.skill(there);
                format!("name one of them, such as {there}; as a source, its folder {}", shown(&folder))
                    .into()
            }
            (None, first) => {
                let first = first.copied().unwrap_or_default();
                how_to_install(place)
                    .before(format!("name one of them, such as {first}; no folder of them is there: "))
            }
        };
        return Err(InstallError::new(InstallErrorKind::Request, message, hint));
    }
    let named = found.iter().position(|locked| locked.name == skill.name).unwrap_or(0);
    Ok((!found.is_empty()).then(|| found.swap_remove(named)))
}

impl Registry {
    /// The skill of this registry that a reference to an installed skill refers to, offered or not.
    ///
    /// ```no_run
    /// use prowess::Registry;
    /// use prowess::env::Environment;
    /// use prowess::install::Installer;
    ///
    /// # fn of(registry: &Registry) -> Result<(), prowess::install::InstallError> {
    /// let installer = Installer::of_user(Environment::current(), ".".as_ref())?;
    /// let skill = registry.resolve_ref(&"@acme/invoices".parse()?, &installer)?;
    /// println!("{}", skill.entry.key);
    /// # Ok(())
    /// # }
    /// ```
    pub fn resolve_ref(&self, skill: &SkillRef, installer: &Installer) -> Result<Candidate, InstallError> {
        let folder = installer.resolve(skill)?;
        let is_it = |candidate: &Candidate| {
            let places = [&candidate.entry.origin.location].into_iter().chain(&candidate.also_at);
            places.into_iter().any(|place| is_in(place, &folder))
        };
        let catalog = self.catalog();
        let found = catalog.all().map(|(candidate, _)| candidate).find(|candidate| is_it(candidate));
        found.cloned().ok_or_else(|| {
            let message = format!("this skill is installed and not listed: {skill}: {}", shown(&folder));
            InstallError::new(
                InstallErrorKind::NotFound,
                message,
                "add its folder to the sources, and refresh",
            )
        })
    }
}

/// The folder of an installed skill that a source names, seen from a folder; and the project, if the skill is in its
/// lock.
pub(crate) fn named(
    reference: &str,
    from: &Path,
    environment: &Environment,
) -> Result<(PathBuf, Option<PathBuf>), SourceError> {
    let find = || {
        let project = InstallFolders::project_of(from, environment);
        let installer = Installer::of_user(environment.clone(), &project)?;
        let (place, folder) = installer.present(&reference.parse()?)?;
        Ok((folder, (place.scope == InstallScope::Project).then_some(project)))
    };
    find().map_err(|error: InstallError| {
        SourceErrorKind::Install(Box::new(error)).at_location(Location::Text(reference.into()))
    })
}
