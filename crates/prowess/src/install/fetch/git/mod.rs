//! [`Git`]: what is asked of git, and [`GitCommand`], which asks the command `git` by its arguments.
//!
//! Only objects are fetched and read. Nothing is checked out, so no hook, filter, submodule or large-file program of a
//! repository ever runs. The user's own configuration of git counts, as for credentials and proxies.

mod clone;
mod errors;
mod variables;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use self::clone::{Bare, REMOTE, Temporary};
pub(super) use self::errors::unknown_ref;
use self::errors::{Fault, Problem};
use crate::env::Environment;
use crate::fs::atomic::lock_within;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::spec::is_on_this_machine;
use crate::install::store::make_folder;
use crate::process::{self, Finished, ProcessError, ProcessLimits, Variables};

/// How long git may take, and how much it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GitLimits {
    /// How long one command of git may take, over a network too.
    pub(crate) timeout: Duration,
    /// How long another process may work on the same repository.
    pub(crate) lock_timeout: Duration,
    /// The most bytes of a list of refs or of files.
    pub(crate) listing_bytes: usize,
}

impl Default for GitLimits {
    fn default() -> Self {
        let timeout = Duration::from_secs(300);
        Self { timeout, lock_timeout: timeout, listing_bytes: 64 << 20 }
    }
}

/// All branches and tags.
const EVERYTHING: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

/// A branch, tag or commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The default branch.
    Default,
    /// A branch or a tag, whichever has this name.
    Named(String),
    /// A ref by its whole name, such as `refs/heads/main`.
    Ref(String),
    /// A commit by its whole id.
    Commit(String),
}

impl Wanted {
    /// What a person means by the text behind `#`.
    pub(crate) fn of(text: &str) -> Self {
        if is_id(text) {
            Self::Commit(text.to_ascii_lowercase())
        } else if text.starts_with("refs/") {
            Self::Ref(text.to_owned())
        } else {
            Self::Named(text.to_owned())
        }
    }

    fn refspec(&self) -> &str {
        match self {
            Self::Default => "HEAD",
            Self::Named(text) | Self::Ref(text) | Self::Commit(text) => text,
        }
    }

    /// How a lock says it, when nothing more is known.
    fn requested(&self) -> Option<String> {
        match self {
            Self::Default => None,
            Self::Commit(id) => Some(format!("commit:{id}")),
            Self::Named(name) => Some(format!("ref:{name}")),
            Self::Ref(name) => {
                Some(match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
                    (Some(branch), _) => format!("branch:{branch}"),
                    (_, Some(tag)) => format!("tag:{tag}"),
                    _ => format!("ref:{name}"),
                })
            }
        }
    }
}

/// What a fetch brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedRef {
    /// The id of a commit, or of a tag that leads to one.
    pub(crate) id: String,
    /// What was asked for, as a lock says it: `branch:main`, `tag:v1`, `commit:…`; nothing for the default.
    pub(crate) requested: Option<String>,
}

/// An entry of a tree, at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) mode: u32,
    pub(crate) id: String,
    /// Its path as bytes: git allows any.
    pub(crate) path: Vec<u8>,
}

/// An object of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) id: String,
    pub(crate) bytes: Vec<u8>,
}

/// What is asked of git. Ids are whole ones, checked by [`is_id`].
pub(crate) trait Git: Debug + Send + Sync {
    /// The names of the branches and tags of a repository, such as `refs/heads/main`.
    fn refs(&self, url: &str) -> Result<Vec<String>, InstallError>;

    /// Fetches a commit and the trees of its folders; the files come with it only where the server cannot leave them out.
    fn fetch(&self, url: &str, wanted: &Wanted) -> Result<FetchedRef, InstallError>;

    /// Everything in the tree of a commit that was fetched; nothing when it was not.
    fn tree(&self, url: &str, commit: &str) -> Result<Option<Vec<TreeEntry>>, InstallError>;

    /// Objects that were fetched, by name, in order; nothing for each that was not. At most so many bytes together.
    fn objects(&self, url: &str, names: &[String], limit: usize)
    -> Result<Vec<Option<Object>>, InstallError>;

    /// The sizes of objects that were fetched, in order.
    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError>;

    /// Fetches files, all at once.
    fn bring(&self, url: &str, ids: &[String]) -> Result<(), InstallError>;
}

