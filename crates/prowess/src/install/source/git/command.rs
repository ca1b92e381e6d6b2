//! [`GitCommand`]: requests to git, as arguments of the command `git`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::clone::{Bare, REMOTE};
use super::errors::{self, Fault, Problem};
use super::output::{Header, is_id_of, next_bytes, next_header, tree_entry};
use super::run::GitRunner;
use super::{FetchedRef, Git, GitEntry, GitLimits, GitObject, GitVersion, Received, Waiting, is_id};
use crate::env::Environment;
use crate::install::error::InstallError;
use crate::install::source::tree::refused;
use crate::install::spec::is_on_this_machine;
use crate::process::ProcessError;

/// All branches and tags.
const EVERYTHING: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

/// The command `git`, with bare repositories below a folder.
#[derive(Debug)]
pub(crate) struct GitCommand {
    pub(super) runner: GitRunner,
}

impl GitCommand {
    /// A command with its repositories in this folder.
    pub(crate) fn new(folder: PathBuf, environment: Environment, limits: GitLimits) -> Self {
        Self { runner: GitRunner::new(folder, environment, limits) }
    }

    /// Sets who is told that a fetch waits for another process.
    pub(crate) fn with_waiting(mut self, waiting: Waiting) -> Self {
        self.runner.waiting = waiting;
        self
    }

    /// Sets who counts what is fetched, for all fetches of one command.
    pub(crate) fn with_received(mut self, received: Arc<Received>) -> Self {
        self.runner.received = received;
        self
    }

    /// Sets another program than the `git` in the path.
    #[cfg(test)]
    pub(crate) fn with_program(mut self, program: &str) -> Self {
        self.runner.program = Some(program.to_owned());
        self
    }

    pub(super) fn fetch_into(
        &self,
        (bare, lock): (&Bare, &File),
        refspecs: &[&str],
        options: &[&str],
        input: &[u8],
    ) -> Result<(), Problem> {
        let mut arguments = vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
        arguments.extend(options);
        arguments.extend(["--", REMOTE]);
        arguments.extend(refspecs);
        bare.begin_fetch().map_err(|error| Problem::folder(bare, error))?;
        let fetched = self.runner.ask_server(bare, Some(lock), &arguments, input).map(drop);
        if !matches!(&fetched, Err(problem) if problem.may_be_partial()) {
            bare.end_fetch().map_err(|error| Problem::folder(bare, error))?;
        }
        if matches!(&fetched, Err(problem) if matches!(problem.fault, Fault::TooLarge(_) | Fault::TooMuch(_)))
        {
            // A repository that is too large does not stay on the disk, and the next fetch starts over.
            bare.remove().map_err(|error| Problem::folder(bare, error))?;
        }
        if matches!(&fetched, Err(problem) if matches!(problem.fault, Fault::TooMuch(_))) {
            // Nor do the others that the command fetched: the user has accepted nothing yet.
            self.runner.received.remove_new(std::time::Duration::ZERO);
        }
        fetched
    }

    /// Fetches into a repository, and creates it first if it does not exist. One that a killed process left incomplete,
    /// or that has become too large, is created again, once.
    pub(super) fn fetch_made(
        bare: &Bare,
        wanted: &GitVersion,
        fetch: impl Fn(&Bare) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let made = |error| Problem::folder(bare, error);
        // With short ids, git would take a long one for the name of a branch.
        let long_ids = wanted.has_long_id();
        let was_there = bare.open_or_make(long_ids).map_err(made)?;
        let first = match fetch(bare) {
            Ok(()) => return Ok(()),
            Err(problem) => problem,
        };
        let other_ids = matches!(first.fault, Fault::OtherIds);
        if !(other_ids || (was_there && first.may_be_old())) {
            return Err(first);
        }
        bare.remove().map_err(made)?;
        bare.open_or_make(long_ids != other_ids).map_err(made)?;
        fetch(bare)
    }

