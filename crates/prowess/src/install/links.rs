//! Links and copies for clients that do not look in the folder of installed skills.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess_core::Manifest;

use super::apply::{Made, NewSkill, Order, Orders, accepted_in, changed, edits_of, open, state};
use super::change::{Action, Change, Edits, LeftAlone};
use super::error::{InstallError, InstallErrorKind};
use super::installer::open_skills;
use super::records::{LockedSkill, Place, Records, SKILLS_FOLDER, SkillsLock};
use super::target::{Accepted, Dir, State, Transaction, read_tree};
use super::tree::{FileChange, SkillTree};
use crate::env::Environment;
use crate::error::shown;
use crate::fs::walk::FILE_NAMES;
use crate::library::clients::CLIENTS;
use crate::registry::trust::{Approval, Approvals};

/// A client that does not have an installed skill as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientDifference {
    /// The client.
    pub client: String,
    /// Where it looks for the skill.
    pub path: PathBuf,
    /// What is there instead.
    pub state: ClientState,
}

/// What is at the path where a client looks for an installed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientState {
    /// Nothing.
    Missing,
    /// A copy in which these files differ from what was installed; none are named when that is not known.
    Edited(Vec<(String, FileChange)>),
    /// Something else: another link, a link where there should be a copy, a folder where there should be a link.
    Other,
}

/// The folder in which a client looks for skills.
struct ClientFolder {
    client: String,
    /// The path as the rest of Prowess names it.
    folder: PathBuf,
    /// Its real path and the open folder; none when it does not exist.
    open: Option<(PathBuf, Dir)>,
}

/// The folders of all clients that do not look in the folder of installed skills, each once: clients may share a
/// folder, or reach one by two paths.
fn client_folders(
    place: &Place,
    records: &Records,
    environment: &Environment,
    mut made: Option<&mut Made>,
) -> Result<Vec<ClientFolder>, InstallError> {
    let own = place.skills_folder(false)?;
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for client in records.wanted.clients() {
        let Some(folder) = place.client_folder(client, environment)? else { continue };
        if let Some(made) = &mut made {
            made.expect(&folder);
        }
        let real = place.folder(&folder, made.is_some())?;
        let is_new = seen.insert(real.clone().unwrap_or_else(|| folder.clone()));
        if is_new && (real.is_none() || real != own) {
            let open = real.map(|real| open(&real).map(|dir| (real, dir))).transpose()?;
            found.push(ClientFolder { client: client.clone(), folder, open });
        }
    }
    Ok(found)
}

impl ClientFolder {
    /// The folder of a client that does not get skills; none when it cannot be opened.
    fn lenient(place: &Place, client: &str, environment: &Environment) -> Option<Self> {
        let folder = place.client_folder(client, environment).ok()??;
        let real = place.folder(&folder, false).ok()??;
        let dir = open(&real).ok()?;
        Some(Self { client: client.to_owned(), folder, open: Some((real, dir)) })
    }

    /// The target of a link from here to an installed skill: relative, so that a project can be moved, unless this
    /// folder is really elsewhere.
    fn target(&self, place: &Place, name: &str) -> String {
        let base = std::fs::canonicalize(&place.base).unwrap_or_else(|_| place.base.clone());
        let real = self.open.as_ref().map(|(real, _)| real);
        match self.folder.strip_prefix(&place.base) {
            Ok(below) if real.is_none_or(|real| base.join(below) == *real) => {
                let up = "../".repeat(below.components().count());
                format!("{up}{SKILLS_FOLDER}/{name}")
            }
            _ => place.skill(name).to_string_lossy().into_owned(),
        }
    }

    fn state(&self, name: &str) -> Result<Option<State>, InstallError> {
        self.open.as_ref().map_or(Ok(None), |(_, dir)| state(dir, name))
    }

    /// Whether a client has an installed skill as it should.
    fn is_fine(&self, there: Option<&State>, place: &Place, locked: &LockedSkill, copies: bool) -> bool {
        match there {
            Some(State::Link(to)) => !copies && *to == self.target(place, &locked.name),
            Some(State::Tree(digest)) => copies && *digest == locked.digest,
            _ => false,
        }
    }
}

