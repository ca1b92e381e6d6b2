//! [`Installer`]: installs, synchronises, verifies and removes skills of a project and of the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_core::Manifest;

use super::apply::{Change, Edits, NewSkill, Order, Orders, apply};
use super::error::{InstallError, InstallErrorKind};
use super::fetch::{FetchOptions, FetchedSkill, Fetcher, Found, FoundSkill};
use super::preview::Preview;
use super::records::{
    InstallScope, LinkMode, LockedSkill, Place, Records, SKILLS_FOLDER, recorded, source_folder,
};
use super::spec::{InstallPlace, InstallSpec};
use super::store::Store;
use super::sync::{Seen, check_records};
use super::target::{Dir, Recovered, has_leftovers, recover};
use super::tree::{InstallLimits, SkillTree};
use crate::env::{self, Environment};
use crate::error::shown;

/// How long another process that changes the same skills is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The folders that an installer works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallFolders {
    /// The project: the folder of `skills.toml` and `.agents`.
    pub project: PathBuf,
    /// The user's folder, if it is known.
    pub user: Option<PathBuf>,
    /// Where Prowess keeps its own state: locks, journals, approvals.
    pub state: PathBuf,
    /// Where fetched skills are kept; it is safe to delete.
    pub store: PathBuf,
}

impl InstallFolders {
    /// The folders of the user for a project.
    pub fn of_user(environment: &Environment, project: &Path) -> Result<Self, InstallError> {
        let unknown = |what: &str| {
            let message = format!("the user's {what} folder is not known");
            InstallError::new(InstallErrorKind::NotFound, message, "set the variable HOME to your folder")
        };
        let state = environment.xdg("XDG_STATE_HOME", ".local/state").ok_or_else(|| unknown("state"))?;
        let cache = environment.xdg("XDG_CACHE_HOME", ".cache").ok_or_else(|| unknown("cache"))?;
        Ok(Self {
            project: project.to_owned(),
            user: environment.home(),
            state: state.join("prowess"),
            store: cache.join("prowess/store/v1"),
        })
    }
}

/// How skills are installed and removed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InstallOptions {
    /// What happens to edits that would be lost.
    pub edits: Edits,
    /// Whether something else of the same name is replaced.
    pub replace: bool,
    /// Whether the user accepted what is installed, so that it is trusted as it is.
    pub accepted: bool,
    /// Clients that get links or copies from now on.
    pub clients: Vec<String>,
    /// How they get them from now on.
    pub link: Option<LinkMode>,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// What an installer is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'p> {
    /// Another process changes the same skills, and is waited for.
    Waiting,
    /// This skill is being fetched.
    Fetching(&'p str),
    /// What was fetched could not be kept in the store, for this reason. It is installed nonetheless.
    NotStored(&'p str),
    /// An installation that was interrupted could not be completed as it was begun. This says what was done about it.
    Recovered(&'p str),
}

/// The skills that a source holds.
#[derive(Debug)]
pub struct Available(Found);

/// One skill that a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AvailableSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says it does.
    pub description: Option<&'a str>,
    /// Why no agent would load it, as `check` says it. Such a skill is not installed.
    pub problem: Option<&'a str>,
}

impl Available {
    /// The skills, sorted by their paths.
    pub fn skills(&self) -> impl ExactSizeIterator<Item = AvailableSkill<'_>> {
        let shown = |skill| -> AvailableSkill<'_> {
            let skill: &FoundSkill = skill;
            let (description, problem) = (skill.description.as_deref(), skill.problem.as_deref());
            AvailableSkill { name: &skill.name, description, problem }
        };
        self.0.skills.iter().map(shown)
    }

    /// Which skills are meant, by their places in [`skills`](Self::skills): those with these names, all that agents would
    /// load, or the one that the source itself names. Several of which none is named are an error.
    pub fn choose(&self, names: &[String], all: bool) -> Result<Vec<usize>, InstallError> {
        let chosen = self.0.choose(names, all)?;
        self.0.check_names(&chosen).map(|()| chosen)
    }
}