/// Whether a text is the whole id of an object.
pub(crate) fn is_id(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The command `git`, and repositories without work trees below a folder.
#[derive(Debug)]
pub(crate) struct GitCommand {
    program: String,
    folder: PathBuf,
    /// Used instead when that cannot be written.
    other_folder: OnceLock<Temporary>,
    environment: Environment,
    ssh_command: OnceLock<bool>,
    limits: GitLimits,
}

impl GitCommand {
    /// With repositories in this folder.
    pub(crate) fn new(folder: PathBuf, environment: Environment, limits: GitLimits) -> Self {
        let (other_folder, ssh_command) = (OnceLock::new(), OnceLock::new());
        Self { program: "git".to_owned(), folder, other_folder, environment, ssh_command, limits }
    }

    /// The same with another program than the `git` of the path.
    #[cfg(test)]
    pub(crate) fn with_program(mut self, program: &str) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// The repository of an address.
    fn bare(&self, url: &str) -> Bare {
        Bare::of(self.other_folder.get().map_or(&self.folder, |other| &other.path), url)
    }

    /// Works on the repository of an address, which no other process does meanwhile.
    fn locked<T>(
        &self,
        url: &str,
        work: impl FnOnce(&Bare, &File) -> Result<T, InstallError>,
    ) -> Result<T, InstallError> {
        let take = |bare: &Bare| {
            bare.lock_file().parent().map_or(Ok(()), make_folder)?;
            lock_within(&bare.lock_file(), self.limits.lock_timeout)
        };
        let mut bare = self.bare(url);
        let lock = take(&bare).or_else(|error| match (error.kind(), self.other_folder.get()) {
            (io::ErrorKind::TimedOut, _) | (_, Some(_)) => Err(error),
            // A store that cannot be written is no reason to install nothing.
            _ => {
                let _ = self.other_folder.set(Temporary::new(&self.environment)?);
                bare = self.bare(url);
                take(&bare)
            }
        });
        let lock = lock.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => InstallError::new(
                InstallErrorKind::Busy,
                format!("another process works on the same repository: {url}"),
                "wait until it is done, then run the command again",
            )
            .because(error),
            _ => InstallError::io("lock the repository", &bare.lock_file(), error),
        })?;
        let done = work(&bare, &lock);
        // Whatever git left behind does not hold it any longer.
        let _ = lock.unlock();
        done
    }

    /// Runs git in a repository, where it only reads. What it says when it fails comes back with the kind of failure.
    fn run(
        &self,
        bare: &Bare,
        arguments: &[&str],
        input: Vec<u8>,
        limit: usize,
    ) -> Result<Finished, Problem> {
        self.run_holding(bare, None, arguments, input, limit)
    }

    /// The same with the lock of the repository, which git keeps until it ends. When this process is killed, git runs on:
    /// no other may work there then.
    fn run_holding(
        &self,
        bare: &Bare,
        lock: Option<&File>,
        arguments: &[&str],
        input: Vec<u8>,
        limit: usize,
    ) -> Result<Finished, Problem> {
        let argv: Vec<String> = std::iter::once(self.program.as_str())
            .chain(variables::SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .chain(arguments.iter().copied())
            .map(str::to_owned)
            .collect();
        let mut variables = variables::of(&bare.url, &bare.folder);
        if variables::needs_ssh(&self.environment, &bare.url) && !self.has_ssh_command(&variables) {
            variables.push(variables::without_questions());
        }
        let limits = ProcessLimits { timeout: self.limits.timeout, max_output: limit };
        let finished = process::run_with(&argv, &variables, input, lock, limits).map_err(Problem::process)?;
        if finished.status.success() { Ok(finished) } else { Err(Problem::said(&finished.stderr)) }
    }

    /// Whether the user's configuration says how ssh is started. The environment would overrule it.
    fn has_ssh_command(&self, variables: &Variables) -> bool {
        *self.ssh_command.get_or_init(|| {
            let argv = [&self.program, "config", "--get", "core.sshCommand"].map(str::to_owned);
            let limits =
                ProcessLimits { timeout: self.limits.timeout, max_output: self.limits.listing_bytes };
            process::run_with(&argv, variables, Vec::new(), None, limits)
                .is_ok_and(|done| done.status.success())
        })
    }

    fn fetch_into(
        &self,
        (bare, lock): (&Bare, &File),
        refspecs: &[&str],
        options: &[&str],
        input: Vec<u8>,
    ) -> Result<(), Problem> {
        let mut arguments = vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
        arguments.extend(options);
        arguments.extend(["--", REMOTE]);
        arguments.extend(refspecs);
        self.run_holding(bare, Some(lock), &arguments, input, self.limits.listing_bytes).map(drop)
    }

    /// A fetch in a repository that is made when there is none. What a killed process left half-made is made again, once.
    fn fetch_made(bare: &Bare, fetch: impl Fn(&Bare) -> Result<(), Problem>) -> Result<(), Problem> {
        let made = |error| Problem::folder(bare, error);
        let was_there = bare.open_or_make(false).map_err(made)?;
        let first = match fetch(bare) {
            Ok(()) => return Ok(()),
            Err(problem) => problem,
        };
        let other_ids = matches!(first.fault, Fault::OtherIds);
        if !(other_ids || (was_there && first.may_be_damage())) {
            return Err(first);
        }
        bare.remove().map_err(made)?;
        bare.open_or_make(other_ids).map_err(made)?;
        fetch(bare)
    }

    /// How a ref was found, or the names that are like it.
    fn unknown_ref(&self, bare: &Bare, wanted: &Wanted) -> InstallError {
        let names = self.refs_in(bare).unwrap_or_default();
        errors::unknown_ref(&bare.url, wanted.refspec(), &names)
    }

    fn refs_in(&self, bare: &Bare) -> Result<Vec<String>, Problem> {
        let arguments = ["ls-remote", "--quiet", "--heads", "--tags", "--refs", "--", REMOTE];
        let listed = self.run(bare, &arguments, Vec::new(), self.limits.listing_bytes)?;
        let text = String::from_utf8_lossy(&listed.stdout);
        Ok(text.lines().filter_map(|line| Some(line.split_once('\t')?.1.to_owned())).collect())
    }

    /// `--filter` leaves the files out. On this machine a second fetch for them would cost more than it saves.
    fn filter(url: &str) -> &'static [&'static str] {
        if is_on_this_machine(url) { &["--depth=1"] } else { &["--depth=1", "--filter=blob:none"] }
    }
}

