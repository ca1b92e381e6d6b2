//! The walk: finds every SKILL.md below a folder, in a fixed order, within named limits.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_core::Origin;
use prowess_core::path::MAX_DEPTH;

use crate::env;
use crate::error::SourceError;

/// The names of the file that makes a folder a skill; the first wins when both are there.
pub const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// Folders that hold other people's history and packages, never skills of this tree.
pub const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// Folders that are walked although their name begins with a dot, because some client keeps skills there.
pub const DOT_FOLDERS: &[&str] = &[
    ".adal",
    ".agents",
    ".aider-desk",
    ".augment",
    ".autohand",
    ".bob",
    ".claude",
    ".claude-plugin",
    ".cline",
    ".codeartsdoer",
    ".codebuddy",
    ".codemaker",
    ".codestudio",
    ".codex",
    ".commandcode",
    ".continue",
    ".cortex",
    ".crush",
    ".curated",
    ".cursor",
    ".devin",
    ".experimental",
    ".factory",
    ".forge",
    ".gemini",
    ".github",
    ".goose",
    ".grok",
    ".hermes",
    ".iflow",
    ".inferencesh",
    ".jazz",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kimchi",
    ".kiro",
    ".kode",
    ".lingma",
    ".mcpjam",
    ".minimax",
    ".moxby",
    ".mux",
    ".neovate",
    ".ona",
    ".opencode",
    ".openhands",
    ".pi",
    ".pochi",
    ".posit",
    ".qoder",
    ".qwen",
    ".reasonix",
    ".roo",
    ".rovodev",
    ".system",
    ".tabnine",
    ".terramind",
    ".tinycloud",
    ".trae",
    ".vibe",
    ".windsurf",
    ".zcode",
    ".zencoder",
];

/// The limits of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// How many folders below the start are looked into.
    pub max_depth: usize,
    /// How many folders are looked into in all.
    pub max_folders: usize,
    /// How many entries are looked at in all.
    pub max_entries: usize,
    /// How many folders that do not lie below the start are looked into, through links.
    pub max_outside: usize,
}

impl ScanOptions {
    /// The limits for a folder that somebody named on purpose: a depth that no real tree reaches, and what links
    /// may add. A link to `/` must not become a walk over the whole disk.
    pub const fn named() -> Self {
        Self { max_depth: MAX_DEPTH, max_folders: usize::MAX, max_entries: usize::MAX, max_outside: 2_000 }
    }
}

impl Default for ScanOptions {
    /// The limits for a folder that is searched by itself.
    fn default() -> Self {
        Self { max_depth: 6, max_folders: 2_000, max_entries: 20_000, max_outside: 2_000 }
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The skills, sorted by path, each once.
    pub skills: Vec<Found>,
    /// What could not be looked into, and the limits that were reached.
    pub problems: Vec<SourceError>,
}

/// One SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The path of the file, beginning with the path the walk was given.
    pub path: PathBuf,
}

impl Found {
    /// The folder of the skill.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Where the skill comes from; the folder's name is found even when the path is just `SKILL.md`.
    pub fn origin(&self) -> Origin {
        let mut origin = Origin::at(self.path.to_string_lossy());
        origin.folder = env::absolute(self.folder()).file_name().map(|name| name.to_string_lossy().into());
        origin
    }
}

/// Finds every SKILL.md in a folder and below it.
///
/// Links to folders are followed. What has been reached without links is not reported again through one, so
/// a link back up the tree ends there. Skills inside the folder of another skill are found too.
pub fn scan(root: &Path, options: &ScanOptions) -> Scan {
    let mut scan = Scan::default();
    match fs::canonicalize(root) {
        Ok(real) => Walk::new(options, &mut scan).run(Place { path: root.to_owned(), real, depth: 0 }),
        Err(error) => scan.problems.push(SourceError::io(root, error)),
    }
    scan.skills.sort();
    scan
}

/// A folder to look into: the path that leads to it, and where it lies without links.
struct Place {
    path: PathBuf,
    real: PathBuf,
    depth: usize,
}

