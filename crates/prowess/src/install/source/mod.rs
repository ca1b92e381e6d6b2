//! [`Fetcher`]: which skills a folder or a repository has, and their files. No installed skill is changed here.

mod contents;
mod files;
mod folder;
mod found;
pub(crate) mod git;
mod reachable;
mod repository;
pub(super) mod tree;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prowess_core::RelPath;

pub(crate) use self::contents::FindLimits;
use self::contents::{Contents, SkillFolder, file_at, files_of, skills_below};
pub(crate) use self::files::Refusal;
use self::folder::FolderContents;
pub use self::found::{Available, AvailableSkill, SkippedSkill};
use self::git::{Git, GitCommand, GitLimits, GitVersion, Received, Waiting};
pub(crate) use self::git::{REPOSITORIES, UNACCEPTED};
pub(crate) use self::reachable::Claim;
use self::repository::GitContents;
use self::tree::InstallLimits;
use super::error::{InstallError, InstallErrorKind};
use super::records::{Upstream, relative};
use super::spec::{InstallPlace, InstallSpec};
use super::store::Store;
use crate::env::{self, Environment};

/// The options of fetching.
#[derive(Clone, Debug, Default)]
pub(crate) struct FetchOptions {
    /// The limits on skills.
    pub(crate) limits: InstallLimits,
    /// The limits of the search for skills.
    pub(crate) find: FindLimits,
    /// The limits of git.
    pub(crate) git: GitLimits,
    /// Who is told that a fetch waits for another process.
    pub(crate) waiting: Waiting,
    /// Who counts what is fetched.
    pub(crate) received: Arc<Received>,
    /// Whether the network is not used. Skills that are already on this machine can still be used.
    pub(crate) offline: bool,
    /// Where the skills of organisations are: for each a source with `{org}` and `{name}` in it. One without `{name}`
    /// is a repository of many skills. All other organisations are on GitHub.
    pub(crate) organisations: BTreeMap<String, String>,
    /// The folder of installed skills, which is no source.
    pub(crate) installed: Option<PathBuf>,
    /// The folder that paths in a lock are relative to.
    pub(crate) base: Option<PathBuf>,
}

/// A source as a user asked for it, and the folder or repository that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallSource {
    pub(crate) asked: InstallSpec,
    pub(crate) spec: InstallSpec,
}

impl InstallSource {
    /// The address of the repository, if it is one.
    pub fn repository(&self) -> Option<&str> {
        match &self.spec.place {
            InstallPlace::Git(url) => Some(url),
            _ => None,
        }
    }
}

/// An open source.
#[derive(Debug)]
enum OpenSource {
    Folder(FolderContents),
    Git(Box<GitContents>),
}

impl OpenSource {
    fn contents(&mut self) -> &mut dyn Contents {
        match self {
            Self::Folder(folder) => folder,
            Self::Git(repository) => repository.as_mut(),
        }
    }

    /// The repository, if it is one.
    fn git(&self) -> Option<&GitContents> {
        match self {
            Self::Folder(_) => None,
            Self::Git(repository) => Some(repository),
        }
    }
}

/// Where in a source its skills are.
#[derive(Debug)]
struct Located<'s> {
    source: &'s InstallSource,
    /// The version of the repository.
    wanted: GitVersion,
    /// The whole name of its branch, if a tag has the same name.
    whole_ref: Option<String>,
    /// The folder in it to search; none for all of it.
    start: Option<RelPath>,
}

impl Located<'_> {
    fn start(&self) -> &str {
        self.start.as_ref().map(RelPath::as_str).unwrap_or_default()
    }

    /// Whether it leads to the same version of the same repository as another.
    fn is_beside(&self, other: &Self) -> bool {
        let url = self.source.repository();
        url.is_some() && url == other.source.repository() && self.wanted == other.wanted
    }
}

/// Fetches skills into memory and into the store.
#[derive(Debug)]
pub(crate) struct Fetcher {
    store: Store,
    git: Arc<dyn Git>,
    options: FetchOptions,
    /// Why the store could not be written, for the first skill that could not be stored.
    unstored: OnceLock<String>,
}

