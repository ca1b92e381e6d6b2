//! The contents of a folder or a repository: which skills are in it, and the files of each with links resolved.
//!
//! Folders on disk and trees of git are read by the same rules. A link to a file or folder inside is replaced by its
//! target. A link that is absolute, leads out, to nothing or in a circle is an error that names it; so is everything
//! that is neither a file, nor a folder, nor a link.

use std::collections::VecDeque;
use std::sync::Arc;

use prowess_core::RelPath;

use super::tree::{InstallLimits, refused};
use crate::fs::walk::{FILE_NAMES, is_no_part};
use crate::install::error::{InstallError, InstallErrorKind};

/// The most links that are followed to resolve one.
const MAX_LINKS: usize = 40;
/// Never searched: it holds the history of the folder, and often secrets.
const GIT: &str = ".git";

/// The limits of the search for skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FindLimits {
    /// The number of levels below the start.
    pub(crate) depth: usize,
    /// The number of folders in total.
    pub(crate) folders: usize,
    /// The number of entries in total.
    pub(crate) entries: usize,
}

impl Default for FindLimits {
    fn default() -> Self {
        Self { depth: 6, folders: 20_000, entries: 200_000 }
    }
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File {
        executable: bool,
    },
    Folder,
    Link,
    /// Anything that is never installed, in words.
    Other(&'static str),
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The id of its object in a repository; empty on disk.
    pub(super) id: String,
}

/// A folder or a repository. Paths are relative to it, with `/` between names, and contain no links; the empty path is
/// the root.
pub(super) trait Contents {
    /// The entries of a folder.
    fn list(&mut self, folder: &str) -> Result<Arc<[Item]>, InstallError>;

    /// Whether an entry is no part of a skill and is left out: a folder on disk may be a repository. A tree of git has
    /// such an entry only if someone wants to harm.
    fn is_passed_over(&self, item: &Item) -> bool {
        item.name == GIT && !matches!(item.kind, Kind::Other(_))
    }

    /// The target of a link. None when it must be fetched first; then it is fetched with the next files.
    fn target(&mut self, folder: &str, link: &Item) -> Result<Option<String>, InstallError>;
}

/// A file of a skill, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Its path below the skill's folder.
    pub(super) path: RelPath,
    /// The path to read it at, without links.
    pub(super) real: String,
    pub(super) item: Item,
}

/// A folder with a SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillFolder {
    /// Its path; empty for the start itself.
    pub(super) path: String,
    /// Its SKILL.md, which may be a link.
    pub(super) file: Item,
}

/// Folders that could not be read, and why.
pub(super) type Unread = Vec<(String, InstallError)>;

/// Every folder with a SKILL.md at or below a start, sorted by path, and the folders that could not be read.
pub(super) fn skills_below(
    contents: &mut dyn Contents,
    start: &str,
    limits: &FindLimits,
) -> Result<(Vec<SkillFolder>, Unread), InstallError> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    let mut todo = VecDeque::from([(start.to_owned(), 0)]);
    let (mut folders, mut entries) = (0, 0);
    while let Some((folder, depth)) = todo.pop_front() {
        let items = match contents.list(&folder) {
            // One that cannot be read is no reason to refuse a skill beside it.
            Err(error) if error.kind() == InstallErrorKind::Io && folder != start => {
                unread.push((folder, error));
                continue;
            }
            items => items?,
        };
        (folders, entries) = (folders + 1, entries + items.len());
        if folders > limits.folders || entries > limits.entries {
            let message = format!(
                "there is too much to look for skills in: more than {} folders or {} entries",
                limits.folders, limits.entries
            );
            let hint = "name the folder of the skill: owner/repo/path, or ./folder";
            return Err(InstallError::new(InstallErrorKind::TooLarge, message, hint));
        }
        let own = |name: &&str| {
            let is_own =
                |item: &&Item| item.name == *name && matches!(item.kind, Kind::File { .. } | Kind::Link);
            items.iter().find(is_own).cloned()
        };
        if let Some(file) = FILE_NAMES.iter().find_map(own) {
            found.push(SkillFolder { path: folder.clone(), file });
        }
        if depth < limits.depth {
            let below = items.iter().filter(|item| item.kind == Kind::Folder);
            let below = below.filter(|item| !is_no_part(&item.name));
            todo.extend(below.map(|item| (joined(&folder, &item.name), depth + 1)));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((found, unread))
}

/// The files of a skill, with links resolved, and whether the list is complete: a link that must be fetched first is
/// missing until then.
pub(super) fn files_of(
    contents: &mut dyn Contents,
    folder: &str,
    limits: &InstallLimits,
) -> Result<(Vec<Planned>, bool), InstallError> {
    let mut gathering = Gathering { contents, limits, files: Vec::new(), folders: 0, whole: true };
    gathering.folder(folder, None, &mut Vec::new())?;
    Ok((gathering.files, gathering.whole))
}

/// The path of SKILL.md without links; none when a link to it must be fetched first.
pub(super) fn file_at(
    contents: &mut dyn Contents,
    folder: &str,
    item: &Item,
) -> Result<Option<(String, Item)>, InstallError> {
    match item.kind {
        Kind::Link => Ok(follow(contents, folder, item)?.and_then(|(real, to)| Some((real, to?)))),
        _ => Ok(Some((joined(folder, &item.name), item.clone()))),
    }
}

struct Gathering<'c> {
    contents: &'c mut dyn Contents,
    limits: &'c InstallLimits,
    files: Vec<Planned>,
    folders: usize,
    whole: bool,
}