/// A skill that was fetched and can be installed.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) new: NewSkill,
    /// What the records said of it when it was planned, for `sync`.
    pub(super) seen: Option<Seen>,
}

impl Prepared {
    /// A skill that is installed because the records say so.
    pub(super) fn seen(new: NewSkill, seen: Seen) -> Self {
        Self { new, seen: Some(seen) }
    }

    /// The name that its folder will have.
    pub fn name(&self) -> &str {
        &self.new.locked.name
    }

    /// What the lock will say of it.
    pub fn locked(&self) -> &LockedSkill {
        &self.new.locked
    }

    /// Its files.
    pub fn tree(&self) -> &SkillTree {
        &self.new.tree
    }
}

/// Installs skills.
pub struct Installer {
    folders: InstallFolders,
    environment: Environment,
    limits: InstallLimits,
    registries: BTreeMap<String, String>,
    lock_timeout: Duration,
    offline: bool,
}

impl Installer {
    /// An installer for these folders, which knows no clients' folders that variables move.
    pub fn new(folders: InstallFolders) -> Self {
        Self {
            folders,
            environment: Environment::default(),
            limits: InstallLimits::default(),
            registries: BTreeMap::new(),
            lock_timeout: LOCK_TIMEOUT,
            offline: false,
        }
    }

    /// An installer for a project and the user.
    pub fn of_user(environment: Environment, project: &Path) -> Result<Self, InstallError> {
        let folders = InstallFolders::of_user(&environment, project)?;
        Ok(Self { environment, ..Self::new(folders) })
    }

