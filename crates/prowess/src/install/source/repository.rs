//! A commit of a git repository, read by the rules of [`Contents`] from objects alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contents::{Contents, Item, Kind, Planned, joined};
use super::git::{FetchedRef, Git, GitEntry, GitObject, GitVersion, is_id, leads_to_no_commit, no_commit};
use super::tree::{InstallLimits, TreeFile, refused};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::Requested;
use crate::install::spec::is_on_this_machine;

/// How many files are fetched at once before it is known which are needed: then one fetch is usually enough.
const FETCHED_AHEAD: usize = 512;

/// One commit of a repository.
#[derive(Debug)]
pub(super) struct GitContents {
    git: Arc<dyn Git>,
    pub(super) url: String,
    pub(super) commit: String,
    pub(super) requested: Option<Requested>,
    pub(super) whole_ref: Option<String>,
    root_tree: String,
    offline: bool,
    folders: BTreeMap<String, Arc<[Item]>>,
    files: BTreeMap<String, Arc<[u8]>>,
    /// Links whose targets must be fetched.
    wanted: BTreeSet<String>,
}

impl GitContents {
    /// Fetches a commit, unless it is already on this machine. Its files are fetched later.
    pub(super) fn open(
        git: Arc<dyn Git>,
        url: &str,
        wanted: &GitVersion,
        offline: bool,
    ) -> Result<Self, InstallError> {
        let offline = offline && !is_on_this_machine(url);
        let here = match wanted {
            GitVersion::Commit(id) => git.tree(url, id)?.map(|tree| (id.clone(), tree)),
            _ => None,
        };
        let (fetched, tree) = match here {
            Some((id, tree)) => (FetchedRef { requested: Some(Requested::Commit(id.clone())), id }, tree),
            None if offline => return Err(needs_network(url)),
            None => {
                let mut fetched = git.fetch(url, wanted)?;
                let mut tree = git.tree(url, &fetched.id)?;
                if tree.is_none() && !matches!(wanted, GitVersion::Commit(_)) {
                    // Another process may have created the repository again in between.
                    fetched = git.fetch(url, wanted)?;
                    tree = git.tree(url, &fetched.id)?;
                }
                match (tree, wanted) {
                    (Some(tree), _) => (fetched, tree),
                    (None, GitVersion::Commit(id)) => return Err(no_commit(url, id)),
                    (None, _) => return Err(no_commit_in(&*git, url, wanted, &fetched.id)),
                }
            }
        };
        // The ref may be a tag.
        let commits = git.objects(url, &[format!("{}^{{commit}}", fetched.id)], 1 << 20)?;
        let commit = commits.into_iter().next().flatten();
        let commit = commit.ok_or_else(|| no_commit_in(&*git, url, wanted, &fetched.id))?;
        if matches!(wanted, GitVersion::Commit(id) if *id != commit.id) {
            return Err(no_commit(url, &fetched.id));
        }
        let root_tree = tree_of(&commit).ok_or_else(|| not_there(url, &commit.id))?;
        let mut contents = Self {
            git,
            url: url.to_owned(),
            commit: commit.id,
            requested: fetched.requested,
            whole_ref: None,
            root_tree,
            offline,
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
            wanted: BTreeSet::new(),
        };
        contents.arrange(tree);
        Ok(contents)
    }

    /// Sorts the entries of the whole tree into their folders.
    fn arrange(&mut self, tree: Vec<GitEntry>) {
        let mut folders: BTreeMap<String, Vec<Item>> = BTreeMap::from([(String::new(), Vec::new())]);
        // Entries inside a refused folder are refused with it.
        let mut refused: BTreeSet<String> = BTreeSet::new();
        for entry in tree {
            let path = String::from_utf8_lossy(&entry.path);
            // A folder precedes its entries. A name can contain a slash, which git itself never writes.
            let (folder, name) = path
                .rmatch_indices('/')
                .filter_map(|(at, _)| Some((path.get(..at)?, path.get(at + 1..)?)))
                .find(|(folder, _)| folders.contains_key(*folder) || refused.contains(*folder))
                .unwrap_or(("", &path));
            if refused.contains(folder) {
                continue;
            }
            let kind = match entry.mode & 0o170_000 {
                _ if std::str::from_utf8(&entry.path).is_err() => Kind::Other("a name that is not UTF-8"),
                _ if matches!(name, "" | "." | "..") || name.contains('/') => Kind::Other("an unsafe name"),
                _ if name.eq_ignore_ascii_case(".git") => Kind::Other("an unsafe name"),
                0o040_000 => Kind::Folder,
                0o100_000 => Kind::File { executable: entry.mode & 0o100 != 0 },
                0o120_000 => Kind::Link,
                0o160_000 => Kind::Other("a submodule"),
                _ => Kind::Other("an entry that git itself does not make"),
            };
            match (kind, entry.mode & 0o170_000) {
                (Kind::Folder, _) => drop(folders.entry(path.clone().into_owned()).or_default()),
                (_, 0o040_000) => drop(refused.insert(path.clone().into_owned())),
                _ => {}
            }
            let item = Item { name: name.to_owned(), kind, id: entry.id };
            folders.entry(folder.to_owned()).or_default().push(item);
        }
        self.folders = folders.into_iter().map(|(path, items)| (path, items.into())).collect();
    }

    /// Whether it was not asked for by a branch or a tag, so that it may be a commit of a stranger: by its id, or by a ref
    /// such as `refs/pull/1/head`.
    pub(super) fn is_named_by_commit(&self) -> bool {
        matches!(self.requested, Some(Requested::Commit(_) | Requested::Ref(_)))
    }

