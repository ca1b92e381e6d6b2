//! [`Found`]: the skills of a source, and the choice among them.

use std::collections::{BTreeMap, BTreeSet};

use prowess_core::internal::did_you_mean;
use prowess_core::text::similar;
use prowess_core::{Origin, RelPath, parse};

use super::OpenSource;
use super::contents::{Planned, SkillFolder, file_at};
use crate::error::{advice, first_of};
use crate::install::apply::same_name;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{Upstream, check_folder_name, folder_key};
use crate::install::spec::InstallSpec;
use crate::install::tree::{InstallLimits, refused};
use crate::source::why_not_offered;

/// How many skills an error lists.
const MAX_LISTED: usize = 20;

/// One skill of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSkill {
    /// Its name in the frontmatter if a folder can have that name, else the name of its folder.
    pub(crate) name: String,
    /// Its folder within the source; none when it is the whole source.
    pub(crate) path: Option<RelPath>,
    /// Its description.
    pub(crate) description: Option<String>,
    /// The name in its frontmatter.
    pub(crate) declared_name: Option<String>,
    /// The version in its frontmatter.
    pub(crate) declared_version: Option<String>,
    /// Why no agent would load it.
    pub(crate) problem: Option<String>,
    /// Its folder; empty for the whole source.
    pub(super) folder: String,
    /// The index of an earlier skill with the same name and the same files.
    pub(crate) copy_of: Option<usize>,
}

impl FoundSkill {
    /// Whether a user's text refers to it: by its name, the name of its folder or its path.
    fn is_called(&self, name: &str) -> bool {
        let folder = self.folder.rsplit('/').next().unwrap_or_default();
        self.name == name || (!folder.is_empty() && folder == name) || self.path() == name
    }

    /// Its folder, as users name it.
    pub(crate) fn path(&self) -> &str {
        if self.folder.is_empty() { "." } else { &self.folder }
    }

    pub(super) fn shown(&self) -> String {
        if self.folder.is_empty() || self.folder == self.name {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.folder)
        }
    }
}

/// The skills of a source. None of them is installed yet.
#[derive(Debug)]
pub(crate) struct Found {
    /// The skills, sorted by path.
    pub(crate) skills: Vec<FoundSkill>,
    /// Where they come from.
    pub(crate) source: Upstream,
    /// The skill in the folder that was named.
    pub(super) meant: Option<usize>,
    /// The skill that was named.
    pub(super) named: Option<String>,
    /// The skill to choose when there are several and one has this name.
    pub(super) hinted: Option<String>,
    pub(super) place: OpenSource,
    /// Folders that may contain more skills and could not be read.
    pub(super) unread: Vec<(String, InstallError)>,
    last_name: String,
    /// Folders with a SKILL.md whose names are invalid on some system.
    unsafe_folders: Vec<String>,
}

impl Found {
    pub(super) fn new(place: OpenSource, source: Upstream, last_name: String) -> Self {
        let (skills, unsafe_folders) = (Vec::new(), Vec::new());
        let unread = Vec::new();
        Self {
            skills,
            source,
            meant: None,
            named: None,
            hinted: None,
            place,
            unread,
            last_name,
            unsafe_folders,
        }
    }

    /// The commit, when it is a repository.
    #[cfg(test)]
    pub(crate) fn commit(&self) -> Option<&str> {
        match &self.place {
            OpenSource::Folder(_) => None,
            OpenSource::Git(repository) => Some(&repository.commit),
        }
    }

    /// The requested version, in the form of the lock.
    #[cfg(test)]
    pub(crate) fn requested(&self) -> Option<&str> {
        match &self.place {
            OpenSource::Folder(_) => None,
            OpenSource::Git(repository) => repository.requested.as_deref(),
        }
    }

    /// Reads the SKILL.md of a folder. If it cannot be read, only the name of its folder is known, and the reason is
    /// reported when it is chosen.
    pub(super) fn add(&mut self, folder: &SkillFolder, limits: &InstallLimits) {
        let file = file_at(self.place.contents(), &folder.path, &folder.file).ok().flatten();
        let bytes = file.and_then(|(real, item)| match &mut self.place {
            OpenSource::Folder(contents) => {
                let path = RelPath::parse(&folder.file.name).ok()?;
                contents.read_head(&Planned { path, real, item }, limits)
            }
            OpenSource::Git(repository) => repository.bytes(&item),
        });
        let folder_name = match folder.path.rsplit('/').next() {
            None | Some("") => self.last_name.clone(),
            Some(name) => name.to_owned(),
        };
        let document = parse(bytes.as_deref().unwrap_or_default());
        let at = Origin::at(format!("{folder_name}/{}", folder.file.name)).with_folder(folder_name.clone());
        let problem = bytes.and_then(|_| why_not_offered(&document, &at));
        let written = document.name(&at);
        let name = written.clone().filter(|name| check_folder_name(name).is_ok()).unwrap_or(folder_name);
        let path = RelPath::parse(&folder.path).ok();
        if path.is_none() && !folder.path.is_empty() {
            // The name of its folder is invalid on some system. It cannot be chosen, and is not silently left out.
            self.unsafe_folders.push(folder.path.clone());
            return;
        }
        let description = document.description().map(str::to_owned);
        self.skills.push(FoundSkill {
            name,
            path,
            description,
            declared_name: written,
            declared_version: document.entry(&at).version,
            problem,
            folder: folder.path.clone(),
            copy_of: None,
        });
    }