/// The clients that do not have installed skills as they should, by the names of the skills.
pub(super) fn differences(
    place: &Place,
    records: &Records,
    environment: &Environment,
    listing: &dyn Fn(&str) -> Option<Manifest>,
) -> Result<Vec<(String, ClientDifference)>, InstallError> {
    let copies = records.wanted.link().copies();
    let mut found = Vec::new();
    for folder in client_folders(place, records, environment, None)? {
        for locked in records.lock.skills() {
            let there = folder.state(&locked.name)?;
            if folder.is_fine(there.as_ref(), place, locked, copies) {
                continue;
            }
            let path = folder.folder.join(&locked.name);
            let state = match there {
                None => ClientState::Missing,
                Some(State::Tree(_) | State::Other) if copies && !path.is_symlink() => {
                    ClientState::Edited(edits_of(&path, locked, listing).unwrap_or_default())
                }
                Some(_) => ClientState::Other,
            };
            let client = folder.client.clone();
            found.push((locked.name.clone(), ClientDifference { client, path, state }));
        }
    }
    Ok(found)
}

/// Links or copies every installed skill for every client that does not look in the folder of installed skills, and
/// removes the links of removed skills. Without `made`, nothing is changed and only the changes are returned.
pub(super) fn links(
    place: &Place,
    records: &Records,
    before: (&SkillsLock, bool),
    (orders, done): (&[Order], &mut Vec<Change>),
    how: &Orders<'_>,
    (transaction, made): (&mut Transaction<'_>, &mut Made),
) -> Result<(), InstallError> {
    let copies = records.wanted.link().copies();
    let trusted = Trusted::of(place, orders, how)?;
    let available = Installed { orders, place, dir: open_skills(place)?, how };
    let making = (how.files && !records.lock.skills().is_empty()).then_some(made);
    for folder in client_folders(place, records, how.environment, making)? {
        for locked in records.lock.skills() {
            let there = folder.state(&locked.name)?;
            if how.files {
                for accepted in trusted.accepted(&folder.folder, locked) {
                    transaction.accept(accepted);
                }
            }
            if folder.is_fine(there.as_ref(), place, locked, copies) {
                continue;
            }
            let path = folder.folder.join(&locked.name);
            let given = match available.give(locked, copies)? {
                Given::Nothing(action) => {
                    let change = change_of(place, locked, done);
                    change.action = action;
                    if action == Action::Kept {
                        change.left.push(LeftAlone { client: folder.client.clone(), path });
                    }
                    continue;
                }
                given => given,
            };
            let old = before.0.get(&locked.name).map(|old| &old.digest);
            let ours = match &there {
                None => true,
                Some(State::Link(to)) => *to == folder.target(place, &locked.name),
                Some(State::Tree(digest)) => *digest == locked.digest || Some(digest) == old,
                Some(State::Other) => false,
            };
            match how.edits {
                _ if ours => {}
                Edits::Stop => {
                    // A copy from before that differs now was edited.
                    let copied = before.1 && old.is_some() && !matches!(there, Some(State::Link(_)));
                    return Err(if copied { edited_copy(&path, locked, how) } else { taken(&path) });
                }
                Edits::Keep => {
                    let client = folder.client.clone();
                    change_of(place, locked, done).left.push(LeftAlone { client, path });
                    continue;
                }
                Edits::Overwrite => change_of(place, locked, done).replaced.push(path),
            }
            let Some((real, _)) = folder.open.as_ref().filter(|_| how.files) else { continue };
            match given {
                Given::Copy(tree) => transaction.put(real, &locked.name, &tree, there)?,
                _ => transaction.link(real, &locked.name, &folder.target(place, &locked.name), there)?,
            }
        }
        for removed in done.iter_mut().filter(|change| change.action == Action::Removed) {
            take_back(place, &folder, removed, how, transaction)?;
        }
    }
    let removed = done.iter_mut().filter(|change| change.action == Action::Removed);
    take_back_elsewhere(place, records, removed, how, transaction)
}

/// Removes the links to removed skills that clients have which `skills.toml` no longer names: they would lead to nothing.
/// What else they have of a removed skill may be the user's own, and stays.
fn take_back_elsewhere<'c>(
    place: &Place,
    records: &Records,
    removed: impl Iterator<Item = &'c mut Change>,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let removed: Vec<&mut Change> = removed.collect();
    if removed.is_empty() {
        return Ok(());
    }
    let others = CLIENTS
        .iter()
        .map(|client| client.id)
        .filter(|id| !records.wanted.clients().iter().any(|wanted| wanted == id));
    let others = others.filter_map(|id| ClientFolder::lenient(place, id, how.environment));
    let mut seen: BTreeSet<PathBuf> = records
        .wanted
        .clients()
        .iter()
        .filter_map(|id| ClientFolder::lenient(place, id, how.environment))
        .filter_map(|folder| folder.open.map(|(real, _)| real))
        .chain(place.skills_folder(false)?)
        .collect();
    for folder in others {
        let Some((real, _)) = folder.open.as_ref().filter(|(real, _)| seen.insert(real.clone())) else {
            continue;
        };
        for change in &removed {
            let there = folder.state(&change.name)?;
            let is_link =
                matches!(&there, Some(State::Link(to)) if *to == folder.target(place, &change.name));
            if let Some(there) = there.filter(|_| is_link && how.files) {
                transaction.remove(real, &change.name, there)?;
                end_trust(&change.name, &folder.folder.join(&change.name), transaction);
            }
        }
    }
    Ok(())
}

