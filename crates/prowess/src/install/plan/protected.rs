//! [`Protected`]: keeps the folders that skills come from out of the places where skills are installed, so that no
//! command replaces or removes what a user wrote.
//!
//! Folders are compared by device and inode number, since one folder can have several paths: through links, mounts, and
//! names in another case.

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};

use prowess_core::{Digest, RelPath};

use super::prepare::Prepared;
use super::{Order, installs};
use crate::env::{self, Environment};
use crate::error::shown;
use crate::fs::read::read_small;
use crate::install::apply::manifest_of;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{InstallScope, InstallTarget, LockedSkill, Records, SKILLS_FOLDER, spec_of};
use crate::install::spec::{InstallPlace, folder_of};
use crate::registry::digests;

/// The most links on the path to a source.
const MAX_LINKS: usize = 40;
/// The largest file that says where a repository of git is.
const MAX_POINTER_BYTES: usize = 1 << 20;
/// The most entries of a source that are compared. A skill with more is not installed.
const MAX_ENTRIES: usize = 100_000;

/// The sources on this machine of the skills that are installed, and of those that are going to be.
pub(crate) struct Protected<'p> {
    paths: Vec<SourcePath>,
    /// Why the records of the other scope cannot be read, so that its sources are not known.
    unread: Option<&'p InstallError>,
    sources: OnceCell<Vec<Source>>,
}

/// Where a skill comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePath {
    path: PathBuf,
    is_repository: bool,
    /// Where the other scope has the skill, and the digest of its files there; none for a skill of the place itself.
    elsewhere: Option<(PathBuf, Option<Digest>)>,
}

/// The folders and links that a source consists of.
struct Source {
    /// Where the other scope has the skill that comes from here, with its digest.
    elsewhere: Option<(PathBuf, Option<Digest>)>,
    /// The links on the path to it, its folder, and the folders and links in that.
    own: BTreeSet<Identity>,
    /// The folders that the path to it passes.
    above: BTreeSet<Identity>,
    /// The repositories with its history, which a worktree and a shared clone have elsewhere, and the folders and links on
    /// the paths to them.
    history: BTreeSet<Identity>,
}

impl<'p> Protected<'p> {
    /// The sources of the skills of a place, of the new ones, and of those of the other scope. The records of other
    /// projects are not known; what the user wrote there is safe since Prowess did not place it.
    ///
    /// A source of the other scope that Prowess placed here may be replaced and removed by its own scope as soon as the
    /// other one has its own copy of the files: then nothing becomes unreachable that was not there before.
    pub(crate) fn of(
        place: &InstallTarget,
        records: &Records,
        orders: &[Order],
        elsewhere: &'p Result<Option<(InstallTarget, Records)>, InstallError>,
    ) -> Self {
        let (elsewhere, unread) = match elsewhere {
            Ok(elsewhere) => (elsewhere.as_ref(), None),
            Err(error) => (None, Some(error)),
        };
        let new = installs(orders).filter_map(|new| SourcePath::of(place, new.locked()));
        let mut paths: BTreeSet<SourcePath> = new.collect();
        let elsewhere = elsewhere.map(|(place, records)| (place, records, true));
        for (place, records, is_other) in std::iter::once((place, records, false)).chain(elsewhere) {
            for RecordedSource { name, source, digest } in recorded_sources(place, records) {
                let SourceAt::Here(source) = source else { continue };
                let elsewhere = is_other.then(|| (place.skill(&name), digest));
                paths.insert(SourcePath { elsewhere, ..source });
            }
        }
        Self { paths: paths.into_iter().collect(), unread, sources: OnceCell::new() }
    }

    /// An error for something that would be replaced or removed while it is not known whether the other scope needs it,
    /// or while something is mounted in it, which would be moved with it.
    pub(crate) fn check_may_replace(&self, path: &Path) -> Result<(), InstallError> {
        if let Some(error) = InstallError::mounted_in(path) {
            return Err(error);
        }
        let Some(unread) = self.unread else { return Ok(()) };
        let message = format!(
            "it is not known whether another installed skill comes from this folder, so it is not replaced or removed: {}",
            shown(path)
        );
        Err(InstallError::new(unread.kind(), message, unread.hint().clone()).because(unread.full_message()))
    }