    /// The chosen skills, as indexes into [`Found::skills`]: those with these names, or all that agents would load, or
    /// the one that the source itself names. Copies are chosen once. If there are several skills and none is named, the
    /// error lists them.
    pub(crate) fn choose(&self, names: &[String], all: bool) -> Result<Vec<usize>, InstallError> {
        if all {
            let loads = |at: &usize| self.skills.get(*at).is_some_and(|skill| skill.problem.is_none());
            let fine: Vec<usize> = self.all().into_iter().filter(loads).collect();
            // If no skill is valid, the user wants the reasons.
            return Ok(if fine.is_empty() { self.all() } else { fine });
        }
        if !names.is_empty() {
            let mut chosen: Vec<usize> = Vec::with_capacity(names.len());
            for name in names {
                let at = self.called(name)?;
                if !chosen.iter().any(|other| self.original(*other) == self.original(at)) {
                    chosen.push(at);
                }
            }
            return Ok(chosen);
        }
        if let Some(name) = &self.named {
            return self.called(name).map(|at| vec![at]);
        }
        let hinted = self.hinted.as_deref().and_then(|name| self.called(name).ok());
        match (self.meant.or(hinted), &*self.all()) {
            (Some(at), _) => Ok(vec![at]),
            (None, [only]) => self.check_read().map(|()| vec![*only]),
            _ => {
                let hint = "name one of them, or take them all";
                Err(self.listing(InstallErrorKind::Ambiguous, "there are several skills", hint, &self.all()))
            }
        }
    }

    /// The name to choose a skill by again: its name, or its path when others are called so. None when the source alone
    /// says which skill it is.
    pub(crate) fn name_of_choice(&self, at: usize, spec: &InstallSpec) -> Option<String> {
        if spec.skill.is_none() && self.choose(&[], false).is_ok_and(|alone| alone == [at]) {
            return None;
        }
        let skill = self.skills.get(at)?;
        let by_name = self.called(&skill.name).is_ok_and(|named| named == at);
        Some(if by_name { skill.name.clone() } else { skill.path().to_owned() })
    }

    /// An error when two of the chosen skills would be installed under one name.
    pub(crate) fn check_names(&self, chosen: &[usize]) -> Result<(), InstallError> {
        let mut taken = BTreeMap::new();
        for (at, skill) in chosen.iter().filter_map(|at| Some((*at, self.skills.get(*at)?))) {
            match taken.insert(folder_key(&skill.name), (at, skill)) {
                Some((before, other)) if self.original(before) != self.original(at) => {
                    return Err(same_name(&skill.name, other.path(), skill.path()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An error when a skill cannot be installed because of the name of its folder.
    pub(super) fn check_folders(&self) -> Result<(), InstallError> {
        match self.unsafe_folders.first() {
            Some(folder) => Err(refused(format!(
                "the folder of a skill has a name that some systems cannot keep: {folder}"
            ))),
            None => Ok(()),
        }
    }

    /// An error when there may be more skills than were found.
    fn check_read(&self) -> Result<(), InstallError> {
        match self.unread.first() {
            Some((_, error)) => {
                let hint = format!("make it readable, or {}", advice::NAME_A_SKILL);
                Err(InstallError::new(InstallErrorKind::Io, error.full_message(), hint))
            }
            None => Ok(()),
        }
    }

    /// What can never be chosen, each with the reason: folders whose names some systems cannot store, and folders that
    /// could not be read.
    pub(crate) fn unusable(&self) -> impl Iterator<Item = (&str, String)> {
        let names = self.unsafe_folders.iter();
        let names = names
            .map(|folder| (&**folder, "the name of its folder cannot be stored on some systems".to_owned()));
        names.chain(self.unread.iter().map(|(folder, error)| (&**folder, error.full_message())))
    }

    /// The index of the skill that this one is a copy of, or its own.
    fn original(&self, at: usize) -> usize {
        self.skills.get(at).and_then(|skill| skill.copy_of).unwrap_or(at)
    }

    fn called(&self, name: &str) -> Result<usize, InstallError> {
        let by_path = self.skills.iter().position(|skill| skill.path() == name);
        let called = (0..self.skills.len()).filter(|at| self.is_called(*at, name));
        let called: BTreeSet<usize> = called.map(|at| self.original(at)).collect();
        let called: Vec<usize> = called.into_iter().collect();
        match (by_path, called.as_slice()) {
            (Some(at), _) => Ok(at),
            (None, [at]) => Ok(*at),
            (None, []) => {
                let near = similar(name, self.skills.iter().map(|skill| skill.name.as_str()));
                let hint = did_you_mean(&near).unwrap_or_else(|| "choose one of these".to_owned());
                let message = format!("there is no skill of this name: {name}");
                Err(self.listing(InstallErrorKind::NotFound, &message, &hint, &self.all()))
            }
            (None, several) => {
                let message = format!("several skills are called so: {name}");
                Err(self.listing(InstallErrorKind::SameName, &message, "name one by its path", several))
            }
        }
    }

    /// Every skill, without copies.
    fn all(&self) -> Vec<usize> {
        (0..self.skills.len()).filter(|at| self.original(*at) == *at).collect()
    }

    fn is_called(&self, at: usize, name: &str) -> bool {
        self.skills.get(at).is_some_and(|skill| skill.is_called(name))
    }

    fn listing(&self, kind: InstallErrorKind, message: &str, hint: &str, which: &[usize]) -> InstallError {
        let shown = which.iter().filter_map(|at| self.skills.get(*at)).map(FoundSkill::shown);
        let listed = first_of(shown, MAX_LISTED);
        InstallError::new(kind, format!("{message}: {listed}"), hint)
    }
}