struct Walk<'a> {
    options: &'a ScanOptions,
    scan: &'a mut Scan,
    folders: VecDeque<Place>,
    /// Links wait until everything that can be reached without them is known, so that the plain path wins.
    links: VecDeque<Place>,
    linked_files: Vec<(PathBuf, PathBuf)>,
    seen: BTreeSet<PathBuf>,
    seen_files: BTreeSet<PathBuf>,
    entries: usize,
    root: PathBuf,
    outside: usize,
}

impl<'a> Walk<'a> {
    fn new(options: &'a ScanOptions, scan: &'a mut Scan) -> Self {
        Self {
            options,
            scan,
            folders: VecDeque::new(),
            links: VecDeque::new(),
            linked_files: Vec::new(),
            seen: BTreeSet::new(),
            seen_files: BTreeSet::new(),
            entries: 0,
            root: PathBuf::new(),
            outside: 0,
        }
    }

    fn run(mut self, start: Place) {
        self.root.clone_from(&start.real);
        self.folders.push_back(start);
        while let Some(place) = self.folders.pop_front().or_else(|| self.links.pop_front()) {
            if self.seen.contains(&place.real) {
                continue;
            }
            if let Err(problem) = self.look_into(place) {
                let outside = self.outside == self.options.max_outside + 1;
                let enough = matches!(problem, SourceError::TooMany { .. }) && !outside;
                self.scan.problems.push(problem);
                if enough {
                    break;
                }
            }
        }
        self.linked_files.sort();
        for (path, real) in std::mem::take(&mut self.linked_files) {
            if self.seen_files.insert(real) {
                self.scan.skills.push(Found { path });
            }
        }
    }

    fn look_into(&mut self, place: Place) -> Result<(), SourceError> {
        let Place { path, real, depth } = place;
        let limit = self.options.max_folders;
        if self.seen.len() >= limit {
            return Err(SourceError::TooMany { path, what: "folders", limit });
        }
        if !real.starts_with(&self.root) {
            self.outside += 1;
            let limit = self.options.max_outside;
            if self.outside > limit {
                // Said once; what lies below the start is still looked into.
                let first = self.outside == limit + 1;
                let what = "folders outside the start";
                return if first { Err(SourceError::TooMany { path, what, limit }) } else { Ok(()) };
            }
        }
        let failed = |error| SourceError::io(&path, error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let limit = self.options.max_entries;
            if self.entries >= limit {
                return Err(SourceError::TooMany { path, what: "entries", limit });
            }
            self.entries += 1;
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            entries.push((entry.file_name(), kind));
        }
        self.seen.insert(real.clone());
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let skill = FILE_NAMES.iter().find_map(|wanted| {
            entries
                .iter()
                .find(|(name, kind)| name == wanted && !kind.is_dir())
                .map(|(_, kind)| (wanted, kind))
        });
        if let Some((name, kind)) = skill {
            self.take(path.join(name), real.join(name), kind.is_symlink());
        }
        let mut too_deep = None;
        for (name, kind) in entries {
            if !(kind.is_dir() || kind.is_symlink()) || is_left_out(&name) {
                continue;
            }
            let below = path.join(&name);
            if kind.is_symlink() {
                // A link to a file, or to nothing, is no folder to look into.
                let Ok(real) = fs::canonicalize(&below) else { continue };
                if real.is_dir() {
                    self.push_link(Place { path: below, real, depth: depth + 1 }, &mut too_deep);
                }
            } else if depth >= self.options.max_depth {
                too_deep.get_or_insert(below);
            } else {
                self.folders.push_back(Place { real: real.join(&name), path: below, depth: depth + 1 });
            }
        }
        match too_deep {
            Some(path) => Err(SourceError::TooDeep { path, limit: self.options.max_depth }),
            None => Ok(()),
        }
    }

    fn push_link(&mut self, place: Place, too_deep: &mut Option<PathBuf>) {
        if self.seen.contains(&place.real) {
            return;
        }
        if place.depth > self.options.max_depth {
            too_deep.get_or_insert(place.path);
        } else {
            self.links.push_back(place);
        }
    }

    fn take(&mut self, path: PathBuf, real: PathBuf, linked: bool) {
        if linked {
            // A link that leads nowhere is found all the same: reading it says what is wrong.
            let target = fs::canonicalize(&real).unwrap_or(real);
            self.linked_files.push((path, target));
        } else {
            self.seen_files.insert(real);
            self.scan.skills.push(Found { path });
        }
    }
}

