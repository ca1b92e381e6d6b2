//! Installing and removing under the lock of a place: compares the folders with the records, and makes all changes in
//! one transaction.

mod copy;
mod edits;
mod loss;
mod made;
mod names;

use std::path::Path;

use prowess_core::Digest;

pub(crate) use self::copy::copy;
pub(super) use self::edits::named;
pub(crate) use self::edits::unknown;
use self::edits::{all_edited, edited, edited_unlocked};
pub use self::loss::Loss;
use self::loss::check_shown;
pub(super) use self::made::Made;
use self::names::{Names, ordered_twice};
pub(crate) use self::names::{check_installable, same_name};
use super::change::{Action, Change, Changes, Edits};
use super::compare::{Listing, as_kept, is_tree, is_unchanged};
use super::error::{InstallError, InstallErrorKind};
use super::links::{AcceptedSkills, Before, end_trust, links};
use super::prepare::Prepared;
use super::protected::{Protected, holds_source};
use super::records::{
    FetchLog, InstallTarget, LinkMode, LockedSkill, Records, SKILLS_FOLDER, not_locked, with_line_ends_of,
};
use super::target::{Accepted, Placements, State, Transaction, state_of};
use super::tree::{SkillTree, TreeSkill};
use crate::env::Environment;
use crate::error::shown;
use crate::fs::dir::Folder;

/// What to do with one name.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Install(Box<Prepared>),
    /// The files are correct; only the links are checked.
    Hold(String),
    Remove(String),
    /// The lock names it and `skills.toml` does not. The user did not name it, and the lock may have come from
    /// elsewhere, so only files that Prowess is known to have placed are removed.
    Drop(String),
}

/// How orders are carried out.
pub(crate) struct Orders<'o> {
    pub(crate) edits: Edits,
    /// Whether a skill from another source, or a folder that no record names, is replaced.
    pub(crate) replace: bool,
    /// Whether the user accepted what is installed.
    pub(crate) accepted: bool,
    /// The losses that the user agreed to; none agrees to all.
    pub(crate) shown: Option<&'o [Loss]>,
    pub(crate) clients: &'o [String],
    pub(crate) link: Option<LinkMode>,
    /// Whether the folders of skills are changed.
    pub(crate) files: bool,
    /// Whether they are changed, or would be without the dry run.
    pub(crate) plans_files: bool,
    /// Whether `skills.toml` and `skills.lock` are written.
    pub(crate) records: bool,
    pub(crate) environment: &'o Environment,
    /// The files of a tree that was installed before, by its digest.
    pub(crate) listing: Listing<'o>,
    /// The files of a tree with their bytes, by its digest.
    pub(crate) stored: &'o dyn Fn(Digest) -> Option<SkillTree>,
    pub(crate) fetch_log: &'o FetchLog,
    /// Notes that the user accepts what is installed.
    pub(crate) accept: &'o dyn Fn(&[Order]),
    /// The records of the other scope, or why they cannot be read.
    pub(crate) elsewhere: &'o Result<Option<(InstallTarget, Records)>, InstallError>,
}

