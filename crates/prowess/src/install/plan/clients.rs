//! Links and copies for clients that do not look in the folder of installed skills.

use super::actual::{Actual, ClientEntry};
use super::change::{Action, Change, Changes, ClientAction, ClientChange, Edits};
use super::client_folder::folders_elsewhere;
use super::losses::named;
use super::prepare::Prepared;
use super::protected::holds_source;
use super::skills::end_trust;
use super::{ClientFolder, Loss, Order, Plan, client_folders, installs};
use crate::env;
use crate::error::shown;
use crate::install::apply::{State, Transaction, read_tree};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{LockedSkill, Records};
use crate::install::source::tree::SkillTree;
use crate::install::verify::compare::{edits_of, is_tree};

/// What a client gets of an installed skill.
enum ClientPayload {
    Link,
    Copy(SkillTree),
    /// Nothing: the skill is not installed, or it has edits and its files are not in the store.
    Nothing(Action),
}

impl Plan<'_> {
    /// Links or copies every installed skill for every client that does not look in the folder of installed skills, and
    /// removes the links of removed skills.
    pub(super) fn plan_clients(&mut self) -> Result<(), InstallError> {
        let Self { actual, records, transaction, created, changes } = self;
        let (place, environment) = (actual.how.place, actual.how.installer.environment());
        let created = (actual.how.write.files && !records.lock.skills().is_empty()).then_some(created);
        for folder in client_folders(place, records, environment, created)? {
            for locked in records.lock.skills() {
                actual.give(records, (&folder, locked), changes, transaction)?;
            }
            let is_gone = |change: &&mut Change| !change.recorded && change.action != Action::LeftThere;
            for removed in changes.skills.iter_mut().filter(is_gone) {
                actual.take_back((&folder, true), removed, transaction)?;
            }
        }
        let is_updated = |locked: &&LockedSkill| {
            actual.lock.get(&locked.name).is_some_and(|old| old.digest != locked.digest)
        };
        let is_removed = |change: &&mut Change| change.action == Action::Removed;
        let updated: Vec<&LockedSkill> = records.lock.skills().iter().filter(is_updated).collect();
        if updated.is_empty() && changes.skills.iter().all(|change| change.action != Action::Removed) {
            return Ok(());
        }
        let elsewhere = folders_elsewhere(place, records, environment)?;
        for folder in &elsewhere {
            for locked in &updated {
                actual.refresh(folder, locked, changes, transaction)?;
            }
        }
        for folder in &elsewhere {
            for removed in changes.skills.iter_mut().filter(is_removed) {
                actual.take_back((folder, false), removed, transaction)?;
            }
        }
        Ok(())
    }
}

