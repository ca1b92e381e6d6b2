//! [`GitRunner`]: runs git in the repository of an address, within limits, and under the lock of that repository.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::clone::{Bare, REMOTE, Temporary};
use super::errors::{Fault, Problem};
use super::received::{Held, Received};
use super::redirect::{self, MAX_REDIRECTS, Redirect};
use super::room::make_room;
use super::watch::Watcher;
use super::{GitLimits, Waiting, variables};
use crate::env::{self, Environment};
use crate::fs::atomic::{lock_to_read, lock_within};
use crate::fs::own;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::spec::is_on_this_machine;
use crate::install::store::{make_folder, root_of_store};
use crate::internal::locked;
use crate::process::{self, Finished, ProcessLimits, Variables, Watch};

/// How long to wait for another process before the wait is reported.
const QUIET_WAIT: Duration = Duration::from_millis(500);
/// Fewer bytes per second than this count as almost nothing.
const SLOW: u32 = 100;

/// The program, and where its repositories are.
#[derive(Debug)]
pub(super) struct GitRunner {
    /// The path of git; none when it is not installed.
    pub(super) program: Option<String>,
    /// The `PATH` of git, which starts other programs.
    program_folders: OsString,
    folder: PathBuf,
    /// Used instead when that folder cannot be written, or is not this user's.
    other_folder: OnceLock<Temporary>,
    environment: Environment,
    ssh_command: OnceLock<bool>,
    /// The beginning of a command line that ends git when this process is killed.
    tie: OnceLock<Vec<String>>,
    /// Where to look for programs.
    path: Environment,
    pub(super) waiting: Waiting,
    pub(super) received: Arc<Received>,
    /// The targets of redirects on the same host.
    redirects: Mutex<BTreeMap<String, String>>,
    pub(super) limits: GitLimits,
}

