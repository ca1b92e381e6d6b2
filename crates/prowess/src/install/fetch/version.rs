//! Which version of a repository a spec means: a branch, a tag or a commit, and the folder in it.

use prowess_core::RelPath;

use super::git::{self, Wanted};
use super::{Fetcher, repository};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::spec::{InstallSpec, checked_reference};

impl Fetcher {
    /// The commit and the folder that a spec refers to. The address of a folder's page has both in one text: the
    /// longest ref at its beginning counts.
    pub(super) fn wanted(
        &self,
        url: &str,
        spec: &InstallSpec,
    ) -> Result<(Wanted, Option<RelPath>), InstallError> {
        let Some(tree) = &spec.tree else {
            // A program may have set it without parsing.
            let reference = spec.reference.as_deref().map(checked_reference).transpose()?;
            return Ok((reference.map_or(Wanted::Default, Wanted::of), spec.path.clone()));
        };
        let first = tree.split('/').next().unwrap_or_default();
        let (wanted, rest) = if git::is_id(first) {
            (Wanted::of(first), tree.strip_prefix(first))
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
            (Wanted::Ref(name.clone()), tree.strip_prefix(short))
        };
        let path = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty());
        let path = path.map(RelPath::parse).transpose().map_err(|error| {
            InstallError::new(
                InstallErrorKind::Request,
                format!("this folder is not read: {error}"),
                error.hint(),
            )
        })?;
        Ok((wanted, path))
    }
}
