//! From a source to skills that can be installed: found, fetched, checked and previewed, without changing an installed
//! skill.

use prowess_core::text::{Unseen, hidden};
use prowess_core::{Origin, parse};

use super::apply::{NewSkill, check_installable};
use super::error::{InstallError, InstallErrorKind, InstallLimit};
use super::fetch::{FetchedSkill, Fetcher, Found, FoundSkill};
use super::installer::{InstallOptions, Installer, Progress};
use super::records::{InstallScope, LockedSkill, recorded};
use super::spec::{InstallPlace, InstallSpec};
use super::sync::{Seen, check_records};
use super::tree::{SkillTree, refused};
use crate::fs::walk::FILE_NAMES;

/// The skills of a source.
#[derive(Debug)]
pub struct Available(Found);

/// One skill of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AvailableSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its folder in the source; `.` for the whole source.
    pub path: &'a str,
    /// Its description.
    pub description: Option<&'a str>,
    /// Why no agent would load it, as `check` says it. Such a skill is not installed.
    pub problem: Option<&'a str>,
    /// The folder of an earlier skill with the same name and the same files. Both are one skill.
    pub copy_of: Option<&'a str>,
}

/// A skill of a source that cannot be installed, while others of the same source can.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedSkill {
    /// Its name, or its folder in the source if that is all that is known.
    pub name: String,
    /// Why it cannot be installed.
    pub reason: String,
    /// The limit that it exceeds, if that is the reason.
    pub limit: Option<InstallLimit>,
}

impl Available {
    /// The skills, sorted by their paths.
    pub fn skills(&self) -> impl ExactSizeIterator<Item = AvailableSkill<'_>> {
        let shown = |skill| -> AvailableSkill<'_> {
            let skill: &FoundSkill = skill;
            let (description, problem) = (skill.description.as_deref(), skill.problem.as_deref());
            let copy_of = skill.copy_of.and_then(|first| self.0.skills.get(first)).map(FoundSkill::path);
            AvailableSkill { name: &skill.name, path: skill.path(), description, problem, copy_of }
        };
        self.0.skills.iter().map(shown)
    }

    /// The skills that [`choose`](Self::choose) leaves out of all, and why: those that no agent would load, and folders
    /// that cannot be read or whose names some systems cannot store.
    pub fn left_out(&self) -> Vec<SkippedSkill> {
        let problems = self.skills().filter(|skill| skill.copy_of.is_none());
        let problems = problems.filter_map(|skill| Some((skill.name, skill.problem?)));
        let problems = problems.map(|(name, problem)| (name, format!("no agent would load it: {problem}")));
        let all = problems.chain(self.0.unusable());
        all.map(|(name, reason)| SkippedSkill { name: name.to_owned(), reason, limit: None }).collect()
    }

    /// The chosen skills, as indexes into [`skills`](Self::skills): those with these names, all that agents would load,
    /// or the one that the source itself names. Copies of one skill are chosen once. If there are several skills and
    /// none is named, that is an error.
    pub fn choose(&self, names: &[String], all: bool) -> Result<Vec<usize>, InstallError> {
        let chosen = self.0.choose(names, all)?;
        self.0.check_names(&chosen).map(|()| chosen)
    }
}

/// A skill that was fetched and can be installed.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) new: NewSkill,
    /// Its records when it was planned, for `sync`.
    pub(super) seen: Option<Seen>,
    /// Its commit, if that was asked for by its id or by another ref, and is not known to be on a branch or tag.
    pub(super) unverified_commit: Option<String>,
}

impl Prepared {
    /// A skill that is installed because the records say so.
    pub(super) fn seen(new: NewSkill, seen: Seen) -> Self {
        Self { new, seen: Some(seen), unverified_commit: None }
    }

    /// The name that its folder will have.
    pub fn name(&self) -> &str {
        &self.new.locked.name
    }

    /// Its future entry in the lock.
    pub fn locked(&self) -> &LockedSkill {
        &self.new.locked
    }

    /// Its files.
    pub fn tree(&self) -> &SkillTree {
        &self.new.tree
    }
}

/// An error for a name with control characters, also of a skill inside: a lock contains none, so the skill could not have
/// another name.
pub(super) fn check_declared_name(skill: &FetchedSkill) -> Result<(), InstallError> {
    let own = skill.tree.manifest().own().map(|own| &own.path);
    for (file, bytes) in skill.tree.files().filter(|(file, _)| FILE_NAMES.contains(&file.path.file_name())) {
        let document = parse(bytes);
        let name = document.name(&Origin::text("")).unwrap_or_default();
        // The reader drops the control characters that YAML forbids, so the text of the file is looked at too.
        let written = document.field("name").and_then(|name| name.span.slice(document.text()));
        let written = written.unwrap_or_default();
        let name = if name.chars().any(char::is_control) {
            &name
        } else if hidden(written).any(|(_, _, kind)| kind == Unseen::Control) {
            written
        } else {
            continue;
        };
        let inside = Some(&file.path).filter(|path| Some(*path) != own);
        let inside = inside.map_or_else(String::new, |path| format!(" of {path}"));
        let name = name.escape_debug();
        let message = format!("the name in the frontmatter{inside} has a control character: {name}");
        return Err(refused(message).of_skill(skill.found.path()));
    }
    Ok(())
}

impl Installer {
    /// Checks what can be checked before anything is fetched: the records, the clients, and another name for a skill.
    pub fn check_request(
        &self,
        scope: InstallScope,
        options: &InstallOptions,
        alias: Option<&str>,
    ) -> Result<(), InstallError> {
        let place = self.place(scope)?;
        check_records(&place, &place.read()?)?;
        for client in &options.clients {
            place.client_folder(client, self.environment())?;
        }
        alias.map_or(Ok(()), check_installable)
    }

