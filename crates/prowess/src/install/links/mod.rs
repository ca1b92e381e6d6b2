//! Links and copies for clients that do not look in the folder of installed skills.

mod differences;
mod folders;
mod given;
mod refresh;
mod take_back;
mod trusted;

use std::path::Path;

pub(super) use self::differences::differences;
pub use self::differences::{ClientDifference, ClientState};
use self::folders::client_folders;
use self::given::{Given, Installed};
use self::refresh::refresh_elsewhere;
use self::take_back::{Placed, take_back, take_back_elsewhere};
use self::trusted::Trusted;
pub(super) use self::trusted::{AcceptedSkills, end_trust};
use super::apart::{Apart, holds_source};
use super::apply::{Loss, Made, Order, Orders, changed, named, was_installed};
use super::change::{Action, Change, ClientAction, ClientChange, Edits, LeftAlone};
use super::compare::{edits_of, is_tree, is_unchanged};
use super::error::{InstallError, InstallErrorKind};
use super::installer::open_skills;
use super::records::{InstallTarget, LockedSkill, Records, SkillsLock};
use super::target::{State, Transaction};
use crate::error::shown;

/// Links or copies every installed skill for every client that does not look in the folder of installed skills, and
/// removes the links of removed skills. Without `made`, nothing is changed and only the changes are returned.
pub(super) fn links(
    place: &InstallTarget,
    records: &Records,
    before: (&SkillsLock, bool, &Apart),
    (orders, done): (&[Order], &mut Vec<Change>),
    how: &Orders<'_>,
    (transaction, made): (&mut Transaction<'_>, &mut Made),
) -> Result<(), InstallError> {
    let copies = records.wanted.link().copies();
    let trusted = Trusted::of(place, how)?;
    let placed = Placed { accepted: trusted.skills(), copied: before.1, apart: before.2 };
    let available = Installed { orders, place, dir: open_skills(place)?, how };
    let making = (how.files && !records.lock.skills().is_empty()).then_some(made);
    for folder in client_folders(place, records, how.environment, making)? {
        for locked in records.lock.skills() {
            let there = folder.state(&locked.name)?;
            // What the user has there instead is not trusted with it.
            let trust = |transaction: &mut Transaction<'_>| {
                let accepted = trusted.accepted(&folder.folder, locked, transaction);
                accepted.into_iter().filter(|_| how.files).for_each(|accepted| transaction.accept(accepted));
            };
            let is_source = placed.is_source(&folder, &locked.name);
            if folder.is_fine(there.as_ref(), place, locked, (copies, how.listing)) {
                // A copy that is the source was made by the user.
                if !copies || !is_source {
                    trust(transaction);
                }
                continue;
            }
            let path = folder.folder.join(&locked.name);
            if is_source && how.edits != Edits::Keep {
                return Err(holds_source(&path).in_entry(&locked.name));
            }
            let given = match available.give(locked, copies)? {
                Given::Nothing(action) => {
                    let change = change_of(place, locked, done);
                    change.action = action;
                    if action == Action::Kept {
                        change.left.push(LeftAlone { client: folder.client.clone(), path, is_source });
                    }
                    continue;
                }
                given => given,
            };
            let old = before.0.get(&locked.name).map(|old| &old.digest);
            let ours = match &there {
                None => true,
                Some(State::Link(to)) => *to == folder.target(place, &locked.name),
                Some(there) => {
                    let mut known = [Some(&locked.digest), old].into_iter().flatten();
                    // With other line ends, a copy of the same files is to stay as well.
                    let is_known = |digest: &String| match there {
                        State::Tree(there) if how.edits == Edits::Keep && *digest == locked.digest => {
                            is_tree(there, digest, &path, how.listing)
                        }
                        there => is_unchanged(there, &path, digest, how.listing),
                    };
                    let accepted = trusted.skills().digest_in(&path);
                    // By a lock that has changed since, as for the skill itself.
                    let was_copied = matches!(there, State::Tree(digest)
                        if before.1 && accepted.is_some() && was_installed(accepted, digest, how));
                    was_copied || known.any(is_known)
                }
            };
            match how.edits {
                _ if ours && !is_source => {}
                Edits::Stop => {
                    // A copy from before that differs now was edited.
                    let copied = before.1 && old.is_some() && !matches!(there, Some(State::Link(_)));
                    return Err(if copied {
                        edited_copy(&path, locked, how)
                    } else {
                        taken(&path).in_entry(&locked.name)
                    });
                }
                Edits::Keep => {
                    let client = folder.client.clone();
                    change_of(place, locked, done).left.push(LeftAlone { client, path, is_source });
                    continue;
                }
                Edits::Overwrite => {
                    let there = there.as_ref().unwrap_or(&State::Other);
                    let loss = Loss::of(path.clone(), there, Some(locked), how.listing);
                    change_of(place, locked, done).replaced.push(loss);
                }
            }
            trust(transaction);
            let action =
                if matches!(given, Given::Copy(_)) { ClientAction::Copied } else { ClientAction::Linked };
            let client = ClientChange { client: folder.client.clone(), action, path };
            change_of(place, locked, done).clients.push(client);
            let Some((real, _)) = folder.open.as_ref().filter(|_| how.files) else { continue };
            match given {
                Given::Copy(tree) => drop(transaction.put(real, &locked.name, &tree, there)?),
                _ => transaction.link(real, &locked.name, &folder.target(place, &locked.name), there)?,
            }
        }
        for removed in done.iter_mut().filter(|change| !change.recorded && change.action != Action::LeftThere)
        {
            take_back(place, &folder, removed, (how, &placed), transaction)?;
        }
    }
    refresh_elsewhere(&available, (records, before.0), (&trusted, &placed), done, transaction)?;
    let removed = done.iter_mut().filter(|change| change.action == Action::Removed);
    take_back_elsewhere(place, records, removed, (how, &placed), transaction)
}

/// The change of a skill; a skill without an order is unchanged.
fn change_of<'d>(place: &InstallTarget, locked: &LockedSkill, done: &'d mut Vec<Change>) -> &'d mut Change {
    let at = done.iter().position(|change| change.name == locked.name).unwrap_or(done.len());
    if at == done.len() {
        done.push(changed(place, locked.clone(), Action::Unchanged));
    }
    // It was found, or pushed just now.
    #[expect(clippy::indexing_slicing, reason = "the place is one of the list")]
    &mut done[at]
}

fn edited_copy(path: &Path, locked: &LockedSkill, how: &Orders<'_>) -> InstallError {
    let files = edits_of(path, &locked.digest, how.listing).unwrap_or_default();
    let files = named(files);
    let message = format!("this copy of an installed skill was edited: {}{files}", shown(path));
    InstallError::new(InstallErrorKind::Edited, message, "keep the edits, or overwrite them")
}

fn taken(path: &Path) -> InstallError {
    let message = format!("something else is where a client looks for an installed skill: {}", shown(path));
    InstallError::new(InstallErrorKind::Taken, message, "move it away, keep it, or overwrite it")
}
