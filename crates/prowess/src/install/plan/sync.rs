//! Synchronising: makes the installed skills match `skills.toml` and `skills.lock`.
//!
//! There are three steps: plan what is missing and where it comes from, fetch it, install it. The caller decides
//! between them, so nothing is read from a source that the user has not seen.

use std::collections::BTreeMap;

use prowess_core::Origin;

use super::change::{Action, Changes, Edits};
use super::prepare::{Prepared, checked};
use super::sources::SyncSource;
use super::{AcceptedSkills, Order};
use crate::error::shown;
use crate::install::apply::{State, read_tree, state_of};
use crate::install::error::{InstallError, InstallErrorKind, Relock};
use crate::install::installer::{InstallOptions, Installer, Progress, Write, open_skills};
use crate::install::records::{
    InstallScope, InstallTarget, LockedSkill, Records, Upstream, WantedSkill, fits, record, spec_of,
    with_line_ends_of,
};
use crate::install::source::tree::SkillTree;
use crate::install::source::{Claim, InstallSource};
use crate::install::verify::compare::is_tree;
use crate::install::verify::{misnamed, name_beside};

/// The options of synchronising.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SyncOptions {
    /// How they are installed.
    pub install: InstallOptions,
    /// Whether a lock that does not match `skills.toml` is an error.
    pub locked: bool,
    /// Whether only stored skills are installed, and no record is written.
    pub frozen: bool,
    /// Whether skills are only fetched.
    pub fetch_only: bool,
    /// Whether only the lock is written.
    pub lock_only: bool,
}

/// What must be fetched so that a place matches its records, and what is already stored.
#[derive(Debug, Default)]
pub struct SyncPlan {
    here: Vec<Prepared>,
    /// Skills whose lock entry is missing or does not match `skills.toml`.
    new: Vec<(InstallSource, Seen, String)>,
    /// Locked skills whose files are not stored.
    locked: Vec<(LockedSkill, Seen)>,
    sources: Vec<SyncSource>,
}

impl SyncPlan {
    /// The sources to fetch from, in the order of `skills.toml`.
    pub fn sources(&self) -> &[SyncSource] {
        &self.sources
    }
}

/// The records of a skill when it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    wanted: WantedSkill,
    locked: Option<LockedSkill>,
}

impl Prepared {
    /// Whether the lock had another name of its author when it was planned.
    fn is_renamed(&self) -> bool {
        let before = self.seen.as_ref().and_then(|seen| seen.locked.as_ref());
        before.is_some_and(|before| {
            before.digest == self.locked().digest && before.upstream_name != self.locked().upstream_name
        })
    }
}

impl SyncOptions {
    /// The changes that were really made: with `fetch_only` and `lock_only`, nothing is installed, replaced or removed.
    /// `staying` are the skills that `skills.toml` does not have and that are still installed.
    fn as_done(&self, mut changes: Changes, staying: &[String]) -> Changes {
        if self.frozen || self.fetch_only {
            changes.records.clear();
        }
        let done = match (self.fetch_only, self.lock_only) {
            (true, _) => Action::Fetched,
            (false, true) => Action::Locked,
            (false, false) => return changes,
        };
        if self.fetch_only {
            changes.skills.retain(|change| !matches!(change.action, Action::Removed | Action::NotPlaced));
        }
        for change in &mut changes.skills {
            if matches!(change.action, Action::Installed | Action::Updated) {
                change.action = done;
            } else if staying.contains(&change.name) {
                change.action = Action::StillInstalled;
            }
            change.replaced.clear();
            change.clients.clear();
            change.newly_trusted = false;
        }
        changes
    }
}