impl Gathering<'_> {
    /// `below` is the path of the folder in the skill, `within` are the real folders above it.
    fn folder(
        &mut self,
        folder: &str,
        below: Option<&RelPath>,
        within: &mut Vec<String>,
    ) -> Result<(), InstallError> {
        self.folders += 1;
        // Links can make a folder appear any number of times.
        if self.folders > self.limits.files {
            self.limits.check_sum(self.folders, 0)?;
        }
        within.push(folder.to_owned());
        for item in self.contents.list(folder)?.iter() {
            if !self.contents.is_passed_over(item) {
                self.item(folder, item, below, within)?;
            }
        }
        within.pop();
        Ok(())
    }

    fn item(
        &mut self,
        folder: &str,
        item: &Item,
        below: Option<&RelPath>,
        within: &mut Vec<String>,
    ) -> Result<(), InstallError> {
        let real = joined(folder, &item.name);
        if let Kind::Other(what) = item.kind {
            return Err(refused(format!("{what} is never installed: {real}")));
        }
        let path = below.map_or_else(|| RelPath::parse(&item.name), |below| below.join(&item.name));
        let path = path.map_err(|error| {
            refused(format!(
                "a name in the skill is not safe on every system: {real}: {}",
                error.rule().problem()
            ))
        })?;
        self.limits.check_file(path.as_str(), 0)?;
        match item.kind {
            Kind::File { .. } => self.file(path, real, item.clone()),
            Kind::Folder => self.folder(&real, Some(&path), within),
            _ => match follow(self.contents, folder, item)? {
                None => {
                    self.whole = false;
                    Ok(())
                }
                Some((real, Some(file))) => self.file(path, real, file),
                Some((to, None)) if within.contains(&to) => Err(circle(&real)),
                Some((to, None)) => self.folder(&to, Some(&path), within),
            },
        }
    }

    fn file(&mut self, path: RelPath, real: String, item: Item) -> Result<(), InstallError> {
        self.files.push(Planned { path, real, item });
        self.limits.check_sum(self.files.len(), 0)
    }
}

/// Follows a link to its target: the real path, and the file if it is one. None when a link on the way must be fetched
/// first.
fn follow(
    contents: &mut dyn Contents,
    folder: &str,
    link: &Item,
) -> Result<Option<(String, Option<Item>)>, InstallError> {
    let named = joined(folder, &link.name);
    let mut at: Vec<String> = folder.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut todo = VecDeque::from([link.name.clone()]);
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        match name.as_str() {
            ".." if at.pop().is_none() => return Err(bad_link("leads out of the repository", &named)),
            "" | "." | ".." => continue,
            GIT => return Err(bad_link("leads into .git", &named)),
            _ => {}
        }
        let here = at.join("/");
        let items = contents.list(&here)?;
        let Some(item) = items.iter().find(|item| item.name == name) else {
            return Err(bad_link("leads to nothing", &named));
        };
        match item.kind {
            Kind::Other(what) => return Err(bad_link(&format!("leads to {what}"), &named)),
            Kind::Folder => at.push(name),
            Kind::File { .. } if todo.iter().all(String::is_empty) => {
                return Ok(Some((joined(&here, &name), Some(item.clone()))));
            }
            Kind::File { .. } => return Err(bad_link("leads to nothing", &named)),
            Kind::Link => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(circle(&named));
                }
                let Some(target) = contents.target(&here, item)? else { return Ok(None) };
                if target.starts_with('/') || target.contains(['\\', '\0']) || target.is_empty() {
                    return Err(bad_link("is absolute or leads nowhere on some systems", &named));
                }
                for part in target.rsplit('/') {
                    todo.push_front(part.to_owned());
                }
            }
        }
    }
    Ok(Some((at.join("/"), None)))
}

fn circle(link: &str) -> InstallError {
    bad_link("leads around in a circle", link)
}

fn bad_link(what: &str, link: &str) -> InstallError {
    refused(format!("a link {what}: {link}"))
}

/// A path below a folder.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