impl Fetcher {
    /// A fetcher with a store, and git repositories in its folder.
    pub(crate) fn new(store: Store, environment: &Environment, options: FetchOptions) -> Self {
        let git = GitCommand::new(store.folder().join(REPOSITORIES), environment.clone(), options.git);
        let git = git.with_waiting(options.waiting.clone()).with_received(Arc::clone(&options.received));
        Self::with_git(store, Arc::new(git), options)
    }

    /// A fetcher with another git.
    pub(crate) fn with_git(store: Store, git: Arc<dyn Git>, options: FetchOptions) -> Self {
        Self { store, git, options, unstored: OnceLock::new() }
    }

    /// Its store.
    #[cfg(test)]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// A warning when something could not be stored. It is still installed.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.unstored.get().map(String::as_str)
    }

    /// Resolves a spec: a reference becomes the folder or repository that it refers to. Nothing is fetched.
    pub(crate) fn resolve(&self, asked: &InstallSpec) -> Result<InstallSource, InstallError> {
        let InstallPlace::Reference(skill) = &asked.place else {
            version::check_tree(asked, (asked.reference.as_deref(), asked.path.as_ref()))?;
            return Ok(InstallSource { asked: asked.clone(), spec: asked.clone() });
        };
        // Hosts do not distinguish cases either, and `@ACME` must not lead elsewhere than `@acme`.
        let known = self.options.organisations.get_key_value(&skill.org).or_else(|| {
            self.options.organisations.iter().find(|(org, _)| org.eq_ignore_ascii_case(&skill.org))
        });
        let (org, template) = known
            .map_or((&*skill.org, "https://github.com/{org}/{name}.git"), |(org, template)| {
                (&**org, &**template)
            });
        let text = template.replace("{org}", org).replace("{name}", &skill.name);
        let mut spec: InstallSpec = text.parse()?;
        if matches!(spec.place, InstallPlace::Reference(_)) {
            let message = format!("an organisation leads to another reference: {}: {template}", skill.org);
            return Err(InstallError::new(InstallErrorKind::Request, message, "write an address for it"));
        }
        if !template.contains("{name}") || asked.skill.is_some() {
            spec.skill = Some(asked.skill.clone().unwrap_or_else(|| skill.name.clone()));
        }
        version::merge(&mut spec, asked, skill)?;
        Ok(InstallSource { asked: asked.clone(), spec })
    }

    /// The skills of a source. Only what is needed to find them is fetched.
    pub(crate) fn find(&self, source: &InstallSource) -> Result<Available, InstallError> {
        let located = self.locate(source)?;
        let place = self.open(&located)?;
        self.find_in(place, &located)
    }

    /// The version and the folder that a source refers to. Only the names of refs are fetched, if needed.
    fn locate<'s>(&self, source: &'s InstallSource) -> Result<Located<'s>, InstallError> {
        let (wanted, start, whole_ref) = match source.repository() {
            Some(url) => self.wanted(url, &source.spec)?,
            None => (GitVersion::Default, source.spec.path.clone(), None),
        };
        Ok(Located { source, wanted, whole_ref, start })
    }

    /// Opens a source, and fetches its commit unless it is on this machine.
    fn open(&self, located: &Located<'_>) -> Result<OpenSource, InstallError> {
        match &located.source.spec.place {
            InstallPlace::Folder(path) => {
                let contents = FolderContents::open(&env::place(path))?;
                Ok(OpenSource::Folder(contents.without(self.options.installed.as_deref())))
            }
            InstallPlace::Git(url) => {
                let git = Arc::clone(&self.git);
                let mut contents = GitContents::open(git, url, &located.wanted, self.options.offline)?;
                contents.whole_ref.clone_from(&located.whole_ref);
                Ok(OpenSource::Git(Box::new(contents)))
            }
            // It was resolved before.
            InstallPlace::Reference(skill) => Err(nothing_in(&skill.to_string())),
        }
    }

    /// The skills of an open source.
    fn find_in(&self, mut place: OpenSource, located: &Located<'_>) -> Result<Available, InstallError> {
        let (start, InstallSource { asked, spec }) = (located.start(), located.source);
        let (folders, unread) = skills_below(place.contents(), start, &self.options.find)?;
        if folders.is_empty() {
            let unread = unread.into_iter().next().map(|(_, error)| error);
            return Err(unread.unwrap_or_else(|| nothing_in(&spec.to_string())));
        }
        if let OpenSource::Git(repository) = &mut place {
            self.load_heads(repository, &folders, spec.skill.as_deref())?;
        }
        let mut available = Available::new(place, located.source.clone(), self.upstream(spec), unread);
        for folder in &folders {
            available.add(folder, &self.options.limits);
        }
        self.mark_copies(&mut available);
        if available.skills.is_empty() {
            available.check_folders()?;
        }
        // The folder that was named is the skill, also when there are others in it.
        let named = start.is_empty() && matches!(spec.place, InstallPlace::Git(_));
        let meant = !named || matches!(asked.place, InstallPlace::Reference(_));
        available.meant = available.skills.iter().position(|skill| meant && skill.folder() == start);
        Ok(available)
    }

    /// Loads every SKILL.md. When they must be fetched, the other files of those skills are fetched with them.
    fn load_heads(
        &self,
        repository: &mut GitContents,
        folders: &[SkillFolder],
        skill: Option<&str>,
    ) -> Result<(), InstallError> {
        let limits = &self.options.limits;
        let likely: Vec<&SkillFolder> =
            folders.iter().filter(|folder| skill.is_some_and(|skill| folder.path.ends_with(skill))).collect();
        let likely = if likely.is_empty() { folders.iter().collect() } else { likely };
        let limit = limits.bytes.saturating_mul(4).min(limits.total_bytes);
        // A link to a SKILL.md may lead to another link.
        loop {
            let mut ids = Vec::new();
            for folder in folders {
                // A bad link is an error when its skill is chosen.
                if let Ok(Some((_, item))) = file_at(repository, &folder.path, &folder.file) {
                    ids.push(item.id);
                }
            }
            let ahead = |repository: &mut GitContents| -> BTreeSet<String> {
                let files =
                    likely.iter().filter_map(|folder| files_of(repository, &folder.path, limits).ok());
                files.flat_map(|(files, _)| files).map(|planned| planned.item.id).collect()
            };
            let links = repository.has_wanted();
            repository.load(ids, ahead, limit)?;
            if !links && !repository.has_wanted() {
                return Ok(());
            }
        }
    }

    /// Where the skills of a spec come from.
    fn upstream(&self, spec: &InstallSpec) -> Upstream {
        match &spec.place {
            InstallPlace::Folder(path) => Upstream::Folder { path: self.relative(&env::place(path)) },
            InstallPlace::Git(url) => Upstream::Git { url: url.clone() },
            // It was resolved before.
            InstallPlace::Reference(skill) => Upstream::Unlocked { text: skill.to_string() },
        }
    }

    /// A folder in the form of the lock: relative to the base.
    fn relative(&self, path: &Path) -> String {
        let base = self.options.base.as_deref();
        base.map_or_else(|| path.to_string_lossy().into_owned(), |base| relative(base, path))
    }
}

/// The last part of a source's name, for a skill that is the whole source.
fn last_name(place: &InstallPlace) -> String {
    let name = match place {
        InstallPlace::Folder(path) => {
            env::place(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        }
        InstallPlace::Git(url) => url.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
        InstallPlace::Reference(skill) => skill.name.clone(),
    };
    name.strip_suffix(".git").unwrap_or(&name).to_owned()
}

fn nothing_in(place: &str) -> InstallError {
    let message = format!("there is no SKILL.md in this place: {place}");
    InstallError::new(InstallErrorKind::NotFound, message, "name a folder or a repository that holds skills")
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
