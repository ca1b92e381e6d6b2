//! Which real paths of a project an installation may write.

use std::path::Path;

/// Whether a real path is in the real folder of a project, and not in a folder `.git`. A repository can contain links to
/// anything in the project, but not the files of `.git`: its hooks and its configuration run programs.
pub(crate) fn is_inside(real: &Path, project: &Path) -> bool {
    real.strip_prefix(project)
        .is_ok_and(|below| !below.iter().any(|part| part.to_string_lossy().eq_ignore_ascii_case(".git")))
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
}