    /// The error for an unknown ref, with similar names.
    fn unknown_ref(&self, bare: &Bare, wanted: &GitVersion) -> InstallError {
        if let GitVersion::Commit(id) = wanted {
            return errors::no_commit(&bare.url, id);
        }
        let names = self.refs_in(bare).unwrap_or_default();
        errors::unknown_ref(&bare.url, wanted.refspec(), &names)
    }

    fn refs_in(&self, bare: &Bare) -> Result<Vec<String>, Problem> {
        let arguments = ["ls-remote", "--quiet", "--heads", "--tags", "--refs", "--", REMOTE];
        let listed = self.runner.ask_server(bare, None, &arguments, b"")?;
        let text = String::from_utf8_lossy(&listed.stdout);
        Ok(text.lines().filter_map(|line| Some(line.split_once('\t')?.1.to_owned())).collect())
    }

    /// `--filter` omits the files. On this machine a second fetch for them would cost more than it saves.
    fn filter(url: &str) -> &'static [&'static str] {
        if is_on_this_machine(url) { &["--depth=1"] } else { &["--depth=1", "--filter=blob:none"] }
    }

    fn batch(&self, url: &str, kind: &str, names: &[String], limit: usize) -> Result<Vec<u8>, InstallError> {
        let mut lines = names.join("\n");
        lines.push('\n');
        let read = self.runner.reading(url, |bare| {
            match self.runner.run(bare, &["cat-file", kind], lines.into_bytes(), limit) {
                Ok(read) => Ok(read.stdout),
                Err(Problem { fault: Fault::Process(ProcessError::TooMuch(_)), .. }) => {
                    Err(errors::too_many_bytes(limit))
                }
                Err(problem) => Err(problem.error(url)),
            }
        })?;
        // Another process has removed the repository: it has no objects.
        Ok(read.unwrap_or_else(|| {
            names.iter().flat_map(|name| format!("{name} missing\n").into_bytes()).collect()
        }))
    }
}

impl GitCommand {
    /// Objects with their kinds, each of which has the id that git says it has.
    fn read(
        &self,
        url: &str,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Option<(String, GitObject)>>, InstallError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // Each has a line before it.
        let limit = limit.saturating_add(names.len().saturating_mul(200));
        let bytes = self.batch(url, "--batch", names, limit)?;
        let mut rest = bytes.as_slice();
        let mut objects = Vec::with_capacity(names.len());
        for name in names {
            let object = match next_header(&mut rest) {
                Some(Header::Missing) => Some(None),
                Some(Header::Object { id, kind, size }) => {
                    next_bytes(&mut rest, size).map(|bytes| Some((kind, GitObject { id, bytes })))
                }
                None => None,
            };
            let object = object.ok_or_else(|| errors::not_understood(url, "an object"))?;
            if let Some((kind, object)) = &object {
                let is_asked = *name == object.id || !is_id(name);
                if !is_asked || !is_id_of(&object.id, kind, &object.bytes) {
                    return Err(errors::changed_object(url, &object.id, self.runner.folder()));
                }
            }
            objects.push(object);
        }
        Ok(objects)
    }
}

impl Git for GitCommand {
    fn refs(&self, url: &str) -> Result<Vec<String>, InstallError> {
        self.runner.locked(url, |bare, _| {
            bare.open_or_make(false).map_err(|error| Problem::folder(bare, error).error(url))?;
            self.refs_in(bare).map_err(|problem| problem.error(url))
        })
    }

