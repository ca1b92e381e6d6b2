//! Which commits are on the branches and tags of a repository.
//!
//! A forge serves a commit of every fork under the address of the repository that was forked, so that a server has a
//! commit says nothing about who made it. Only branches and tags do: they are what the owners of a repository publish.

use std::collections::BTreeSet;

use super::clone::{Bare, REMOTE};
use super::command::GitCommand;
use super::errors::{self, Problem};
use super::output::{Header, next_header};
use super::{GitVersion, is_id};
use crate::install::error::InstallError;

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
