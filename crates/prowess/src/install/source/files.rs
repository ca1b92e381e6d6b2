//! The files of skills: of chosen ones, of those that several entries of `skills.toml` name, and of those that a lock
//! names. Each version of a repository is fetched once, so that all of its skills are from one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use prowess_core::RelPath;

use super::contents::{Contents, Planned, files_of, skills_below};
use super::folder::FolderContents;
use super::git::{self, GitVersion};
use super::repository::GitContents;
use super::tree::{InstallLimits, SkillTree, TreeFile, refused};
use super::{Available, AvailableSkill, Claim, Fetcher, InstallSource, Located, OpenSource};
use crate::error::plain_cause;
use crate::install::error::{About, InstallError, InstallErrorKind, InstallLimit, Relock};
use crate::install::plan::prepare::Prepared;
use crate::install::records::{LockedSkill, Upstream};
use crate::install::spec::{InstallPlace, InstallSpec};

impl Fetcher {
    /// The chosen skills with their files, by their indexes in [`Available::skills`]. Everything that must be fetched is
    /// fetched in one request. With [`Refusal::OfAll`], every one of them can be installed.
    pub(crate) fn take(
        &self,
        available: &mut Available,
        chosen: &[usize],
        refusal: Refusal,
    ) -> Result<Vec<Result<Prepared, InstallError>>, InstallError> {
        let skills = chosen.iter().filter_map(|at| available.skills.get(*at).cloned()).collect();
        self.take_from(&mut available.place, &available.upstream, skills, refusal)
    }

    /// Skills that were found in a source, with their files.
    pub(super) fn take_from(
        &self,
        place: &mut OpenSource,
        source: &Upstream,
        skills: Vec<AvailableSkill>,
        refusal: Refusal,
    ) -> Result<Vec<Result<Prepared, InstallError>>, InstallError> {
        let with_problem = skills.iter().find_map(|skill| Some((skill, skill.problem.as_ref()?)));
        if let Some((skill, problem)) = with_problem.filter(|_| refusal == Refusal::OfAll) {
            return Err(refused(format!("no agent would load this skill: {}: {problem}", skill.shown())));
        }
        let folders: Vec<&str> = skills.iter().map(AvailableSkill::folder).collect();
        let trees = self.each_tree(place, &folders, (&self.options.limits, refusal))?;
        let taken = |(skill, tree): (AvailableSkill, Result<SkillTree, InstallError>)| {
            let mut locked = LockedSkill::of(&*skill.name, source.clone());
            if let Some(repository) = place.git() {
                locked.git_tree = repository.tree_id(skill.folder());
                locked.commit = Some(repository.commit.clone());
                locked.requested.clone_from(&repository.requested);
            }
            (locked.path, locked.declared_version) = (skill.path, skill.declared_version);
            Ok(Prepared::new(tree?, locked, skill.declared_name))
        };
        Ok(skills.into_iter().zip(trees).map(taken).collect())
    }

    /// The files of a locked skill, if the store has them.
    pub(crate) fn stored(&self, locked: &LockedSkill) -> Option<SkillTree> {
        self.store.get(locked.digest?)
    }

