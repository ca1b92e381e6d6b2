//! The files of a skill: path, size, mode and digest of each. One type for listing, approvals, MCP, lock and verify.

use serde::{Deserialize, Serialize};

use super::repository;
use crate::digest::Digest;
use crate::path::RelPath;

/// What a file is for, by its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileKind {
    /// Below `scripts/`.
    Script,
    /// Below `references/`.
    Reference,
    /// Below `assets/`.
    Asset,
    /// Anywhere else.
    Other,
}

impl FileKind {
    /// The kind of the file at a path.
    pub fn of(path: &RelPath) -> Self {
        match path.as_str().split_once('/').map(|(top, _)| top) {
            Some("scripts") => Self::Script,
            Some("references") => Self::Reference,
            Some("assets") => Self::Asset,
            _ => Self::Other,
        }
    }
}

/// Folders that tools fill by themselves: caches, virtual environments, packages, histories. A list of a skill's files
/// that is cut leaves these out first, and those of version control systems.
const GENERATED: [&str; 11] = [
    ".cache",
    ".eggs",
    ".gradle",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "__pycache__",
    "node_modules",
];

/// Whether a folder of this name is filled by a tool, such as `.venv` or `__pycache__`.
pub fn is_generated(name: &str) -> bool {
    GENERATED.contains(&name) || repository::is_filled(name)
}

/// The place of a file in a list that is cut: scripts, references, assets, other files, then generated ones.
fn rank(file: &FileEntry) -> u8 {
    let generated = file.path.components().any(is_generated);
    match file.kind {
        _ if generated => 4,
        FileKind::Script => 0,
        FileKind::Reference => 1,
        FileKind::Asset => 2,
        FileKind::Other => 3,
    }
}

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileEntry {
    /// Its path below the skill's folder.
    pub path: RelPath,
    /// Its size in bytes; 0 when that is not known.
    pub size: u64,
    /// Whether its size is not known: its source lists files that it has not fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmeasured: bool,
    /// Whether it may be executed.
    #[serde(default)]
    pub executable: bool,
    /// The digest of its bytes, when it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// What it is for.
    pub kind: FileKind,
}

impl FileEntry {
    /// A file of this path and size.
    pub fn new(path: RelPath, size: u64) -> Self {
        let kind = FileKind::of(&path);
        Self { path, size, unmeasured: false, executable: false, digest: None, kind }
    }

    /// A file of this path, whose size is not known yet.
    pub fn unmeasured(path: RelPath) -> Self {
        Self { unmeasured: true, ..Self::new(path, 0) }
    }

    /// Sets its size and digest, once its bytes were read.
    pub fn measure(&mut self, size: u64, digest: Digest) {
        (self.size, self.digest, self.unmeasured) = (size, Some(digest), false);
    }
}

/// The usual names of a skill's own file.
const OWN: [&str; 2] = ["SKILL.md", "skill.md"];

/// The files of a skill, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The files, sorted by path, each once.
    pub files: Vec<FileEntry>,
    /// What is in the folder and is not a file of the skill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The skill's own file, when it is called neither `SKILL.md` nor `skill.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<RelPath>,
    /// Whether a limit cut the list, so that files are missing from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// Something in a skill's folder that is left out of its files: it is not listed, not installed and not served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// Its path below the skill's folder, safe to show.
    pub path: String,
    /// Why it is left out.
    pub reason: String,
    /// Whether it could not be read, so that it may contain files of the skill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
}

impl LeftOut {
    /// Something that is left out for a reason.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into(), unreadable: false }
    }

    /// Returns it with this [`unreadable`](Self::unreadable).
    #[must_use]
    pub fn with_unreadable(mut self, unreadable: bool) -> Self {
        self.unreadable = unreadable;
        self
    }
}

impl Manifest {
    /// A manifest of these files. They are sorted, and each path is kept once.
    pub fn new(mut files: Vec<FileEntry>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Self { files, left_out: Vec::new(), own: None, incomplete: false }
    }

    /// Sets what is left out.
    #[must_use]
    pub fn with_left_out(mut self, left_out: Vec<LeftOut>) -> Self {
        self.left_out = left_out;
        self
    }

