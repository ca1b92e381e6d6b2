//! The environment of the process: the only room that reads it.

use std::path::{Component, Path, PathBuf};

/// The absolute form of a path, by its letters alone: `.` and `..` are resolved, links are not.
///
/// Configuration is looked for above the path as the user wrote it, not above where a link leads.
pub fn absolute(path: &Path) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_up_are_resolved_and_the_root_has_no_parent() {
        assert_eq!(absolute(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/../..")), Path::new("/"));
        assert!(absolute(Path::new("x")).is_absolute());
    }
}