    /// Sets the limits on skills.
    #[must_use]
    pub fn with_limits(mut self, limits: InstallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Says where the skills of an organisation are: a text to install from, with `{org}` and `{name}` in it. The others are
    /// on GitHub.
    #[must_use]
    pub fn with_registry(mut self, org: impl Into<String>, url: impl Into<String>) -> Self {
        self.registries.insert(org.into(), url.into());
        self
    }

    /// Sets how long another process is waited for.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Uses no network.
    #[must_use]
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    /// The folders it works with.
    pub fn folders(&self) -> &InstallFolders {
        &self.folders
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The folder of the user's skills.
    pub fn user_dir(&self) -> Result<PathBuf, InstallError> {
        Ok(self.user()?.join(SKILLS_FOLDER))
    }

    /// The folder of the project's skills.
    pub fn project_dir(&self) -> PathBuf {
        self.folders.project.join(SKILLS_FOLDER)
    }

    fn user(&self) -> Result<&Path, InstallError> {
        self.folders.user.as_deref().ok_or_else(|| {
            let message = "the user's folder is not known";
            InstallError::new(InstallErrorKind::NotFound, message, "set the variable HOME to your folder")
        })
    }

    pub(crate) fn place(&self, scope: InstallScope) -> Result<Place, InstallError> {
        let base = match scope {
            InstallScope::Project => &self.folders.project,
            InstallScope::User => self.user()?,
        };
        Ok(Place::new(scope, base, &self.folders.state))
    }

    fn store(&self) -> Store {
        Store::at(self.folders.store.clone())
    }

    pub(super) fn fetcher(&self, place: &Place) -> Fetcher {
        let options = FetchOptions {
            limits: self.limits,
            offline: self.offline,
            organisations: self.registries.clone(),
            base: Some(place.relative_to()),
            ..FetchOptions::default()
        };
        Fetcher::new(self.store(), &self.environment, options)
    }

    /// The files of a tree that was installed before.
    pub(super) fn listing(&self) -> impl Fn(&str) -> Option<Manifest> {
        let store = self.store();
        move |digest: &str| store.listing(digest)
    }

    /// What a source holds. Only what is needed to know that is fetched.
    pub fn find(&self, scope: InstallScope, spec: &InstallSpec) -> Result<Available, InstallError> {
        Ok(Available(self.fetcher(&self.place(scope)?).find(spec)?))
    }

    /// The repository that a spec means, if it is one.
    pub fn repository(&self, spec: &InstallSpec) -> Result<Option<String>, InstallError> {
        let place = self.place(InstallScope::Project)?;
        Ok(match self.fetcher(&place).resolve(spec)?.place {
            InstallPlace::Git(url) => Some(url),
            _ => None,
        })
    }

    /// Fetches skills of a source: all files, checked and kept in the store. Nothing that is installed is changed.
    pub fn prepare(
        &self,
        scope: InstallScope,
        spec: &InstallSpec,
        available: &mut Available,
        chosen: &[usize],
        alias: Option<&str>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let place = self.place(scope)?;
        let fetcher = self.fetcher(&place);
        let fetched = fetcher.take(&mut available.0, chosen)?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        if alias.is_some() && fetched.len() != 1 {
            let message = format!("one name cannot be given to {} skills", fetched.len());
            return Err(InstallError::new(InstallErrorKind::Request, message, "choose one of them"));
        }
        self.check_apart(&place, spec, &fetched)?;
        let from = source_folder(&place, &available.0.source);
        let prepared = |skill| Prepared { new: recorded(&from, spec, skill, alias), seen: None };
        Ok(fetched.into_iter().map(prepared).collect())
    }

    /// An error for skills that lie where they would be installed, or around that: they would be their own source.
    pub(super) fn check_apart(
        &self,
        place: &Place,
        spec: &InstallSpec,
        skills: &[FetchedSkill],
    ) -> Result<(), InstallError> {
        let InstallPlace::Folder(folder) = self.fetcher(place).resolve(spec)?.place else { return Ok(()) };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (source, base) = (real(&env::place(&folder)), real(&place.base));
        let to = real(&base.join(SKILLS_FOLDER));
        for skill in skills {
            let from = source.join(skill.path.as_ref().map_or("", |path| path.as_str()));
            let (reason, hint) = if from.starts_with(&to) {
                ("this is where skills are installed", "name the folder that the skill comes from")
            } else if to.starts_with(&from) {
                let hint = "install it for the user, or in another project";
                ("a skill cannot be installed inside of itself", hint)
            } else {
                continue;
            };
            let message = format!("{reason}: {}", shown(&from));
            return Err(InstallError::new(InstallErrorKind::Request, message, hint));
        }
        Ok(())
    }

    /// What each skill would bring along, by its name.
    pub fn previews(
        &self,
        scope: InstallScope,
        skills: &[Prepared],
    ) -> Result<Vec<(String, Preview)>, InstallError> {
        let records = self.place(scope)?.read()?;
        let own = self.folders.user.as_deref().filter(|_| scope == InstallScope::Project);
        let own = own.map(|user| user.join(SKILLS_FOLDER));
        // What cannot be listed is not shown: the preview decides nothing.
        let of_user =
            own.as_deref().and_then(|folder| Dir::open(folder).ok()?.names().ok()).unwrap_or_default();
        let names = || {
            let locked = records.lock.skills().iter().map(|skill| &*skill.name);
            locked.chain(of_user.iter().map(String::as_str))
        };
        let preview = |skill: &Prepared| {
            let mut preview = Preview::of(&skill.new.tree, skill.name(), names());
            let hidden =
                of_user.iter().filter(|name| [skill.name(), &preview.declared_name].contains(&&***name));
            let folder = own.clone().unwrap_or_default();
            preview.shadows = hidden.map(|name| folder.join(name).to_string_lossy().into_owned()).collect();
            let others = records.lock.skills().iter();
            let others = others.filter(|other| other.name != skill.name() && other.is_from(skill.locked()));
            preview.installed_as = others.map(|other| other.name.clone()).collect();
            preview
        };
        Ok(skills.iter().map(|skill| (skill.name().to_owned(), preview(skill))).collect())
    }

    /// Installs skills that were prepared.
    pub fn add(
        &self,
        scope: InstallScope,
        skills: Vec<Prepared>,
        options: &InstallOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Change>, InstallError> {
        let orders: Vec<Order> =
            skills.into_iter().map(|skill| Order::Install(Box::new(skill.new))).collect();
        self.change(scope, options, Write::unless(options.dry_run), progress, |_, _| Ok(orders))
    }

    /// Removes skills by the names of their folders.
    pub fn uninstall(
        &self,
        scope: InstallScope,
        names: &[String],
        options: &InstallOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Change>, InstallError> {
        let mut orders: Vec<Order> = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            // Who names a skill twice means it once.
            if !names.iter().take(at).any(|other| other == name) {
                orders.push(Order::Remove(name.clone()));
            }
        }
        self.change(scope, options, Write::unless(options.dry_run), progress, |_, _| Ok(orders))
    }

    /// Takes the lock of a place and completes what was interrupted.
    pub(super) fn exclusive(
        &self,
        place: &Place,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<std::fs::File, InstallError> {
        let held = place.exclusive(self.lock_timeout, &mut || progress(Progress::Waiting))?;
        for note in recover(&place.books)?.iter().flat_map(Recovered::notes) {
            progress(Progress::Recovered(&note));
        }
        Ok(held)
    }

    /// Completes what was interrupted, and undoes it where that is not possible. Every operation does that first; this is for
    /// those that report no progress.
    pub fn settle(
        &self,
        scope: InstallScope,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), InstallError> {
        self.settled(&self.place(scope)?, progress).map(drop)
    }

    /// Waits until no process changes a place, for a command that only reads: nothing is written, unless something was
    /// interrupted and has to be completed first.
    pub(super) fn settled(
        &self,
        place: &Place,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<std::fs::File>, InstallError> {
        if place.books.journal.exists() {
            drop(self.exclusive(place, progress)?);
        } else if has_leftovers(&place.books) {
            // They are harmless, and removed only where this user may.
            drop(self.exclusive(place, progress));
        }
        place.shared(self.lock_timeout, &mut || progress(Progress::Waiting))
    }

    /// Changes a place by orders that are made under its lock.
    pub(super) fn change(
        &self,
        scope: InstallScope,
        options: &InstallOptions,
        write: Write,
        progress: &mut dyn FnMut(Progress<'_>),
        orders: impl FnOnce(&Place, &Records) -> Result<Vec<Order>, InstallError>,
    ) -> Result<Vec<Change>, InstallError> {
        let place = self.place(scope)?;
        let _held = if write.files || write.records {
            Some(self.exclusive(&place, progress)?)
        } else {
            self.settled(&place, progress)?
        };
        let records = place.read()?;
        check_records(&place, &records)?;
        let orders = orders(&place, &records)?;
        let how = Orders {
            edits: options.edits,
            replace: options.replace,
            accepted: options.accepted,
            clients: &options.clients,
            link: options.link,
            files: write.files,
            records: write.records,
            environment: &self.environment,
            listing: &self.listing(),
        };
        apply(&place, records, &orders, &how)
    }
}

/// What is written.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) files: bool,
    pub(super) records: bool,
}

impl Write {
    fn unless(dry_run: bool) -> Self {
        Self { files: !dry_run, records: !dry_run }
    }
}

/// The folder of installed skills, opened, if it is there.
pub(super) fn open_skills(place: &Place) -> Result<Option<Dir>, InstallError> {
    let folder = place.skills_folder(false)?;
    let failed = |error| InstallError::io("open", &place.base.join(SKILLS_FOLDER), error);
    folder.as_deref().map(Dir::open_real).transpose().map_err(failed)
}