    /// The files of locked skills, from their sources. Files that do not match the lock are an error.
    pub(crate) fn again(&self, locked: &[&LockedSkill]) -> Result<Vec<SkillTree>, InstallError> {
        let mut trees: Vec<Option<SkillTree>> = vec![None; locked.len()];
        let mut groups: BTreeMap<(&Upstream, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (at, skill) in locked.iter().enumerate() {
            groups.entry((&skill.source, skill.commit.as_deref())).or_default().push(at);
        }
        for ((source, commit), members) in groups {
            let members: Vec<(usize, &LockedSkill)> =
                members.iter().filter_map(|at| Some((*at, *locked.get(*at)?))).collect();
            let mut place = self.open_again(source, commit).map_err(|error| {
                let is_gone = error.subject() == Some(&About::Commit);
                if is_gone {
                    gone(members.iter().map(|(_, skill)| &*skill.name), source, error)
                } else {
                    error
                }
            })?;
            let folders: Vec<&str> = members
                .iter()
                .map(|(_, skill)| skill.path.as_ref().map(RelPath::as_str).unwrap_or_default())
                .collect();
            let fetched = self.locked_trees(&mut place, &folders).map_err(|error| match &*members {
                [(_, skill)] => error.of_skill(&skill.name),
                _ => error,
            })?;
            for (((at, skill), tree), folder) in members.iter().zip(fetched).zip(&folders) {
                let git_tree = place.git().and_then(|repository| repository.tree_id(folder));
                if Some(tree.digest()) != skill.digest
                    || skill.git_tree.as_ref().is_some_and(|id| Some(id) != git_tree.as_ref())
                {
                    return Err(not_the_same(skill));
                }
                if let Some(place) = trees.get_mut(*at) {
                    *place = Some(tree);
                }
            }
        }
        Ok(trees.into_iter().flatten().collect())
    }

    fn open_again(&self, source: &Upstream, commit: Option<&str>) -> Result<OpenSource, InstallError> {
        // Without a base, a path is relative to the current folder.
        let base = self.options.base.as_deref().unwrap_or(Path::new(""));
        if let Some(path) = source.folder_from(base) {
            return FolderContents::open(&path).map(OpenSource::Folder);
        }
        let (url, wanted) = repository_of(source, commit)?;
        let opened = GitContents::open(Arc::clone(&self.git), &url, &wanted, self.options.offline);
        opened.map(|repository| OpenSource::Git(Box::new(repository)))
    }

    /// The trees of the locked skills in these folders. They are also stored.
    fn locked_trees(&self, place: &mut OpenSource, folders: &[&str]) -> Result<Vec<SkillTree>, InstallError> {
        let limits = self.options.limits.of_locked();
        self.each_tree(place, folders, (&limits, Refusal::OfAll))?.into_iter().collect()
    }

    /// The tree of the skill in each of these folders, or why it cannot be installed. They are also stored.
    fn each_tree(
        &self,
        place: &mut OpenSource,
        folders: &[&str],
        (limits, refusal): (&InstallLimits, Refusal),
    ) -> Result<Vec<Result<SkillTree, InstallError>>, InstallError> {
        let mut plan = Plan::new(folders, refusal);
        match place {
            OpenSource::Folder(contents) => drop(plan.make(contents, limits)?),
            OpenSource::Git(repository) => load(repository, &mut plan, limits)?,
        }
        let mut trees = Vec::with_capacity(folders.len());
        let mut total = 0_u64;
        for (planned, folder) in plan.skills.into_iter().zip(folders) {
            let tree = planned.and_then(|files| {
                let tree = tree_of(place, &files, limits);
                tree.map_err(|error| error.of_skill(folder))
            });
            let tree = match tree {
                Err(error) if refusal == Refusal::OfAll => return Err(error),
                tree => tree,
            };
            if let Ok(tree) = &tree {
                total = total.saturating_add(tree.manifest().total_size());
                limits.check_total(total)?;
            }
            trees.push(tree);
        }
        let received = &self.options.received;
        let stored = self
            .store
            .put_noting(trees.iter().flatten(), &mut |file, was_there| received.stored(file, was_there));
        git::make_room(self.store.folder(), self.options.git.store_bytes, received);
        if let Err(error) = stored {
            let folder = self.store.folder().display();
            let cause = plain_cause(&error.to_string());
            let _ = self.unstored.set(format!("the store could not be written: {folder}: {cause}"));
        }
        Ok(trees)
    }
}

/// The repository and the commit that a lock names.
pub(super) fn repository_of(
    source: &Upstream,
    commit: Option<&str>,
) -> Result<(String, GitVersion), InstallError> {
    // The lock may have been written by anyone, so its sources are parsed like any other input.
    let spec: InstallSpec = source.git().unwrap_or_default().parse()?;
    match (spec.place, commit.filter(|commit| git::is_id(commit))) {
        (InstallPlace::Git(url), Some(commit)) => Ok((url, GitVersion::of(commit))),
        _ => {
            let message = format!("the lock does not say where this is from: {source}");
            Err(InstallError::new(InstallErrorKind::Damaged, message, "install the skill again"))
        }
    }
}

/// The tree of one skill.
pub(super) fn tree_of(
    place: &mut OpenSource,
    planned: &[Planned],
    limits: &InstallLimits,
) -> Result<SkillTree, InstallError> {
    let mut files: Vec<TreeFile> = Vec::with_capacity(planned.len());
    let mut bytes = 0_u64;
    for planned in planned {
        let file = match place {
            OpenSource::Folder(contents) => contents.read(planned, limits)?,
            OpenSource::Git(repository) => repository.file(planned)?,
        };
        bytes = bytes.saturating_add(file.bytes.len() as u64);
        limits.check_sum(files.len(), bytes)?;
        files.push(file);
    }
    SkillTree::new(files, limits)
}

/// What an error about one skill stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// All skills.
    OfAll,
    /// This skill alone.
    OfOne,
}