impl Installer {
    /// Plans what must be installed so that a place matches its records. Nothing is fetched or changed, but an
    /// interrupted installation is completed first unless this is a dry run.
    pub fn plan_sync(
        &self,
        scope: InstallScope,
        options: &SyncOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<SyncPlan, InstallError> {
        let place = self.place(scope)?;
        // The lock is held only to recover interrupted installations: fetching may take long, and `sync` checks again.
        drop(if options.install.dry_run {
            self.planning(&place, progress)?
        } else {
            self.settled(&place, progress)?
        });
        let records = place.read()?;
        check_records(&place, &records)?;
        if let Some(extra) = extra(&records).next().filter(|_| options.locked || options.frozen) {
            return Err(out_of_date(&place, &format!("{extra} is in it and not in skills.toml")));
        }
        if (options.locked || options.frozen) && !is_as_written(&records) {
            return Err(out_of_date(&place, "it is not written as prowess writes it, so it would change"));
        }
        let fetcher = self.fetcher(&place);
        let (dir, listing) = (open_skills(&place)?, self.listing());
        let accepted = AcceptedSkills::of(&place)?;
        // Only the lock says that it is from there: its commit may be one of a stranger.
        let is_claim = |locked: &LockedSkill| {
            let may_ask = !options.frozen && !self.is_offline();
            may_ask && locked.source.git().is_some() && !self.fetch_log().has(locked)
        };
        let mut plan = SyncPlan::default();
        for (name, wanted) in records.wanted.skills() {
            let source = fetcher.resolve(&spec_of(&place, name, wanted)?)?;
            let seen = Seen { wanted: wanted.clone(), locked: records.lock.get(name).cloned() };
            let locked = records.lock.get(name).filter(|locked| fits(&place, &source.spec, locked));
            let Some(locked) = locked else {
                if options.locked || options.frozen {
                    return Err(out_of_date(&place, &format!("{name} is not in it as skills.toml says")));
                }
                plan.sources.push(SyncSource::of(&place, name, &source, None));
                plan.new.push((source, seen, name.clone()));
                continue;
            };
            let there = dir.as_ref().map(|dir| state_of(dir, name)).transpose();
            let there = there.map_err(|error| InstallError::io("read", &place.skill(name), error))?.flatten();
            let there = match there {
                Some(State::Tree(digest)) if is_tree(digest, locked.digest, &place.base, &listing) => {
                    Some(digest).filter(|_| !options.fetch_only)
                }
                _ => None,
            };
            if let Some(there) = there.filter(|_| !options.locked || !is_claim(locked)) {
                let accepted = accepted.approval_in(&place.skill(name));
                let is_misnamed = misnamed(&place.skill(name), locked).is_some();
                if accepted.is_some_and(|own| own.digest == Some(there)) && !is_misnamed {
                    continue;
                }
                // The user accepted other files here. These and the lock may have been exchanged together, so the lock
                // proves nothing: only the source does.
                if accepted.is_some() && !options.lock_only && !self.fetch_log().has(locked) {
                    plan.sources.push(SyncSource::of(&place, name, &source, Some(locked)));
                    plan.locked.push((locked.clone(), seen));
                    continue;
                }
                // It is installed correctly, but perhaps the user was never asked.
                let tree =
                    read_tree(&place.skill(name)).ok().filter(|tree| Some(tree.digest()) == locked.digest);
                if let Some(tree) = tree.or_else(|| fetcher.stored(locked)) {
                    plan.here.push(prepared(tree, locked.clone(), seen));
                }
                continue;
            }
            // The store may have the same bytes from another source.
            let is_unknown = || options.fetch_only && !self.fetch_log().has(locked);
            match fetcher.stored(locked).filter(|_| !is_claim(locked) && !is_unknown()) {
                Some(tree) => plan.here.push(prepared(tree, locked.clone(), seen)),
                None => {
                    plan.sources.push(SyncSource::of(&place, name, &source, Some(locked)));
                    plan.locked.push((locked.clone(), seen));
                }
            }
        }
        if let Some(skill) = plan.here.iter().find(|skill| skill.is_renamed()) {
            check_name(&place, skill, options)?;
        }
        Ok(plan)
    }

    /// Fetches what a plan needs. No installed skill is changed. A commit that a record names, and that this user has not
    /// fetched before, must be on a branch or tag of its repository.
    pub fn fetch_sync(
        &self,
        scope: InstallScope,
        plan: SyncPlan,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let place = self.place(scope)?;
        let fetched = self.within_limit(self.fetch_planned(&place, plan, progress));
        fetched.map_err(|error| error.in_place(&place)).inspect_err(|error| {
            if error.kind() == InstallErrorKind::Unreachable {
                // What may be from a stranger does not stay.
                self.discard_fetched();
            }
        })
    }

    fn fetch_planned(
        &self,
        place: &InstallTarget,
        plan: SyncPlan,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let fetcher = self.fetcher(place);
        let mut skills = plan.here;
        let entries: Vec<(&str, &InstallSource)> =
            plan.new.iter().map(|(source, _, name)| (&**name, source)).collect();
        let is_known = |source: &Upstream, commit: &str| self.fetch_log().has_commit(source, commit);
        let taken = fetcher.take_each(&entries, &is_known, &mut |at| {
            plan.new.get(at).into_iter().for_each(|(.., name)| progress(Progress::Fetching(name)));
        })?;
        for ((source, seen, name), skill) in plan.new.into_iter().zip(taken) {
            let mut skill = checked(skill)?;
            record(&mut skill, &source.asked, (Some(&name), None, None));
            self.fetch_log().note([&skill.locked].into_iter());
            skills.push(Prepared { wanted: None, seen: Some(seen), ..skill });
        }
        if let Some((first, _)) = plan.locked.first() {
            progress(Progress::Fetching(&first.name));
        }
        let mut claims = Vec::new();
        for (locked, seen) in &plan.locked {
            let (name, source) = (&locked.name, &locked.source);
            if let Some(commit) = locked.commit.as_deref().filter(|commit| !is_known(source, commit)) {
                let spec = spec_of(place, name, &seen.wanted)?;
                let alias = locked.upstream_name.as_ref().map(|_| name.clone());
                claims.push(Claim { skill: name, source, commit, relock: Relock { spec, alias } });
            }
        }
        fetcher.check_reachable(&claims)?;
        let missing: Vec<&LockedSkill> = plan.locked.iter().map(|(locked, _)| locked).collect();
        let trees = fetcher.again(&missing)?;
        self.fetch_log().note(missing.into_iter());
        for ((locked, seen), tree) in plan.locked.into_iter().zip(trees) {
            skills.push(prepared(tree, locked, seen));
        }
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        Ok(skills)
    }

    /// Makes the installed skills match the records, with the skills that [`fetch_sync`](Self::fetch_sync) fetched. If
    /// another process changed the records in the meantime, the error has the kind [`InstallErrorKind::Changed`], and
    /// the caller plans again.
    pub fn sync(
        &self,
        scope: InstallScope,
        skills: Vec<Prepared>,
        options: &SyncOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Changes, InstallError> {
        let dry_run = options.install.dry_run || options.fetch_only;
        let write = Write {
            files: !dry_run && !options.lock_only,
            plans_files: !options.fetch_only && !options.lock_only,
            records: !dry_run && !options.frozen,
        };
        let mut install = options.install.clone();
        if options.fetch_only || options.lock_only {
            // No file of a skill is touched, so no edit can be lost.
            install.edits = Edits::Overwrite;
        }
        let mut staying = Vec::new();
        let changes = self.change(scope, &install, write, progress, |place, records| {
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
                        check_name(place, &skill, options)?;
                        orders.push(Order::Install(Box::new(skill)));
                    }
                    None if records.lock.get(name).is_some() => orders.push(Order::Keep(name.clone())),
                    // Another process added it to `skills.toml` in the meantime, and locks it itself.
                    None => {}
                }
            }
            for name in extra(records).map(str::to_owned) {
                // Without an entry in the lock, no later command would know that the skill is installed.
                if options.lock_only && place.skill(&name).symlink_metadata().is_ok() {
                    staying.push(name.clone());
                    orders.push(Order::Keep(name));
                } else {
                    orders.push(Order::Drop(name));
                }
            }
            Ok(orders)
        })?;
        Ok(options.as_done(changes, &staying))
    }

    /// The skills in `skills.toml` that the lock does not have: they were never installed.
    pub fn not_locked(&self, scope: InstallScope) -> Result<Vec<String>, InstallError> {
        let records = self.place(scope)?.read()?;
        let wanted = records.wanted.skills().iter().map(|(name, _)| name.clone());
        Ok(wanted.filter(|name| records.lock.get(name).is_none()).collect())
    }

    /// The skills of all scopes that `skills.toml` names and the lock does not, sorted by scope.
    pub fn list_not_locked(&self) -> Result<Vec<(InstallScope, String)>, InstallError> {
        let mut absent = Vec::new();
        for scope in self.listed_scopes() {
            absent.extend(self.not_locked(scope)?.into_iter().map(|name| (scope, name)));
        }
        Ok(absent)
    }

    /// Whether `skills.toml` exists. A `skills.lock` without it is an error.
    pub fn has_records(&self, scope: InstallScope) -> Result<bool, InstallError> {
        let place = self.place(scope)?;
        let records = place.read()?;
        check_records(&place, &records)?;
        Ok(records.wanted_text.is_some())
    }

    /// Whether the user accepted each of these skills before, with the same files at the same path.
    pub fn are_accepted(&self, scope: InstallScope, skills: &[Prepared]) -> Result<Vec<bool>, InstallError> {
        let place = self.place(scope)?;
        let (accepted, listing) = (AcceptedSkills::of(&place)?, self.listing());
        let locked = skills.iter().map(Prepared::locked);
        Ok(locked.map(|locked| accepted.has(&place.skill(&locked.name), locked.digest, &listing)).collect())
    }
}

