//! Whether the commits that records name are on a branch or tag of their repositories.
//!
//! A lock may have come with a repository, and forges serve the commits of forks under the address of the repository
//! that was forked. A commit that is on no branch or tag may therefore be from anyone.

use std::collections::BTreeMap;

use super::files::repository_of;
use super::git::GitVersion;
use super::{Available, Fetcher, repository};
use crate::install::error::{About, InstallError, InstallErrorKind, Relock};
use crate::install::records::Upstream;
use crate::install::spec::{InstallPlace, InstallSpec};

/// A skill whose commit a record names, without that this user fetched it before.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'c> {
    /// The skill, by the name of its folder.
    pub(crate) skill: &'c str,
    pub(crate) source: &'c Upstream,
    pub(crate) commit: &'c str,
    /// How `skills.toml` asks for it.
    pub(crate) relock: Relock,
}

impl Fetcher {
    /// An error when a commit is on no branch or tag of its repository. Each repository is asked once, whatever the number
    /// of skills and commits.
    pub(crate) fn check_reachable(&self, claims: &[Claim<'_>]) -> Result<(), InstallError> {
        let mut repositories: BTreeMap<String, BTreeMap<String, Vec<&Claim<'_>>>> = BTreeMap::new();
        for claim in claims {
            let (url, version) = repository_of(claim.source, Some(claim.commit))?;
            let commits = repositories.entry(url).or_default();
            commits.entry(version.refspec().to_owned()).or_default().push(claim);
        }
        for (url, claimed) in repositories {
            if self.options.offline {
                return Err(repository::needs_network(&url));
            }
            let commits: Vec<String> = claimed.keys().cloned().collect();
            let reachable = self.git.reachable(&url, &commits)?;
            let unreachable = |at: usize| reachable.get(at) != Some(&true);
            let strange = claimed.iter().enumerate().find(|(at, _)| unreachable(*at));
            if let Some((_, (commit, claims))) = strange {
                return Err(self.unreachable(&url, commit, claims));
            }
        }
        Ok(())
    }

    /// The commit of a source, if the user asked for it by its id or by a ref such as `refs/pull/1/head`, and it is not
    /// known to be on a branch or tag.
    pub(crate) fn unverified_commit(&self, available: &Available) -> Option<String> {
        let repository = available.place.git().filter(|repository| repository.is_named_by_commit())?;
        let commit = repository.commit.clone();
        // Without an answer it is not known. The commit itself may have been on this machine.
        let reachable = self.git.reachable(&repository.url, std::slice::from_ref(&commit));
        Some(commit).filter(|_| !matches!(reachable.as_deref(), Ok([true])))
    }

    fn unreachable(&self, url: &str, commit: &str, claims: &[&Claim<'_>]) -> InstallError {
        let names: Vec<&str> = claims.iter().map(|claim| claim.skill).collect();
        let names = names.join(", ");
        let message =
            format!("this commit is on no branch or tag of its repository: {names}: {url} @{commit}");
        let cause = "either upstream rewrote its history since (a force-push or a moved tag), or the commit is from a \
                     fork: forges serve those under the same address";
        let hint = "if upstream rewrote its history, add the skill again, which locks what is there now; otherwise do \
                    not install it";
        // The list of refs says which of the versions that were asked for are still there.
        let refs = self.git.refs(url).unwrap_or_default();
        let relocks = claims.iter().map(|claim| {
            let Relock { spec, alias } = &claim.relock;
            Relock { spec: self.with_known_version(url, spec.clone(), &refs), alias: alias.clone() }
        });
        InstallError::new(InstallErrorKind::Unreachable, message, hint)
            .because(cause)
            .about(About::Relocks(relocks.collect()))
    }

    /// A spec without a version that is no branch or tag of the repository.
    fn with_known_version(&self, url: &str, mut spec: InstallSpec, refs: &[String]) -> InstallSpec {
        let is_ref = |version: &String| {
            let starts = ["refs/heads/", "refs/tags/"];
            refs.iter().any(|name| {
                name == version || starts.iter().any(|start| name.strip_prefix(start) == Some(version))
            })
        };
        if spec.tree.is_some() {
            // The address of a folder's page has version and folder in one text.
            match self.wanted(url, &spec) {
                Ok((GitVersion::Ref(_), ..)) => {}
                other => (spec.tree, spec.path) = (None, other.ok().and_then(|(_, path, _)| path)),
            }
        }
        if let InstallPlace::Reference(skill) = &mut spec.place {
            skill.version = skill.version.take().filter(is_ref);
        }
        spec.reference = spec.reference.take().filter(is_ref);
        spec
    }
}
