//! What becomes of the folder of each skill: installed, updated, kept or removed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_core::Digest;

use super::change::{Action, Change, Edits};
use super::losses::{edited, edited_unlocked};
use super::prepare::Prepared;
use super::protected::holds_source;
use super::{CreatedDirs, Loss, Names, Plan, check_installable};
use crate::error::shown;
use crate::fs::dir::Folder;
use crate::fs::walk::FILE_NAMES;
use crate::install::apply::{Accepted, State, Transaction, recover, state_of};
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{InstallScope, InstallTarget, LockedSkill, check_folder_name, not_locked};
use crate::install::source::tree::{SkillTree, TreeSkill};
use crate::install::verify::compare::{as_kept, is_tree};

impl Plan<'_> {
    pub(super) fn install(&mut self, new: &Prepared, names: &mut Names) -> Result<Change, InstallError> {
        let (actual, how, name) = (&self.actual, &self.actual.how, new.name());
        let (options, path) = (how.options, how.place.skill(name));
        check_installable(name)?;
        names.take(name)?;
        let there = actual.state(name)?;
        let old = self.records.lock.get(name).cloned();
        let is_other = |old: &&LockedSkill| new.wanted.is_some() && !old.is_from(&new.locked);
        if let Some(old) = old.as_ref().filter(is_other).filter(|_| !options.replace) {
            return Err(InstallError::new(
                InstallErrorKind::Exists,
                format!("a skill of this name is installed from another source: {name}: {}", old.source),
                "give the new one another name, or replace the old one",
            )
            .in_entry(name));
        }
        let mut replaced = Vec::new();
        let mut replace = |there: &State| {
            replaced.push(Loss::of(
                path.clone(),
                there,
                old.as_ref().and_then(|old| old.digest),
                how.listing,
            ));
            Action::Updated
        };
        let is_same = |digest: Digest| is_tree(digest, new.locked.digest, &how.place.base, how.listing);
        let is_as_locked =
            |there: &State| old.as_ref().is_some_and(|old| actual.is_unchanged(there, &path, old.digest));
        // Equal bytes alone do not show that Prowess placed them.
        let is_installed = |there: &State| match &old {
            Some(old) => old.is_from(&new.locked) || is_as_locked(there),
            None => actual.placed(name).is_some_and(|placed| actual.is_unchanged(there, &path, Some(placed))),
        };
        let action = match (&there, &old) {
            (None, _) => Action::Installed,
            (Some(there @ State::Tree(digest)), _) if is_same(*digest) && is_installed(there) => {
                Action::Unchanged
            }
            // Other line ends are no edit, but what is there is to stay, and nothing newer is to be installed.
            (Some(there), Some(old))
                if options.edits == Edits::Keep && old.digest == new.locked.digest && is_as_locked(there) =>
            {
                Action::Kept
            }
            // What was installed before, by a lock that has changed since, is not an edit.
            (Some(there @ State::Tree(digest)), Some(_))
                if is_as_locked(there) && actual.placed(name).is_some()
                    || actual.was_installed(name, *digest) =>
            {
                Action::Updated
            }
            (Some(there), Some(old)) => match options.edits {
                Edits::Overwrite => replace(there),
                Edits::Keep => Action::Kept,
                Edits::Stop if is_as_locked(there) => {
                    let message = format!("only skills.lock says that prowess placed this: {}", shown(&path));
                    let hint = "keep it, or overwrite it";
                    return Err(InstallError::new(InstallErrorKind::Taken, message, hint).in_entry(name));
                }
                Edits::Stop => return Err(edited(how, old)),
            },
            (Some(there), None) if options.replace || options.edits == Edits::Overwrite => replace(there),
            (Some(_), None) if options.edits == Edits::Keep => {
                let left = actual.change(&new.locked, Action::LeftThere);
                return Ok(Change { recorded: false, ..left });
            }
            (Some(there), None) => {
                let what = match there {
                    State::Tree(digest) if is_same(*digest) => {
                        "this skill is there already, and was not installed"
                    }
                    _ => "something of this name is there that was not installed",
                };
                return Err(InstallError::new(
                    InstallErrorKind::Exists,
                    format!("{what}: {}", shown(&path)),
                    "give the skill another name, or replace what is there",
                )
                .in_entry(name));
            }
        };
        let replaced_source = there.as_ref().filter(|_| action == Action::Updated);
        let action = match replaced_source.is_some_and(|there| actual.is_source(name, there)) {
            true if options.edits == Edits::Keep => Action::Kept,
            true => return Err(holds_source(&path).in_entry(name)),
            false => action,
        };
        if action == Action::Updated && how.write.plans_files {
            actual.protected.check_may_replace(&path)?;
        }
        if action == Action::Kept {
            return Ok(actual.change(old.as_ref().unwrap_or(&new.locked), action));
        }
        let mut files = path.clone();
        if let Some(dir) = actual.dir.as_ref().filter(|_| action != Action::Unchanged) {
            files = self.transaction.put(dir.path(), name, &new.tree, there)?;
        }
        if how.write.files {
            let (kept, log) = (as_kept(&new.tree, &files), how.installer.fetch_log());
            if let Some(kept) = kept.as_ref().filter(|_| log.has(&new.locked)) {
                // So that these files are known when the lock has changed.
                let kept = LockedSkill { digest: Some(kept.digest()), ..new.locked.clone() };
                log.add([&kept].into_iter());
            }
            let tree = kept.as_ref().unwrap_or(&new.tree);
            for accepted in accepted_in(&path, new, tree).filter(|_| options.accepted) {
                self.transaction.accept(accepted);
            }
        }
        let newly_trusted = options.accepted && !actual.accepted.has(&path, new.locked.digest, how.listing);
        self.records.lock.insert(new.locked.clone());
        if let Some(wanted) = &new.wanted {
            self.records.wanted.insert(name, wanted.clone());
        }
        Ok(Change { newly_trusted, replaced, ..actual.change(&new.locked, action) })
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<Change, InstallError> {
        let (actual, how) = (&self.actual, &self.actual.how);
        let (edits, path) = (how.options.edits, how.place.skill(name));
        let (locked, placed) = (self.records.lock.get(name), actual.placed(name));
        let old = match (locked, self.records.wanted.get(name)) {
            (Some(old), _) => old.clone(),
            // It was never installed, or the lock was lost.
            (None, Some(wanted)) => not_locked(name, wanted, placed),
            (None, None) => return Err(actual.unknown(name)),
        };
        let there = actual.state(name)?;
        let mut replaced = Vec::new();
        let action = match &there {
            None => Action::Removed,
            Some(there) if actual.is_source(name, there) => match edits {
                Edits::Keep => Action::Kept,
                _ => return Err(holds_source(&path).in_entry(name)),
            },
            Some(there) if actual.is_unchanged(there, &path, old.digest) => Action::Removed,
            // What was placed before, by a lock that has changed since, is not an edit.
            Some(State::Tree(digest)) if placed == Some(*digest) => Action::Removed,
            Some(there) => match edits {
                Edits::Overwrite => {
                    replaced.push(Loss::of(path.clone(), there, old.digest, how.listing));
                    Action::Removed
                }
                Edits::Keep => Action::Kept,
                Edits::Stop if locked.is_none() => return Err(edited_unlocked(how, &old)),
                Edits::Stop => return Err(edited(how, &old)),
            },
        };
        if there.is_some() && action == Action::Removed && how.write.plans_files {
            actual.protected.check_may_replace(&path)?;
        }
        match (&actual.dir, there, action) {
            (Some(dir), Some(there), Action::Removed) => self.transaction.remove(dir.path(), name, there)?,
            (Some(dir), Some(there), Action::Kept) if placed.is_some() => {
                self.transaction.leave_edited(dir.path().join(name), &there);
            }
            _ => {}
        }
        // A skill that stays keeps its approval: without one, an edited skill of the user would count as the user's own.
        if action == Action::Removed {
            end_trust(name, &path, &mut self.transaction);
        }
        self.records.lock.remove(name);
        self.records.wanted.remove(name);
        Ok(Change { replaced, recorded: false, ..actual.change(&old, action) })
    }

    /// Removes a skill that only the lock names. A folder that Prowess is not known to have placed stays.
    pub(super) fn remove_extra(&mut self, name: &str) -> Result<Change, InstallError> {
        let actual = &self.actual;
        let Some(old) = self.records.lock.get(name) else { return Err(actual.unknown(name)) };
        let is_known = |there: &State| {
            let is = |digest| actual.is_unchanged(there, &actual.how.place.skill(name), digest);
            // Files that the lock names and that were not placed here are not edits of those that were.
            actual.placed(name).is_some_and(|placed| is(Some(placed)) || !is(old.digest))
        };
        if actual.state(name)?.is_none_or(|there| is_known(&there)) {
            return self.remove(name);
        }
        let change = actual.change(old, Action::NotPlaced);
        self.records.lock.remove(name);
        Ok(Change { recorded: false, ..change })
    }
}

