//! [`InstallTarget`]: one project or one user, with the folder of its skills and the files that record them.
//!
//! In variables it is the `place`. The module `target` is something else: it changes the folders of such a place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prowess_core::internal::did_you_mean;

use super::skills_lock::{LOCK_FILE, SkillsLock};
use super::skills_toml::{SKILLS_FILE, SkillsToml};
use crate::env;
use crate::error::{SourceError, SourceErrorKind, shown};
use crate::fs::atomic;
use crate::fs::dir::{Folder, Kind};
use crate::fs::inside::{LeadsOut, is_inside};
use crate::fs::parsed::ParsedLimits;
use crate::install::apply::Books;
use crate::install::error::{InstallError, InstallErrorKind, MOVE_AWAY};
use crate::library::clients::meant::client_meant;
use crate::library::clients::{self, CLIENTS, Client};
use crate::registry::digests;

/// The folder that holds the files of installed skills, below a project or a user's folder.
pub const SKILLS_FOLDER: &str = ".agents/skills";
/// How long to wait for another process before the wait is reported.
const QUIET_WAIT: Duration = Duration::from_millis(500);

/// Whether skills belong to a project or to the user. Exhaustive: these two will stay the only ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstallScope {
    /// The skills of a project.
    Project,
    /// The skills of the user.
    User,
}

impl InstallScope {
    /// The word in messages and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// A project or a user.
#[derive(Clone, Debug)]
pub(crate) struct InstallTarget {
    pub(crate) scope: InstallScope,
    /// The project's folder, or the user's.
    pub(crate) base: PathBuf,
    pub(crate) books: Books,
    /// The state folder of the user.
    state: PathBuf,
    mutex: PathBuf,
}

/// The contents of the records of a place, and their text.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) wanted: SkillsToml,
    pub(crate) wanted_text: Option<String>,
    pub(crate) lock: SkillsLock,
    pub(crate) lock_text: Option<String>,
}

impl InstallTarget {
    /// The place of a folder. Its journal and lock are in the state folder of the user.
    pub(crate) fn new(scope: InstallScope, base: &Path, state: &Path) -> Self {
        // Two paths to one folder are one place.
        let real = env::real(base);
        let id = digests::short_name(real.as_os_str().as_encoded_bytes());
        let file = |ending: &str| state.join("install").join(format!("{id}.{ending}"));
        let (journal, approvals) = (file("journal"), state.join("trust.json"));
        let books = Books { base: base.to_owned(), journal, approvals };
        Self { scope, base: base.to_owned(), books, mutex: file("lock"), state: state.to_owned() }
    }

    pub(crate) fn wanted_file(&self) -> PathBuf {
        records_folder(self.scope, &self.base).join(SKILLS_FILE)
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        records_folder(self.scope, &self.base).join(LOCK_FILE)
    }

    /// The folder that paths in the records are relative to. It is real, since a `..` in them leads out of that and not of
    /// a link to it.
    pub(crate) fn relative_to(&self) -> PathBuf {
        real_records_folder(self.scope, &self.base)
    }

    /// The path of an installed skill, as the rest of Prowess names it.
    pub(crate) fn skill(&self, name: &str) -> PathBuf {
        self.base.join(SKILLS_FOLDER).join(name)
    }

    /// Reads the lock alone; an empty one when there is no file.
    pub(crate) fn lock(&self) -> Result<SkillsLock, InstallError> {
        let file = self.lock_file();
        let lock = self.record(&file)?.map(|text| SkillsLock::parse(&text, &file)).transpose()?;
        Ok(lock.unwrap_or_default())
    }

    /// Reads both files.
    pub(crate) fn read(&self) -> Result<Records, InstallError> {
        let (wanted_file, lock_file) = (self.wanted_file(), self.lock_file());
        // The lock first, since it is written last: another process that creates both must not seem to have left out
        // `skills.toml`.
        let (lock_text, wanted_text) = (self.record(&lock_file)?, self.record(&wanted_file)?);
        let wanted = wanted_text.as_deref().map(|text| SkillsToml::parse(text, &wanted_file)).transpose()?;
        let lock = lock_text.as_deref().map(|text| SkillsLock::parse(text, &lock_file)).transpose()?;
        Ok(Records {
            wanted: wanted.unwrap_or_default(),
            wanted_text,
            lock: lock.unwrap_or_default(),
            lock_text,
        })
    }