    fn fetch(&self, url: &str, wanted: &GitVersion) -> Result<FetchedRef, InstallError> {
        self.runner.locked(url, |bare, lock| {
            let fetched = Self::fetch_made(bare, wanted, |bare| {
                self.fetch_into((bare, lock), &[wanted.refspec()], Self::filter(url), b"")
            });
            match fetched {
                Ok(()) => {}
                // A server that does not serve a commit by its id serves all branches and tags.
                Err(problem) if matches!(problem.fault, Fault::NotOffered) => {
                    bare.remove().map_err(|error| Problem::folder(bare, error).error(url))?;
                    let options = ["--filter=blob:none"];
                    let all = |bare: &Bare| self.fetch_into((bare, lock), &EVERYTHING, &options, b"");
                    Self::fetch_made(bare, wanted, all).map_err(|problem| problem.error(url))?;
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

    fn tree(&self, url: &str, commit: &str) -> Result<Option<Vec<GitEntry>>, InstallError> {
        if !is_id(commit) {
            return Ok(None);
        }
        let arguments = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit];
        let read = self.runner.reading(url, |bare| {
            let listed = self.runner.run(bare, &arguments, Vec::new(), self.runner.limits.listing_bytes);
            match listed {
                Ok(listed) => {
                    let entries = listed.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
                    let entries: Option<Vec<GitEntry>> = entries.map(tree_entry).collect();
                    entries.map(Some).ok_or_else(|| errors::not_understood(url, "its list of files"))
                }
                Err(problem) => match problem.fault {
                    Fault::Process(ProcessError::TooMuch(_)) => Err(errors::too_many_files(url)),
                    Fault::Process(_) => Err(problem.error(url)),
                    // It is missing or incomplete.
                    _ => Ok(None),
                },
            }
        })?;
        let Some(entries) = read.flatten() else { return Ok(None) };
        // What it lists is what the trees say, so each of them is compared with its id.
        let trees =
            entries.iter().filter(|entry| entry.mode & 0o170_000 == 0o040_000).map(|entry| entry.id.clone());
        let names = [commit.to_owned(), format!("{commit}^{{commit}}"), format!("{commit}^{{tree}}")];
        let names: BTreeSet<String> = trees.chain(names).collect();
        let names: Vec<String> = names.into_iter().collect();
        let is_whole = self.read(url, &names, self.runner.limits.listing_bytes)?.iter().all(Option::is_some);
        Ok(is_whole.then_some(entries))
    }

    fn objects(
        &self,
        url: &str,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Option<GitObject>>, InstallError> {
        let objects = self.read(url, names, limit)?.into_iter().zip(names);
        let objects = objects.map(|(object, name)| {
            let expected = if is_id(name) { "blob" } else { "commit" };
            match object {
                // The mode of an entry says that it is a file, and its object is something else.
                Some((kind, object)) if kind != expected => {
                    let message = format!("an entry of the repository is a {kind} in place of a {expected}");
                    Err(refused(format!("{message}: {url}: {}", object.id)))
                }
                object => Ok(object.map(|(_, object)| object)),
            }
        });
        objects.collect()
    }

    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = self.batch(url, "--batch-check", names, self.runner.limits.listing_bytes)?;
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
        self.runner.locked(url, |bare, lock| {
            let options = ["--no-write-fetch-head", "--filter=blob:none", "--stdin"];
            let brought = self.fetch_into((bare, lock), &[], &options, lines.as_bytes());
            let refused = match brought {
                Ok(()) => return Ok(()),
                Err(problem) => problem,
            };
            if !matches!(refused.fault, Fault::NotOffered) {
                return Err(refused.error(url));
            }
            // A server that omits files and does not serve them by their ids serves all of them: those of each branch
            // and tag, and those of the whole history only if the commit was found there.
            let mut options = vec!["--no-write-fetch-head", "--refetch", "--no-filter"];
            options.extend(bare.is_shallow().then_some("--depth=1"));
            self.fetch_into((bare, lock), &EVERYTHING, &options, b"").map_err(|problem| problem.error(url))
        })
    }

    fn refetch(&self, url: &str, commit: &str) -> Result<(), InstallError> {
        self.runner
            .locked(url, |bare, _| bare.remove().map_err(|error| Problem::folder(bare, error).error(url)))?;
        self.fetch(url, &GitVersion::Commit(commit.to_owned())).map(drop)
    }

    fn reachable(&self, url: &str, commits: &[String]) -> Result<Vec<bool>, InstallError> {
        self.reachable_from_refs(url, commits)
    }
}

/// The branches and tags that a server lists.
struct Listed {
    /// Their names.
    names: Vec<String>,
    /// What they lead to, and the commits that tags lead to.
    ids: BTreeSet<String>,
}

impl GitCommand {
    /// Whether each commit is reachable from a branch or tag. A list of refs is often enough; otherwise all commits of
    /// branches and tags are fetched, without their files, and removed again.
    pub(super) fn reachable_from_refs(
        &self,
        url: &str,
        commits: &[String],
    ) -> Result<Vec<bool>, InstallError> {
        let Some(first) = commits.first() else { return Ok(Vec::new()) };
        let wanted = GitVersion::of(first);
        self.runner.locked_in(Bare::of_history, url, |bare, lock| {
            let failed = |problem: Problem| problem.error(url);
            bare.open_or_make(wanted.has_long_id()).map_err(|error| failed(Problem::folder(bare, error)))?;
            let reachable = self.listed(bare).map_err(failed).and_then(|listed| {
                let is_tip = |commit: &String| listed.ids.contains(commit);
                if listed.names.is_empty() || commits.iter().all(is_tip) {
                    return Ok(commits.iter().map(is_tip).collect());
                }
                let names = listed.names.join("\n") + "\n";
                let options = ["--filter=tree:0", "--update-shallow", "--stdin"];
                let fetch = |bare: &Bare| self.fetch_into((bare, lock), &[], &options, names.as_bytes());
                Self::fetch_made(bare, &wanted, fetch).map_err(failed)?;
                self.runner.received.measure(bare);
                self.in_history(bare, commits)
            });
            // The answer is known. What cannot be removed now is removed when the store needs room.
            let _ = bare.remove();
            reachable
        })
    }

    fn listed(&self, bare: &Bare) -> Result<Listed, Problem> {
        let arguments = ["ls-remote", "--quiet", "--heads", "--tags", "--", REMOTE];
        let listed = self.runner.ask_server(bare, None, &arguments, b"")?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let (mut names, mut ids) = (Vec::new(), BTreeSet::new());
        for (id, name) in text.lines().filter_map(|line| line.split_once('\t')) {
            ids.extend(is_id(id).then(|| id.to_ascii_lowercase()));
            // The commit of a tag has a line of its own, which ends with `^{}`. No name of a ref has these characters.
            if !name.contains([':', '^', '*']) {
                names.push(name.to_owned());
            }
        }
        Ok(Listed { names, ids })
    }

    /// Whether each commit is reachable from what was just fetched.
    fn in_history(&self, bare: &Bare, commits: &[String]) -> Result<Vec<bool>, InstallError> {
        let (url, limit) = (&bare.url, self.runner.limits.listing_bytes);
        let run = |arguments: &[&str], lines: String| {
            let done = self.runner.run(bare, arguments, lines.into_bytes(), limit);
            done.map(|done| done.stdout).map_err(|problem| problem.error(url))
        };
        let kinds = run(&["cat-file", "--batch-check"], commits.join("\n") + "\n")?;
        let mut rest = kinds.as_slice();
        let mut there = Vec::with_capacity(commits.len());
        for _ in commits {
            let header = next_header(&mut rest);
            let header = header.ok_or_else(|| errors::not_understood(url, "the kind of an object"))?;
            there.push(matches!(header, Header::Object { kind, .. } if kind == "commit"));
        }
        if !there.contains(&true) {
            return Ok(there);
        }
        let tips = bare.fetched_ids(limit);
        let tips = tips.ok_or_else(|| errors::not_understood(url, "what it says it fetched"))?;
        let asked = commits.iter().zip(&there).filter(|(_, there)| **there).map(|(commit, _)| commit.clone());
        let lines: Vec<String> = asked.chain(tips.iter().map(|tip| format!("^{tip}"))).collect();
        // A pack may have more than was asked for: what no branch or tag leads to is listed.
        let others = run(&["rev-list", "--stdin"], lines.join("\n") + "\n")?;
        let others = String::from_utf8_lossy(&others);
        let others: BTreeSet<&str> = others.lines().collect();
        Ok(commits.iter().zip(there).map(|(commit, there)| there && !others.contains(&**commit)).collect())
    }
}