    /// Whether something at a path is a source, or a part of one, or contains one. `is_placed` says that Prowess
    /// placed it, and that it was not edited since.
    pub(crate) fn holds_source(&self, path: &Path, is_placed: bool) -> bool {
        if self.paths.is_empty() {
            return false;
        }
        let Some(own) = identity(path) else { return false };
        let sources = self.sources.get_or_init(|| self.paths.iter().map(SourcePath::read).collect());
        // A mount in it can be a source too, and would be emptied with it.
        let below = OnceCell::new();
        let below = || below.get_or_init(|| identities_below(path, usize::MAX));
        let is_one = |source: &&Source| source.parts().any(|part| part.contains(&own));
        let has_one = |source: &&Source| source.parts().any(|part| !part.is_disjoint(below()));
        let mut held = sources.iter().filter(|source| is_one(source) || has_one(source));
        held.any(|source| !(is_placed && source.has_copy(own, below())))
    }

    /// An error for a new skill whose source is in a folder where it would be installed, or contains that folder.
    pub(crate) fn check_new_source(
        place: &InstallTarget,
        records: &Records,
        new: &Prepared,
        (clients, environment): (&[String], &Environment),
    ) -> Result<(), InstallError> {
        let Some(path) = SourcePath::of(place, &new.locked) else { return Ok(()) };
        let source = path.read();
        let mut targets = vec![(place.base.join(SKILLS_FOLDER), None)];
        // What the records ask for already is compared when a client gets it.
        if new.wanted.is_some() {
            for client in records.wanted.clients().iter().chain(clients) {
                let folder = place.client_folder(client, environment)?;
                targets.extend(folder.map(|folder| (folder, Some(client))));
            }
            // Where a client looks besides, it would find the skill twice.
            for client in clients {
                let folders = place.client_folders(client, environment);
                let besides = folders.into_iter().filter(|folder| *folder != place.base.join(SKILLS_FOLDER));
                targets.extend(besides.map(|folder| (folder, Some(client))));
            }
        }
        let from = env::real(&path.path);
        for (folder, client) in targets {
            let real = env::real(&folder);
            let is_in =
                identity(&real).is_some_and(|id| source.above.contains(&id) || source.own.contains(&id));
            let is_same = || {
                let there = real.join(&new.locked.name);
                let below = || identities_below(&there, usize::MAX);
                identity(&there).is_some_and(|id| source.own.contains(&id))
                    || !source.own.is_disjoint(&below())
            };
            if !path.is_repository && source.contains(&real) {
                let hint = match place.scope {
                    InstallScope::Project if client.is_none() => {
                        "install it for the user, or in another project"
                    }
                    _ => "move the skill to a folder of its own",
                };
                let message = format!("a skill cannot be installed inside of itself: {}", shown(&from));
                return Err(
                    InstallError::new(InstallErrorKind::Request, message, hint).in_entry(&new.locked.name)
                );
            }
            if is_in || is_same() {
                let remembered = client.filter(|client| !clients.contains(client));
                return Err(is_target(place, records, &from, (client, remembered)).in_entry(&new.locked.name));
            }
        }
        Ok(())
    }
}

/// The error for something that would be replaced or removed and is, contains or belongs to a source.
pub(crate) fn holds_source(path: &Path) -> InstallError {
    let message = format!(
        "an installed skill comes from this folder, so it is not replaced or removed: {}",
        shown(path)
    );
    let hint = "keep it, or move it to another place and add it from there";
    InstallError::new(InstallErrorKind::HoldsSource, message, hint)
}

/// The error for a source in a folder where it would be installed.
fn is_target(
    place: &InstallTarget,
    records: &Records,
    from: &Path,
    (client, remembered): (Option<&String>, Option<&String>),
) -> InstallError {
    let installed = records.lock.skills().iter().any(|locked| env::real(&place.skill(&locked.name)) == from);
    let (whose, finder) = match client {
        Some(client) => (format!(" for {client}"), client.as_str()),
        None => (String::new(), "every agent that looks there"),
    };
    let message = format!("this is where skills are installed{whose}: {}", shown(from));
    let hint = if installed {
        "name the folder that the skill comes from".to_owned()
    } else if let Some(client) = remembered {
        let file = place.wanted_file();
        let file = shown(&file);
        format!(
            "{client} finds it there already; to install it for others, take {client} out of clients in {file}"
        )
    } else {
        format!("{finder} finds it there already; to install it, move it to another folder and name that")
    };
    InstallError::new(InstallErrorKind::Request, message, hint)
}

