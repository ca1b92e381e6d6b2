//! [`Available`]: the skills of a source, and the choice among them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use prowess_core::internal::did_you_mean;
use prowess_core::text::similar;
use prowess_core::{Origin, RelPath, parse};

use super::contents::{Kind, Planned, SkillFolder, file_at, files_of};
use super::files::tree_of;
use super::tree::{InstallLimits, refused};
use super::{Fetcher, InstallSource, OpenSource, last_name};
use crate::advice::{Hint, HintAction};
use crate::error::first_of;
use crate::install::error::{InstallError, InstallErrorKind, InstallLimit};
use crate::install::plan::same_name;
use crate::install::records::{Upstream, check_folder_name, folder_key};
use crate::install::spec::InstallPlace;
use crate::source::why_not_offered;

/// How many skills an error lists.
const MAX_LISTED: usize = 20;

/// One skill of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AvailableSkill {
    /// Its name in the frontmatter if a folder can have that name, else the name of its folder.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Why no agent would load it, as `check` says it. Such a skill is not installed.
    pub problem: Option<String>,
    /// The index of an earlier skill with the same name and the same files. Both are one skill.
    pub copy_of: Option<usize>,
    /// Its folder within the source; none when it is the whole source.
    pub(super) path: Option<RelPath>,
    /// The name in its frontmatter, else that of its folder.
    pub(super) declared_name: String,
    /// The version in its frontmatter.
    pub(super) declared_version: Option<String>,
}

impl AvailableSkill {
    /// Whether a user's text refers to it: by its name, the name of its folder or its path.
    fn is_called(&self, name: &str) -> bool {
        let folder = self.folder().rsplit('/').next().unwrap_or_default();
        self.name == name || (!folder.is_empty() && folder == name) || self.path() == name
    }

    /// Its folder in the source; `.` for the whole source.
    pub fn path(&self) -> &str {
        self.path.as_ref().map_or(".", RelPath::as_str)
    }

    /// Its folder in the source; empty for the whole source.
    pub(super) fn folder(&self) -> &str {
        self.path.as_ref().map(RelPath::as_str).unwrap_or_default()
    }

    /// Why it is not installed while others are.
    pub(crate) fn skipped(&self, error: &InstallError) -> SkippedSkill {
        SkippedSkill { name: self.name.clone(), reason: error.message_without_skill(), limit: error.limit() }
    }

    pub(super) fn shown(&self) -> String {
        match self.folder() {
            folder if folder.is_empty() || folder == self.name => self.name.clone(),
            folder => format!("{} ({folder})", self.name),
        }
    }
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

/// The skills of a source. None of them is installed yet.
#[derive(Debug)]
pub struct Available {
    pub(super) skills: Vec<AvailableSkill>,
    pub(super) place: OpenSource,
    pub(crate) source: InstallSource,
    /// Where they come from, as a lock says it.
    pub(super) upstream: Upstream,
    /// The skill in the folder that was named.
    pub(super) meant: Option<usize>,
    /// Folders that may contain more skills and could not be read.
    unread: Vec<(String, InstallError)>,
    /// Folders with a SKILL.md whose names are invalid on some system.
    unsafe_folders: Vec<String>,
}

impl Available {
    pub(super) fn new(
        place: OpenSource,
        source: InstallSource,
        upstream: Upstream,
        unread: Vec<(String, InstallError)>,
    ) -> Self {
        let (skills, unsafe_folders) = (Vec::new(), Vec::new());
        Self { skills, place, source, upstream, meant: None, unread, unsafe_folders }
    }

    /// The skills, sorted by their paths.
    pub fn skills(&self) -> &[AvailableSkill] {
        &self.skills
    }

    /// The whole name of the requested branch, if a tag has the same name.
    pub(crate) fn whole_ref(&self) -> Option<&str> {
        self.place.git()?.whole_ref.as_deref()
    }

    /// The commit, when it is a repository.
    #[cfg(test)]
    pub(crate) fn commit(&self) -> Option<&str> {
        self.place.git().map(|repository| &*repository.commit)
    }

    /// The requested version.
    #[cfg(test)]
    pub(crate) fn requested(&self) -> Option<&crate::install::records::Requested> {
        self.place.git()?.requested.as_ref()
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
            None | Some("") => last_name(&self.source.spec.place),
            Some(name) => name.to_owned(),
        };
        let document = parse(bytes.as_deref().unwrap_or_default());
        let at = Origin::at(format!("{folder_name}/{}", folder.file.name)).with_folder(folder_name.clone());
        let problem = bytes.and_then(|_| why_not_offered(&document, &at));
        let declared_name = document.name(&at).unwrap_or_else(|| folder_name.clone());
        let is_folder = check_folder_name(&declared_name).is_ok();
        let name = if is_folder { declared_name.clone() } else { folder_name };
        let path = RelPath::parse(&folder.path).ok();
        if path.is_none() && !folder.path.is_empty() {
            // The name of its folder is invalid on some system. It cannot be chosen, and is not silently left out.
            self.unsafe_folders.push(folder.path.clone());
            return;
        }
        let description = document.description().map(str::to_owned);
        let declared_version = document.entry(&at).version;
        self.skills.push(AvailableSkill {
            name,
            description,
            problem,
            copy_of: None,
            path,
            declared_name,
            declared_version,
        });
    }

