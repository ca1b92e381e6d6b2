//! [`Repository`]: a folder of a skill that a version control system takes for a repository. Its configuration names
//! programs, which run when an agent calls the system there.

use std::collections::BTreeMap;

use super::manifest::Manifest;

/// An entry by which a version control system knows a repository.
struct Marker {
    /// Its name, in lower case.
    name: &'static str,
    system: &'static str,
    /// Whether a skill that its user cloned is installed without it. Otherwise such a skill is refused.
    passed_over: bool,
    /// Whether it is no part of any skill: no list of files has it, and no walk enters it.
    never_listed: bool,
    /// Whether a list that is cut leaves it out first: it is a folder that the system fills.
    generated: bool,
}

/// All of them.
const MARKERS: [Marker; 10] = [
    Marker { name: ".git", system: "git", passed_over: true, never_listed: true, generated: true },
    Marker { name: ".hg", system: "Mercurial", passed_over: true, never_listed: false, generated: true },
    Marker { name: ".jj", system: "Jujutsu", passed_over: true, never_listed: false, generated: true },
    Marker { name: ".svn", system: "Subversion", passed_over: true, never_listed: false, generated: true },
    Marker { name: ".bzr", system: "Bazaar", passed_over: true, never_listed: false, generated: true },
    Marker { name: ".sl", system: "Sapling", passed_over: true, never_listed: false, generated: true },
    Marker { name: ".pijul", system: "Pijul", passed_over: false, never_listed: false, generated: true },
    Marker { name: "_darcs", system: "Darcs", passed_over: false, never_listed: false, generated: true },
    Marker { name: ".fslckout", system: "Fossil", passed_over: false, never_listed: false, generated: false },
    Marker { name: "_fossil_", system: "Fossil", passed_over: false, never_listed: false, generated: false },
];

fn has(name: &str, is_meant: impl Fn(&Marker) -> bool) -> bool {
    MARKERS.iter().any(|marker| marker.name == name && is_meant(marker))
}

/// Whether a skill that its user cloned is installed without this folder, which a version control system made.
pub fn is_passed_over(name: &str) -> bool {
    has(name, |marker| marker.passed_over)
}

/// Whether no list of files has an entry of this name, which a version control system made, and no walk enters it.
pub fn is_never_listed(name: &str) -> bool {
    has(name, |marker| marker.never_listed)
}

/// Whether a version control system fills the folder of this name.
pub(super) fn is_filled(name: &str) -> bool {
    has(name, |marker| marker.generated)
}

/// A folder that a version control system takes for a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repository {
    /// The folder, below that of the skill; `.` for the folder of the skill.
    pub folder: String,
    /// The version control system.
    pub system: &'static str,
}

/// What a folder has of the parts of a repository that has no folder of its own name.
#[derive(Default)]
struct Parts {
    head: bool,
    objects: bool,
    refs: bool,
    config: bool,
    elsewhere: bool,
    cvs: bool,
}

impl Parts {
    fn add(&mut self, name: &str, is_file: bool) {
        match (name, is_file) {
            ("head", true) => self.head = true,
            ("objects", false) => self.objects = true,
            ("refs", false) => self.refs = true,
            ("config", true) => self.config = true,
            ("commondir", true) => self.elsewhere = true,
            ("entries" | "root" | "repository", true) => self.cvs = true,
            _ => {}
        }
    }

    /// `objects` and `refs` may be empty folders, which no list of files has, or in another folder.
    fn is_bare(&self) -> bool {
        self.head && (self.config || self.elsewhere || (self.objects && self.refs))
    }
}