/// The skills in the lock that `skills.toml` does not have.
fn extra(records: &Records) -> impl Iterator<Item = &str> {
    let locked = records.lock.skills().iter().map(|skill| &*skill.name);
    locked.filter(|name| records.wanted.get(name).is_none())
}

/// An error when `skills.toml` is missing or empty and the lock is not: every skill would be removed.
pub(crate) fn check_records(place: &InstallTarget, records: &Records) -> Result<(), InstallError> {
    let what = match &records.wanted_text {
        _ if records.lock.skills().is_empty() => return Ok(()),
        None => "there is a skills.lock and no skills.toml",
        Some(text) if text.trim().is_empty() => "there are skills in skills.lock, and skills.toml is empty",
        Some(_) => return Ok(()),
    };
    let file = place.wanted_file();
    let message = format!("{what}: {}", shown(&file));
    let hint = "restore skills.toml from version control, or remove skills.lock as well";
    Err(InstallError::new(InstallErrorKind::NotFound, message, hint).in_place(place).at(&file))
}

/// A skill that the lock names, with its author's name as its own files have it.
fn prepared(tree: SkillTree, mut locked: LockedSkill, seen: Seen) -> Prepared {
    let document = tree.document();
    if let Some(name) = name_beside(&document, &locked) {
        locked.upstream_name = Some(name).filter(|name| *name != locked.name);
    }
    let at = Origin::at(format!("{}/SKILL.md", locked.name)).with_folder(&*locked.name);
    Prepared { seen: Some(seen), ..Prepared::new(tree, locked, document.entry(&at).name) }
}