    /// The folder that the records must be in, as [`is_inside`] says, also through links: otherwise a repository could
    /// make Prowess write another file of the user. A user's own records may be anywhere.
    pub(crate) fn within(&self) -> Option<PathBuf> {
        (self.scope == InstallScope::Project).then(|| env::real(&self.base))
    }

    /// The text of a record; none when it does not exist.
    fn record(&self, file: &Path) -> Result<Option<String>, InstallError> {
        if !file.is_symlink() {
            return self.read_record(file);
        }
        match (fs::canonicalize(file), self.within()) {
            (Ok(target), Some(base)) if !is_inside(&target, &base) => Err(leads_out(file, &target, &base)),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!("a link leads to nothing: {}", shown(file));
                let hint = "remove the link, or restore the file that it leads to";
                Err(InstallError::new(InstallErrorKind::Refused, message, hint).at(file))
            }
            _ => self.read_record(file),
        }
    }

    /// The limits of its records.
    fn limits(&self) -> ParsedLimits {
        match self.scope {
            InstallScope::Project => ParsedLimits::PROJECT,
            InstallScope::User => ParsedLimits::USER,
        }
    }

    /// The text of a file; none when it does not exist.
    fn read_record(&self, file: &Path) -> Result<Option<String>, InstallError> {
        let bytes = match self.limits().read(file) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind, SourceErrorKind::Missing) => return Ok(None),
            Err(error) if is_over_limit(&error) => return Err(self.over_limit(file, &error)),
            Err(error) => {
                return Err(InstallError::unread(file, error).with_hint(
                    "nothing was changed; make it a readable file, or restore it from version control",
                ));
            }
        };
        String::from_utf8(bytes).map(Some).map_err(|_| {
            let message = format!("this file is not understood: {}: it is not valid UTF-8", shown(file));
            let hint = "nothing was changed; repair it, or restore it from version control";
            InstallError::new(InstallErrorKind::Damaged, message, hint).at(file)
        })
    }

    /// An error if a record would be one that cannot be read afterwards.
    pub(crate) fn check_record(&self, file: &Path, text: &str) -> Result<(), InstallError> {
        self.limits().check(text.as_bytes(), file).map_err(|error| self.over_limit(file, &error))
    }

    fn over_limit(&self, file: &Path, error: &SourceError) -> InstallError {
        let hint = match self.scope {
            InstallScope::Project => {
                "nothing was changed; install fewer skills for the project, or restore the file from version control"
            }
            InstallScope::User => "nothing was changed; install fewer skills for the user",
        };
        InstallError::new(InstallErrorKind::Damaged, error.to_string(), hint).at(file)
    }

    /// Waits until no other process changes this place. `waiting` is called once if that takes a while.
    pub(crate) fn exclusive(
        &self,
        timeout: Duration,
        waiting: &mut dyn FnMut(),
    ) -> Result<File, InstallError> {
        if self.base.to_str().is_none() {
            let message = format!("the path of this folder is not UTF-8: {}", shown(&self.base));
            let hint = "rename the folder, then run the command again";
            return Err(InstallError::new(InstallErrorKind::Request, message, hint));
        }
        self.wait(timeout, waiting, &|timeout| atomic::lock_within(Some(&self.state), &self.mutex, timeout))
    }

    /// An error if no command could take the locks that it needs, once no other process has them. Nothing is written.
    pub(crate) fn check_locks(&self) -> Result<(), InstallError> {
        let approvals = self.books.approvals.with_extension("lock");
        [&self.mutex, &approvals]
            .into_iter()
            .try_for_each(|lock| atomic::check_lock(&self.state, lock).map_err(|error| unlocked(lock, error)))
    }

    fn wait<T>(
        &self,
        timeout: Duration,
        waiting: &mut dyn FnMut(),
        lock: &dyn Fn(Duration) -> io::Result<T>,
    ) -> Result<T, InstallError> {
        let started = Instant::now();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut => InstallError::new(
                InstallErrorKind::Busy,
                format!("another process is changing the skills of {}", shown(&self.base)),
                "wait until it is done, or allow a longer wait",
            ),
            _ => unlocked(&self.mutex, error),
        };
        match lock(QUIET_WAIT.min(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut && timeout > QUIET_WAIT => {
                waiting();
                lock(timeout.saturating_sub(started.elapsed())).map_err(failed)
            }
            locked => locked.map_err(failed),
        }
    }

    /// Waits until no other process changes this place, and locks it while the file is open. Nothing is written: where
    /// no process ever had the lock, or this user may not take it, there is nothing to wait for.
    pub(crate) fn shared(
        &self,
        timeout: Duration,
        waiting: &mut dyn FnMut(),
    ) -> Result<Option<File>, InstallError> {
        self.wait(timeout, waiting, &|timeout| atomic::lock_to_read(&self.mutex, timeout))
    }

    /// The real folder of installed skills, created if `make` is set; none when it does not exist.
    pub(crate) fn skills_folder(&self, make: bool) -> Result<Option<PathBuf>, InstallError> {
        self.folder(Path::new(SKILLS_FOLDER), make)
    }

    /// The real folder at a path below the base. In a project no link on the path may lead out of it or to `.git`: a
    /// repository could make Prowess write anywhere.
    pub(crate) fn folder(&self, below: &Path, make: bool) -> Result<Option<PathBuf>, InstallError> {
        let whole = self.base.join(below);
        let failed = |error| InstallError::io("open the folder of skills", &whole, error);
        if make {
            atomic::make_folders(&self.base).map_err(failed)?;
        }
        let mut dir = match Folder::open_resolved(&self.base) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
            dir => dir.map_err(failed)?,
        };
        let base = dir.path().to_owned();
        let below = match below.strip_prefix(&self.base) {
            Ok(inside) => inside,
            Err(_) if below.is_relative() => below,
            // A client's folder elsewhere, which the user's own environment names.
            Err(_) => {
                if make {
                    atomic::make_folders(below).map_err(failed)?;
                }
                return Ok(fs::canonicalize(below).ok());
            }
        };
        for part in below.iter().filter_map(|part| part.to_str()) {
            dir = match dir.kind(part).map_err(failed)? {
                None if !make => return Ok(None),
                Some(Kind::Link) => {
                    let target = fs::canonicalize(dir.path().join(part)).map_err(failed)?;
                    if self.scope == InstallScope::Project && !is_inside(&target, &base) {
                        return Err(leads_out(&dir.path().join(part), &target, &base));
                    }
                    // Resolved once: by now it may be another link.
                    Folder::open_real(&target).map_err(failed)?
                }
                None => {
                    let made = dir.make(part).map_err(failed)?;
                    dir.sync().map_err(failed)?;
                    made
                }
                Some(_) => dir.make(part).map_err(failed)?,
            };
        }
        Ok(Some(dir.path().to_owned()))
    }

    /// The folder in which a client looks for skills, unless it is the folder of installed skills.
    pub(crate) fn client_folder(
        &self,
        id: &str,
        environment: &env::Environment,
    ) -> Result<Option<PathBuf>, InstallError> {
        let client = clients::client(id).ok_or_else(|| {
            let hint = did_you_mean(&client_meant(id)).unwrap_or_else(|| {
                let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
                format!("the clients are: {}", ids.join(", "))
            });
            InstallError::new(InstallErrorKind::Request, format!("there is no client called {id}"), hint)
        })?;
        let folders = self.folders_of(client, environment);
        let own = self.base.join(SKILLS_FOLDER);
        Ok(if folders.contains(&own) { None } else { folders.into_iter().next() })
    }

    /// All folders in which a client looks for skills.
    pub(crate) fn client_folders(&self, id: &str, environment: &env::Environment) -> Vec<PathBuf> {
        let Some(client) = clients::client(id) else { return Vec::new() };
        match self.scope {
            InstallScope::Project => {
                client.project_folders().iter().map(|path| self.base.join(path)).collect()
            }
            InstallScope::User => {
                client.user_folders().iter().filter_map(|path| environment.expand(path)).collect()
            }
        }
    }

    fn folders_of(&self, client: &Client, environment: &env::Environment) -> Vec<PathBuf> {
        match self.scope {
            InstallScope::Project => client.project.iter().map(|path| self.base.join(path)).collect(),
            InstallScope::User => user_folders(client, environment),
        }
    }

    /// The folders of skills of a user that may be outside of the user's own folder, because a variable or a link moves
    /// them: that of the installed skills and those of all clients, by their paths and their real paths. A project has
    /// none.
    pub(crate) fn folders_elsewhere(&self, environment: &env::Environment) -> Vec<PathBuf> {
        if self.scope == InstallScope::Project {
            return Vec::new();
        }
        let own = self.base.join(SKILLS_FOLDER);
        let clients = CLIENTS.iter().flat_map(|client| self.folders_of(client, environment));
        std::iter::once(own).chain(clients).flat_map(both).collect()
    }
}

