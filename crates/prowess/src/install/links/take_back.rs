//! Removes what clients have of skills that no record names any more.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::folders::ClientFolder;
use super::trusted::end_trust;
use crate::install::apply::Orders;
use crate::install::change::{Action, Change, ClientAction, ClientChange, Edits, LeftAlone};
use crate::install::error::InstallError;
use crate::install::records::{Place, Records};
use crate::install::target::{State, Transaction};
use crate::library::clients::CLIENTS;

/// Removes the links to removed skills that clients have which `skills.toml` no longer names: they would lead to nothing.
/// What else they have of a removed skill may be the user's own, and stays.
pub(super) fn take_back_elsewhere<'c>(
    place: &Place,
    records: &Records,
    removed: impl Iterator<Item = &'c mut Change>,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let mut removed: Vec<&mut Change> = removed.collect();
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
        for change in &mut removed {
            let there = folder.state(&change.name)?;
            let is_link =
                matches!(&there, Some(State::Link(to)) if *to == folder.target(place, &change.name));
            let Some(there) = there.filter(|_| is_link) else { continue };
            let path = folder.folder.join(&change.name);
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
/// skill whose edited files are kept.
pub(super) fn take_back(
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
    let kept = removed.action == Action::Kept && matches!(there, State::Link(_));
    if kept || !ours && how.edits != Edits::Overwrite {
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
    removed.clients.push(removed_from(folder, path));
    Ok(())
}

fn removed_from(folder: &ClientFolder, path: PathBuf) -> ClientChange {
    ClientChange { client: folder.client.clone(), action: ClientAction::Removed, path }
}
