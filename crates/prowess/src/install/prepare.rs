//! From a source to skills that can be installed: found, fetched, checked and previewed, without changing an installed
//! skill.

use std::path::Path;

use super::apply::{NewSkill, check_installable};
use super::error::{InstallError, InstallErrorKind};
use super::fetch::{FetchedSkill, Found, FoundSkill};
use super::installer::{InstallOptions, Installer, Progress, open_skills};
use super::preview::Preview;
use super::records::{InstallScope, LockedSkill, Place, SKILLS_FOLDER, recorded};
use super::spec::{InstallPlace, InstallSpec};
use super::sync::{Seen, check_records};
use super::target::Dir;
use super::tree::SkillTree;
use crate::env;
use crate::error::shown;

/// The skills of a source.
#[derive(Debug)]
pub struct Available(Found);

/// One skill of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AvailableSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: Option<&'a str>,
    /// Why no agent would load it, as `check` says it. Such a skill is not installed.
    pub problem: Option<&'a str>,
}

impl Available {
    /// The skills, sorted by their paths.
    pub fn skills(&self) -> impl ExactSizeIterator<Item = AvailableSkill<'_>> {
        let shown = |skill| -> AvailableSkill<'_> {
            let skill: &FoundSkill = skill;
            let (description, problem) = (skill.description.as_deref(), skill.problem.as_deref());
            AvailableSkill { name: &skill.name, description, problem }
        };
        self.0.skills.iter().map(shown)
    }

    /// The chosen skills, as indexes into [`skills`](Self::skills): those with these names, all that agents would load,
    /// or the one that the source itself names. If there are several and none is named, that is an error.
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
}

impl Prepared {
    /// A skill that is installed because the records say so.
    pub(super) fn seen(new: NewSkill, seen: Seen) -> Self {
        Self { new, seen: Some(seen) }
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
        Ok(Available(self.fetcher(&self.place(scope)?).find(spec)?))
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
        let fetched = fetcher.take(&mut available.0, chosen)?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        if alias.is_some() && fetched.len() != 1 {
            let message = format!("one name cannot be given to {} skills", fetched.len());
            return Err(InstallError::new(InstallErrorKind::Request, message, "choose one of them"));
        }
        self.check_apart(&place, spec, &fetched)?;
        let prepared = |(skill, at): (FetchedSkill, &usize)| {
            let choice = available.0.name_of_choice(*at, spec);
            Prepared { new: recorded(spec, skill, (alias, choice)), seen: None }
        };
        let prepared: Vec<Prepared> = fetched.into_iter().zip(chosen).map(prepared).collect();
        self.fetch_log().add(prepared.iter().map(Prepared::locked));
        Ok(prepared)
    }

    /// An error for skills that are in the folder where they would be installed, or above it: they would be their own
    /// source.
    pub(super) fn check_apart(
        &self,
        place: &Place,
        spec: &InstallSpec,
        skills: &[FetchedSkill],
    ) -> Result<(), InstallError> {
        let InstallPlace::Folder(folder) = self.fetcher(place).resolve(spec)?.place else { return Ok(()) };
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (source, base) = (real(&env::place(&folder)), real(&place.base));
        let to = real(&base.join(SKILLS_FOLDER));
        for skill in skills {
            let from = source.join(skill.path.as_ref().map_or("", |path| path.as_str()));
            let (reason, hint) = if from.starts_with(&to) {
                ("this is where skills are installed", "name the folder that the skill comes from")
            } else if to.starts_with(&from) {
                let hint = "install it for the user, or in another project";
                ("a skill cannot be installed inside of itself", hint)
            } else {
                continue;
            };
            let message = format!("{reason}: {}", shown(&from));
            return Err(InstallError::new(InstallErrorKind::Request, message, hint));
        }
        Ok(())
    }

    /// The preview of each skill, by its name.
    pub fn previews(
        &self,
        scope: InstallScope,
        skills: &[Prepared],
    ) -> Result<Vec<(String, Preview)>, InstallError> {
        let place = self.place(scope)?;
        let records = place.read()?;
        let own = self.folders().user.as_deref().filter(|_| scope == InstallScope::Project);
        let own = own.map(|user| user.join(SKILLS_FOLDER));
        // If the user's folder cannot be listed, its skills are left out: the preview decides nothing.
        let of_user =
            own.as_deref().and_then(|folder| Dir::open(folder).ok()?.names().ok()).unwrap_or_default();
        let of_place =
            open_skills(&place).ok().flatten().and_then(|dir| dir.names().ok()).unwrap_or_default();
        let names = || {
            let locked = records.lock.skills().iter().map(|skill| &*skill.name);
            let there = of_user.iter().chain(&of_place).map(String::as_str);
            locked.chain(there).chain(skills.iter().map(Prepared::name))
        };
        let preview = |skill: &Prepared| {
            let mut preview = Preview::of(&skill.new.tree, skill.name(), names());
            let hidden =
                of_user.iter().filter(|name| [skill.name(), &preview.declared_name].contains(&&***name));
            let folder = own.clone().unwrap_or_default();
            preview.shadows = hidden.map(|name| folder.join(name).to_string_lossy().into_owned()).collect();
            let others = records.lock.skills().iter();
            let others = others.filter(|other| other.name != skill.name() && other.is_from(skill.locked()));
            preview.claimed_source =
                Some(skill.locked()).filter(|locked| !self.fetch_log().has(locked)).map(LockedSkill::origin);
            preview.installed_as = others.map(|other| other.name.clone()).collect();
            preview
        };
        Ok(skills.iter().map(|skill| (skill.name().to_owned(), preview(skill))).collect())
    }
}