/// The files of several skills, as far as they are known.
struct Plan<'f> {
    folders: &'f [&'f str],
    /// The files of each skill, or why it cannot be installed.
    skills: Vec<Result<Vec<Planned>, InstallError>>,
    refusal: Refusal,
}

impl<'f> Plan<'f> {
    fn new(folders: &'f [&'f str], refusal: Refusal) -> Self {
        Self { folders, skills: folders.iter().map(|_| Ok(Vec::new())).collect(), refusal }
    }

    /// Lists the files of each skill. Returns whether the lists are complete.
    fn make(&mut self, contents: &mut dyn Contents, limits: &InstallLimits) -> Result<bool, InstallError> {
        let mut whole = true;
        for (folder, planned) in self.folders.iter().zip(&mut self.skills) {
            if planned.is_err() {
                continue;
            }
            *planned = match files_of(contents, folder, limits).map_err(|error| error.of_skill(folder)) {
                Err(error) if self.refusal == Refusal::OfAll => return Err(error),
                files => files.map(|(files, is_whole)| {
                    whole &= is_whole;
                    files
                }),
            };
        }
        Ok(whole)
    }

    /// Refuses the first skill that is too large by itself, with the name of the file. Without one, all are too large
    /// together.
    fn refuse_large(&mut self, repository: &GitContents, limits: &InstallLimits) -> Result<(), InstallError> {
        for (folder, planned) in self.folders.iter().zip(&mut self.skills) {
            let large = planned.as_ref().ok().and_then(|files| repository.too_large(files, limits).err());
            if let Some(error) = large.map(|error| error.of_skill(folder)) {
                if self.refusal == Refusal::OfAll {
                    return Err(error);
                }
                *planned = Err(error);
                return Ok(());
            }
        }
        limits.check_total(u64::MAX)
    }
}