impl Manifest {
    /// The first folder of the files that a version control system takes for a repository, on systems that ignore case
    /// too: one with a folder such as `.hg`, or a bare repository of git.
    pub fn repository(&self) -> Option<Repository> {
        let mut folders: BTreeMap<String, Parts> = BTreeMap::new();
        for file in &self.files {
            let key: String = file.path.collision_key().chars().filter(|c| !is_ignored(*c)).collect();
            let parts: Vec<&str> = key.split('/').collect();
            for (at, name) in parts.iter().enumerate() {
                let above = parts.get(..at).unwrap_or_default();
                if let Some(marker) = MARKERS.iter().find(|marker| marker.name == *name) {
                    let folder = written(file.path.as_str(), at);
                    return Some(Repository { folder, system: marker.system });
                }
                folders.entry(above.join("/")).or_default().add(name, at + 1 == parts.len());
            }
        }
        let (folder, system) = folders.iter().find_map(|(folder, parts)| {
            let is_cvs = parts.cvs && folder.rsplit('/').next() == Some("cvs");
            let system = if parts.is_bare() { "git" } else { is_cvs.then_some("CVS")? };
            Some((folder, system))
        })?;
        let depth = if folder.is_empty() { 0 } else { folder.split('/').count() };
        // By the name that it has in a path, not by the form that is compared.
        let paths = self.files.iter().map(|file| file.path.as_str());
        let named = paths.map(|path| written(path, depth)).find(|path| path.to_lowercase() == *folder);
        let folder = named.unwrap_or_else(|| if depth == 0 { ".".to_owned() } else { folder.clone() });
        Some(Repository { folder, system })
    }
}

/// The first parts of a path.
fn written(path: &str, depth: usize) -> String {
    let parts: Vec<&str> = path.split('/').take(depth).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// Whether a file system of macOS ignores a character in a name.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::manifest::FileEntry;
    use crate::path::RelPath;

    fn repository(paths: &[&str]) -> Option<(String, &'static str)> {
        let files = paths.iter().map(|path| FileEntry::new(RelPath::parse(path).unwrap(), 1)).collect();
        Manifest::new(files).repository().map(|found| (found.folder, found.system))
    }

    #[test]
    fn what_a_version_control_system_takes_for_a_repository_is_known_in_any_folder_and_case() {
        let here = |system| Some((".".to_owned(), system));
        let bare = ["SKILL.md", "HEAD", "config", "objects/x", "refs/x"];
        assert_eq!(repository(&bare), here("git"));
        assert_eq!(repository(&["SKILL.md", "Head", "OBJECTS/x", "Refs/x"]), here("git"));
        assert_eq!(repository(&["SKILL.md", "HEAD", "CommonDir"]), here("git"));
        assert_eq!(repository(&["a/b/.HG/hgrc"]), Some(("a/b".to_owned(), "Mercurial")));
        assert_eq!(repository(&["Docs/x/HEAD", "docs/x/config"]), Some(("Docs/x".to_owned(), "git")));
        assert_eq!(repository(&["SKILL.md", "CVS/Root"]).unwrap().1, "CVS");
        for Marker { name, system, .. } in MARKERS.iter().filter(|marker| !marker.never_listed) {
            assert_eq!(repository(&["SKILL.md", &format!("{name}/x")]), here(system), "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_passed_over_in_a_clone_is_refused_elsewhere_and_listed_last() {
        for Marker { name, passed_over, never_listed, generated, .. } in MARKERS {
            assert_eq!((is_passed_over(name), is_filled(name)), (passed_over, generated), "{name}");
            assert!(generated || !passed_over, "{name}");
            assert_eq!((is_never_listed(name), never_listed), (name == ".git", name == ".git"), "{name}");
            assert_eq!(crate::files::is_generated(name), generated, "{name}");
        }
        assert!(!is_passed_over("git") && !is_passed_over(".HG"));
    }

    #[test]
    fn files_with_such_names_alone_are_no_repository() {
        for paths in [
            &["SKILL.md", "objects/x", "refs/x", "config"][..],
            &["SKILL.md", "HEAD", "a/objects/x", "a/refs/x"],
            &["SKILL.md", "HEAD", "objects", "refs"],
            &["SKILL.md", "HEAD/config"],
            &["SKILL.md", "cvs/anna.pdf", ".github/x", ".gitignore", ".hgignore", "references/git/x"],
        ] {
            assert_eq!(repository(paths), None, "{paths:?}");
        }
    }
}