/// Removes the link or copy of a removed skill. If it was changed, it stays.
fn take_back(
    place: &Place,
    folder: &ClientFolder,
    removed: &mut Change,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let (Some(there), Some((real, _))) = (folder.state(&removed.name)?, &folder.open) else { return Ok(()) };
    let ours = match &there {
        State::Link(to) => *to == folder.target(place, &removed.name),
        State::Tree(digest) => *digest == removed.locked.digest,
        State::Other => false,
    };
    let path = folder.folder.join(&removed.name);
    if !ours && how.edits != Edits::Overwrite {
        removed.left.push(LeftAlone { client: folder.client.clone(), path });
        return Ok(());
    }
    if !ours {
        removed.replaced.push(path.clone());
    }
    if how.files {
        transaction.remove(real, &removed.name, there)?;
        end_trust(&removed.name, &path, transaction);
    }
    Ok(())
}

/// Ends the trust in a removed skill, and in the skills inside it.
pub(super) fn end_trust(name: &str, folder: &Path, transaction: &mut Transaction<'_>) {
    let skill_file = folder.join(FILE_NAMES[0]);
    transaction.accept(Accepted { name: name.to_owned(), key: None, skill_file, digest: None });
}

/// The change of a skill; a skill without an order is unchanged.
fn change_of<'d>(place: &Place, locked: &LockedSkill, done: &'d mut Vec<Change>) -> &'d mut Change {
    let at = done.iter().position(|change| change.name == locked.name).unwrap_or(done.len());
    if at == done.len() {
        done.push(changed(place, locked.clone(), Action::Unchanged));
    }
    // It was found, or pushed just now.
    #[expect(clippy::indexing_slicing, reason = "the place is one of the list")]
    &mut done[at]
}

/// What a client gets of an installed skill.
enum Given {
    Link,
    Copy(SkillTree),
    /// Nothing: the skill is not installed, or it has edits and its files are not in the store.
    Nothing(Action),
}

/// The skills that clients can get: those that are being installed, and those that are installed.
struct Installed<'i> {
    orders: &'i [Order],
    place: &'i Place,
    dir: Option<Dir>,
    how: &'i Orders<'i>,
}

impl Installed<'_> {
    /// A copy has the files of the lock, never those of an edited skill. A link needs a target.
    fn give(&self, locked: &LockedSkill, copies: bool) -> Result<Given, InstallError> {
        let ordered = self.orders.iter().find_map(|order| match order {
            Order::Install(new) if new.locked.digest == locked.digest => Some(&new.tree),
            _ => None,
        });
        if let Some(tree) = ordered {
            return Ok(if copies { Given::Copy(tree.clone()) } else { Given::Link });
        }
        let there = self.dir.as_ref().map(|dir| state(dir, &locked.name)).transpose()?.flatten();
        if !copies && there.is_some() {
            return Ok(Given::Link);
        }
        let own = || read_tree(&self.place.skill(&locked.name)).ok();
        let tree = match &there {
            Some(State::Tree(digest)) if *digest == locked.digest => own(),
            Some(_) if copies => (self.how.stored)(&locked.digest),
            _ => None,
        };
        Ok(match (tree, there) {
            (Some(tree), _) if tree.digest() == locked.digest => Given::Copy(tree),
            (_, None) => Given::Nothing(Action::NotInstalled),
            _ => Given::Nothing(Action::Kept),
        })
    }
}