/// Whether a folder of this name is never looked into, unless it is the start.
fn is_left_out(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    LEFT_OUT.contains(&name) || (name.starts_with('.') && !DOT_FOLDERS.contains(&name))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn found(folder: &Path, options: &ScanOptions) -> (Vec<String>, Vec<String>) {
        let scan = scan(folder, options);
        let below = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        (
            scan.skills.iter().map(|skill| below(&skill.path)).collect(),
            scan.problems.iter().map(|problem| below(problem.path())).collect(),
        )
    }

    #[test]
    fn the_table_of_dot_folders_is_sorted() {
        assert!(DOT_FOLDERS.is_sorted());
    }

    #[test]
    fn client_folders_are_walked_and_other_hidden_ones_are_not() {
        let folder = tree(&[
            ".claude/skills/a/SKILL.md",
            ".hidden/b/SKILL.md",
            ".git/c/SKILL.md",
            "node_modules/d/SKILL.md",
            "e/Skill.md",
            "f/skill.md",
            "g/SKILL.md",
            "g/skill.md",
            "g/nested/SKILL.md",
        ]);
        let (skills, problems) = found(folder.path(), &ScanOptions::default());
        assert_eq!(skills, [".claude/skills/a/SKILL.md", "f/skill.md", "g/SKILL.md", "g/nested/SKILL.md"]);
        assert!(problems.is_empty());
        let hidden = scan(&folder.path().join(".hidden"), &ScanOptions::default());
        assert_eq!(hidden.skills.len(), 1, "a folder that was named is looked into whatever its name");
    }

    #[test]
    fn loops_end_and_a_skill_reached_twice_is_one() {
        let folder = tree(&["z/real/SKILL.md", "z/other/notes.md"]);
        symlink("z/real", folder.path().join("a-link")).unwrap();
        symlink("..", folder.path().join("z/up")).unwrap();
        symlink("self", folder.path().join("self")).unwrap();
        symlink("../real/SKILL.md", folder.path().join("z/other/SKILL.md")).unwrap();
        let (skills, problems) = found(folder.path(), &ScanOptions::default());
        assert_eq!(skills, ["z/real/SKILL.md"]);
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn a_skill_outside_the_tree_is_found_through_its_link() {
        let elsewhere = tree(&["pdf/SKILL.md"]);
        let folder = tree(&["notes.md"]);
        symlink(elsewhere.path().join("pdf"), folder.path().join("pdf")).unwrap();
        symlink("/nowhere", folder.path().join("SKILL.md")).unwrap();
        let (skills, _) = found(folder.path(), &ScanOptions::default());
        assert_eq!(skills, ["SKILL.md", "pdf/SKILL.md"]);
    }

    #[test]
    fn every_limit_is_reported_where_it_was_reached() {
        let folder = tree(&["1/2/3/SKILL.md", "a/SKILL.md", "b/SKILL.md"]);
        let depth = ScanOptions { max_depth: 2, ..ScanOptions::named() };
        let (skills, problems) = found(folder.path(), &depth);
        assert_eq!((skills.len(), problems), (2, vec!["1/2/3".to_owned()]));
        let folders = ScanOptions { max_folders: 3, ..ScanOptions::named() };
        let (skills, problems) = found(folder.path(), &folders);
        assert_eq!((skills, problems), (vec!["a/SKILL.md".to_owned()], vec!["b".to_owned()]));
        let elsewhere = tree(&["x/y/SKILL.md", "z/SKILL.md"]);
        symlink(elsewhere.path(), folder.path().join("0-link")).unwrap();
        let outside = ScanOptions { max_outside: 2, ..ScanOptions::named() };
        let (skills, problems) = found(folder.path(), &outside);
        assert_eq!((skills.len(), problems), (3, vec!["0-link/z".to_owned()]));
        let entries = ScanOptions { max_entries: 4, ..ScanOptions::named() };
        assert_eq!(found(folder.path(), &entries).1.len(), 1);
    }

    #[test]
    fn the_folder_of_a_bare_file_name_is_the_current_one() {
        let skill = Found { path: PathBuf::from("SKILL.md") };
        assert_eq!(skill.folder(), Path::new("."));
        assert_eq!(skill.origin().folder.as_deref(), Some("prowess"));
    }
}