/// Plans the files of skills of a repository, and loads all of them and all links.
fn load(
    repository: &mut GitContents,
    plan: &mut Plan<'_>,
    limits: &InstallLimits,
) -> Result<(), InstallError> {
    let limit = limits.bytes.saturating_mul(plan.folders.len() as u64).min(limits.total_bytes);
    loop {
        let whole = plan.make(repository, limits)?;
        let files = plan.skills.iter().flatten().flatten();
        let ids: Vec<String> = files.map(|planned| planned.item.id.clone()).collect();
        match repository.load(ids, |_| BTreeSet::new(), limit) {
            Ok(()) if whole => return Ok(()),
            Ok(()) => {}
            // What the command fetched from other repositories says nothing about these skills.
            Err(error) if error.limit() == Some(InstallLimit::FetchedBytes) => return Err(error),
            Err(error) if error.kind() == InstallErrorKind::TooLarge => {
                let refused = plan.skills.iter().filter(|planned| planned.is_err()).count();
                plan.refuse_large(repository, limits)?;
                if plan.skills.iter().filter(|planned| planned.is_err()).count() == refused {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn not_the_same(skill: &LockedSkill) -> InstallError {
    let (name, source) = (&skill.name, &skill.source);
    let (message, hint) = match &skill.commit {
        // A commit never changes, so the lock did, or the server does not give what it gave before.
        Some(commit) => (
            format!("the commit does not have the files that the lock names: {name}: {source} @{commit}"),
            "the lock was changed, or the server gives other files: restore skills.lock from version control, and add \
             the skill again only if you trust what is there now"
                .to_owned(),
        ),
        None => (
            format!("what is there now is not what the lock says: {name}: {source}"),
            format!("restore the folder; or to accept what is there now, add it again; the lock has {}", skill.digest_text()),
        ),
    };
    InstallError::new(InstallErrorKind::Mismatch, message, hint)
}

/// The error for skills whose commit the repository no longer has.
fn gone<'n>(names: impl Iterator<Item = &'n str>, source: &Upstream, error: InstallError) -> InstallError {
    let names: Vec<&str> = names.collect();
    let message = format!("the commit that the lock names is gone: {}: {}", names.join(", "), source.place());
    let hint = "add the skill again, which locks another commit; or restore the commit in the repository";
    InstallError::new(InstallErrorKind::NotFound, message, hint).because(error)
}

impl Fetcher {
    /// The skill that each of several entries of `skills.toml` names, in their order. `opening` is called for each source
    /// by its index. A commit that an entry names must be on a branch or tag, unless it `is_known`.
    pub(crate) fn take_each(
        &self,
        entries: &[(&str, &InstallSource)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
        opening: &mut dyn FnMut(usize),
    ) -> Result<Vec<Prepared>, InstallError> {
        let mut located = Vec::with_capacity(entries.len());
        for (name, source) in entries {
            located.push(self.locate(source).map_err(|error| error.in_entry(name))?);
        }
        let mut taken: Vec<(usize, Prepared)> = Vec::with_capacity(entries.len());
        for (at, first) in located.iter().enumerate() {
            if taken.iter().any(|(done, _)| *done == at) {
                continue;
            }
            let others = located.iter().enumerate().skip(at + 1).filter(|(_, other)| other.is_beside(first));
            let group: Vec<(usize, &Located<'_>)> = std::iter::once((at, first)).chain(others).collect();
            for (at, _) in &group {
                opening(*at);
            }
            taken.extend(self.take_group(entries, &group, is_known)?);
        }
        taken.sort_by_key(|(at, _)| *at);
        Ok(taken.into_iter().map(|(_, skill)| skill).collect())
    }

    /// The skill that each of some sources in one place names. What must be fetched of them is fetched in one request.
    fn take_group(
        &self,
        entries: &[(&str, &InstallSource)],
        group: &[(usize, &Located<'_>)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
    ) -> Result<Vec<(usize, Prepared)>, InstallError> {
        let Some((_, first)) = group.first() else { return Ok(Vec::new()) };
        let named = |at: usize| entries.get(at).map_or("", |(name, _)| name);
        let source = self.upstream(&first.source.spec);
        let mut place = self.open(first)?;
        if let OpenSource::Git(repository) = &mut place {
            if repository.is_named_by_commit() && !is_known(&source, &repository.commit) {
                let claims = group.iter().map(|(at, located)| {
                    let skill = named(*at);
                    let relock = Relock { spec: located.source.asked.clone(), alias: Some(skill.to_owned()) };
                    Claim { skill, source: &source, commit: &repository.commit, relock }
                });
                self.check_reachable(&claims.collect::<Vec<_>>())?;
            }
            let mut folders = Vec::new();
            for (_, located) in group {
                folders.extend(skills_below(repository.as_mut(), located.start(), &self.options.find)?.0);
            }
            folders.sort_by(|a, b| a.path.cmp(&b.path));
            folders.dedup();
            let skill = first.source.spec.skill.as_deref().filter(|_| group.len() == 1);
            self.load_heads(repository, &folders, skill)?;
        }
        let mut chosen = Vec::with_capacity(group.len());
        for (at, located) in group {
            let in_entry = |error: InstallError| error.in_entry(named(*at));
            let available = self.find_in(place, located).map_err(in_entry)?;
            // Without names, one is chosen.
            for index in available.choose(&[], false).map_err(in_entry)? {
                chosen.extend(available.skills.get(index).cloned());
            }
            place = available.place;
        }
        let taken = self.take_from(&mut place, &source, chosen, Refusal::OfAll);
        let taken = taken.and_then(|skills| skills.into_iter().collect::<Result<Vec<_>, _>>());
        let taken = taken.map_err(|error| match group {
            [(at, _)] => error.of_skill(named(*at)),
            _ => error,
        })?;
        Ok(group.iter().map(|(at, _)| *at).zip(taken).collect())
    }
}