/// Where a skill of the records comes from.
#[derive(Debug)]
pub(crate) struct RecordedSource {
    pub(crate) name: String,
    pub(crate) source: SourceAt,
    /// The digest of its files; none without an entry in the lock.
    digest: Option<Digest>,
}

/// Whether the source of a skill is on this machine.
#[derive(Debug)]
pub(crate) enum SourceAt {
    Here(SourcePath),
    Away,
    /// Only `skills.toml` has the skill, and does not say where that is.
    Unknown,
}

/// Where the skills of a place come from, also those that the lock does not have: it may be lost.
pub(crate) fn recorded_sources(place: &InstallTarget, records: &Records) -> Vec<RecordedSource> {
    let locked = records.lock.skills().iter().map(|locked| RecordedSource {
        name: locked.name.clone(),
        source: SourcePath::of(place, locked).map_or(SourceAt::Away, SourceAt::Here),
        digest: locked.digest,
    });
    let unlocked = records.wanted.skills().iter().filter(|(name, _)| records.lock.get(name).is_none());
    let unlocked = unlocked.map(|(name, wanted)| {
        let source = match spec_of(place, name, wanted).map(|spec| spec.place) {
            Ok(InstallPlace::Folder(path)) => SourceAt::Here(SourcePath::at(env::place(&path), false)),
            Ok(InstallPlace::Git(url)) => SourcePath::of_git(&url).map_or(SourceAt::Away, SourceAt::Here),
            Ok(InstallPlace::Reference(_)) | Err(_) => SourceAt::Unknown,
        };
        RecordedSource { name: name.clone(), source, digest: None }
    });
    locked.chain(unlocked).collect()
}

impl SourcePath {
    /// The source of a skill, if it is on this machine.
    fn of(place: &InstallTarget, locked: &LockedSkill) -> Option<Self> {
        if let Some(folder) = locked.source.folder_from(&place.relative_to()) {
            let below = locked.path.as_ref().map_or("", RelPath::as_str);
            return Some(Self::at(folder.join(below), false));
        }
        Self::of_git(locked.source.git()?)
    }

    /// A repository, if it is on this machine.
    fn of_git(url: &str) -> Option<Self> {
        Some(Self::at(folder_of(url)?, true))
    }

    fn at(path: PathBuf, is_repository: bool) -> Self {
        Self { path, is_repository, elsewhere: None }
    }

    /// Whether the source is this folder, or is in it, or contains it. The files of a repository beside its branches are
    /// no source.
    pub(crate) fn overlaps(&self, real: &Path) -> bool {
        let source = env::real(&self.path);
        source.starts_with(real) || (!self.is_repository && real.starts_with(source))
    }

    fn read(&self) -> Source {
        let Way { links, mut folders, real } = Way::to(&self.path);
        let root = identity(&real);
        folders.retain(|folder| Some(folder) != root.as_ref());
        let mut own = links;
        own.extend(root);
        if self.is_repository {
            // Its branches are in this folder; the files beside it are a copy of them.
            own.extend(identity(&real.join(".git")));
        } else {
            own.append(&mut identities_below(&real, MAX_ENTRIES));
        }
        let ways = repositories_of(&real).into_iter().map(|repository| Way::to(&repository));
        let history = ways.flat_map(|way| way.links.into_iter().chain(way.folders)).collect();
        Source { elsewhere: self.elsewhere.clone(), own, above: folders, history }
    }
}

impl Source {
    fn parts(&self) -> impl Iterator<Item = &BTreeSet<Identity>> {
        [&self.own, &self.above, &self.history].into_iter()
    }