impl GitRunner {
    /// The folder with the repositories that were fetched.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn new(folder: PathBuf, environment: Environment, limits: GitLimits) -> Self {
        // Without a `PATH` of its own, the environment is that of this process, as it is for the programs it starts.
        let path =
            if environment.get("PATH").is_some() { environment.clone() } else { Environment::current() };
        let program = path.program("git").map(|program| program.to_string_lossy().into_owned());
        let program_folders = std::env::join_paths(path.program_folders()).unwrap_or_default();
        Self {
            program,
            program_folders,
            // git runs in another folder.
            folder: env::absolute(&folder),
            other_folder: OnceLock::new(),
            environment,
            ssh_command: OnceLock::new(),
            tie: OnceLock::new(),
            path,
            waiting: Waiting::default(),
            received: Arc::default(),
            redirects: Mutex::default(),
            limits,
        }
    }

    /// The folder of the repositories, or the one that is used instead.
    fn clones(&self) -> &Path {
        self.other_folder.get().map_or(&self.folder, |other| &other.path)
    }

    /// Whether a repository is this user's, or does not exist: git runs programs that its configuration names.
    fn may_use(&self, bare: &Bare) -> bool {
        let clones = self.clones();
        let root =
            clones.parent().filter(|_| self.other_folder.get().is_none()).map_or(clones, root_of_store);
        own::may_use(root, &bare.folder)
    }

    /// Works on the repository of an address while no other process does.
    pub(super) fn locked<T>(
        &self,
        url: &str,
        work: impl FnOnce(&Bare, &File) -> Result<T, InstallError>,
    ) -> Result<T, InstallError> {
        self.locked_in(Bare::of, url, work)
    }

    /// As [`locked`](Self::locked), for one of the repositories of an address.
    pub(super) fn locked_in<T>(
        &self,
        bare_of: fn(&Path, &str) -> Bare,
        url: &str,
        work: impl FnOnce(&Bare, &File) -> Result<T, InstallError>,
    ) -> Result<T, InstallError> {
        let take = |bare: &Bare| {
            if !self.may_use(bare) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            bare.lock_file().parent().map_or(Ok(()), make_folder)?;
            self.wait(url, &|timeout| lock_within(None, &bare.lock_file(), timeout))
        };
        let mut bare = bare_of(self.clones(), url);
        let lock = take(&bare).or_else(|error| match (error.kind(), self.other_folder.get()) {
            (io::ErrorKind::TimedOut, _) | (_, Some(_)) => Err(error),
            // If the store cannot be written or is not believed, skills are still installed.
            _ => {
                let _ = self.other_folder.set(Temporary::new(&self.environment)?);
                bare = bare_of(self.clones(), url);
                take(&bare)
            }
        });
        let lock = lock.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => busy(url, error),
            _ => InstallError::io("lock the repository", &bare.lock_file(), error),
        })?;
        self.received.begin(&bare);
        let done = work(&bare, &lock);
        self.received.measure(&bare);
        // A process that git left behind no longer holds the lock.
        let _ = lock.unlock();
        // The folder that is used instead goes with this process.
        if let (Some(store), None) = (self.folder.parent(), self.other_folder.get()) {
            make_room(store, self.limits.store_bytes, &self.received);
        }
        done
    }

    /// Takes a lock of a repository. If that takes a while, the wait is reported.
    fn wait<T>(&self, url: &str, lock: &dyn Fn(Duration) -> io::Result<T>) -> io::Result<T> {
        let (started, timeout) = (Instant::now(), self.limits.lock_timeout);
        match lock(QUIET_WAIT.min(timeout)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut && timeout > QUIET_WAIT => {
                self.waiting.report(url);
                lock(timeout.saturating_sub(started.elapsed()))
            }
            locked => locked,
        }
    }

    /// Reads the repository of an address while no other process removes it; none when it does not exist or is incomplete.
    pub(super) fn reading<T>(
        &self,
        url: &str,
        read: impl FnOnce(&Bare) -> Result<T, InstallError>,
    ) -> Result<Option<T>, InstallError> {
        let bare = Bare::of(self.clones(), url);
        if !self.may_use(&bare) || !bare.is_there() {
            return Ok(None);
        }
        let _held = match self.wait(url, &|timeout| lock_to_read(&bare.lock_file(), timeout)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(busy(url, error)),
            lock => lock.ok().flatten().map(Held),
        };
        if bare.is_complete() { read(&bare).map(Some) } else { Ok(None) }
    }

    /// Runs git in a repository that it only reads. If it fails, the error has its messages and the kind of failure.
    pub(super) fn run(
        &self,
        bare: &Bare,
        arguments: &[&str],
        input: Vec<u8>,
        limit: usize,
    ) -> Result<Finished, Problem> {
        let mut watch = || true;
        self.start(bare, None, arguments, (input, limit), (&[], &mut watch), false)
    }

    /// Sends a request to the server of a repository. If the lock of the repository is given, git holds it until it
    /// ends: where git runs on after this process is killed, no other process may work there.
    pub(super) fn ask_server(
        &self,
        bare: &Bare,
        lock: Option<&File>,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Finished, Problem> {
        let ask = || self.start_watched(bare, lock, arguments, input, &[]);
        for _ in 0..MAX_REDIRECTS {
            match ask() {
                Err(problem) if matches!(problem.fault, Fault::Redirect(None)) => {
                    self.follow(bare, problem)?;
                }
                done => return done,
            }
        }
        ask()
    }

    /// Repeats the request to learn the target of a redirect. On the same host the next requests go there.
    fn follow(&self, bare: &Bare, problem: Problem) -> Result<(), Problem> {
        let trace = bare.trace_file();
        let variables: [(&'static str, Option<OsString>); 3] = [
            ("GIT_TRACE_CURL", Some(trace.into())),
            ("GIT_TRACE_CURL_NO_DATA", Some("1".into())),
            ("GIT_TRACE_REDACT", Some("1".into())),
        ];
        let arguments = ["ls-remote", "--quiet", "--", REMOTE];
        // It fails as before; only the trace matters.
        let _ = self.start_watched(bare, None, &arguments, b"", &variables);
        let text = bare.take_trace();
        let mut redirects = locked(&self.redirects);
        let asked = redirects.get(&bare.url).unwrap_or(&bare.url).clone();
        match redirect::read(&text, &asked) {
            Some(Redirect::SameHost(to)) => {
                redirects.insert(bare.url.clone(), to);
                Ok(())
            }
            Some(Redirect::Elsewhere(to)) => Err(problem.leading_to(to)),
            None => Err(problem),
        }
    }

    /// Runs git against a server, and stops it if the server sends too much or nothing.
    fn start_watched(
        &self,
        bare: &Bare,
        lock: Option<&File>,
        arguments: &[&str],
        input: &[u8],
        variables: &Variables,
    ) -> Result<Finished, Problem> {
        let most = self.received.most(bare, self.limits.command_bytes);
        let mut watcher = Watcher::new(&bare.folder, &self.limits, most, !is_on_this_machine(&bare.url));
        let mut watch = || watcher.go_on();
        let input = (input.to_vec(), self.limits.listing_bytes);
        let finished = self.start(bare, lock, arguments, input, (variables, &mut watch), true);
        // A quick fetch may have finished before it was measured.
        if lock.is_some() && finished.is_ok() {
            watcher.go_on();
        }
        match watcher.stop {
            Some(stop) => Err(Problem::stopped(stop)),
            None => finished,
        }
    }

    /// Runs git, which may send requests to a server if it is watched. Its current folder is that of the repositories,
    /// never that of a project.
    fn start(
        &self,
        bare: &Bare,
        lock: Option<&File>,
        arguments: &[&str],
        (input, limit): (Vec<u8>, usize),
        (more_variables, watch): (&Variables, Watch<'_>),
        is_watched: bool,
    ) -> Result<Finished, Problem> {
        let mut settings: Vec<String> = variables::SETTINGS.map(str::to_owned).into();
        settings.push(format!("http.lowSpeedLimit={SLOW}"));
        settings.push(format!("http.lowSpeedTime={}", self.limits.quiet.as_secs().max(1)));
        if let Some(to) = locked(&self.redirects).get(&bare.url) {
            settings.push(format!("url.{to}.insteadOf={}", bare.url));
        }
        let settings = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
        let program = self.program.clone().ok_or_else(Problem::not_installed)?;
        // Only a server can keep git running for long.
        let tie = if is_watched && !is_on_this_machine(&bare.url) { self.tie(bare, &program) } else { &[] };
        let argv: Vec<String> = tie
            .iter()
            .cloned()
            .chain([program])
            .chain(settings)
            .chain(arguments.iter().map(|argument| (*argument).to_owned()))
            .collect();
        let mut variables = variables::of(&bare.url, &bare.folder);
        variables.push(("PATH", Some(self.program_folders.clone())));
        if variables::needs_ssh(&self.environment, &bare.url) && !self.has_ssh_command(bare, &variables) {
            variables.push(variables::without_questions());
        }
        variables.extend(more_variables.iter().cloned());
        let limits = ProcessLimits {
            timeout: self.limits.timeout,
            max_output: limit,
            max_memory: Some(self.limits.memory),
        };
        let finished =
            process::run_with(&argv, (bare.folder.parent(), &variables), input, lock, limits, watch);
        let finished = finished.map_err(Problem::process)?;
        if finished.status.success() { Ok(finished) } else { Err(Problem::said(&finished.stderr)) }
    }

    /// The beginning of a command line that ends git when this process is killed, so that it does not hold the lock of
    /// the repository until its server says something.
    fn tie(&self, bare: &Bare, git: &str) -> &[String] {
        self.tie.get_or_init(|| {
            let probe = [git.to_owned(), "version".to_owned()];
            let variables = [("PATH", Some(self.program_folders.clone()))];
            process::tied::tie(&self.path, &probe, (bare.folder.parent(), &variables))
        })
    }

    /// Whether the user's configuration sets the ssh command. The environment would override it.
    fn has_ssh_command(&self, bare: &Bare, variables: &Variables) -> bool {
        *self.ssh_command.get_or_init(|| {
            let Some(program) = &self.program else { return false };
            let argv = [program, "config", "--get", "core.sshCommand"].map(str::to_owned);
            let limits = ProcessLimits {
                timeout: self.limits.timeout,
                max_output: self.limits.listing_bytes,
                max_memory: None,
            };
            process::run_with(&argv, (bare.folder.parent(), variables), Vec::new(), None, limits, &mut || {
                true
            })
            .is_ok_and(|done| done.status.success())
        })
    }
}

fn busy(url: &str, error: io::Error) -> InstallError {
    let message = format!("another process works on the same repository: {url}");
    let hint = "wait until it is done, then run the command again";
    InstallError::new(InstallErrorKind::Busy, message, hint).because(error)
}
