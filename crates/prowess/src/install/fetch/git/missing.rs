//! Errors for branches, tags and commits that a repository does not have.

use prowess_core::text::similar;

use crate::error::first_of;
use crate::install::error::{About, InstallError, InstallErrorKind};

/// The most branches and tags that are named.
const MAX_NAMED: usize = 3;

/// The error for a branch or tag that leads to a file or a folder.
pub(in crate::install::fetch) fn leads_to_no_commit(url: &str, wanted: &str) -> InstallError {
    let message = format!("this branch or tag is no commit: {url}: {wanted}");
    let hint = "it leads to a file or a folder; choose another branch, tag or commit";
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// The error for a branch, tag or commit that does not exist.
pub(in crate::install::fetch) fn unknown_ref(url: &str, wanted: &str, names: &[String]) -> InstallError {
    let short = |name: &'_ str| -> String {
        ["refs/heads/", "refs/tags/"]
            .iter()
            .find_map(|start| name.strip_prefix(start))
            .unwrap_or(name)
            .to_owned()
    };
    let names: Vec<String> = names.iter().map(|name| short(name)).collect();
    if names.is_empty() {
        let message = format!("the repository is empty, or no git server answers at this address: {url}");
        let hint = "check the address; a page to sign in, or of a proxy, looks like an empty repository";
        return InstallError::new(InstallErrorKind::NotFound, message, hint);
    }
    let near = similar(&short(wanted), names.iter().map(String::as_str));
    let all = || names.iter().map(String::as_str).collect();
    let shown = first_of(if near.is_empty() { all() } else { near }, MAX_NAMED);
    let message = format!("the repository has no such branch or tag: {url}: {wanted}");
    let hint = format!("there is {shown}; a commit is written with all its digits");
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// The error for a commit that does not exist, or no longer does.
pub(in crate::install::fetch) fn no_commit(url: &str, id: &str) -> InstallError {
    let message = format!("the repository does not have this commit: {url}: {id}");
    let hint = "choose another branch, tag or commit";
    InstallError::new(InstallErrorKind::NotFound, message, hint).about(About::Commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_are_not_named_are_counted() {
        let names = |count: usize| (0..count).map(|at| format!("refs/heads/b{at}")).collect::<Vec<_>>();
        let hint = |count| unknown_ref("https://h/x.git", "zzzzzzzz", &names(count)).hint().to_string();
        assert!(hint(3).starts_with("there is b0, b1, b2; a commit"), "{}", hint(3));
        assert!(hint(10).starts_with("there is b0, b1, b2 and 7 more; a commit"), "{}", hint(10));
    }
}