impl Git for GitCommand {
    fn refs(&self, url: &str) -> Result<Vec<String>, InstallError> {
        self.locked(url, |bare, _| {
            bare.open_or_make(false).map_err(|error| Problem::folder(bare, error).error(url))?;
            self.refs_in(bare).map_err(|problem| problem.error(url))
        })
    }

    fn fetch(&self, url: &str, wanted: &Wanted) -> Result<FetchedRef, InstallError> {
        self.locked(url, |bare, lock| {
            let fetched = Self::fetch_made(bare, |bare| {
                self.fetch_into((bare, lock), &[wanted.refspec()], Self::filter(url), Vec::new())
            });
            match fetched {
                Ok(()) => {}
                // A server that gives no commit by its id gives all branches and tags.
                Err(problem) if matches!(problem.fault, Fault::NotOffered) => {
                    bare.remove().map_err(|error| Problem::folder(bare, error).error(url))?;
                    let options = ["--filter=blob:none"];
                    let all = |bare: &Bare| self.fetch_into((bare, lock), &EVERYTHING, &options, Vec::new());
                    Self::fetch_made(bare, all).map_err(|problem| problem.error(url))?;
                    let id = wanted.refspec().to_owned();
                    return Ok(FetchedRef { id, requested: wanted.requested() });
                }
                Err(problem) if matches!(problem.fault, Fault::NoRef) => {
                    return Err(self.unknown_ref(bare, wanted));
                }
                Err(problem) => return Err(problem.error(url)),
            }
            bare.fetched(wanted).ok_or_else(|| errors::not_understood(url, "what it says it fetched"))
        })
    }

