//! [`Installer`]: installs, synchronises, verifies and removes skills of a project and of the user.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_core::{Digest, Manifest};

use super::error::{InstallError, InstallErrorKind, InstallLimit};
use super::plan::change::{Changes, Edits};
use super::plan::prepare::Prepared;
use super::plan::sync::check_records;
use super::plan::{ApplyOptions, Loss, Order, Plan};
use super::records::{FetchLog, InstallScope, InstallTarget, LinkMode, LockedSkill, Records, SKILLS_FOLDER};
use super::source::git::{Git, GitLimits, Received, Waiting};
use super::source::tree::InstallLimits;
use super::source::{FetchOptions, Fetcher};
use super::store::{Store, USERS_STORE};
use super::verify::folder_named;
use crate::env::Environment;
use crate::fs::dir::Folder;
use crate::fs::own;

/// How long to wait for another process that changes the same skills.
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
    /// Where fetched skills are stored; it is safe to delete.
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
        own::close_roots(environment);
        Ok(Self {
            project: project.to_owned(),
            user: environment.home(),
            state: state.join("prowess"),
            store: cache.join(USERS_STORE),
        })
    }
}

/// The options of installing and removing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct InstallOptions {
    /// What happens to edits that would be lost.
    pub edits: Edits,
    /// Whether something else of the same name is replaced.
    pub replace: bool,
    /// Whether the user accepted the skills, so that they are trusted with their current files.
    pub accepted: bool,
    /// What the user agreed to lose, from the [losses](Changes::losses) of a dry run. If anything else would be lost, the
    /// operation stops. None agrees to everything.
    pub shown: Option<Vec<Loss>>,
    /// Clients that get links or copies from now on.
    pub clients: Vec<String>,
    /// Whether clients get links or copies from now on.
    pub link: Option<LinkMode>,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// The progress of an installer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'p> {
    /// It waits for another process that changes the same skills.
    Waiting,
    /// It fetches this skill.
    Fetching(&'p str),
    /// A fetched skill could not be stored, for this reason. It is still installed.
    NotStored(&'p str),
    /// An interrupted installation was completed or undone. This says what was done.
    Recovered(&'p str),
}

/// Installs skills.
pub struct Installer {
    folders: InstallFolders,
    environment: Environment,
    limits: InstallLimits,
    registries: BTreeMap<String, String>,
    pub(super) lock_timeout: Duration,
    waiting: Waiting,
    /// What was fetched since skills were last installed or discarded.
    received: Arc<Received>,
    offline: bool,
    /// The host's own git; none runs the command `git`.
    git: Option<Arc<dyn Git>>,
    fetch_log: FetchLog,
    /// The staging folders that were reported.
    pub(super) noted_stages: Mutex<BTreeSet<String>>,
}

impl Installer {
    /// An installer for these folders, with an empty environment: it does not know folders of clients that a variable
    /// moves.
    pub fn new(folders: InstallFolders) -> Self {
        Self {
            fetch_log: FetchLog::of(&folders.state),
            noted_stages: Mutex::default(),
            folders,
            environment: Environment::default(),
            limits: InstallLimits::default(),
            registries: BTreeMap::new(),
            lock_timeout: LOCK_TIMEOUT,
            waiting: Waiting::default(),
            received: Arc::default(),
            offline: false,
            git: None,
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

    /// Sets where the skills of an organisation are: a source with `{org}` and `{name}` in it. All other organisations
    /// are on GitHub.
    #[must_use]
    pub fn with_registry(mut self, org: impl Into<String>, url: impl Into<String>) -> Self {
        self.registries.insert(org.into(), url.into());
        self
    }

    /// Sets how long to wait for another process.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets what is called when a fetch waits for another process that fetches from the same repository, with its
    /// address.
    #[must_use]
    pub fn with_on_wait(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.waiting = Waiting::new(report);
        self
    }

    /// Sets the git that fetches from repositories, in place of the command `git`.
    #[must_use]
    pub fn with_git(mut self, git: impl Git + 'static) -> Self {
        self.git = Some(Arc::new(git));
        self
    }

    /// Sets whether the network is disabled.
    #[must_use]
    pub fn with_offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    pub(super) fn is_offline(&self) -> bool {
        self.offline
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

    pub(crate) fn place(&self, scope: InstallScope) -> Result<InstallTarget, InstallError> {
        let base = match scope {
            InstallScope::Project => &self.folders.project,
            InstallScope::User => self.user()?,
        };
        Ok(InstallTarget::new(scope, base, &self.folders.state))
    }

    fn store(&self) -> Store {
        Store::at(self.folders.store.clone())
    }

    pub(super) fn fetcher(&self, place: &InstallTarget) -> Fetcher {
        self.received.sweep(&self.folders.store);
        let options = FetchOptions {
            limits: self.limits,
            git: GitLimits {
                lock_timeout: self.lock_timeout,
                command_bytes: self.limits.fetched_bytes,
                store_bytes: self.limits.store_bytes,
                ..GitLimits::default()
            },
            received: Arc::clone(&self.received),
            waiting: self.waiting.clone(),
            offline: self.offline,
            organisations: self.registries.clone(),
            installed: Some(place.base.join(SKILLS_FOLDER)),
            base: Some(place.relative_to()),
            ..FetchOptions::default()
        };
        match &self.git {
            Some(git) => Fetcher::with_git(self.store(), Arc::clone(git), options),
            None => Fetcher::new(self.store(), &self.environment, options),
        }
    }

    /// Removes the skills and repositories that were fetched for the first time since skills were last installed or
    /// discarded, because the user declined them. What was there before stays, and so do repositories that another
    /// process uses. What is fetched from here on counts from zero for [`InstallLimits::fetched_bytes`], as it does
    /// after skills are installed.
    pub fn discard_fetched(&self) {
        self.received.discard();
        self.fetch_log.forget();
    }

    /// What [`discard_fetched`](Self::discard_fetched) does, for a thread that ends the process while another one waits for
    /// the user or for git.
    pub fn discarding(&self) -> impl Fn() + Send + Sync + 'static {
        let received = Arc::clone(&self.received);
        move || received.discard_while_ending()
    }

    /// Notes that the user accepts skills, so that what was fetched for them stays. That must be noted before the journal
    /// is written: an interrupted installation is completed, and its skills must be in the store then.
    pub(super) fn accept_fetched<'s>(&self, skills: impl Iterator<Item = &'s LockedSkill>) {
        self.fetch_log.add_noted(skills);
        self.received.accept();
    }

    /// Ends the count of what was fetched when the limit is reached, so that the next command is not refused as well.
    pub(super) fn within_limit<T>(&self, fetched: Result<T, InstallError>) -> Result<T, InstallError> {
        fetched.inspect_err(|error| {
            if error.limit() == Some(InstallLimit::FetchedBytes) {
                self.discard_fetched();
            }
        })
    }

    /// What this user fetched.
    pub(super) fn fetch_log(&self) -> &FetchLog {
        &self.fetch_log
    }

    /// The files of a tree that was installed before.
    pub(super) fn listing(&self) -> impl Fn(Digest) -> Option<Manifest> {
        let store = self.store();
        move |digest| store.listing(digest)
    }

    /// Installs skills that were prepared.
    pub fn add(
        &self,
        scope: InstallScope,
        skills: Vec<Prepared>,
        options: &InstallOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Changes, InstallError> {
        let orders = skills.into_iter().map(|skill| Order::Install(Box::new(skill))).collect();
        self.change(scope, options, Write::unless(options.dry_run), progress, |_, _| Ok(orders))
    }

    /// Removes skills by the names of their folders, or by references such as `@org/name`.
    pub fn uninstall(
        &self,
        scope: InstallScope,
        names: &[String],
        options: &InstallOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Changes, InstallError> {
        self.change(scope, options, Write::unless(options.dry_run), progress, |place, records| {
            // A name that is given twice counts once.
            let mut removed: Vec<String> = Vec::with_capacity(names.len());
            for name in names {
                let name = folder_named(name, place, &records.lock)?;
                if !removed.contains(&name) {
                    removed.push(name);
                }
            }
            Ok(removed.into_iter().map(Order::Remove).collect())
        })
    }

    /// The records of the other scope; none when the user's folder is not known, or is that of the project and has none that
    /// can be read.
    fn elsewhere(&self, scope: InstallScope) -> Result<Option<(InstallTarget, Records)>, InstallError> {
        let other = match scope {
            InstallScope::Project => InstallScope::User,
            InstallScope::User => InstallScope::Project,
        };
        let Ok(place) = self.place(other) else { return Ok(None) };
        match place.read() {
            Ok(records) => Ok(Some((place, records))),
            // There, a file with the name of a record is perhaps none.
            Err(_) if !self.listed_scopes().any(|listed| listed == other) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes a place by orders that are made while its lock is held.
    pub(super) fn change(
        &self,
        scope: InstallScope,
        options: &InstallOptions,
        write: Write,
        progress: &mut dyn FnMut(Progress<'_>),
        orders: impl FnOnce(&InstallTarget, &Records) -> Result<Vec<Order>, InstallError>,
    ) -> Result<Changes, InstallError> {
        let place = self.place(scope)?;
        let _held = if write.files || write.records {
            Some(self.exclusive(&place, progress)?)
        } else if options.dry_run {
            self.planning(&place, progress)?
        } else {
            self.settled(&place, progress)?
        };
        let records = place.read()?;
        check_records(&place, &records)?;
        let orders = orders(&place, &records)?;
        let (store, elsewhere) = (self.store(), &self.elsewhere(scope));
        let listing = &|digest| store.listing(digest);
        let how = ApplyOptions {
            place: &place,
            options,
            write,
            installer: self,
            store: &store,
            listing,
            elsewhere,
        };
        let plan = Plan::of(how, records, &orders);
        plan.and_then(Plan::carry_out).map_err(|error| error.in_place(&place))
    }
}

/// What an operation writes.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) files: bool,
    /// Whether files are written, or would be without the dry run.
    pub(super) plans_files: bool,
    pub(super) records: bool,
}

impl Write {
    pub(super) fn unless(dry_run: bool) -> Self {
        Self { files: !dry_run, plans_files: true, records: !dry_run }
    }
}

/// The open folder of installed skills, if it exists.
pub(super) fn open_skills(place: &InstallTarget) -> Result<Option<Folder>, InstallError> {
    let folder = place.skills_folder(false)?;
    let failed = |error| InstallError::io("open", &place.base.join(SKILLS_FOLDER), error);
    folder.as_deref().map(Folder::open_real).transpose().map_err(failed)
}
