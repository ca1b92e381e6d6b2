//! [`Fetcher`]: which skills a folder or a repository holds, and their files. Nothing that is installed is changed here.

mod contents;
mod folder;
mod found;
pub(crate) mod git;
mod repository;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prowess_core::RelPath;

pub(crate) use self::contents::FindLimits;
use self::contents::{Contents, Planned, SkillFolder, file_at, files_of, skills_below};
use self::folder::FolderContents;
pub(crate) use self::found::{Found, FoundSkill};
use self::git::{Git, GitCommand, GitLimits, Wanted};
use self::repository::GitContents;
use super::error::{InstallError, InstallErrorKind};
use super::records::LockedSkill;
use super::spec::{InstallPlace, InstallSpec};
use super::store::Store;
use super::tree::{InstallLimits, SkillTree, TreeFile, refused};
use crate::env::{self, Environment};

/// How skills are fetched.
#[derive(Clone, Debug, Default)]
pub(crate) struct FetchOptions {
    /// The largest skill.
    pub(crate) limits: InstallLimits,
    /// How far skills are looked for.
    pub(crate) find: FindLimits,
    /// How long git may take.
    pub(crate) git: GitLimits,
    /// Whether the network is not to be used. What is here already can still be taken.
    pub(crate) offline: bool,
    /// Where the skills of organisations are: for each a text to install from, with `{org}` and `{name}` in it. One
    /// without `{name}` is a repository of many skills. The others are on GitHub.
    pub(crate) organisations: BTreeMap<String, String>,
    /// The folder that paths in a lock are relative to.
    pub(crate) base: Option<PathBuf>,
}

/// A skill that was fetched and checked.
#[derive(Clone, Debug)]
pub(crate) struct FetchedSkill {
    /// Its name in the frontmatter when that can be the name of a folder, else the name of its folder.
    pub(crate) name: String,
    /// Its folder within the source; nothing when that is the whole source.
    pub(crate) path: Option<RelPath>,
    /// Its files.
    pub(crate) tree: SkillTree,
    /// `git+` and a URL, or `path+` and a path relative to the base.
    pub(crate) source: String,
    /// What was asked for, such as `tag:v1`; nothing for the default.
    pub(crate) requested: Option<String>,
    /// The commit.
    pub(crate) commit: Option<String>,
    /// The id that git gives its folder.
    pub(crate) git_tree: Option<String>,
    /// The version in its frontmatter.
    pub(crate) declared_version: Option<String>,
}

/// A place that is open.
#[derive(Debug)]
enum Place {
    Folder(FolderContents),
    Git(Box<GitContents>),
}

impl Place {
    fn contents(&mut self) -> &mut dyn Contents {
        match self {
            Self::Folder(folder) => folder,
            Self::Git(repository) => repository.as_mut(),
        }
    }
}

/// Fetches skills into memory and into the store.
#[derive(Debug)]
pub(crate) struct Fetcher {
    store: Store,
    git: Arc<dyn Git>,
    options: FetchOptions,
    /// Why the store could not be written, the first time.
    unstored: OnceLock<String>,
}

impl Fetcher {
    /// With a store, and git repositories in its folder.
    pub(crate) fn new(store: Store, environment: &Environment, options: FetchOptions) -> Self {
        let git = GitCommand::new(store.folder().join("git"), environment.clone(), options.git);
        Self::with_git(store, Arc::new(git), options)
    }

    /// With another git.
    pub(crate) fn with_git(store: Store, git: Arc<dyn Git>, options: FetchOptions) -> Self {
        Self { store, git, options, unstored: OnceLock::new() }
    }

