//! Links and copies for clients that do not look where skills are installed.

use std::collections::BTreeSet;
use std::path::Path;

use super::apply::{Action, Change, Edits, Order, Orders, open, state};
use super::error::{InstallError, InstallErrorKind};
use super::records::{LockedSkill, Place, Records, SKILLS_FOLDER, SkillsLock};
use super::target::{Accepted, State, Transaction, read_tree};
use super::tree::SkillTree;
use crate::error::shown;
use crate::fs::location::is_in;
use crate::fs::walk::FILE_NAMES;
use crate::registry::trust::Approvals;

/// The text of a link from a client's folder to an installed skill: relative, so that a project can be moved, unless the
/// client's folder really is elsewhere.
fn link_target(place: &Place, folder: &Path, real: &Path, name: &str) -> String {
    let base = std::fs::canonicalize(&place.base).unwrap_or_else(|_| place.base.clone());
    match folder.strip_prefix(&place.base) {
        Ok(below) if base.join(below) == real => {
            let up = "../".repeat(below.components().count());
            format!("{up}{SKILLS_FOLDER}/{name}")
        }
        _ => place.skill(name).to_string_lossy().into_owned(),
    }
}

/// The files of a skill that the lock names, for a copy: those that are being installed, or those that are there.
fn copied(orders: &[Order], place: &Place, locked: &LockedSkill) -> Result<SkillTree, InstallError> {
    let ordered = orders.iter().find_map(|order| match order {
        Order::Install(new) if new.locked.digest == locked.digest => Some(new.tree.clone()),
        _ => None,
    });
    let path = place.skill(&locked.name);
    match ordered {
        Some(tree) => Ok(tree),
        None => read_tree(&path).map_err(|error| {
            InstallError::io("copy the skill", &path, std::io::Error::other(error.with_cause()))
        }),
    }
}

/// Gives every installed skill to every client that does not look where it is installed, and takes back what was removed.
pub(super) fn links(
    place: &Place,
    records: &Records,
    before: &SkillsLock,
    (orders, done): (&[Order], &[Change]),
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let copies = records.wanted.link().copies();
    let trusted = Trusted::of(place, how)?;
    let own = place.skills_folder(false)?;
    // Clients may share a folder, or reach one by two ways.
    let mut seen = BTreeSet::new();
    for client in records.wanted.clients() {
        let Some(folder) = place.client_folder(client, how.environment)? else { continue };
        let Some(real) = place.folder(&folder, !records.lock.skills().is_empty())? else { continue };
        if Some(&real) == own.as_ref() || !seen.insert(real.clone()) {
            continue;
        }
        let dir = open(&real)?;
        for locked in records.lock.skills() {
            let name = &*locked.name;
            let target = link_target(place, &folder, &real, name);
            let there = state(&dir, name)?;
            let old = before.get(name).map(|old| State::Tree(old.digest.clone()));
            let new = State::Tree(locked.digest.clone());
            let fine = match &there {
                Some(State::Link(to)) => !copies && *to == target,
                Some(state) => copies && *state == new,
                None => false,
            };
            if let Some(accepted) = trusted.accepted(&folder, locked, orders) {
                transaction.accept(accepted);
            }
            if fine {
                continue;
            }
            let ours = match &there {
                None => true,
                Some(State::Link(to)) => *to == target,
                Some(state) => *state == new || Some(state) == old.as_ref(),
            };
            if !ours && how.edits != Edits::Overwrite {
                if how.edits == Edits::Keep {
                    continue;
                }
                return Err(InstallError::new(
                    InstallErrorKind::Exists,
                    format!(
                        "something else has the place of a link to an installed skill: {}",
                        shown(&folder.join(name))
                    ),
                    "move it away, keep it, or overwrite it",
                ));
            }
            if copies {
                transaction.put(&real, name, &copied(orders, place, locked)?, there)?;
            } else {
                transaction.link(&real, name, &target, there)?;
            }
        }
        for removed in done.iter().filter(|change| change.action == Action::Removed) {
            let there = state(&dir, &removed.name)?;
            let target = link_target(place, &folder, &real, &removed.name);
            let ours = match &there {
                Some(State::Link(to)) => *to == target,
                Some(state) => *state == State::Tree(removed.locked.digest.clone()),
                None => false,
            };
            if let Some(there) = there.filter(|_| ours) {
                transaction.remove(&real, &removed.name, there)?;
                let skill_file = folder.join(&removed.name).join(FILE_NAMES[0]);
                transaction.accept(Accepted { name: removed.name.clone(), skill_file, digest: None });
            }
        }
    }
    Ok(())
}

/// What the user accepted where skills are installed. A client reaches the same skills by another path, and trust is bound
/// to a path and a digest.
struct Trusted<'t> {
    place: &'t Place,
    /// Whether what is being installed is accepted.
    new: bool,
    approvals: Approvals,
}

impl<'t> Trusted<'t> {
    fn of(place: &'t Place, how: &Orders<'_>) -> Result<Self, InstallError> {
        let file = &place.books.approvals;
        let approvals = Approvals::load(file).map_err(|error| {
            InstallError::io("read your approvals", file, std::io::Error::other(error.with_cause()))
        })?;
        Ok(Self { place, new: how.accepted, approvals })
    }

    /// What has to be recorded so that a skill is trusted in a client's folder as it is where it is installed.
    fn accepted(&self, folder: &Path, locked: &LockedSkill, orders: &[Order]) -> Option<Accepted> {
        let new = orders.iter().find_map(|order| match order {
            Order::Install(new) if new.locked.name == locked.name => Some(new),
            _ => None,
        });
        let (there, here) = (self.place.skill(&locked.name), folder.join(&locked.name));
        let approved = |folder: &Path| {
            let mut approvals = self.approvals.skills.iter();
            approvals.find(|approval| is_in(&approval.location, folder) && approval.digest == locked.digest)
        };
        let old = approved(&there);
        let is_trusted = old.is_some() || (self.new && new.is_some());
        if !is_trusted || approved(&here).is_some() {
            return None;
        }
        let own = match (new, old) {
            (Some(new), _) => new.tree.manifest().own()?.path.to_string(),
            (None, old) => Path::new(old?.location.file()?).file_name()?.to_str()?.to_owned(),
        };
        let name = new.map(|new| new.declared_name.clone()).or_else(|| old.map(|old| old.name.clone()))?;
        Some(Accepted { name, skill_file: here.join(own), digest: Some(locked.digest.clone()) })
    }
}
