//! Removes what clients have of skills that no record names any more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::folders::ClientFolder;
use super::trusted::{AcceptedSkills, end_trust};
use crate::env::Environment;
use crate::install::apart::Apart;
use crate::install::apply::{Loss, Orders};
use crate::install::change::{Action, Change, ClientAction, ClientChange, Edits, LeftAlone};
use crate::install::compare::is_unchanged;
use crate::install::error::InstallError;
use crate::install::records::{InstallTarget, Records};
use crate::install::target::{State, Transaction};
use crate::library::clients::CLIENTS;

/// What Prowess placed in the folders of clients.
pub(super) struct Placed<'p> {
    /// A copy of an installed skill is trusted at its path; the user's own folder there is not.
    pub(super) accepted: &'p AcceptedSkills,
    /// Whether clients got copies.
    pub(super) copied: bool,
    /// The user's sources, of which none is removed.
    pub(super) apart: &'p Apart,
}

impl Placed<'_> {
    /// Whether what a client has under a name is the source of an installed skill, or contains it.
    pub(super) fn is_source(&self, folder: &ClientFolder, name: &str) -> bool {
        folder.open.as_ref().is_some_and(|(real, _)| self.apart.holds_source(&real.join(name)))
    }

    /// Whether Prowess placed a copy at a path. It may have been edited since.
    fn has_copy(&self, path: &Path, there: &State) -> bool {
        !matches!(there, State::Link(_)) && self.accepted.digest_in(path).is_some()
    }
}

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
            let has_copy = placed.has_copy(&path, &there);
            let ours = match &there {
                State::Link(to) => *to == folder.target(place, &change.name),
                there => has_copy && is_unchanged(there, &path, &change.locked.digest, how.listing),
            };
            let is_source = placed.is_source(&folder, &change.name);
            if !ours || is_source {
                let left = LeftAlone { client: folder.client.clone(), path, is_source };
                change.left.extend((has_copy || is_source).then_some(left));
                continue;
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
/// skill whose edited files are kept.
pub(super) fn take_back(
    place: &InstallTarget,
    folder: &ClientFolder,
    removed: &mut Change,
    (how, placed): (&Orders<'_>, &Placed<'_>),
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let (Some(there), Some((real, _))) = (folder.state(&removed.name)?, &folder.open) else { return Ok(()) };
    let path = folder.folder.join(&removed.name);
    let ours = match &there {
        State::Link(to) => *to == folder.target(place, &removed.name),
        there => placed.copied && is_unchanged(there, &path, &removed.locked.digest, how.listing),
    };
    let kept = removed.action == Action::Kept && matches!(there, State::Link(_));
    // Where clients get links, a folder is the user's own.
    let edited = placed.copied && placed.has_copy(&path, &there);
    let is_lost = edited && how.edits == Edits::Overwrite;
    let is_source = placed.is_source(folder, &removed.name);
    if kept || !(ours || is_lost) || is_source {
        removed.left.push(LeftAlone { client: folder.client.clone(), path, is_source });
        return Ok(());
    }
    if !ours {
        removed.replaced.push(Loss::of(path.clone(), &there, Some(&removed.locked), how.listing));
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
