//! Which version of a repository a spec means: a branch, a tag or a commit, and the folder in it.

use prowess_core::RelPath;

use super::git::{self, GitVersion};
use super::{Fetcher, repository};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::spec::{InstallPlace, InstallSpec, SkillRef, checked_reference};

/// Adds the version and the folder that a user asked for to the place that a reference refers to.
pub(super) fn merge(
    place: &mut InstallSpec,
    asked: &InstallSpec,
    skill: &SkillRef,
) -> Result<(), InstallError> {
    let version = match (&skill.version, &asked.reference) {
        (Some(one), Some(other)) if one != other => {
            return Err(refused(&format!("it names two versions: {skill}: {other}"), "name one of them"));
        }
        (one, other) => one.as_ref().or(other.as_ref()),
    };
    check_tree(place, (version.map(String::as_str), asked.path.as_ref()))?;
    if let Some(version) = version {
        if matches!(place.place, InstallPlace::Folder(_)) {
            let reason = format!("a folder has no versions: {skill}: {version}: {place}");
            return Err(refused(&reason, "leave out the version"));
        }
        place.reference = Some(version.clone());
    }
    if let Some(below) = &asked.path {
        let path = place.path.as_ref().map_or_else(|| Ok(below.clone()), |path| path.join(below.as_str()));
        let path = path.map_err(|error| refused(&error.to_string(), error.hint()))?;
        place.path = Some(path);
    }
    Ok(())
}

/// An error when a version or a folder is added to the address of a folder's page, which names both already.
pub(super) fn check_tree(
    place: &InstallSpec,
    (version, path): (Option<&str>, Option<&RelPath>),
) -> Result<(), InstallError> {
    let more = version.or_else(|| path.map(RelPath::as_str)).filter(|_| place.tree.is_some());
    match more {
        Some(more) => {
            let reason =
                format!("the address of a folder names its version and its path already: {place}: {more}");
            Err(refused(&reason, "leave out one of them, or give the address of the repository"))
        }
        None => Ok(()),
    }
}

fn refused(reason: &str, hint: &'static str) -> InstallError {
    InstallError::new(InstallErrorKind::Request, reason, hint)
}

impl Fetcher {
    /// The commit and the folder that a spec refers to. The address of a folder's page has both in one text: the
    /// longest ref at its beginning counts. If that is a branch and a tag has the same name, the whole name of the branch
    /// is returned too: the short one would mean the tag.
    pub(super) fn wanted(
        &self,
        url: &str,
        spec: &InstallSpec,
    ) -> Result<(GitVersion, Option<RelPath>, Option<String>), InstallError> {
        let Some(tree) = &spec.tree else {
            // A program may have set it without parsing.
            let reference = spec.reference.as_deref().map(checked_reference).transpose()?;
            return Ok((reference.map_or(GitVersion::Default, GitVersion::of), spec.path.clone(), None));
        };
        let first = tree.split('/').next().unwrap_or_default();
        let (wanted, rest, whole_ref) = if git::is_id(first) {
            (GitVersion::of(first), tree.strip_prefix(first), None)
        } else {
            if self.options.offline {
                return Err(repository::needs_network(url));
            }
            let refs = self.git.refs(url)?;
            let begins = |name: &&String| {
                let short = ["refs/heads/", "refs/tags/"].iter().find_map(|start| name.strip_prefix(start));
                short
                    .and_then(|short| tree.strip_prefix(short))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            // A branch precedes a tag of the same name, as on the page.
            let name = refs.iter().filter(begins).max_by_key(|name| {
                (
                    name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/")).map_or(0, str::len),
                    name.starts_with("refs/heads/"),
                )
            });
            let Some(name) = name else { return Err(git::unknown_ref(url, tree, &refs)) };
            let short = name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/")).unwrap_or(name);
            let is_both = name.starts_with("refs/heads/") && refs.contains(&format!("refs/tags/{short}"));
            (GitVersion::Ref(name.clone()), tree.strip_prefix(short), is_both.then(|| name.clone()))
        };
        let path = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty());
        let path = path.map(RelPath::parse).transpose().map_err(|error| {
            InstallError::new(
                InstallErrorKind::Request,
                format!("this folder is not read: {error}"),
                error.hint(),
            )
        })?;
        Ok((wanted, path, whole_ref))
    }
}