    /// The id of a folder's tree in git.
    pub(super) fn tree_id(&self, folder: &str) -> Option<String> {
        if folder.is_empty() {
            return Some(self.root_tree.clone());
        }
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        self.folders.get(above)?.iter().find(|item| item.name == name).map(|item| item.id.clone())
    }

    /// Whether links must be fetched before the list of files is complete.
    pub(super) fn has_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Reads files and wanted links into memory. Missing ones are fetched in one request, together with files that may
    /// be needed next as long as they are few.
    pub(super) fn load(
        &mut self,
        ids: impl IntoIterator<Item = String>,
        ahead: impl FnOnce(&mut Self) -> BTreeSet<String>,
        limit: u64,
    ) -> Result<(), InstallError> {
        let mut ids: BTreeSet<String> = ids.into_iter().collect();
        ids.append(&mut self.wanted);
        let ids: Vec<String> =
            ids.into_iter().filter(|id| is_id(id) && !self.files.contains_key(id)).collect();
        let missing = self.read(&ids, limit)?;
        if missing.is_empty() {
            return Ok(());
        }
        if self.offline {
            return Err(needs_network(&self.url));
        }
        let ahead: BTreeSet<String> =
            ahead(self).into_iter().filter(|id| !self.files.contains_key(id)).collect();
        let ahead = if ahead.len() > FETCHED_AHEAD { BTreeSet::new() } else { ahead };
        // Links that were found on the way are fetched now and read later.
        let links = self.wanted.iter().filter(|id| !self.files.contains_key(*id));
        let all: BTreeSet<String> = missing.iter().chain(links).cloned().chain(ahead).collect();
        let all: Vec<String> = all.into_iter().collect();
        self.git.bring(&self.url, &all)?;
        let mut missing = self.read(&missing, limit)?;
        if !missing.is_empty() {
            // A git that was killed may leave a commit without some of its files. It takes the commit for complete, and
            // fetches nothing more of it.
            self.git.refetch(&self.url, &self.commit)?;
            missing = self.read(&missing, limit)?;
        }
        if !missing.is_empty() {
            self.git.bring(&self.url, &missing)?;
            missing = self.read(&missing, limit)?;
        }
        missing.first().map_or(Ok(()), |id| Err(not_there(&self.url, id)))
    }

    /// Reads the available objects into memory, and returns the ids of the missing ones.
    fn read(&mut self, ids: &[String], limit: u64) -> Result<Vec<String>, InstallError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let objects = self.git.objects(&self.url, ids, limit)?;
        let mut missing = Vec::new();
        for (id, object) in ids.iter().zip(objects) {
            match object {
                Some(object) => drop(self.files.insert(id.clone(), object.bytes.into())),
                None => missing.push(id.clone()),
            }
        }
        Ok(missing)
    }

    /// The bytes of a file that was loaded.
    pub(super) fn bytes(&self, item: &Item) -> Option<Arc<[u8]>> {
        self.files.get(&item.id).cloned()
    }

    /// A file of a skill that was loaded.
    pub(super) fn file(&self, planned: &Planned) -> Result<TreeFile, InstallError> {
        let bytes = self.bytes(&planned.item).ok_or_else(|| not_there(&self.url, &planned.item.id))?;
        let executable = planned.item.kind == Kind::File { executable: true };
        Ok(TreeFile { path: planned.path.clone(), executable, bytes })
    }

    /// An error when files are too large, with the name of the first.
    pub(super) fn too_large(&self, planned: &[Planned], limits: &InstallLimits) -> Result<(), InstallError> {
        let ids: Vec<String> = planned.iter().map(|planned| planned.item.id.clone()).collect();
        let sizes = self.git.sizes(&self.url, &ids)?;
        let mut sum = 0_u64;
        for (planned, size) in planned.iter().zip(sizes) {
            let size = size.unwrap_or_default();
            limits.check_file(planned.path.as_str(), size)?;
            sum = sum.saturating_add(size);
        }
        limits.check_sum(planned.len(), sum)
    }
}

impl Contents for GitContents {
    fn list(&mut self, folder: &str) -> Result<Arc<[Item]>, InstallError> {
        Ok(self.folders.get(folder).cloned().unwrap_or_default())
    }

    fn target(&mut self, folder: &str, link: &Item) -> Result<Option<String>, InstallError> {
        let Some(bytes) = self.files.get(&link.id) else {
            self.wanted.insert(link.id.clone());
            return Ok(None);
        };
        let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
        let link = || joined(folder, &link.name);
        text.map(Some).ok_or_else(|| refused(format!("a link leads to a name that is not UTF-8: {}", link())))
    }
}

/// The root tree of a commit.
fn tree_of(commit: &GitObject) -> Option<String> {
    let line = commit.bytes.split(|byte| *byte == b'\n').next()?;
    let id = std::str::from_utf8(line).ok()?.strip_prefix("tree ")?;
    is_id(id).then(|| id.to_owned())
}

/// The error for a branch or tag whose commit cannot be read: it leads to something else, or the repository is damaged.
fn no_commit_in(git: &dyn Git, url: &str, wanted: &GitVersion, id: &str) -> InstallError {
    // The size of a commit is in the store if there is one, so an object without a commit is something else.
    match git.sizes(url, &[id.to_owned()]) {
        Ok(sizes) if matches!(*sizes, [Some(_)]) => leads_to_no_commit(url, wanted.refspec()),
        _ => not_there(url, id),
    }
}

fn not_there(url: &str, id: &str) -> InstallError {
    let message = format!("the repository does not give this object: {url}: {id}");
    let hint = "run the command again; if it persists, the repository is damaged: choose another version";
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

pub(super) fn needs_network(url: &str) -> InstallError {
    let message = format!("this has to be fetched, and the network is not to be used: {url}");
    InstallError::new(InstallErrorKind::Offline, message, "fetch it first, or allow the network")
}