/// An error when the lock must not change and has another name of a skill's author than its files.
fn check_name(place: &InstallTarget, skill: &Prepared, options: &SyncOptions) -> Result<(), InstallError> {
    if !(options.locked || options.frozen) || !skill.is_renamed() {
        return Ok(());
    }
    let (name, locked) = (skill.name(), skill.locked());
    let reason = format!("the name of {name} in its SKILL.md is {}", locked.declared_name());
    Err(out_of_date(place, &reason))
}

/// Whether the text of the lock is the one that would be written.
fn is_as_written(records: &Records) -> bool {
    let text = records.lock_text.as_deref();
    text.is_none_or(|text| with_line_ends_of(Some(text), records.lock.to_text()) == text)
}

fn out_of_date(place: &InstallTarget, reason: &str) -> InstallError {
    let message = format!("the lock does not fit: {}: {reason}", shown(&place.lock_file()));
    let hint = "bring the lock up to date, or restore skills.toml";
    InstallError::new(InstallErrorKind::OutOfDate, message, hint).in_place(place)
}

fn changed_meanwhile(place: &InstallTarget, name: &str) -> InstallError {
    let message = format!("another process changed what is installed: {}: {name}", shown(&place.lock_file()));
    InstallError::new(InstallErrorKind::Changed, message, "nothing was changed; run the command again")
}