/// The folder of the records: that of the project, or `.agents` of the user.
fn records_folder(scope: InstallScope, base: &Path) -> PathBuf {
    match scope {
        InstallScope::Project => base.to_owned(),
        InstallScope::User => base.join(".agents"),
    }
}

/// The same without links, also before it exists.
pub(super) fn real_records_folder(scope: InstallScope, base: &Path) -> PathBuf {
    let folder = records_folder(scope, base);
    env::resolved(&folder).unwrap_or(folder)
}

/// The error for a lock that cannot be taken.
fn unlocked(lock: &Path, error: io::Error) -> InstallError {
    let is_other = error.kind() == io::ErrorKind::InvalidInput;
    let failed = InstallError::io("take the lock", lock, error);
    if is_other { failed.with_hint(MOVE_AWAY) } else { failed }
}

/// Where a folder is: its path as it is named, and its real path.
fn both(folder: PathBuf) -> [PathBuf; 2] {
    let real = env::real(&folder);
    [folder, real]
}

fn user_folders(client: &Client, environment: &crate::env::Environment) -> Vec<PathBuf> {
    client.user.iter().filter_map(|path| environment.expand(path)).collect()
}

fn leads_out(link: &Path, target: &Path, base: &Path) -> InstallError {
    let out = LeadsOut::new(link, target, base);
    InstallError::new(InstallErrorKind::Refused, out.to_string(), out.hint()).at(link)
}

