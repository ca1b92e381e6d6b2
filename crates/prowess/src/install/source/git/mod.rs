//! [`Git`]: the requests to git. [`GitCommand`] sends them to the command `git`.
//!
//! Only objects are fetched and read. Nothing is checked out, so no hook, filter, submodule or large-file program of a
//! repository ever runs. The user's own configuration of git applies, for example for credentials and proxies.

mod clone;
mod command;
mod errors;
mod output;
mod received;
mod redirect;
mod room;
mod run;
mod variables;
mod watch;

use std::fmt;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::command::GitCommand;
pub(super) use self::errors::{leads_to_no_commit, no_commit, unknown_ref};
pub(crate) use self::received::Received;
pub(crate) use self::room::{REPOSITORIES, UNACCEPTED, make_room};
use super::tree::InstallLimits;
use crate::install::error::InstallError;
use crate::install::records::Requested;

/// The limits of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GitLimits {
    /// The timeout of one command of git, also over a network.
    pub(crate) timeout: Duration,
    /// How long to wait for another process that works on the same repository.
    pub(crate) lock_timeout: Duration,
    /// The most bytes of a list of refs or of files.
    pub(crate) listing_bytes: usize,
    /// The most bytes that the repository of one address may have on this machine.
    pub(crate) repository_bytes: u64,
    /// The most bytes that one command may fetch from all repositories together.
    pub(crate) command_bytes: u64,
    /// The most bytes of all repositories on this machine. Beyond it, those are removed that were not used for the
    /// longest time.
    pub(crate) store_bytes: u64,
    /// How long a server may send almost nothing.
    pub(crate) quiet: Duration,
    /// The most memory of git: a server can send a list of refs that has no end.
    pub(crate) memory: u64,
}

impl Default for GitLimits {
    fn default() -> Self {
        let timeout = Duration::from_secs(300);
        let quiet = Duration::from_secs(30);
        let (repository_bytes, memory) = (1 << 30, 2 << 30);
        let InstallLimits { fetched_bytes: command_bytes, store_bytes, .. } = InstallLimits::default();
        Self {
            timeout,
            lock_timeout: timeout,
            listing_bytes: 64 << 20,
            repository_bytes,
            command_bytes,
            store_bytes,
            quiet,
            memory,
        }
    }
}

/// A branch, tag or commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GitVersion {
    /// The default branch.
    Default,
    /// A branch or a tag, whichever has this name.
    Named(String),
    /// A ref by its whole name, such as `refs/heads/main`.
    Ref(String),
    /// A commit by its whole id.
    Commit(String),
}

impl GitVersion {
    /// The meaning of the text after `#`.
    pub(crate) fn of(text: &str) -> Self {
        if is_id(text) {
            Self::Commit(text.to_ascii_lowercase())
        } else if text.starts_with("refs/") {
            Self::Ref(text.to_owned())
        } else {
            Self::Named(text.to_owned())
        }
    }

    /// Whether it is an id of a repository whose ids are SHA-256.
    fn has_long_id(&self) -> bool {
        matches!(self, Self::Commit(id) if id.len() == 64)
    }

    pub(super) fn refspec(&self) -> &str {
        match self {
            Self::Default => "HEAD",
            Self::Named(text) | Self::Ref(text) | Self::Commit(text) => text,
        }
    }

    /// Its form in a lock, when nothing more is known than its text.
    pub fn requested(&self) -> Option<Requested> {
        match self {
            Self::Default => None,
            Self::Commit(id) => Some(Requested::Commit(id.clone())),
            Self::Named(name) => Some(Requested::Ref(name.clone())),
            Self::Ref(name) => {
                Some(match (name.strip_prefix("refs/heads/"), name.strip_prefix("refs/tags/")) {
                    (Some(branch), _) => Requested::Branch(branch.to_owned()),
                    (_, Some(tag)) => Requested::Tag(tag.to_owned()),
                    _ => Requested::Ref(name.clone()),
                })
            }
        }
    }
}

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedRef {
    /// The id of a commit, or of a tag that leads to one.
    pub id: String,
    /// The requested version; none for the default.
    pub requested: Option<Requested>,
}

/// An entry of a tree, at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEntry {
    /// Its mode, such as `0o100644`: git's own, with the kind of the entry.
    pub mode: u32,
    /// The id of its object.
    pub id: String,
    /// Its path as bytes: git allows any.
    pub path: Vec<u8>,
}

/// An object of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitObject {
    /// Its id.
    pub id: String,
    /// Its bytes, without git's header.
    pub bytes: Vec<u8>,
}

/// The requests to git, by the address of a repository. A host can replace them:
/// [`Installer::with_git`](crate::install::Installer::with_git). All that they return is checked like the repository of a
/// stranger. Ids are complete: 40 or 64 hexadecimal digits.
pub trait Git: Debug + Send + Sync {
    /// The names of the branches and tags of a repository, such as `refs/heads/main`.
    fn refs(&self, url: &str) -> Result<Vec<String>, InstallError>;

    /// Fetches a commit and its trees; the files come with it only if the server cannot omit them.
    fn fetch(&self, url: &str, version: &GitVersion) -> Result<FetchedRef, InstallError>;

    /// All entries in the tree of a commit that was fetched, each folder before its entries; none when it was not
    /// fetched.
    fn tree(&self, url: &str, commit: &str) -> Result<Option<Vec<GitEntry>>, InstallError>;

    /// Objects that were fetched, by name, in order; none for each that was not. A name is an id, or an id and
    /// `^{commit}` for the commit that a tag leads to. At most `limit` bytes in total.
    fn objects(
        &self,
        url: &str,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Option<GitObject>>, InstallError>;

    /// The sizes of objects that were fetched, in order.
    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError>;

    /// Fetches files, all in one request.
    fn bring(&self, url: &str, ids: &[String]) -> Result<(), InstallError>;

    /// Removes what was fetched of a repository, and fetches a commit again.
    fn refetch(&self, url: &str, commit: &str) -> Result<(), InstallError>;

    /// Whether each of these commits is reachable from a branch or a tag that the repository has now, in order. Refs of
    /// pull and merge requests do not count, since they lead to commits of strangers.
    fn reachable(&self, url: &str, commits: &[String]) -> Result<Vec<bool>, InstallError>;
}

/// Whether a text is the complete id of an object.
pub(crate) fn is_id(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A function that gets an address.
type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// A function that gets the address of the repository; nothing by default.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Option<Report>);

impl Waiting {
    pub(crate) fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    fn report(&self, url: &str) {
        if let Some(report) = &self.0 {
            report(url);
        }
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(if self.0.is_some() { "Waiting(reported)" } else { "Waiting(quiet)" })
    }
}