    fn tree(&self, url: &str, commit: &str) -> Result<Option<Vec<TreeEntry>>, InstallError> {
        let bare = self.bare(url);
        if !is_id(commit) || !bare.is_there() {
            return Ok(None);
        }
        let arguments = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit];
        match self.run(&bare, &arguments, Vec::new(), self.limits.listing_bytes) {
            Ok(listed) => {
                let entries = listed.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
                let entries: Option<Vec<TreeEntry>> = entries.map(tree_entry).collect();
                entries.map(Some).ok_or_else(|| errors::not_understood(url, "its list of files"))
            }
            Err(problem) => match problem.fault {
                Fault::Process(ProcessError::TooMuch(_)) => Err(errors::too_many_files(url)),
                Fault::Process(_) => Err(problem.error(url)),
                // It is not here, or not whole.
                _ => Ok(None),
            },
        }
    }

    fn objects(
        &self,
        url: &str,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Option<Object>>, InstallError> {
        // Each has a line before it.
        let limit = limit.saturating_add(names.len().saturating_mul(200));
        let bytes = self.batch(url, "--batch", names, limit)?;
        let mut rest = bytes.as_slice();
        let mut objects = Vec::with_capacity(names.len());
        for _ in names {
            let object = match next_header(&mut rest) {
                Some(Header::Missing) => Some(None),
                Some(Header::Object { id, size }) => {
                    next_bytes(&mut rest, size).map(|bytes| Some(Object { id, bytes }))
                }
                None => None,
            };
            objects.push(object.ok_or_else(|| errors::not_understood(url, "an object"))?);
        }
        Ok(objects)
    }

    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError> {
        let bytes = self.batch(url, "--batch-check", names, self.limits.listing_bytes)?;
        let mut rest = bytes.as_slice();
        let size = |header| match header {
            Header::Missing => None,
            Header::Object { size, .. } => Some(size),
        };
        let sizes: Option<Vec<Option<u64>>> =
            names.iter().map(|_| next_header(&mut rest).map(size)).collect();
        sizes.ok_or_else(|| errors::not_understood(url, "the size of an object"))
    }

    fn bring(&self, url: &str, ids: &[String]) -> Result<(), InstallError> {
        let mut lines = ids.join("\n");
        lines.push('\n');
        self.locked(url, |bare, lock| {
            let options = ["--no-write-fetch-head", "--filter=blob:none", "--stdin"];
            let brought = self.fetch_into((bare, lock), &[], &options, lines.clone().into_bytes());
            let refused = match brought {
                Ok(()) => return Ok(()),
                Err(problem) => problem,
            };
            if !matches!(refused.fault, Fault::NotOffered | Fault::Other) {
                return Err(refused.error(url));
            }
            // A server that leaves files out and does not give them by their ids gives them all.
            let options = ["--no-write-fetch-head", "--refetch", "--no-filter"];
            self.fetch_into((bare, lock), &EVERYTHING, &options, Vec::new())
                .map_err(|problem| problem.error(url))
        })
    }
}

impl GitCommand {
    fn batch(&self, url: &str, kind: &str, names: &[String], limit: usize) -> Result<Vec<u8>, InstallError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let bare = self.bare(url);
        let mut lines = names.join("\n");
        lines.push('\n');
        match self.run(&bare, &["cat-file", kind], lines.into_bytes(), limit) {
            Ok(read) => Ok(read.stdout),
            Err(Problem { fault: Fault::Process(ProcessError::TooMuch(_)), .. }) => {
                Err(errors::too_many_bytes(limit))
            }
            Err(problem) => Err(problem.error(url)),
        }
    }
}

/// Reads `mode type id\tpath`.
fn tree_entry(line: &[u8]) -> Option<TreeEntry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (front, path) = line.split_at_checked(tab)?;
    let mut words = std::str::from_utf8(front).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let id = words.nth(1).filter(|id| is_id(id))?.to_owned();
    Some(TreeEntry { mode, id, path: path.get(1..)?.to_vec() })
}

/// What git says before an object.
enum Header {
    Missing,
    Object { id: String, size: u64 },
}

/// Reads `id type size` or `name missing`; nothing when it is neither.
fn next_header(rest: &mut &[u8]) -> Option<Header> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, behind) = rest.split_at_checked(end)?;
    *rest = behind.get(1..)?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next());
    match (kind, size) {
        ("missing" | "ambiguous", None) => Some(Header::Missing),
        (_, Some(size)) if is_id(id) => Some(Header::Object { id: id.to_owned(), size: size.parse().ok()? }),
        _ => None,
    }
}

/// Reads the bytes of an object and the end of line behind them.
fn next_bytes(rest: &mut &[u8], size: u64) -> Option<Vec<u8>> {
    let (bytes, behind) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    *rest = behind.strip_prefix(b"\n")?;
    Some(bytes.to_vec())
}