    /// Its store.
    #[cfg(test)]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// A warning when something could not be put into the store. It is installed nonetheless.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.unstored.get().map(String::as_str)
    }

    /// Where a text leads: a reference becomes the folder or repository that it means. Nothing is fetched.
    pub(crate) fn resolve(&self, spec: &InstallSpec) -> Result<InstallSpec, InstallError> {
        let InstallPlace::Reference(skill) = &spec.place else { return Ok(spec.clone()) };
        let template = self.options.organisations.get(&skill.org).map(String::as_str);
        let template = template.unwrap_or("https://github.com/{org}/{name}.git");
        let text = template.replace("{org}", &skill.org).replace("{name}", &skill.name);
        let mut place: InstallSpec = text.parse()?;
        if matches!(place.place, InstallPlace::Reference(_)) {
            let message = format!("an organisation leads to another reference: {}: {template}", skill.org);
            return Err(InstallError::new(InstallErrorKind::Request, message, "write an address for it"));
        }
        if !template.contains("{name}") || spec.skill.is_some() {
            place.skill = Some(spec.skill.clone().unwrap_or_else(|| skill.name.clone()));
        }
        if skill.version.is_some() {
            (place.reference, place.tree) = (skill.version.clone(), None);
        }
        Ok(place)
    }

    /// What a place holds. Only what is needed to know that is fetched.
    pub(crate) fn find(&self, spec: &InstallSpec) -> Result<Found, InstallError> {
        let asked = spec;
        let spec = self.resolve(asked)?;
        let (mut place, start, source) = match &spec.place {
            InstallPlace::Folder(path) => {
                let path = env::place(path);
                let place = Place::Folder(FolderContents::open(&path)?);
                (place, spec.path.clone(), format!("path+{}", self.relative(&path)))
            }
            InstallPlace::Git(url) => {
                let (wanted, path) = self.wanted(url, &spec)?;
                let contents = GitContents::open(Arc::clone(&self.git), url, &wanted, self.options.offline)?;
                (Place::Git(Box::new(contents)), path, format!("git+{url}"))
            }
            // It was resolved above.
            InstallPlace::Reference(skill) => return Err(nothing_in(&skill.to_string())),
        };
        let start = start.as_ref().map(RelPath::as_str).unwrap_or_default();
        let folders = skills_below(place.contents(), start, &self.options.find)?;
        if folders.is_empty() {
            return Err(nothing_in(&spec.to_string()));
        }
        if let Place::Git(repository) = &mut place {
            self.load_heads(repository, &folders, spec.skill.as_deref())?;
        }
        let last = last_name(&spec.place);
        let mut found = Found::new(place, source, last);
        for folder in &folders {
            found.add(folder, &self.options.limits);
        }
        // The folder that was named is what is meant, also when there are others in it.
        let named = start.is_empty() && matches!(spec.place, InstallPlace::Git(_));
        let meant = !named || matches!(asked.place, InstallPlace::Reference(_));
        found.meant = found.skills.iter().position(|skill| meant && skill.folder == start);
        found.named = spec.skill;
        if let InstallPlace::Reference(skill) = &asked.place {
            found.hinted = Some(skill.name.clone());
        }
        Ok(found)
    }

    /// Which commit is meant, and which folder. The page of a folder has both in one text: the longest ref that it begins
    /// with counts.
    fn wanted(&self, url: &str, spec: &InstallSpec) -> Result<(Wanted, Option<RelPath>), InstallError> {
        let Some(tree) = &spec.tree else {
            let wanted = spec.reference.as_deref().map_or(Wanted::Default, Wanted::of);
            return Ok((wanted, spec.path.clone()));
        };
        let first = tree.split('/').next().unwrap_or_default();
        let (wanted, rest) = if git::is_id(first) {
            (Wanted::of(first), tree.strip_prefix(first))
        } else {
            if self.options.offline {
                return Err(repository::needs_network(url));
            }
            let refs = self.git.refs(url)?;
            let begins = |name: &&String| {
                let short = ["refs/heads/", "refs/tags/"].iter().find_map(|start| name.strip_prefix(start));
                short
                    .and_then(|short| tree.strip_prefix(short))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            // A branch comes before a tag of the same name, as on the page.
            let name = refs.iter().filter(begins).max_by_key(|name| {
                (
                    name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/")).map_or(0, str::len),
                    name.starts_with("refs/heads/"),
                )
            });
            let Some(name) = name else { return Err(git::unknown_ref(url, tree, &refs)) };
            let short = name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/")).unwrap_or(name);
            (Wanted::Ref(name.clone()), tree.strip_prefix(short))
        };
        let path = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty());
        let path = path.map(RelPath::parse).transpose().map_err(|error| {
            InstallError::new(
                InstallErrorKind::Request,
                format!("this folder is not read: {error}"),
                error.hint(),
            )
        })?;
        Ok((wanted, path))
    }

    /// Loads each SKILL.md. When they have to be fetched, the other files of those skills come with them.
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
        let limit = limits.bytes.saturating_mul(4);
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
            repository.load(ids, ahead, limit)?;
            if !repository.has_wanted() {
                return Ok(());
            }
        }
    }

    /// The files of the chosen skills, by their places in [`Found::skills`]. Whatever has to be fetched for them is fetched
    /// at once.
    pub(crate) fn take(
        &self,
        found: &mut Found,
        chosen: &[usize],
    ) -> Result<Vec<FetchedSkill>, InstallError> {
        let skills: Vec<FoundSkill> = chosen.iter().filter_map(|at| found.skills.get(*at).cloned()).collect();
        if let Some((skill, problem)) = skills.iter().find_map(|skill| Some((skill, skill.problem.as_ref()?)))
        {
            return Err(refused(format!("no agent would load this skill: {}: {problem}", skill.shown())));
        }
        let folders: Vec<&str> = skills.iter().map(|skill| skill.folder.as_str()).collect();
        let trees = self.trees(&mut found.place, &folders)?;
        let (commit, requested) = match &found.place {
            Place::Folder(_) => (None, None),
            Place::Git(repository) => (Some(repository.commit.clone()), repository.requested.clone()),
        };
        let fetched = skills.into_iter().zip(trees).map(|(skill, tree)| FetchedSkill {
            git_tree: match &found.place {
                Place::Folder(_) => None,
                Place::Git(repository) => repository.tree_id(&skill.folder),
            },
            declared_version: tree.document().entry(&prowess_core::Origin::text("")).version,
            name: skill.name,
            path: skill.path,
            tree,
            source: found.source.clone(),
            requested: requested.clone(),
            commit: commit.clone(),
        });
        Ok(fetched.collect())
    }

    /// The files of skills of a lock: those that the store has, and the others from where they came from. One that is not
    /// what the lock says is an error.
    pub(crate) fn again(&self, locked: &[&LockedSkill]) -> Result<Vec<SkillTree>, InstallError> {
        let mut trees: Vec<Option<SkillTree>> =
            locked.iter().map(|skill| self.store.get(&skill.digest)).collect();
        let mut groups: BTreeMap<(&str, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (at, skill) in
            locked.iter().enumerate().filter(|(at, _)| trees.get(*at).is_some_and(Option::is_none))
        {
            groups.entry((&skill.source, skill.commit.as_deref())).or_default().push(at);
        }
        for ((source, commit), members) in groups {
            let mut place = self.open_again(source, commit)?;
            let members: Vec<(usize, &LockedSkill)> =
                members.iter().filter_map(|at| Some((*at, *locked.get(*at)?))).collect();
            let folders: Vec<&str> = members
                .iter()
                .map(|(_, skill)| skill.path.as_ref().map(RelPath::as_str).unwrap_or_default())
                .collect();
            for ((at, skill), tree) in members.iter().zip(self.trees(&mut place, &folders)?) {
                if tree.digest() != skill.digest {
                    return Err(not_the_same(skill));
                }
                if let Some(place) = trees.get_mut(*at) {
                    *place = Some(tree);
                }
            }
        }
        Ok(trees.into_iter().flatten().collect())
    }

    fn open_again(&self, source: &str, commit: Option<&str>) -> Result<Place, InstallError> {
        if let Some(path) = source.strip_prefix("path+") {
            let path = match &self.options.base {
                Some(base) => env::absolute(&base.join(path)),
                None => env::place(path.as_ref()),
            };
            return FolderContents::open(&path).map(Place::Folder);
        }
        let text = source.strip_prefix("git+").unwrap_or_default();
        // It may have been written by anyone, so it is read like everything else.
        let spec: InstallSpec = text.parse()?;
        match (spec.place, commit.filter(|commit| git::is_id(commit))) {
            (InstallPlace::Git(url), Some(commit)) => {
                let wanted = Wanted::of(commit);
                let opened = GitContents::open(Arc::clone(&self.git), &url, &wanted, self.options.offline);
                opened.map(|repository| Place::Git(Box::new(repository)))
            }
            _ => {
                let message = format!("the lock does not say where this is from: {source}");
                Err(InstallError::new(InstallErrorKind::Damaged, message, "install the skill again"))
            }
        }
    }

    /// The trees of the skills in these folders, also put into the store.
    fn trees(&self, place: &mut Place, folders: &[&str]) -> Result<Vec<SkillTree>, InstallError> {
        let limits = &self.options.limits;
        let planned = match place {
            Place::Folder(contents) => plan(contents, folders, limits)?.0,
            Place::Git(repository) => self.loaded(repository, folders)?,
        };
        let mut trees = Vec::with_capacity(planned.len());
        for planned in &planned {
            let mut files: Vec<TreeFile> = Vec::with_capacity(planned.len());
            let mut bytes = 0_u64;
            for planned in planned {
                let file = match place {
                    Place::Folder(contents) => contents.read(planned, limits)?,
                    Place::Git(repository) => repository.file(planned)?,
                };
                bytes = bytes.saturating_add(file.bytes.len() as u64);
                limits.check_sum(files.len(), bytes)?;
                files.push(file);
            }
            let tree = SkillTree::new(files, limits)?;
            if let Err(error) = self.store.put(&tree) {
                let folder = self.store.folder().display();
                let _ = self.unstored.set(format!("the store could not be written: {folder}: {error}"));
            }
            trees.push(tree);
        }
        Ok(trees)
    }

    /// The files of skills of a repository, once all of them and all links are here.
    fn loaded(
        &self,
        repository: &mut GitContents,
        folders: &[&str],
    ) -> Result<Vec<Vec<Planned>>, InstallError> {
        let limits = &self.options.limits;
        let limit = limits.bytes.saturating_mul(folders.len() as u64);
        loop {
            let (planned, whole) = plan(repository, folders, limits)?;
            let ids: Vec<String> = planned.iter().flatten().map(|planned| planned.item.id.clone()).collect();
            repository.load(ids, |_| BTreeSet::new(), limit).map_err(|error| {
                // Which file it is says more than that it is too much.
                let named = planned.iter().map(|planned| repository.too_large(planned, limits));
                let large = error.kind() == InstallErrorKind::TooLarge;
                let named = if large { named.collect::<Result<Vec<()>, _>>().err() } else { None };
                named.unwrap_or(error)
            })?;
            if whole {
                return Ok(planned);
            }
        }
    }

    /// A folder as a lock says it: relative to the base, with `/`.
    fn relative(&self, path: &Path) -> String {
        let text = |path: &Path| path.to_string_lossy().replace('\\', "/");
        let Some(base) = self.options.base.as_deref().map(env::absolute) else { return text(path) };
        let above =
            base.ancestors().enumerate().find_map(|(up, above)| Some((up, path.strip_prefix(above).ok()?)));
        match above {
            Some((0, below)) => format!("./{}", text(below)).trim_end_matches('/').to_owned(),
            Some((up, below)) => {
                format!("{}{}", "../".repeat(up), text(below)).trim_end_matches('/').to_owned()
            }
            None => text(path),
        }
    }
}

/// The files of several skills, and whether those are all.
fn plan(
    contents: &mut dyn Contents,
    folders: &[&str],
    limits: &InstallLimits,
) -> Result<(Vec<Vec<Planned>>, bool), InstallError> {
    let mut all = Vec::with_capacity(folders.len());
    let mut whole = true;
    for folder in folders {
        let (files, is_whole) = files_of(contents, folder, limits)?;
        whole &= is_whole;
        all.push(files);
    }
    Ok((all, whole))
}

/// The name of the whole place, for a skill that is all of it.
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

fn not_the_same(skill: &LockedSkill) -> InstallError {
    let message = format!("what is there now is not what the lock says: {}: {}", skill.name, skill.source);
    let hint = format!("to accept what is there now, add it again; the lock has {}", skill.digest);
    InstallError::new(InstallErrorKind::Mismatch, message, hint)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