/// Carries out orders. The caller holds the lock of the place, and has recovered interrupted installations.
pub(crate) fn apply(
    place: &InstallTarget,
    mut records: Records,
    orders: &[Order],
    how: &Orders<'_>,
) -> Result<Changes, InstallError> {
    let mut made = Made::default();
    let making = how.files && orders.iter().any(|order| matches!(order, Order::Install(_)));
    if making {
        made.expect(&place.base.join(SKILLS_FOLDER));
    }
    let folder = place.skills_folder(making)?;
    let dir = folder.as_deref().map(open).transpose()?;
    let files = orders.iter().map(|order| match order {
        Order::Install(new) => new.tree.manifest().files.len(),
        _ => 0,
    });
    let mut transaction = Transaction::begin(&place.books, files.sum());
    let mut names = Names::of(dir.as_ref(), &records.lock)?;
    let accepted = AcceptedSkills::of(place)?;
    let before = Before::of(place, &records)?;
    let mut done = Vec::new();
    if let Some((one, other)) = ordered_twice(orders) {
        let at = |new: &Prepared| match &new.locked.path {
            Some(path) => path.to_string(),
            None => new.locked.source.place().to_owned(),
        };
        return Err(same_name(&one.locked.name, &at(one), &at(other)));
    }
    for order in orders {
        if let Order::Install(new) = order {
            Protected::check_new_source(place, &records, new, (how.clients, how.environment))?;
        }
    }
    let protected = Protected::of(place, &records, orders, how.elsewhere);
    let there = There {
        dir: dir.as_ref(),
        accepted: &accepted,
        placements: &before.placements,
        protected: &protected,
    };
    let mut edited = Vec::new();
    for order in orders {
        let change = match order {
            Order::Install(new) => {
                install(place, &mut records, (&there, &mut names), new, how, &mut transaction)
            }
            Order::Hold(name) => match records.lock.get(name) {
                Some(locked) => Ok(changed(place, locked.clone(), Action::Unchanged)),
                None => Err(unknown(place, name, &before.lock)),
            },
            Order::Remove(name) if before.lock.get(name).is_none() && records.wanted.get(name).is_none() => {
                Err(unknown(place, name, &before.lock))
            }
            Order::Remove(name) => remove(place, &mut records, &there, name, how, &mut transaction),
            Order::Drop(name) => drop_extra(place, &mut records, &there, name, how, &mut transaction),
        };
        match change {
            Ok(change) => done.push(change),
            // All edited skills are named at once.
            Err(error) if error.kind() == InstallErrorKind::Edited => edited.push(error),
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = all_edited(edited) {
        return Err(error);
    }
    records.wanted.set_clients(how.clients, how.link);
    let changing = (&mut transaction, &mut made);
    links(place, &records, (&before, &protected), (orders, &mut done), how, changing)?;
    how.shown.map_or(Ok(()), |shown| check_shown(&done, shown))?;
    for change in &mut done {
        change.fetched = how.fetch_log.has(&change.locked);
    }
    // A folder without any records stays without them when there is nothing to record.
    let nothing =
        records.lock_text.is_none() && records.lock.skills().is_empty() && records.wanted_text.is_none();
    let mut written = Vec::new();
    if !nothing {
        let wanted = records.wanted.to_text();
        let lock = with_line_ends_of(records.lock_text.as_deref(), records.lock.to_text());
        for (file, before, after) in
            [(place.wanted_file(), records.wanted_text, wanted), (place.lock_file(), records.lock_text, lock)]
        {
            if before.as_deref() == Some(&*after) {
                continue;
            }
            written.push(file.clone());
            place.check_record(&file, &after)?;
            if how.records {
                transaction.write(file, before, after, place.within());
            }
        }
    }
    let nothing = transaction.is_empty();
    let is_recorded = |name: &str| records.lock.get(name).is_some() || records.wanted.get(name).is_some();
    transaction.forget(before.placements.gone(is_recorded));
    // Before the journal is written, and after everything that lets the caller plan again.
    (how.accept)(orders);
    transaction.commit()?;
    if !nothing {
        made.keep();
    }
    Ok(Changes { skills: done, records: written })
}

pub(super) fn changed(place: &InstallTarget, locked: LockedSkill, action: Action) -> Change {
    let (name, path) = (locked.name.clone(), place.skill(&locked.name));
    Change {
        name,
        action,
        path,
        locked,
        fetched: false,
        recorded: true,
        newly_trusted: false,
        clients: Vec::new(),
        replaced: Vec::new(),
        left: Vec::new(),
    }
}

/// What is in the folder of installed skills, and what is known about it.
struct There<'t> {
    dir: Option<&'t Folder>,
    accepted: &'t AcceptedSkills,
    placements: &'t Placements,
    protected: &'t Protected<'t>,
}

impl There<'_> {
    fn state(&self, name: &str) -> Result<Option<State>, InstallError> {
        Ok(self.dir.map(|dir| state(dir, name)).transpose()?.flatten())
    }

    /// Whether what is there under a name is the source of a skill that needs it.
    fn is_source(&self, place: &InstallTarget, name: &str, there: &State, how: &Orders<'_>) -> bool {
        let is_as_placed =
            |placed: Digest| is_unchanged(there, &place.skill(name), Some(placed), how.listing);
        self.dir.is_some_and(|dir| {
            let path = dir.path().join(name);
            self.protected.holds_source(&path, self.placements.digest(&path).is_some_and(is_as_placed))
        })
    }

    /// The digest of the files that Prowess placed under a name. Where that is not recorded, as in a project that was
    /// moved, it is the digest of files from a repository that the user accepted there. An approval alone is not enough,
    /// since a user may also trust files of his own.
    fn placed(&self, place: &InstallTarget, name: &str, how: &Orders<'_>) -> Option<Digest> {
        self.placements.digest(&self.dir?.path().join(name)).or_else(|| {
            let accepted = self.accepted.approval_in(&place.skill(name))?.digest?;
            how.fetch_log.is_from_repository(accepted, how.listing).then_some(accepted)
        })
    }

    /// Whether a tree under a name is what was installed there last, by a lock that has changed since.
    fn was_installed(&self, place: &InstallTarget, name: &str, there: Digest, how: &Orders<'_>) -> bool {
        match self.placed(place, name, how) {
            Some(placed) => placed == there,
            None => {
                self.accepted.approval_in(&place.skill(name)).is_none()
                    && how.fetch_log.is_from_repository(there, how.listing)
            }
        }
    }
}