    /// The skills of a source. Only what is needed to find them is fetched.
    pub fn find(&self, scope: InstallScope, spec: &InstallSpec) -> Result<Available, InstallError> {
        self.within_limit(self.fetcher(&self.place(scope)?).find(spec)).map(Available)
    }

    /// The repository that a spec refers to, if it is one.
    pub fn repository(&self, spec: &InstallSpec) -> Result<Option<String>, InstallError> {
        let place = self.place(InstallScope::Project)?;
        Ok(match self.fetcher(&place).resolve(spec)?.place {
            InstallPlace::Git(url) => Some(url),
            _ => None,
        })
    }

    /// Fetches skills of a source: all files, checked and stored. No installed skill is changed.
    pub fn prepare(
        &self,
        scope: InstallScope,
        spec: &InstallSpec,
        available: &mut Available,
        chosen: &[usize],
        alias: Option<&str>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let place = self.place(scope)?;
        let fetcher = self.fetcher(&place);
        let fetched = self.within_limit(fetcher.take(&mut available.0, chosen))?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        if alias.is_some() && fetched.len() != 1 {
            let message = format!("one name cannot be given to {} skills", fetched.len());
            return Err(InstallError::new(InstallErrorKind::Request, message, "choose one of them"));
        }
        fetched.iter().try_for_each(check_declared_name)?;
        let skills = fetched.into_iter().zip(chosen.iter().copied());
        Ok(self.prepared(spec, (&available.0, &fetcher), skills, alias))
    }

    /// Fetches those of the chosen skills that can be installed, as [`prepare`](Self::prepare) does. The others are
    /// returned with the reasons. If no skill can be installed, that is an error.
    pub fn prepare_fit(
        &self,
        scope: InstallScope,
        spec: &InstallSpec,
        available: &mut Available,
        chosen: &[usize],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Vec<Prepared>, Vec<SkippedSkill>), InstallError> {
        let place = self.place(scope)?;
        let fetcher = self.fetcher(&place);
        let fetched = self.within_limit(fetcher.take_fit(&mut available.0, chosen))?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        let (mut fit, mut skipped, mut first) = (Vec::new(), Vec::new(), None);
        for (skill, at) in fetched.into_iter().zip(chosen) {
            let checked = |skill| check_declared_name(&skill).map(|()| skill);
            match skill.and_then(checked) {
                Ok(skill) => fit.push((skill, *at)),
                // A disk that fails says nothing about this skill.
                Err(error) if error.is_failure_of_system() => return Err(error),
                Err(error) => {
                    let skill = available.0.skills.get(*at);
                    let name = skill.map(|skill| skill.name.clone()).unwrap_or_default();
                    let reason = error.full_message();
                    // The name need not be there twice.
                    let folder = skill.map(|skill| format!("{}: ", skill.path())).unwrap_or_default();
                    let reason = reason.strip_prefix(&folder).unwrap_or(&reason).to_owned();
                    skipped.push(SkippedSkill { name, reason, limit: error.limit() });
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if fit.is_empty() => Err(error),
            _ => Ok((self.prepared(spec, (&available.0, &fetcher), fit.into_iter(), None), skipped)),
        }
    }

    /// Those of some skills whose names are free, or whose skills may be replaced, and the others with the reasons. If no
    /// skill is left, that is an error.
    pub fn fit(
        &self,
        scope: InstallScope,
        mut skills: Vec<Prepared>,
        options: &InstallOptions,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Vec<Prepared>, Vec<SkippedSkill>), InstallError> {
        if !options.dry_run {
            self.settle(scope, progress)?;
        }
        let options = InstallOptions { dry_run: true, ..options.clone() };
        let mut skipped = Vec::new();
        loop {
            let Err(error) = self.add(scope, skills.clone(), &options, progress) else { break };
            let is_about_one = matches!(
                error.kind(),
                InstallErrorKind::Exists
                    | InstallErrorKind::Request
                    | InstallErrorKind::Taken
                    | InstallErrorKind::HoldsSource
            );
            let name = error.entry().filter(|_| is_about_one).map(str::to_owned);
            let is_one_of_them = |name: &String| skills.iter().any(|skill| skill.name() == name);
            let name = name.filter(|name| skills.len() > 1 && is_one_of_them(name));
            let Some(name) = name else { return Err(error) };
            skills.retain(|skill| skill.name() != name);
            skipped.push(SkippedSkill { name, reason: error.to_string(), limit: None });
        }
        Ok((skills, skipped))
    }

    /// Fetched skills with their future records. The log has them once they are accepted.
    fn prepared(
        &self,
        spec: &InstallSpec,
        (found, fetcher): (&Found, &Fetcher),
        skills: impl Iterator<Item = (FetchedSkill, usize)>,
        alias: Option<&str>,
    ) -> Vec<Prepared> {
        let unverified_commit = fetcher.unverified_commit(found);
        let prepared = skills.map(|(skill, at)| {
            // Other sources are recorded by their path.
            let is_reference = matches!(spec.place, InstallPlace::Reference(_));
            let choice = is_reference.then(|| found.name_of_choice(at, spec)).flatten();
            let (new, unverified_commit) =
                (recorded(spec, skill, (alias, choice)), unverified_commit.clone());
            Prepared { new, seen: None, unverified_commit }
        });
        let prepared: Vec<Prepared> = prepared.collect();
        self.fetch_log().note(prepared.iter().map(Prepared::locked));
        prepared
    }
}