fn edited_copy(path: &Path, locked: &LockedSkill, how: &Orders<'_>) -> InstallError {
    let files = edits_of(path, locked, how.listing).unwrap_or_default();
    let files = super::apply::named(files);
    let message = format!("this copy of an installed skill was edited: {}{files}", shown(path));
    InstallError::new(InstallErrorKind::Edited, message, "keep the edits, or overwrite them")
}

fn taken(path: &Path) -> InstallError {
    let message = format!("something else is where a client looks for an installed skill: {}", shown(path));
    InstallError::new(InstallErrorKind::Taken, message, "move it away, keep it, or overwrite it")
}

/// The skills that the user accepted where they are installed. A client reaches the same skills by another path, and
/// trust is bound to a path and a digest.
struct Trusted<'t> {
    place: &'t Place,
    accepted: AcceptedSkills,
    /// The skills that are being installed and accepted, by name.
    new: BTreeMap<&'t str, &'t NewSkill>,
}

impl<'t> Trusted<'t> {
    fn of(place: &'t Place, orders: &'t [Order], how: &Orders<'_>) -> Result<Self, InstallError> {
        let new = orders.iter().filter_map(|order| match order {
            Order::Install(new) if how.accepted => Some((&*new.locked.name, &**new)),
            _ => None,
        });
        Ok(Self { place, accepted: AcceptedSkills::of(place)?, new: new.collect() })
    }

    /// The approvals to record so that a skill in a client's folder is trusted like the installed one.
    fn accepted(&self, folder: &Path, locked: &LockedSkill) -> Vec<Accepted> {
        let (there, here) = (self.place.skill(&locked.name), folder.join(&locked.name));
        if self.accepted.has(&here, &locked.digest) {
            return Vec::new();
        }
        match self.new.get(&*locked.name) {
            Some(new) => accepted_in(&here, new).collect(),
            None if self.accepted.has(&there, &locked.digest) => self.accepted.moved(&there, &here),
            None => Vec::new(),
        }
    }
}

/// The user's approvals of skills in folders, by the paths of their files.
pub(super) struct AcceptedSkills(BTreeMap<String, Approval>);

impl AcceptedSkills {
    pub(super) fn of(place: &Place) -> Result<Self, InstallError> {
        let file = &place.books.approvals;
        let approvals = Approvals::load(file).map_err(|error| {
            InstallError::io("read your approvals", file, std::io::Error::other(error.with_cause()))
        })?;
        let skills = approvals.skills.into_iter();
        let by_file = skills.filter_map(|approval| Some((approval.location.path()?.to_owned(), approval)));
        Ok(Self(by_file.collect()))
    }

    /// Whether the user accepted the skill in a folder with this digest.
    pub(super) fn has(&self, folder: &Path, digest: &str) -> bool {
        self.digest_in(folder) == Some(digest)
    }

    /// The digest with which the user accepted the skill in a folder.
    pub(super) fn digest_in(&self, folder: &Path) -> Option<&str> {
        let mut files = FILE_NAMES.iter().map(|name| folder.join(name).to_string_lossy().into_owned());
        files.find_map(|file| self.0.get(&file)).map(|approval| &*approval.digest)
    }

    /// The approvals in a folder and below it, for another folder with the same files.
    fn moved(&self, from: &Path, to: &Path) -> Vec<Accepted> {
        let start = from.join("").to_string_lossy().into_owned();
        let below = self.0.range(start.clone()..).map_while(|(file, approval)| {
            let (name, key) = (approval.name.clone(), approval.key.clone());
            let (skill_file, digest) = (to.join(file.strip_prefix(&start)?), Some(approval.digest.clone()));
            Some(Accepted { name, key, skill_file, digest })
        });
        below.collect()
    }
}