fn install(
    place: &InstallTarget,
    records: &mut Records,
    (folder, names): (&There<'_>, &mut Names),
    new: &Prepared,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<Change, InstallError> {
    let name = &*new.locked.name;
    check_installable(name)?;
    names.take(name)?;
    let there = folder.state(name)?;
    let old = records.lock.get(name).cloned();
    if let Some(old) =
        old.as_ref().filter(|old| new.wanted.is_some() && !old.is_from(&new.locked) && !how.replace)
    {
        return Err(InstallError::new(
            InstallErrorKind::Exists,
            format!("a skill of this name is installed from another source: {name}: {}", old.source),
            "give the new one another name, or replace the old one",
        )
        .in_entry(name));
    }
    let mut replaced = Vec::new();
    let mut replace = |there: &State| {
        replaced.push(Loss::of(place.skill(name), there, old.as_ref(), how.listing));
        Action::Updated
    };
    let is_same = |digest: Digest| is_tree(digest, new.locked.digest, &place.base, how.listing);
    let is_as_locked = |there: &State| {
        old.as_ref().is_some_and(|old| is_unchanged(there, &place.skill(name), old.digest, how.listing))
    };
    // Equal bytes alone do not show that Prowess placed them.
    let is_installed = |there: &State, old: &Option<LockedSkill>| match old {
        Some(old) => {
            old.is_from(&new.locked) || is_unchanged(there, &place.skill(name), old.digest, how.listing)
        }
        None => folder
            .placed(place, name, how)
            .is_some_and(|placed| is_unchanged(there, &place.skill(name), Some(placed), how.listing)),
    };
    let action = match (&there, &old) {
        (None, _) => Action::Installed,
        (Some(there @ State::Tree(digest)), old) if is_same(*digest) && is_installed(there, old) => {
            Action::Unchanged
        }
        // Other line ends are no edit, but what is there is to stay, and nothing newer is to be installed.
        (Some(there), Some(old))
            if how.edits == Edits::Keep
                && old.digest == new.locked.digest
                && is_unchanged(there, &place.skill(name), old.digest, how.listing) =>
        {
            Action::Kept
        }
        // What was installed before, by a lock that has changed since, is not an edit.
        (Some(there @ State::Tree(digest)), Some(_))
            if is_as_locked(there) && folder.placed(place, name, how).is_some()
                || folder.was_installed(place, name, *digest, how) =>
        {
            Action::Updated
        }
        (Some(there), Some(_)) if is_as_locked(there) && how.edits == Edits::Stop => {
            let message =
                format!("only skills.lock says that prowess placed this: {}", shown(&place.skill(name)));
            let hint = "keep it, or overwrite it";
            return Err(InstallError::new(InstallErrorKind::Taken, message, hint).in_entry(name));
        }
        (Some(there), Some(old)) => match how.edits {
            Edits::Overwrite => replace(there),
            Edits::Keep => Action::Kept,
            Edits::Stop => return Err(edited(place, old, how)),
        },
        (Some(there), None) if how.replace || how.edits == Edits::Overwrite => replace(there),
        (Some(_), None) if how.edits == Edits::Keep => {
            let left = changed(place, new.locked.clone(), Action::LeftThere);
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
                format!("{what}: {}", shown(&place.skill(name))),
                "give the skill another name, or replace what is there",
            )
            .in_entry(name));
        }
    };
    let replaced_source = there.as_ref().filter(|_| action == Action::Updated);
    let action = match replaced_source.is_some_and(|there| folder.is_source(place, name, there, how)) {
        true if how.edits == Edits::Keep => Action::Kept,
        true => return Err(holds_source(&place.skill(name)).in_entry(name)),
        false => action,
    };
    if action == Action::Updated && how.plans_files {
        folder.protected.check_may_replace(&place.skill(name))?;
    }
    if action == Action::Kept {
        let locked = old.unwrap_or_else(|| new.locked.clone());
        return Ok(changed(place, locked, action));
    }
    let mut files = place.skill(name);
    if let Some(dir) = folder.dir.filter(|_| action != Action::Unchanged && how.files) {
        files = transaction.put(dir.path(), name, &new.tree, there)?;
    }
    if how.files {
        let kept = as_kept(&new.tree, &files);
        if let Some(kept) = kept.as_ref().filter(|_| how.fetch_log.has(&new.locked)) {
            // So that these files are known when the lock has changed.
            let kept = LockedSkill { digest: Some(kept.digest()), ..new.locked.clone() };
            how.fetch_log.add([&kept].into_iter());
        }
        let tree = kept.as_ref().unwrap_or(&new.tree);
        for accepted in accepted_in(&place.skill(name), new, tree).filter(|_| how.accepted) {
            transaction.accept(accepted);
        }
    }
    let newly_trusted =
        how.accepted && !folder.accepted.has(&place.skill(name), new.locked.digest, how.listing);
    records.lock.insert(new.locked.clone());
    if let Some(wanted) = &new.wanted {
        records.wanted.insert(name, wanted.clone());
    }
    Ok(Change { newly_trusted, replaced, ..changed(place, new.locked.clone(), action) })
}

