//! From a source to skills that can be installed: found, fetched, checked and previewed, without changing an installed
//! skill.

use prowess_core::text::{Unseen, hidden};
use prowess_core::{Origin, RelPath, parse};

use super::check_installable;
use super::sync::{Seen, check_records};
use crate::fs::walk::FILE_NAMES;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::installer::{InstallOptions, Installer, Progress};
use crate::install::records::{InstallScope, LockedSkill, WantedSkill, record};
use crate::install::source::tree::{SkillTree, refused};
use crate::install::source::{Available, Fetcher, InstallSource, Refusal, SkippedSkill};
use crate::install::spec::{InstallPlace, InstallSpec};

/// A skill with its files and its future records, which can be installed.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) tree: SkillTree,
    pub(crate) locked: LockedSkill,
    /// The new entry in `skills.toml`; none when the entry stays unchanged.
    pub(crate) wanted: Option<WantedSkill>,
    /// The name in its frontmatter.
    pub(crate) declared_name: String,
    /// Its records when it was planned, for `sync`.
    pub(crate) seen: Option<Seen>,
    /// Its commit, if that was asked for by its id or by another ref, and is not known to be on a branch or tag.
    pub(crate) unverified_commit: Option<String>,
}

impl Prepared {
    pub(crate) fn new(tree: SkillTree, locked: LockedSkill, declared_name: String) -> Self {
        let locked = LockedSkill { digest: Some(tree.digest()), ..locked };
        Self { tree, locked, wanted: None, declared_name, seen: None, unverified_commit: None }
    }

    /// The name that its folder will have.
    pub fn name(&self) -> &str {
        &self.locked.name
    }

    /// Its future entry in the lock.
    pub fn locked(&self) -> &LockedSkill {
        &self.locked
    }

    /// Its files.
    pub fn tree(&self) -> &SkillTree {
        &self.tree
    }
}

/// A skill without control characters in its name, also that of a skill inside: a lock contains none, so the skill could
/// not have another name.
pub(crate) fn checked(skill: Prepared) -> Result<Prepared, InstallError> {
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
        return Err(refused(message).of_skill(skill.locked.path.as_ref().map_or(".", RelPath::as_str)));
    }
    Ok(skill)
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

    /// The folder or repository that a spec refers to. Nothing is fetched.
    pub fn source(&self, spec: &InstallSpec) -> Result<InstallSource, InstallError> {
        self.fetcher(&self.place(InstallScope::Project)?).resolve(spec)
    }

    /// The skills of a source. Only what is needed to find them is fetched.
    pub fn find(&self, scope: InstallScope, source: &InstallSource) -> Result<Available, InstallError> {
        self.within_limit(self.fetcher(&self.place(scope)?).find(source))
    }

    /// Fetches skills of a source: all files, checked and stored. No installed skill is changed.
    pub fn prepare(
        &self,
        scope: InstallScope,
        available: &mut Available,
        chosen: &[usize],
        alias: Option<&str>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Prepared>, InstallError> {
        let fetcher = self.fetcher(&self.place(scope)?);
        let fetched = self.within_limit(fetcher.take(available, chosen, Refusal::OfAll))?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        if alias.is_some() && fetched.len() != 1 {
            let message = format!("one name cannot be given to {} skills", fetched.len());
            return Err(InstallError::new(InstallErrorKind::Request, message, "choose one of them"));
        }
        let fetched = fetched.into_iter().zip(chosen);
        let checked = fetched.map(|(skill, at)| Ok((checked(skill?)?, *at)));
        Ok(self.recorded(available, &fetcher, checked.collect::<Result<_, InstallError>>()?, alias))
    }

    /// Fetches those of the chosen skills that can be installed, as [`prepare`](Self::prepare) does. The others are
    /// returned with the reasons. If no skill can be installed, that is an error.
    pub fn prepare_fit(
        &self,
        scope: InstallScope,
        available: &mut Available,
        chosen: &[usize],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Vec<Prepared>, Vec<SkippedSkill>), InstallError> {
        let fetcher = self.fetcher(&self.place(scope)?);
        let fetched = self.within_limit(fetcher.take(available, chosen, Refusal::OfOne))?;
        fetcher.warning().map(Progress::NotStored).map(&mut *progress);
        let (mut fit, mut skipped, mut first) = (Vec::new(), Vec::new(), None);
        for (skill, at) in fetched.into_iter().zip(chosen) {
            match skill.and_then(checked) {
                Ok(skill) => fit.push((skill, *at)),
                // A disk that fails says nothing about this skill.
                Err(error) if error.is_failure_of_system() => return Err(error),
                Err(error) => {
                    skipped.extend(available.skills().get(*at).map(|skill| skill.skipped(&error)));
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if fit.is_empty() => Err(error),
            _ => Ok((self.recorded(available, &fetcher, fit, None), skipped)),
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
    fn recorded(
        &self,
        available: &Available,
        fetcher: &Fetcher,
        skills: Vec<(Prepared, usize)>,
        alias: Option<&str>,
    ) -> Vec<Prepared> {
        let unverified_commit = fetcher.unverified_commit(available);
        let asked = &available.source.asked;
        // Other sources are recorded by their path.
        let is_reference = matches!(asked.place, InstallPlace::Reference(_));
        let recorded = skills.into_iter().map(|(mut skill, at)| {
            let choice = is_reference.then(|| available.name_of_choice(at)).flatten();
            record(&mut skill, asked, (alias, choice, available.whole_ref()));
            Prepared { unverified_commit: unverified_commit.clone(), ..skill }
        });
        let recorded: Vec<Prepared> = recorded.collect();
        self.fetch_log().note(recorded.iter().map(Prepared::locked));
        recorded
    }
}
