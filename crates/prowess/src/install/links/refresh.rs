//! Copies that clients have which `skills.toml` no longer names: they get the new files with their skill, as a link does.

use super::change_of;
use super::given::{Given, Installed};
use super::placed::Placed;
use super::take_back::folders_elsewhere;
use super::trusted::Trusted;
use crate::install::change::{Change, ClientAction, ClientChange, LeftAlone};
use crate::install::compare::{is_tree, is_unchanged};
use crate::install::error::InstallError;
use crate::install::records::{Records, SkillsLock};
use crate::install::target::{State, Transaction};

/// Replaces unedited copies of skills that have other files now. An edited one stays, which is reported.
pub(super) fn refresh_elsewhere(
    available: &Installed<'_>,
    (records, before): (&Records, &SkillsLock),
    (trusted, placed): (&Trusted<'_>, &Placed<'_>),
    done: &mut Vec<Change>,
    transaction: &mut Transaction<'_>,
) -> Result<(), InstallError> {
    let Installed { place, how, .. } = available;
    let updated = records.lock.skills().iter().filter_map(|locked| {
        let old = before.get(&locked.name).filter(|old| old.digest != locked.digest)?;
        Some((locked, old.digest))
    });
    let updated: Vec<_> = updated.collect();
    if updated.is_empty() {
        return Ok(());
    }
    for folder in folders_elsewhere(place, records, how.environment)? {
        let Some((real, _)) = &folder.open else { continue };
        for (locked, old) in &updated {
            let path = folder.folder.join(&locked.name);
            let there = match folder.state(&locked.name)? {
                Some(State::Tree(digest)) if is_tree(digest, locked.digest, &path, how.listing) => continue,
                Some(there @ (State::Tree(_) | State::Other))
                    if placed.has_copy(&folder, &locked.name, &there) =>
                {
                    there
                }
                _ => continue,
            };
            let is_source = placed.is_source(&folder, &locked.name, Some(&there));
            let is_edited = is_source || !is_unchanged(&there, &path, *old, how.listing);
            let Given::Copy(tree) = available.give(locked, true)? else { continue };
            let client = folder.client.clone();
            let change = change_of(place, locked, done);
            if is_edited {
                change.left.push(LeftAlone { client, path, is_source });
                continue;
            }
            if how.plans_files {
                placed.protected.check_may_replace(&path)?;
            }
            change.clients.push(ClientChange { client, action: ClientAction::Copied, path });
            if how.files {
                for accepted in trusted.accepted(&folder.folder, locked, transaction) {
                    transaction.accept(accepted);
                }
                transaction.put(real, &locked.name, &tree, Some(there))?;
            }
        }
    }
    Ok(())
}