fn remove(
    place: &InstallTarget,
    records: &mut Records,
    folder: &There<'_>,
    name: &str,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<Change, InstallError> {
    let old = match (records.lock.get(name), records.wanted.get(name)) {
        (Some(old), _) => old.clone(),
        // It was never installed, or the lock was lost.
        (None, Some(wanted)) => not_locked(name, wanted, folder.placed(place, name, how)),
        (None, None) => return Err(unknown(place, name, &records.lock)),
    };
    let there = folder.state(name)?;
    let is_placed = folder.placed(place, name, how).is_some();
    let mut replaced = Vec::new();
    let action = match &there {
        None => Action::Removed,
        Some(there) if folder.is_source(place, name, there, how) => match how.edits {
            Edits::Keep => Action::Kept,
            _ => return Err(holds_source(&place.skill(name)).in_entry(name)),
        },
        Some(there) if is_unchanged(there, &place.skill(name), old.digest, how.listing) => Action::Removed,
        // What was placed before, by a lock that has changed since, is not an edit.
        Some(State::Tree(digest)) if folder.placed(place, name, how) == Some(*digest) => Action::Removed,
        Some(there) => match how.edits {
            Edits::Overwrite => {
                replaced.push(Loss::of(place.skill(name), there, Some(&old), how.listing));
                Action::Removed
            }
            Edits::Keep => Action::Kept,
            Edits::Stop if records.lock.get(name).is_none() => return Err(edited_unlocked(place, &old, how)),
            Edits::Stop => return Err(edited(place, &old, how)),
        },
    };
    if there.is_some() && action == Action::Removed && how.plans_files {
        folder.protected.check_may_replace(&place.skill(name))?;
    }
    match (folder.dir, there, action) {
        (Some(dir), Some(there), Action::Removed) if how.files => {
            transaction.remove(dir.path(), name, there)?;
        }
        (Some(dir), Some(there), Action::Kept) if how.files && is_placed => {
            transaction.leave_edited(dir.path().join(name), &there);
        }
        _ => {}
    }
    // A skill that stays keeps its approval: without one, an edited skill of the user would count as the user's own.
    if how.files && action == Action::Removed {
        end_trust(name, &place.skill(name), transaction);
    }
    records.lock.remove(name);
    records.wanted.remove(name);
    Ok(Change { replaced, recorded: false, ..changed(place, old, action) })
}

/// Removes a skill that only the lock names. A folder that Prowess is not known to have placed stays.
fn drop_extra(
    place: &InstallTarget,
    records: &mut Records,
    folder: &There<'_>,
    name: &str,
    how: &Orders<'_>,
    transaction: &mut Transaction<'_>,
) -> Result<Change, InstallError> {
    let Some(old) = records.lock.get(name).cloned() else { return Err(unknown(place, name, &records.lock)) };
    let is_known = |there: &State| {
        let is = |digest: Option<Digest>| is_unchanged(there, &place.skill(name), digest, how.listing);
        // Files that the lock names and that were not placed here are not edits of those that were.
        folder.placed(place, name, how).is_some_and(|placed| is(Some(placed)) || !is(old.digest))
    };
    if folder.state(name)?.is_none_or(|there| is_known(&there)) {
        return remove(place, records, folder, name, how, transaction);
    }
    records.lock.remove(name);
    Ok(Change { recorded: false, ..changed(place, old, Action::NotPlaced) })
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

pub(super) fn state(dir: &Folder, name: &str) -> Result<Option<State>, InstallError> {
    state_of(dir, name).map_err(|error| InstallError::io("read", &dir.path().join(name), error))
}

pub(super) fn open(folder: &Path) -> Result<Folder, InstallError> {
    Folder::open_real(folder).map_err(|error| InstallError::io("open the folder of skills", folder, error))
}