    /// The chosen skills, as indexes into [`skills`](Self::skills): those with these names, all that agents would load,
    /// or the one that the source itself names. Copies of one skill are chosen once. If there are several skills and
    /// none is named, the error lists them.
    pub fn choose(&self, names: &[String], all: bool) -> Result<Vec<usize>, InstallError> {
        let chosen = self.named(names, all)?;
        self.check_names(&chosen).map(|()| chosen)
    }

    pub(super) fn named(&self, names: &[String], all: bool) -> Result<Vec<usize>, InstallError> {
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
        let InstallSource { asked, spec } = &self.source;
        if let Some(name) = &spec.skill {
            return self.called(name).map(|at| vec![at]);
        }
        let hinted = match &asked.place {
            InstallPlace::Reference(skill) => self.called(&skill.name).ok(),
            _ => None,
        };
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
    pub(crate) fn name_of_choice(&self, at: usize) -> Option<String> {
        if self.source.asked.skill.is_none() && self.choose(&[], false).is_ok_and(|alone| alone == [at]) {
            return None;
        }
        let skill = self.skills.get(at)?;
        let by_name = self.called(&skill.name).is_ok_and(|named| named == at);
        Some(if by_name { skill.name.clone() } else { skill.path().to_owned() })
    }

    /// An error when two of the chosen skills would be installed under one name.
    fn check_names(&self, chosen: &[usize]) -> Result<(), InstallError> {
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
                let hint = Hint::from(HintAction::NameSkill).before("make it readable, or ");
                Err(InstallError::new(InstallErrorKind::Io, error.full_message(), hint))
            }
            None => Ok(()),
        }
    }

    /// The skills that [`choose`](Self::choose) leaves out of all, and why: those that no agent would load, and folders
    /// that cannot be read or whose names some systems cannot store.
    pub fn left_out(&self) -> Vec<SkippedSkill> {
        let skipped = |name: &str, reason| SkippedSkill { name: name.to_owned(), reason, limit: None };
        let problems = self.skills.iter().filter(|skill| skill.copy_of.is_none()).filter_map(|skill| {
            Some(skipped(&skill.name, format!("no agent would load it: {}", skill.problem.as_ref()?)))
        });
        let names = self.unsafe_folders.iter().map(|folder| {
            skipped(folder, "the name of its folder cannot be stored on some systems".to_owned())
        });
        let unread = self.unread.iter().map(|(folder, error)| skipped(folder, error.full_message()));
        problems.chain(names).chain(unread).collect()
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
        let shown = which.iter().filter_map(|at| self.skills.get(*at)).map(AvailableSkill::shown);
        let listed = first_of(shown, MAX_LISTED);
        InstallError::new(kind, format!("{message}: {listed}"), hint.to_owned())
    }
}

impl Fetcher {
    /// Marks every skill that has the name and the files of an earlier one. Only skills that share a name are compared.
    pub(super) fn mark_copies(&self, available: &mut Available) {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, skill) in available.skills.iter().enumerate() {
            named.entry(folder_key(&skill.name)).or_default().push(at);
        }
        for same in named.into_values().filter(|same| same.len() > 1) {
            let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
            for at in same {
                let Some(skill) = available.skills.get_mut(at) else { continue };
                let Some(files) = self.identity(&mut available.place, skill.folder()) else { continue };
                let first = *seen.entry((skill.name.clone(), files)).or_insert(at);
                skill.copy_of = (first != at).then_some(first);
            }
        }
    }

    /// A text that is equal for folders with the same files. None when the files cannot be read, or a link among them
    /// must be fetched first: such a folder is not compared.
    fn identity(&self, place: &mut OpenSource, folder: &str) -> Option<String> {
        let (planned, whole) = files_of(place.contents(), folder, &self.options.limits).ok()?;
        match place {
            OpenSource::Folder(_) => {
                Some(tree_of(place, &planned, &self.options.limits).ok()?.digest().to_string())
            }
            OpenSource::Git(_) => whole.then(|| {
                let mut text = String::new();
                for file in &planned {
                    let run = file.item.kind == Kind::File { executable: true };
                    let _ = writeln!(text, "{run} {} {}", file.item.id, file.path);
                }
                text
            }),
        }
    }
}
