//! Links and copies for clients that do not look in the folder of installed skills.

mod differences;
mod folders;
mod given;
mod placed;
mod refresh;
mod take_back;
mod trusted;

use std::path::Path;

pub(super) use self::differences::differences;
pub use self::differences::{ClientDifference, ClientState};
use self::folders::client_folders;
use self::given::{Given, Installed};
pub(super) use self::placed::Before;
use self::placed::Placed;
use self::refresh::refresh_elsewhere;
use self::take_back::{take_back, take_back_elsewhere};
use self::trusted::Trusted;
pub(super) use self::trusted::{AcceptedSkills, end_trust};
use super::apply::{Loss, Made, Order, Orders, changed, named};
use super::change::{Action, Change, ClientAction, ClientChange, Edits, LeftAlone};
use super::compare::{edits_of, is_unchanged};
use super::error::{InstallError, InstallErrorKind};
use super::installer::open_skills;
use super::protected::{Protected, holds_source};
use super::records::{InstallTarget, LockedSkill, Records};
use super::target::{State, Transaction};
use crate::env;
use crate::error::shown;

/// Links or copies every installed skill for every client that does not look in the folder of installed skills, and
/// removes the links of removed skills. Without `made`, nothing is changed and only the changes are returned.
pub(super) fn links(
    place: &InstallTarget,
    records: &Records,
    (before, protected): (&Before, &Protected<'_>),
    (orders, done): (&[Order], &mut Vec<Change>),
    how: &Orders<'_>,
    (transaction, made): (&mut Transaction<'_>, &mut Made),
) -> Result<(), InstallError> {
    let copies = records.wanted.link().copies();
    let trusted = Trusted::of(place, how)?;
    let dropped = orders.iter().filter_map(|order| match order {
        Order::Drop(name) => Some(&**name),
        _ => None,
    });
    let placed = Placed { place, before, protected, listing: how.listing, dropped: dropped.collect() };
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
            let path = folder.folder.join(&locked.name);
            let is_source = placed.is_source(&folder, &locked.name, there.as_ref());
            let is_users = there.as_ref().is_some_and(|there| placed.is_users(&folder, &locked.name, there));
            // So that no later command takes it for a copy that came with the records, or asks again.
            let is_left = there.is_some() && placed.is_left(&folder, &locked.name);
            // An edited copy is the user's from then on, too.
            let is_edited = there.as_ref().is_some_and(|there| {
                placed.has_copy(&folder, &locked.name, there) && !placed.is_ours(&folder, &locked.name, there)
            });
            let leave = |transaction: &mut Transaction<'_>| {
                let is_new = (is_users || is_source || is_edited) && !is_left && how.files;
                if let Some((real, _)) = folder.open.as_ref().filter(|_| is_new) {
                    transaction.leave_to_user(real.join(&locked.name));
                }
            };
            if folder.is_fine(there.as_ref(), place, locked, (copies, how.listing)) {
                if !(is_users || copies && is_source) {
                    trust(transaction);
                } else if is_users && !is_left {
                    // The same files, which the user wrote: they stay, also when the skill is removed.
                    let is_forgotten = |there| placed.is_forgotten(&folder, &locked.name, there);
                    if there.as_ref().is_some_and(is_forgotten) {
                        continue;
                    }
                    if how.edits == Edits::Stop {
                        return Err(taken(&path, there.as_ref(), locked, how).in_entry(&locked.name));
                    }
                    leave(transaction);
                }
                continue;
            }
            // The user chose to keep it, for the skill as it was installed then. Only a command that names the skill
            // replaces it, and none replaces a source.
            let was_kept = is_left && before.lock.get(&locked.name).is_some();
            // The user's own link to the source gives the client the skill already.
            let is_own_link = matches!(&there, Some(State::Link(_)) if is_users)
                && locked.source_folder(place.scope, &place.skill(&locked.name)).is_some_and(|source| {
                    std::fs::canonicalize(&path).is_ok_and(|path| path == env::real(&source))
                });
            let edits = match how.edits {
                _ if is_own_link => Edits::Keep,
                Edits::Stop if was_kept => Edits::Keep,
                Edits::Overwrite if is_left && (is_source && was_kept || !is_named(orders, &locked.name)) => {
                    Edits::Keep
                }
                edits => edits,
            };
            if is_source && edits != Edits::Keep {
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
            // With other line ends, a copy of the same files is to stay as well.
            let is_kept = |there: &State| {
                edits == Edits::Keep
                    && !matches!(there, State::Link(_))
                    && is_unchanged(there, &path, locked.digest, how.listing)
            };
            let ours = there
                .as_ref()
                .is_none_or(|there| placed.is_ours(&folder, &locked.name, there) && !is_kept(there));
            match edits {
                _ if ours && !is_source => {}
                Edits::Stop => {
                    // A copy from before that differs now was edited.
                    let copied =
                        there.as_ref().is_some_and(|there| placed.has_copy(&folder, &locked.name, there));
                    return Err(if copied {
                        edited_copy(&path, locked, how)
                    } else {
                        taken(&path, there.as_ref(), locked, how).in_entry(&locked.name)
                    });
                }
                Edits::Keep => {
                    let client = folder.client.clone();
                    change_of(place, locked, done).left.push(LeftAlone { client, path, is_source });
                    leave(transaction);
                    continue;
                }
                Edits::Overwrite => {
                    let there = there.as_ref().unwrap_or(&State::Other);
                    let installed = Some(locked).filter(|_| !is_users);
                    let loss = Loss::of(path.clone(), there, installed, how.listing);
                    change_of(place, locked, done).replaced.push(loss);
                }
            }
            if there.is_some() && how.plans_files {
                protected.check_may_replace(&path)?;
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
        let is_gone = |change: &&mut Change| !change.recorded && change.action != Action::LeftThere;
        for removed in done.iter_mut().filter(is_gone) {
            take_back(&folder, removed, (how, &placed), transaction)?;
        }
    }
    refresh_elsewhere(&available, (records, &before.lock), (&trusted, &placed), done, transaction)?;
    let removed = done.iter_mut().filter(|change| change.action == Action::Removed);
    take_back_elsewhere(place, records, removed, (how, &placed), transaction)
}

/// Whether the command names a skill with its source, as `add` does.
fn is_named(orders: &[Order], name: &str) -> bool {
    let adds = |order: &Order| matches!(order, Order::Install(new) if new.wanted.is_some() && new.locked.name == name);
    orders.iter().any(adds)
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
    if let Some(error) = InstallError::mounted_in(path) {
        return error;
    }
    let files = named(edits_of(path, locked.digest, how.listing).unwrap_or_default());
    let message = format!("this copy of an installed skill was edited: {}{files}", shown(path));
    InstallError::new(InstallErrorKind::Edited, message, "keep the edits, or overwrite them")
}

fn taken(path: &Path, there: Option<&State>, locked: &LockedSkill, how: &Orders<'_>) -> InstallError {
    let is_same = |there: &State| {
        !matches!(there, State::Link(_)) && is_unchanged(there, path, locked.digest, how.listing)
    };
    let what = if there.is_some_and(is_same) {
        "this skill is there already, and was not installed"
    } else {
        "something else is where a client looks for an installed skill"
    };
    let message = format!("{what}: {}", shown(path));
    InstallError::new(InstallErrorKind::Taken, message, "move it away, keep it, or overwrite it")
}