/// Ends the trust in a removed skill, and in the skills inside it.
pub(super) fn end_trust(name: &str, folder: &Path, transaction: &mut Transaction<'_>) {
    let skill_file = folder.join(FILE_NAMES[0]);
    transaction.accept(Accepted { name: name.to_owned(), key: None, skill_file, digest: None });
}

/// What the user accepts with a skill in a folder: the skill, and the skills inside it, with the files that are there.
fn accepted_in(folder: &Path, new: &Prepared, files: &SkillTree) -> impl Iterator<Item = Accepted> {
    let own = files.manifest().own().map(|own| own.path.to_string());
    files.skills().into_iter().map(move |TreeSkill { file, name, digest }| {
        let is_own = own.as_ref() == Some(&file);
        let name = if is_own { new.declared_name.clone() } else { name };
        let key = Some(&new.locked.name).filter(|key| is_own && **key != name).cloned();
        Accepted { name, key, skill_file: folder.join(file), digest: Some(digest) }
    })
}

/// How long to wait for another process that copies into the same folder.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);

/// Copies a skill into a folder that has no records. An existing entry of that name is never replaced.
pub(crate) fn copy(
    state: &Path,
    folder: &Path,
    name: &str,
    tree: &SkillTree,
) -> Result<PathBuf, InstallError> {
    check_folder_name(name).map_err(|reason| {
        InstallError::new(InstallErrorKind::Request, reason, "the author has to give the skill another name")
    })?;
    // A failure leaves nothing.
    let mut created = CreatedDirs::default();
    created.expect(folder);
    std::fs::create_dir_all(folder).map_err(|error| InstallError::io("make the folder", folder, error))?;
    let place = InstallTarget::new(InstallScope::Project, folder, state);
    let _held = place.exclusive(COPY_TIMEOUT, &mut || {})?;
    let real =
        Folder::open_resolved(folder).map_err(|error| InstallError::io("open the folder", folder, error))?;
    // No client has a folder of it elsewhere.
    recover(&place.books, &Vec::new)?;
    if state_of(&real, name).map_err(|error| InstallError::io("read", folder, error))?.is_some() {
        let message = format!("something of this name is there already: {}", shown(&folder.join(name)));
        return Err(InstallError::new(
            InstallErrorKind::Exists,
            message,
            "remove it first, or choose another folder",
        ));
    }
    let mut transaction = Transaction::begin(&place.books, tree.manifest().files.len());
    transaction.put(real.path(), name, tree, None)?;
    transaction.commit()?;
    created.keep();
    Ok(folder.join(name))
}