    /// Returns it with this [`incomplete`](Self::incomplete).
    #[must_use]
    pub fn with_incomplete(mut self, incomplete: bool) -> Self {
        self.incomplete = incomplete;
        self
    }

    /// The file at a path.
    pub fn get(&self, path: &RelPath) -> Option<&FileEntry> {
        self.files.binary_search_by(|file| file.path.cmp(path)).ok().and_then(|at| self.files.get(at))
    }

    /// Sets the name of the skill's own file.
    #[must_use]
    pub fn with_own(mut self, own: &str) -> Self {
        self.own = if OWN.contains(&own) { None } else { RelPath::parse(own).ok() };
        self
    }

    /// The skill's own file.
    pub fn own(&self) -> Option<&FileEntry> {
        match &self.own {
            Some(own) => self.get(own),
            // With both names, the first one is the skill's own file.
            None => {
                OWN.into_iter().find_map(|name| self.files.iter().find(|file| file.path.as_str() == name))
            }
        }
    }

    /// The files beside the skill's own.
    pub fn others(&self) -> impl Iterator<Item = &FileEntry> {
        let own = self.own().map(|own| &own.path);
        self.files.iter().filter(move |file| Some(&file.path) != own)
    }

    /// The files beside the skill's own, sorted by path; of more than `most`, scripts, references and assets come first,
    /// and what tools generate comes last.
    pub fn most_useful(&self, most: usize) -> Vec<&FileEntry> {
        let mut files = self.by_use();
        files.truncate(most);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }

    /// The files beside the skill's own, the most useful first: scripts, references and assets, then the others, and at
    /// last what tools generate.
    pub fn by_use(&self) -> Vec<&FileEntry> {
        let mut files: Vec<&FileEntry> = self.others().collect();
        files.sort_by_key(|file| rank(file));
        files
    }

    /// Whether a path names a file, or a folder with a file in it.
    pub fn contains(&self, path: &RelPath) -> bool {
        if self.get(path).is_some() {
            return true;
        }
        // The files of a folder are neighbours: their paths begin with its name and a slash.
        let below = format!("{path}/");
        let first = self.files.partition_point(|file| file.path.as_str() < below.as_str());
        self.files.get(first).is_some_and(|file| file.path.as_str().starts_with(&below))
    }

    /// Whether a path may name a file that could not be read: it is unreadable, or in a folder that is.
    pub fn may_contain(&self, path: &RelPath) -> bool {
        let holds = |left: &LeftOut| {
            path.as_str()
                .strip_prefix(&*left.path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.left_out.iter().any(|left| left.unreadable && holds(left))
    }

    /// The sum of the sizes.
    pub fn total_size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_keeps_scripts_and_drops_what_tools_generate() {
        let file = |path: &str| FileEntry::new(RelPath::parse(path).unwrap(), 1);
        let cache = (0..150).map(|at| file(&format!(".venv/lib/m{at}.py")));
        let compiled = (0..150).map(|at| file(&format!("scripts/__pycache__/m{at}.pyc")));
        let own = ["SKILL.md", "data/x.csv", "scripts/run.py", "references/a.md", "assets/a.png"].map(file);
        let manifest = Manifest::new(cache.chain(compiled).chain(own).collect());
        let kept = |most| -> Vec<String> {
            manifest.most_useful(most).iter().map(|file| file.path.to_string()).collect()
        };
        assert_eq!(kept(4), ["assets/a.png", "data/x.csv", "references/a.md", "scripts/run.py"]);
        assert_eq!(kept(1), ["scripts/run.py"]);
        assert_eq!(kept(usize::MAX).len(), 304);
    }

    #[test]
    fn files_are_sorted_found_and_classified() {
        let file = |path: &str, size| FileEntry::new(RelPath::parse(path).unwrap(), size);
        let manifest = Manifest::new(vec![
            file("scripts/a.py", 3),
            file("SKILL.md", 5),
            file("references/x/y.md", 1),
            file("SKILL.md", 5),
        ]);
        let paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "references/x/y.md", "scripts/a.py"]);
        assert_eq!(manifest.total_size(), 9);
        assert_eq!(manifest.files[1].kind, FileKind::Reference);
        assert!(manifest.contains(&RelPath::parse("references/x").unwrap()));
        assert!(!manifest.contains(&RelPath::parse("refer").unwrap()));
    }
}
