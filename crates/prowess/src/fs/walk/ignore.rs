//! `.gitignore`: which folders a walk skips on request.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use prowess_core::path::Glob;

use crate::fs::dir::{Folder, Links, Name};
use crate::fs::read::read_text;

const FILE: &str = ".gitignore";
/// The largest `.gitignore` that is read, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The rules of one `.gitignore`, and those of the folders above it.
#[derive(Debug)]
pub(super) struct Ignores {
    folder: PathBuf,
    rules: Vec<Rule>,
    above: Option<Rc<Ignores>>,
}

#[derive(Debug)]
struct Rule {
    glob: Glob,
    leaves_out: bool,
}

impl Ignores {
    /// The rules for the entries of a folder: those of its own `.gitignore`, and those above it.
    pub(super) fn of(
        folder: &Folder,
        path: &Path,
        names: &[Name],
        above: Option<&Rc<Self>>,
    ) -> Option<Rc<Self>> {
        let own = names.iter().any(|name| name.name == FILE);
        let file = own.then(|| folder.open_below(Path::new(FILE), Links::Refuse).ok()).flatten();
        match file.and_then(|file| read_text(file, MAX_BYTES)) {
            Some(text) => Some(Rc::new(Self::new(path, &text, above.cloned()))),
            None => above.cloned(),
        }
    }

    fn new(folder: &Path, text: &str, above: Option<Rc<Self>>) -> Self {
        Self { folder: folder.to_owned(), rules: text.lines().filter_map(Rule::parse).collect(), above }
    }

    /// Whether a folder is ignored. The last matching rule counts, and the file that is closer to the folder counts
    /// first.
    pub(super) fn leaves_out(&self, path: &Path) -> bool {
        self.decide(path).unwrap_or(false)
    }

    fn decide(&self, path: &Path) -> Option<bool> {
        let below = path.strip_prefix(&self.folder).ok()?;
        let segments: Vec<_> = below.iter().map(|segment| segment.to_string_lossy()).collect();
        let below = segments.join("/");
        let own = self.rules.iter().rev().find(|rule| rule.glob.matches(&below)).map(|rule| rule.leaves_out);
        own.or_else(|| self.above.as_ref().and_then(|above| above.decide(path)))
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (leaves_out, pattern) = match line.strip_prefix('!') {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix('\\').unwrap_or(line)),
        };
        let pattern = pattern.trim_end_matches('/');
        // A pattern with a slash is relative to its folder. One without matches anywhere below.
        let glob = match pattern.strip_prefix('/') {
            Some(anchored) => anchored.to_owned(),
            None if pattern.contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        };
        Glob::parse(&glob).ok().map(|glob| Self { glob, leaves_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rule_of_the_closest_file_counts() {
        let above =
            Rc::new(Ignores::new(Path::new("/p"), "# c\ntarget/\n/build\nvendor/*\n!vendor/ours\n", None));
        let out = |path: &str| above.leaves_out(Path::new(path));
        assert!(out("/p/target") && out("/p/a/target") && out("/p/build") && out("/p/vendor/x"));
        assert!(!out("/p/a/build") && !out("/p/vendor/ours") && !out("/p/src") && !out("/q/target"));
        let near = Ignores::new(Path::new("/p/a"), "!target\n", Some(Rc::clone(&above)));
        assert!(!near.leaves_out(Path::new("/p/a/target")));
    }
}
