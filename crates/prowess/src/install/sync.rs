//! Making what is installed what `skills.toml` and `skills.lock` say.
//!
//! First it is found out what is missing and where that comes from, then it is fetched, then it is installed. Between these
//! the caller decides, so nothing is read from a place that the user has not seen.

use std::collections::BTreeMap;

use super::apply::Order;
use super::change::{Action, Change};
use super::error::{InstallError, InstallErrorKind};
use super::installer::{InstallOptions, Installer, Progress, Write, open_skills};
use super::links::AcceptedSkills;
use super::modes::is_tree;
use super::prepare::Prepared;
use super::records::{
    InstallScope, LockedSkill, Place, Records, WantedSkill, fits, new_skill, recorded, source_folder, spec_of,
};
use super::sources::SyncSource;
use super::spec::InstallSpec;
use super::target::{State, read_tree, state_of};
use crate::error::shown;

/// How skills are made to be what the records say.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SyncOptions {
    /// How they are installed.
    pub install: InstallOptions,
    /// Whether a lock that does not fit `skills.toml` is an error.
    pub locked: bool,
    /// Whether only what the store has is installed, and no record is written.
    pub frozen: bool,
    /// Whether skills are only fetched.
    pub fetch_only: bool,
    /// Whether only the lock is written.
    pub lock_only: bool,
}

/// What has to be fetched for a place to be what its records say, and what is here already.
#[derive(Debug, Default)]
pub struct SyncPlan {
    here: Vec<Prepared>,
    /// Skills that the lock does not name as `skills.toml` asks for them.
    new: Vec<(InstallSpec, Seen, String)>,
    /// Skills that the lock names, and whose files are not here.
    locked: Vec<(LockedSkill, Seen)>,
    sources: Vec<SyncSource>,
}

impl SyncPlan {
    /// Where skills have to be fetched from, in the order of `skills.toml`.
    pub fn sources(&self) -> &[SyncSource] {
        &self.sources
    }
}

/// What the records said of a skill when it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    wanted: WantedSkill,
    locked: Option<LockedSkill>,
}

impl SyncOptions {
    /// Changes as they were made: fetching and locking alone install, replace and remove nothing.
    fn as_done(&self, mut changes: Vec<Change>) -> Vec<Change> {
        let done = match (self.fetch_only, self.lock_only) {
            (true, _) => Action::Fetched,
            (false, true) => Action::Locked,
            (false, false) => return changes,
        };
        if self.fetch_only {
            changes.retain(|change| change.action != Action::Removed);
        }
        for change in &mut changes {
            if matches!(change.action, Action::Installed | Action::Updated | Action::Removed) {
                change.action = done;
            }
            change.replaced.clear();
        }
        changes
    }
}

