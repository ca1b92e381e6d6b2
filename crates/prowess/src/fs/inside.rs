//! Which real paths of a project may be written: those in it, and not in its `.git`. Every command that writes in a
//! project asks here.

use std::fs;
use std::path::{Path, PathBuf};

use crate::env;
use crate::error::shown;

/// Whether a real path is in the real folder of a project, and not in a folder `.git`. A repository can contain links to
/// anything in the project, but not the files of `.git`: its hooks and its configuration run programs.
pub fn is_inside(real: &Path, project: &Path) -> bool {
    real.strip_prefix(project)
        .is_ok_and(|below| !below.iter().any(|part| part.to_string_lossy().eq_ignore_ascii_case(".git")))
}

/// A link of a project through which nothing is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a link leads {}: {}: {}", if *.into_git { "into .git" } else { "out of the project" }, shown(.link), shown(.target))]
#[non_exhaustive]
pub struct LeadsOut {
    /// The link, or the path if a link above it is not known.
    pub link: PathBuf,
    /// Where it leads.
    pub target: PathBuf,
    /// Whether that is the project's `.git`.
    pub into_git: bool,
}

impl LeadsOut {
    /// A link that leads to a real path, which is not inside of the real folder of a project.
    pub(crate) fn new(link: &Path, target: &Path, project: &Path) -> Self {
        Self { link: link.to_owned(), target: target.to_owned(), into_git: target.starts_with(project) }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "remove the link, or let it lead to a place inside of the project"
    }
}

/// Whether a path, which need not exist, leads out of a project or into its `.git`, and by which link.
pub fn leads_out(path: &Path, project: &Path) -> Option<LeadsOut> {
    let base = fs::canonicalize(project).ok()?;
    let refused = |at: &Path| env::resolved(at).filter(|target| !is_inside(target, &base));
    let parts: Vec<&Path> = path.ancestors().collect();
    let below = parts.iter().rev().filter(|at| at.starts_with(project) && **at != project);
    let mut links = below.filter(|at| at.is_symlink());
    if let Some((link, target)) = links.find_map(|link| Some((link, refused(link)?))) {
        return Some(LeadsOut::new(link, &target, &base));
    }
    // The path may be written in another way than that of the project.
    refused(path).map(|target| LeadsOut::new(path, &target, &base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_git_is_not_inside_of_a_project_in_any_case() {
        let is_inside = |path: &str| is_inside(Path::new(path), Path::new("/work/.git/p"));
        for path in ["/work/.git/p", "/work/.git/p/a", "/work/.git/p/.github", "/work/.git/p/x.git/a"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["/work", "/work/.git/p2", "/work/.git/p/.git", "/work/.git/p/a/.Git/hooks"] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_link_that_leads_out_is_named_wherever_it_is_on_the_path() {
        use std::os::unix::fs::symlink;

        let world = tempfile::tempdir().unwrap();
        let world = fs::canonicalize(world.path()).unwrap();
        let at = |path: &str| world.join(path);
        for folder in ["p/.git/hooks", "p/in", "out"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (target, link) in
            [("../out", "p/away"), (".git", "p/git"), ("in", "p/fine"), ("../git/hooks", "p/in/hooks")]
        {
            symlink(target, at(link)).unwrap();
        }
        // Links to what is still to be made, one by way of another, and one to itself.
        for (target, link) in [
            ("in/new", "p/soon"),
            ("../out/new", "p/soon-away"),
            ("soon-git", "p/by"),
            ("./in/../.git/hooks/new", "p/soon-git"),
            ("loop", "p/loop"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let of = |path: &str| leads_out(&at(path), &at("p"));
        for path in
            ["p", "p/new", "p/in/new/file", "p/fine", "p/fine/new", "p/.github/x", "p/soon", "p/loop/x"]
        {
            assert_eq!(of(path), None, "{path}");
        }
        for (path, link, target, into_git) in [
            ("p/away/a/b", "p/away", "out", false),
            ("p/git/config", "p/git", "p/.git", true),
            ("p/fine/hooks/pre-commit", "p/fine/hooks", "p/.git/hooks", true),
            ("p/soon-away", "p/soon-away", "out/new", false),
            ("p/soon-git/x", "p/soon-git", "p/.git/hooks/new", true),
            ("p/by", "p/by", "p/.git/hooks/new", true),
            ("out/x", "out/x", "out/x", false),
        ] {
            let (link, target) = (at(link), at(target));
            assert_eq!(of(path), Some(LeadsOut { link, target, into_git }), "{path}");
        }
    }
}