    /// Whether the other scope has its own copy of the files, in another folder than this one and not below it.
    fn has_copy(&self, folder: Identity, below: &BTreeSet<Identity>) -> bool {
        let Some((copy, digest)) = &self.elsewhere else { return false };
        // A folder on the way to it may be a link, also to this one.
        let copy = env::real(copy);
        let mut way = Way::to(&copy).folders;
        way.append(&mut identities_below(&copy, MAX_ENTRIES));
        let is_another = !way.contains(&folder) && way.is_disjoint(below);
        let files = manifest_of(&copy).ok().filter(|files| is_another && files.left_out.is_empty());
        files.and_then(|files| digests::of_tree(&files)).is_some_and(|there| Some(there) == *digest)
    }

    /// Whether a folder is in it, or would be if it existed.
    fn contains(&self, folder: &Path) -> bool {
        let there = folder.ancestors().find_map(identity);
        there.is_some_and(|there| self.own.contains(&there))
    }
}

/// The folders of the repository of git that a folder is in: its own, that of all its worktrees, and those whose objects it
/// shares.
fn repositories_of(folder: &Path) -> Vec<PathBuf> {
    let text = |path: &Path| String::from_utf8(read_small(path, MAX_POINTER_BYTES).ok()?).ok();
    let is_bare = folder.join("HEAD").is_file() && folder.join("objects").is_dir();
    let beside = || folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists());
    let Some(mut git) = Some(folder.to_owned()).filter(|_| is_bare).or_else(beside) else {
        return Vec::new();
    };
    if let Some(text) = Some(&git).filter(|git| git.is_file()).and_then(|git| text(git)) {
        let target = text.strip_prefix("gitdir:").unwrap_or_default().trim();
        git = git.parent().unwrap_or(folder).join(target);
    }
    let common =
        text(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common.trim_end()));
    let mut found = vec![git, common.clone()];
    let mut left = vec![common.join("objects")];
    while let Some(objects) = left.pop().filter(|_| found.len() < MAX_LINKS) {
        let others = text(&objects.join("info/alternates")).unwrap_or_default();
        let others = others.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        left.extend(others.map(|other| objects.join(other)));
        found.push(objects);
    }
    found
}

/// The way to a folder.
struct Way {
    links: BTreeSet<Identity>,
    /// The folders that it passes, with the last one.
    folders: BTreeSet<Identity>,
    real: PathBuf,
}

impl Way {
    fn to(path: &Path) -> Self {
        let (mut links, mut folders, mut real) = (BTreeSet::new(), BTreeSet::new(), PathBuf::new());
        let mut followed = 0;
        let mut left: VecDeque<PathBuf> = parts(path).collect();
        while let Some(part) = left.pop_front() {
            if part.as_os_str() == ".." {
                real.pop();
                continue;
            }
            real.push(&part);
            match std::fs::read_link(&real) {
                Ok(target) if followed < MAX_LINKS => {
                    followed += 1;
                    links.extend(identity(&real));
                    real.pop();
                    for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                        left.push_front(part);
                    }
                }
                _ => folders.extend(identity(&real)),
            }
        }
        Self { links, folders, real }
    }
}

fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    let parts = path.components().filter(|part| !matches!(part, Component::CurDir));
    parts.map(|part| PathBuf::from(part.as_os_str()))
}

/// The folders and links below a folder, at most `limit` entries. No link is followed.
fn identities_below(folder: &Path, limit: usize) -> BTreeSet<Identity> {
    let (mut found, mut left, mut seen) = (BTreeSet::new(), vec![folder.to_owned()], 0_usize);
    if folder.is_symlink() {
        return found;
    }
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > limit {
                return found;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if !kind.is_dir() && !kind.is_symlink() {
                continue;
            }
            found.extend(identity(&entry.path()));
            if kind.is_dir() {
                left.push(entry.path());
            }
        }
    }
    found
}

#[cfg(unix)]
type Identity = (u64, u64);

/// What identifies an entry, whatever its path. A link is not followed.
#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
type Identity = PathBuf;

/// The real path of an entry. A link is not followed.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    if !path.symlink_metadata().ok()?.is_symlink() {
        return std::fs::canonicalize(path).ok();
    }
    Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}