impl Installer {
    /// What has to be installed for a place to be what its records say. Nothing is fetched, and nothing is changed.
    pub fn plan_sync(
        &self,
        scope: InstallScope,
        options: &SyncOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<SyncPlan, InstallError> {
        let place = self.place(scope)?;
        // The lock is held only to complete what was interrupted: fetching may take long, and `sync` looks again.
        drop(self.settled(&place, progress)?);
        let records = place.read()?;
        check_records(&place, &records)?;
        if let Some(extra) = extra(&records).next().filter(|_| options.locked || options.frozen) {
            return Err(out_of_date(&place, &format!("{extra} is in it and not in skills.toml")));
        }
        let fetcher = self.fetcher(&place);
        let (dir, listing) = (open_skills(&place)?, self.listing());
        let accepted = AcceptedSkills::of(&place)?;
        let mut plan = SyncPlan::default();
        for (name, wanted) in records.wanted.skills() {
            let asked = spec_of(&place, name, wanted)?;
            let spec = fetcher.resolve(&asked)?;
            let seen = Seen { wanted: wanted.clone(), locked: records.lock.get(name).cloned() };
            let locked = records.lock.get(name).filter(|locked| fits(&place, &spec, locked));
            let Some(locked) = locked else {
                if options.locked || options.frozen {
                    return Err(out_of_date(&place, &format!("{name} is not in it as skills.toml says")));
                }
                plan.sources.push(SyncSource::of(&place, name, (&asked, &spec), None));
                plan.new.push((asked, seen, name.clone()));
                continue;
            };
            let there = dir.as_ref().map(|dir| state_of(dir, name)).transpose();
            let there = there.map_err(|error| InstallError::io("read", &place.skill(name), error))?.flatten();
            let is_there = matches!(&there, Some(State::Tree(digest))
                if is_tree(digest, &locked.digest, &place.base, &listing));
            if is_there && !options.fetch_only {
                // It is there as it should be, and perhaps the user was never asked.
                if !accepted.has(&place.skill(name), &locked.digest)
                    && let Ok(tree) = read_tree(&place.skill(name))
                    && tree.digest() == locked.digest
                {
                    plan.here.push(Prepared::seen(new_skill(tree, locked.clone(), None), seen));
                }
                continue;
            }
            match fetcher.stored(locked) {
                Some(tree) => plan.here.push(Prepared::seen(new_skill(tree, locked.clone(), None), seen)),
                None => {
                    plan.sources.push(SyncSource::of(&place, name, (&asked, &spec), Some(locked)));
                    plan.locked.push((locked.clone(), seen));
                }
            }
        }
        Ok(plan)
    }

    /// Fetches what a plan needs. Nothing that is installed is changed.
    pub fn fetch_sync(
        &self,
        scope: InstallScope,
        plan: SyncPlan,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let place = self.place(scope)?;
        let fetcher = self.fetcher(&place);
        let mut skills = plan.here;
        for (asked, seen, name) in plan.new {
            progress(Progress::Fetching(&name));
            let mut found = fetcher.find(&asked)?;
            let chosen = found.choose(&[], false)?;
            let skills_of = fetcher.take(&mut found, &chosen)?;
            self.check_apart(&place, &asked, &skills_of)?;
            for skill in skills_of {
                let from = source_folder(&place, &skill.source);
                let mut new = recorded(&from, &asked, skill, Some(&name));
                new.wanted = None;
                skills.push(Prepared::seen(new, seen.clone()));
            }
        }
        if let Some((first, _)) = plan.locked.first() {
            progress(Progress::Fetching(&first.name));
        }
        let missing: Vec<&LockedSkill> = plan.locked.iter().map(|(locked, _)| locked).collect();
        let trees = fetcher.again(&missing)?;
        for ((locked, seen), tree) in plan.locked.into_iter().zip(trees) {
            skills.push(Prepared::seen(new_skill(tree, locked, None), seen));
        }
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        Ok(skills)
    }

    /// Makes what is installed what the records say, with what [`fetch_sync`](Self::fetch_sync) brought. Records that
    /// another process changed meanwhile are an error of the kind [`InstallErrorKind::Changed`]: then it is planned again.
    pub fn sync(
        &self,
        scope: InstallScope,
        skills: Vec<Prepared>,
        options: &SyncOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Change>, InstallError> {
        let dry_run = options.install.dry_run || options.fetch_only;
        let write = Write { files: !dry_run && !options.lock_only, records: !dry_run && !options.frozen };
        let changes = self.change(scope, &options.install, write, progress, |_, records| {
            let mut fetched: BTreeMap<String, Prepared> =
                skills.into_iter().map(|skill| (skill.name().to_owned(), skill)).collect();
            let mut orders = Vec::new();
            for (name, wanted) in records.wanted.skills() {
                match fetched.remove(name) {
                    Some(skill) => {
                        let now = Seen { wanted: wanted.clone(), locked: records.lock.get(name).cloned() };
                        if skill.seen.as_ref().is_some_and(|seen| *seen != now) {
                            return Err(changed_meanwhile(&self.place(scope)?, name));
                        }
                        orders.push(Order::Install(Box::new(skill.new)));
                    }
                    None if records.lock.get(name).is_some() => orders.push(Order::Hold(name.clone())),
                    // Another process added it to skills.toml meanwhile, and locks it itself.
                    None => {}
                }
            }
            orders.extend(extra(records).map(|name| Order::Remove(name.to_owned())));
            Ok(orders)
        })?;
        Ok(options.as_done(changes))
    }

    /// The skills that `skills.toml` names and the lock does not: they were never installed.
    pub fn not_locked(&self, scope: InstallScope) -> Result<Vec<String>, InstallError> {
        let records = self.place(scope)?.read()?;
        let wanted = records.wanted.skills().iter().map(|(name, _)| name.clone());
        Ok(wanted.filter(|name| records.lock.get(name).is_none()).collect())
    }

    /// Which of these skills the user accepted before, as they are, at their places.
    pub fn are_accepted(&self, scope: InstallScope, skills: &[Prepared]) -> Result<Vec<bool>, InstallError> {
        let place = self.place(scope)?;
        let accepted = AcceptedSkills::of(&place)?;
        let locked = skills.iter().map(|skill| &skill.new.locked);
        Ok(locked.map(|locked| accepted.has(&place.skill(&locked.name), &locked.digest)).collect())
    }
}

/// The skills that the lock names and `skills.toml` does not.
fn extra(records: &Records) -> impl Iterator<Item = &str> {
    let locked = records.lock.skills().iter().map(|skill| &*skill.name);
    locked.filter(|name| records.wanted.get(name).is_none())
}

/// An error when `skills.toml` is gone and the lock is not: everything would be removed.
pub(super) fn check_records(place: &Place, records: &Records) -> Result<(), InstallError> {
    if records.wanted_text.is_none() && !records.lock.skills().is_empty() {
        let file = place.wanted_file();
        let message = format!("there is a skills.lock and no skills.toml: {}", shown(&file));
        let hint = "restore skills.toml from version control, or remove skills.lock as well";
        return Err(InstallError::new(InstallErrorKind::NotFound, message, hint));
    }
    Ok(())
}

fn out_of_date(place: &Place, reason: &str) -> InstallError {
    let message = format!("the lock does not fit: {}: {reason}", shown(&place.lock_file()));
    let hint = "bring the lock up to date, or restore skills.toml";
    InstallError::new(InstallErrorKind::OutOfDate, message, hint)
}

fn changed_meanwhile(place: &Place, name: &str) -> InstallError {
    let message = format!("another process changed what is installed: {}: {name}", shown(&place.lock_file()));
    InstallError::new(InstallErrorKind::Changed, message, "nothing was changed; run the command again")
}