/// Whether a file could be read, and has more than it may have.
fn is_over_limit(error: &SourceError) -> bool {
    matches!(error.kind, SourceErrorKind::TooLarge { .. } | SourceErrorKind::Damaged { .. })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// The folder of skills is replaced by a link and restored, again and again, while it is opened.
    #[test]
    fn a_folder_that_becomes_a_link_while_it_is_opened_never_leads_out() {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| fs::canonicalize(world.path()).unwrap().join(name);
        fs::create_dir_all(at("project").join(SKILLS_FOLDER)).unwrap();
        fs::create_dir(at("outside")).unwrap();
        std::os::unix::fs::symlink(at("outside"), at("link")).unwrap();
        let place = InstallTarget::new(InstallScope::Project, &at("project"), &at("state"));
        let (skills, link) = (at("project").join(SKILLS_FOLDER), at("link"));
        let done = AtomicBool::new(false);
        let opened = std::thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let exchange = rustix::fs::RenameFlags::EXCHANGE;
                    let cwd = rustix::fs::CWD;
                    rustix::fs::renameat_with(cwd, &skills, cwd, &link, exchange).unwrap();
                }
            });
            let mut opened = Vec::new();
            while opened.len() < 300 {
                let dir =
                    place.skills_folder(false).ok().flatten().and_then(|dir| Folder::open_real(&dir).ok());
                opened.extend(dir.and_then(|dir| dir.number(".").ok()?));
            }
            done.store(true, Ordering::Relaxed);
            opened
        });
        let outside = Folder::open_resolved(&at("outside")).unwrap().number(".").unwrap().unwrap();
        assert!(!opened.contains(&outside));
    }
}
