//! Removes what clients have of skills that no record names any more.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::folders::ClientFolder;
use super::placed::Placed;
use super::trusted::end_trust;
use crate::env::Environment;
use crate::install::apply::{Loss, Orders};
use crate::install::change::{Action, Change, ClientAction, ClientChange, Edits, LeftAlone};
use crate::install::error::InstallError;
use crate::install::records::{InstallTarget, Records};
use crate::install::target::{State, Transaction};
use crate::library::clients::CLIENTS;

/// The folders of clients that `skills.toml` does not name, each once, and none that a client has which it names.
pub(super) fn folders_elsewhere(
    place: &InstallTarget,
    records: &Records,
    environment: &Environment,
) -> Result<Vec<ClientFolder>, InstallError> {
    let wanted = records.wanted.clients();
    let others =
        CLIENTS.iter().map(|client| client.id).filter(|id| !wanted.iter().any(|wanted| wanted == id));
    let mut seen: BTreeSet<PathBuf> = wanted
        .iter()
        .filter_map(|id| ClientFolder::lenient(place, id, environment))
        .filter_map(|folder| folder.open.map(|(real, _)| real))
        .chain(place.skills_folder(false)?)
        .collect();
    let mut folders: Vec<ClientFolder> =
        others.filter_map(|id| ClientFolder::lenient(place, id, environment)).collect();
    folders.retain(|folder| folder.open.as_ref().is_some_and(|(real, _)| seen.insert(real.clone())));
    Ok(folders)
}

/// Removes the links and unedited copies of removed skills that clients have which `skills.toml` no longer names. What
/// else they have of a removed skill may be the user's own, and stays.
pub(super) fn take_back_elsewhere<'c>(
    place: &InstallTarget,
    records: &Records,
    removed: impl Iterator<Item = &'c mut Change>,
    (how, placed): (&Orders<'_>, &Placed<'_>),
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let mut removed: Vec<&mut Change> = removed.collect();
    if removed.is_empty() {
        return Ok(());
    }
    for folder in folders_elsewhere(place, records, how.environment)? {
        let Some((real, _)) = &folder.open else { continue };
        for change in &mut removed {
            let there = folder.state(&change.name)?;
            let Some(there) = there else { continue };
            let path = folder.folder.join(&change.name);
            let has_copy = placed.has_copy(&folder, &change.name, &there);
            let ours = placed.is_ours(&folder, &change.name, &there);
            let is_source = placed.is_source(&folder, &change.name, Some(&there));
            if !ours || is_source {
                let left = LeftAlone { client: folder.client.clone(), path, is_source };
                let is_forgotten = placed.is_forgotten(&folder, &change.name, &there);
                if how.files && has_copy && !is_source {
                    transaction.leave_edited(real.join(&change.name), &there);
                }
                change.left.extend((has_copy || is_source || is_forgotten).then_some(left));
                continue;
            }
            if how.plans_files {
                placed.protected.check_may_replace(&path)?;
            }
            if how.files {
                transaction.remove(real, &change.name, there)?;
                end_trust(&change.name, &path, transaction);
            }
            change.clients.push(removed_from(&folder, path));
        }
    }
    Ok(())
}

/// Removes the link or copy of a skill that no record names any more. If it was changed, it stays; so does a link to a
/// skill whose files stay.
pub(super) fn take_back(
    folder: &ClientFolder,
    removed: &mut Change,
    (how, placed): (&Orders<'_>, &Placed<'_>),
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let (Some(there), Some((real, _))) = (folder.state(&removed.name)?, &folder.open) else { return Ok(()) };
    let path = folder.folder.join(&removed.name);
    let ours = placed.is_ours(folder, &removed.name, &there);
    let kept = match removed.action {
        Action::Kept => matches!(there, State::Link(_)),
        // Nothing shows who placed the skill, so its folder stays, and what clients have of it with it.
        Action::NotPlaced => true,
        _ => false,
    };
    let has_copy = placed.has_copy(folder, &removed.name, &there);
    let is_lost = has_copy && how.edits == Edits::Overwrite;
    let is_source = placed.is_source(folder, &removed.name, Some(&there));
    if kept || !(ours || is_lost) || is_source {
        if how.files && has_copy && !is_source {
            transaction.leave_edited(real.join(&removed.name), &there);
        }
        removed.left.push(LeftAlone { client: folder.client.clone(), path, is_source });
        return Ok(());
    }
    if !ours {
        removed.replaced.push(Loss::of(path.clone(), &there, Some(&removed.locked), how.listing));
    }
    if how.plans_files {
        placed.protected.check_may_replace(&path)?;
    }
    if how.files {
        transaction.remove(real, &removed.name, there)?;
        end_trust(&removed.name, &path, transaction);
    }
    removed.clients.push(removed_from(folder, path));
    Ok(())
}

fn removed_from(folder: &ClientFolder, path: PathBuf) -> ClientChange {
    ClientChange { client: folder.client.clone(), action: ClientAction::Removed, path }
}