impl Actual<'_> {
    /// Gives a skill to a client that the records name.
    fn give(
        &self,
        records: &Records,
        (folder, locked): (&ClientFolder, &LockedSkill),
        changes: &mut Changes,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), InstallError> {
        let (how, copies) = (&self.how, records.wanted.link().copies());
        let entry = self.entry(folder, &locked.name)?;
        let (is_source, is_users) = (entry.is_source(), entry.is_users());
        let is_asked = is_asked(self.orders, &locked.name);
        // So that no later command takes it for a copy that came with the records, or asks again.
        let is_left = entry.is_left();
        // An edited copy is the user's from then on, too.
        let is_edited = entry.has_copy() && !entry.is_ours();
        let leave = |transaction: &mut Transaction<'_>| {
            let is_new = (is_users || is_source || is_edited) && !is_left;
            entry.real().into_iter().filter(|_| is_new).for_each(|real| transaction.leave_to_user(real));
        };
        if folder.is_fine(entry.there.as_ref(), how.place, locked, (copies, how.listing)) {
            if !(is_users || copies && is_source) {
                // What the user has there instead is not trusted with it.
                self.trust(&entry, locked, transaction);
            } else if is_users && !is_left && !entry.is_forgotten() {
                // The same files, which the user wrote: they stay, also when the skill is removed.
                if how.options.edits == Edits::Stop && is_asked {
                    return Err(taken(&entry, locked));
                }
                leave(transaction);
            }
            return Ok(());
        }
        // The user chose to keep it, for the skill as it was installed then. Only a command that names the skill
        // replaces it, and none replaces a source.
        let was_kept = is_left && self.lock.get(&locked.name).is_some();
        // With its source, as `add` does.
        let is_named =
            || installs(self.orders).any(|new| new.wanted.is_some() && new.locked.name == locked.name);
        // The user's own link to the source gives the client the skill already.
        let is_own_link = matches!(entry.there, Some(State::Link(_)) if is_users)
            && locked.source_folder(how.place.scope, &how.place.skill(&locked.name)).is_some_and(|source| {
                std::fs::canonicalize(&entry.path).is_ok_and(|path| path == env::real(&source))
            });
        let edits = match how.options.edits {
            _ if is_own_link => Edits::Keep,
            Edits::Stop if was_kept => Edits::Keep,
            Edits::Overwrite if is_left && (is_source && was_kept || !is_named()) => Edits::Keep,
            edits => edits,
        };
        if is_source && edits != Edits::Keep && is_asked {
            return Err(holds_source(&entry.path).in_entry(&locked.name));
        }
        let payload = self.payload(locked, copies)?;
        if let ClientPayload::Nothing(action) = payload {
            let change = self.change_in(changes, locked);
            change.action = action;
            change.left.extend((action == Action::Kept).then(|| entry.left(is_source)));
            return Ok(());
        }
        // With other line ends, a copy of the same files is to stay as well.
        let is_kept = || edits == Edits::Keep && entry.is_unchanged(locked.digest);
        let is_free = entry.there.is_none() || entry.is_ours() && !is_kept();
        match (edits, &entry.there) {
            _ if is_free && !is_source => {}
            // A copy from before that differs now was edited.
            (Edits::Stop, _) if is_asked && entry.has_copy() => return Err(self.edited_copy(&entry, locked)),
            (Edits::Stop, _) if is_asked => return Err(taken(&entry, locked)),
            (Edits::Overwrite, there) if is_asked => {
                let installed = entry.placed().filter(|_| !is_users);
                let there = there.as_ref().unwrap_or(&State::Other);
                let loss = Loss::of(entry.path.clone(), there, installed, how.listing);
                self.change_in(changes, locked).replaced.push(loss);
            }
            (_, there) => {
                self.change_in(changes, locked).left.push(entry.left(is_source));
                // A copy or a link of a skill that is not asked about can still be restored by a command that is.
                if edits == Edits::Keep || is_users && !matches!(there, Some(State::Link(_))) {
                    leave(transaction);
                }
                return Ok(());
            }
        }
        if entry.there.is_some() && how.write.plans_files {
            self.protected.check_may_replace(&entry.path)?;
        }
        self.trust(&entry, locked, transaction);
        let (client, path, there) = (folder.client.clone(), entry.path, entry.there);
        let is_copy = matches!(payload, ClientPayload::Copy(_));
        let action = if is_copy { ClientAction::Copied } else { ClientAction::Linked };
        self.change_in(changes, locked).clients.push(ClientChange { client, action, path });
        let Some(real) = &folder.open else { return Ok(()) };
        match payload {
            ClientPayload::Copy(tree) => transaction.put(real.path(), &locked.name, &tree, there).map(drop),
            _ => {
                let target = folder.target(how.place, &locked.name);
                transaction.link(real.path(), &locked.name, &target, there)
            }
        }
    }

    /// Replaces an unedited copy of a skill that has other files now, for a client that `skills.toml` no longer names: it
    /// gets the new files with the skill, as a link does. An edited one stays, which is reported.
    fn refresh(
        &self,
        folder: &ClientFolder,
        locked: &LockedSkill,
        changes: &mut Changes,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), InstallError> {
        let (entry, listing) = (self.entry(folder, &locked.name)?, self.how.listing);
        let is_new = matches!(&entry.there, Some(State::Tree(there)) if is_tree(*there, locked.digest, &entry.path, listing));
        let Some(real) = folder.open.as_ref().filter(|_| !is_new && entry.has_copy()) else { return Ok(()) };
        let is_source = entry.is_source();
        let old = self.lock.get(&locked.name).and_then(|old| old.digest);
        let is_edited = is_source || !entry.is_unchanged(old);
        let ClientPayload::Copy(tree) = self.payload(locked, true)? else { return Ok(()) };
        let change = self.change_in(changes, locked);
        if is_edited {
            change.left.push(entry.left(is_source));
            return Ok(());
        }
        if self.how.write.plans_files {
            self.protected.check_may_replace(&entry.path)?;
        }
        self.trust(&entry, locked, transaction);
        let (client, action) = (folder.client.clone(), ClientAction::Copied);
        change.clients.push(ClientChange { client, action, path: entry.path });
        transaction.put(real.path(), &locked.name, &tree, entry.there).map(drop)
    }

    /// Removes the link or copy of a skill that no record names any more. If it was changed, it stays; so does a link to a
    /// skill whose files stay. What else a client has may be the user's own, if `skills.toml` no longer names the client.
    fn take_back(
        &self,
        (folder, is_named): (&ClientFolder, bool),
        removed: &mut Change,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), InstallError> {
        let name = removed.name.clone();
        let entry = self.entry(folder, &name)?;
        let (Some(there), Some(real)) = (&entry.there, &folder.open) else { return Ok(()) };
        let (is_ours, has_copy, is_source) = (entry.is_ours(), entry.has_copy(), entry.is_source());
        let is_kept = match removed.action {
            Action::Kept => matches!(there, State::Link(_)),
            // Nothing shows who placed the skill, so its folder stays, and what clients have of it with it.
            Action::NotPlaced => true,
            _ => false,
        };
        let is_lost = is_named && has_copy && self.how.options.edits == Edits::Overwrite;
        if is_kept || !(is_ours || is_lost) || is_source {
            if has_copy && !is_source {
                transaction.leave_edited(real.path().join(&name), there);
            }
            let is_said = is_named || has_copy || is_source || entry.is_forgotten();
            removed.left.extend(is_said.then(|| entry.left(is_source)));
            return Ok(());
        }
        if !is_ours {
            let loss = Loss::of(entry.path.clone(), there, entry.placed(), self.how.listing);
            removed.replaced.push(loss);
        }
        if self.how.write.plans_files {
            self.protected.check_may_replace(&entry.path)?;
        }
        transaction.remove(real.path(), &name, there.clone())?;
        end_trust(&name, &entry.path, transaction);
        let (client, action) = (folder.client.clone(), ClientAction::Removed);
        removed.clients.push(ClientChange { client, action, path: entry.path });
        Ok(())
    }

    /// What a client gets of a skill. A copy has the files of the lock, never those of an edited skill. A link needs a
    /// target.
    fn payload(&self, locked: &LockedSkill, copies: bool) -> Result<ClientPayload, InstallError> {
        // By its name too: another skill may have the same files.
        let is_it = |new: &&Prepared| new.locked.name == locked.name && new.locked.digest == locked.digest;
        if let Some(new) = installs(self.orders).find(is_it) {
            return Ok(if copies { ClientPayload::Copy(new.tree.clone()) } else { ClientPayload::Link });
        }
        let there = self.state(&locked.name)?;
        if !copies && there.is_some() {
            return Ok(ClientPayload::Link);
        }
        let tree = match &there {
            Some(State::Tree(digest)) if Some(*digest) == locked.digest => {
                read_tree(&self.how.place.skill(&locked.name)).ok()
            }
            Some(_) => locked.digest.and_then(|digest| self.how.store.get(digest)),
            None => None,
        };
        Ok(match (tree, there) {
            (Some(tree), _) if Some(tree.digest()) == locked.digest => ClientPayload::Copy(tree),
            (_, None) => ClientPayload::Nothing(Action::NotInstalled),
            _ => ClientPayload::Nothing(Action::Kept),
        })
    }

    fn trust(&self, entry: &ClientEntry<'_>, locked: &LockedSkill, transaction: &mut Transaction<'_>) {
        let installed = self.how.place.skill(&locked.name);
        let accepted =
            self.accepted.given_to(&entry.path, (&installed, locked.digest), self.how.listing, transaction);
        for accepted in accepted {
            transaction.accept(accepted);
        }
    }

    /// The change of a skill; a skill without an order is unchanged.
    fn change_in<'c>(&self, changes: &'c mut Changes, locked: &LockedSkill) -> &'c mut Change {
        let all = &mut changes.skills;
        let at = all.iter().position(|change| change.name == locked.name).unwrap_or(all.len());
        if at == all.len() {
            all.push(self.change(locked, Action::Unchanged));
        }
        // It was found, or pushed just now.
        #[expect(clippy::indexing_slicing, reason = "the place is one of the list")]
        &mut all[at]
    }

    fn edited_copy(&self, entry: &ClientEntry<'_>, locked: &LockedSkill) -> InstallError {
        if let Some(error) = InstallError::mounted_in(&entry.path) {
            return error;
        }
        let files = named(edits_of(&entry.path, locked.digest, self.how.listing).unwrap_or_default());
        let message = format!("this copy of an installed skill was edited: {}{files}", shown(&entry.path));
        InstallError::new(InstallErrorKind::Edited, message, "keep the edits, or overwrite them")
    }
}

/// Whether the command is about a skill. `add` and `remove` are about those that they name, `sync` about all.
fn is_asked(orders: &[Order], name: &str) -> bool {
    orders.iter().any(|order| match order {
        Order::Install(new) => new.locked.name == name,
        Order::Keep(kept) => kept == name,
        Order::Remove(_) | Order::Drop(_) => false,
    })
}

fn taken(entry: &ClientEntry<'_>, locked: &LockedSkill) -> InstallError {
    let what = if entry.is_unchanged(locked.digest) {
        "this skill is there already, and was not installed"
    } else {
        "something else is where a client looks for an installed skill"
    };
    let message = format!("{what}: {}", shown(&entry.path));
    let hint = "move it away, keep it, or overwrite it";
    InstallError::new(InstallErrorKind::Taken, message, hint).in_entry(&locked.name)
}
