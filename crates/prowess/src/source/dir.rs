//! [`DirSource`]: the skills in a folder on disk.

mod gather;
mod sightings;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Seek as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prowess_core::{Location, Manifest, Obstacle, Profile, RelPath, Scope, SourceSkill, Stamp};

use gather::{Gather, SkillReader, read_prefix};
use sightings::Links;

use super::{Chunk, Listing, Slice, Source, SourceTraits, Watched, check_still, judge, reasons};
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::confine::Within;
use crate::fs::dir::stamp_of;
use crate::fs::file_cache::FileCache;
use crate::fs::location::location_of;
use crate::fs::sandbox::{self, SkillFolder};
use crate::fs::stamp::FileStamp;
use crate::fs::walk::{MissingRoot, ScanOptions, walk};
use crate::fs::{read, walk};
use crate::internal::locked;
use crate::registry::digests::{DigestLimits, Digests};
use crate::source::budget::ProjectBudget;

/// The skills in a folder.
#[derive(Debug)]
pub struct DirSource {
    id: String,
    root: PathBuf,
    scope: Scope,
    options: ScanOptions,
    base: Option<PathBuf>,
    cache: Option<PathBuf>,
    profile: Option<Profile>,
    digests: Arc<Digests>,
    budget: Option<Arc<ProjectBudget>>,
    /// The real paths of skills whose path is not UTF-8, by their locations.
    odd: Mutex<BTreeMap<Location, PathBuf>>,
    sighted: Option<Policies>,
}

/// Whether the files beside a SKILL.md that restrict how clients may use it are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policies {
    /// They are.
    Read,
    /// They are not.
    Leave,
}

impl DirSource {
    /// The skills in and below a folder. A relative path is relative to the current folder as it is now, and a leading
    /// `~` is the user's folder.
    pub fn new(root: impl Into<PathBuf>, options: ScanOptions) -> Self {
        let root = env::place(&root.into());
        Self {
            id: root.to_string_lossy().into_owned(),
            root,
            scope: Scope::Explicit,
            options,
            base: None,
            cache: None,
            profile: None,
            digests: Arc::default(),
            budget: None,
            odd: Mutex::default(),
            sighted: None,
        }
    }

    /// Records, beside each skill, the facts that clients treat differently: about its place, and about its file.
    #[must_use]
    pub fn with_sightings(mut self, policies: Policies) -> Self {
        self.sighted = Some(policies);
        self
    }

    /// Sets the scope of the skills.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Restricts the source to the folder of a project, also through links: for a project that is not trusted.
    #[must_use]
    pub fn with_project(mut self, folder: Option<PathBuf>) -> Self {
        self.options.within = folder;
        self
    }

    /// Sets the folder that virtual paths are relative to, if it is not the folder itself: a folder above it, by any
    /// path. If the folder is not in it, every list reports this, and virtual paths stay relative to the folder.
    #[must_use]
    pub fn with_base(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = Some(env::place(&base.into()));
        self
    }

    /// Caches frontmatter in a file, so that the next list opens only what changed. The file is safe to delete.
    #[must_use]
    pub fn with_cache(mut self, file: Option<PathBuf>) -> Self {
        self.cache = file.map(|file| env::place(&file));
        self
    }

    /// Sets the profile that skills must pass. `on_error` in the options decides about those with errors: the list
    /// fails with every error of the first, or they are listed as broken, or they are left out.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Sets the cache of digests.
    #[must_use]
    pub fn with_digests(mut self, digests: Arc<Digests>) -> Self {
        self.digests = digests;
        self
    }

    /// The folder that no link may lead out of.
    fn within(&self) -> Option<&Path> {
        self.options.within.as_deref()
    }

    /// Limits the number of folders and entries as these options do.
    pub(super) fn limited_to(mut self, limits: &ScanOptions) -> Self {
        let ScanOptions { max_folders, max_entries, max_outside, max_inside, .. } = *limits;
        self.options = ScanOptions { max_folders, max_entries, max_outside, max_inside, ..self.options };
        self
    }

    /// Sets a budget that each list spends. What exceeds it is left out, and the owner of the budget reports that.
    pub(crate) fn spending(mut self, budget: Option<Arc<ProjectBudget>>) -> Self {
        self.budget = budget;
        self
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a skill.
    pub(super) fn folder(&self, location: &Location) -> PathBuf {
        let odd = locked(&self.odd).get(location).cloned();
        let path = odd.unwrap_or_else(|| location.path().unwrap_or_default().into());
        walk::SkillFile { path }.folder().to_owned()
    }
}

/// Opens the folder of a skill, if it still contains the skill that was listed: it may have been replaced since, for
/// example by a link to another folder.
fn opened<'s>(
    folder: &'s Path,
    skill: SourceSkill<'s>,
    within: Option<&Path>,
) -> Result<SkillFolder<'s>, SourceError> {
    let opened = SkillFolder::listed(folder, skill.own_name().as_ref(), skill.stamp.into())?;
    if let Some(within) = within
        && !Within::new(within)?.holds_folder(opened.root())
    {
        return Err(SourceErrorKind::OutsideProject.at(folder));
    }
    // A skill that could not be read has no state to compare.
    if !is_unread(skill) && !opened.holds_what_was_listed()? {
        own_file(&opened, skill)?;
    }
    Ok(opened)
}

/// Opens a skill's own file, if it is still that skill. A file that was saved again is, as long as it keeps its name.
fn own_file(folder: &SkillFolder<'_>, skill: SourceSkill<'_>) -> Result<File, SourceError> {
    let mut file = folder.own_file()?;
    let path = || folder.path().join(skill.own_name());
    let failed = |error| SourceError::io(path(), error);
    if is_unread(skill) || stamp_of(&file.metadata().map_err(failed)?) == skill.stamp.into() {
        return Ok(file);
    }
    // A broken skill has no name to keep.
    if skill.broken {
        return Err(SourceErrorKind::Changed.at(path()));
    }
    let document = read_prefix(&mut file, &mut Vec::new()).map_err(failed)?;
    check_still(&document, skill, || location_of(&path()))?;
    file.rewind().map_err(failed)?;
    Ok(file)
}

/// Whether a skill could not be read when it was listed.
fn is_unread(skill: SourceSkill<'_>) -> bool {
    skill.broken && skill.stamp == Stamp::default()
}

impl Source for DirSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn traits(&self) -> SourceTraits {
        let (root, options) = (self.root.clone(), self.options.clone());
        SourceTraits::watching(vec![Watched::Skills { root, options }])
    }

    fn list(&self) -> Result<Listing, SourceError> {
        if env::is_homeless(&self.root) {
            return Err(SourceErrorKind::NoHome.at(&self.root));
        }
        if self.budget.as_ref().is_some_and(|budget| budget.problem().is_some()) {
            return Ok(Listing::default());
        }
        // Most folders of clients do not exist.
        if self.options.missing_root == MissingRoot::Skip && matches!(self.root.try_exists(), Ok(false)) {
            return Ok(Listing::default());
        }
        let index = self.cache.as_deref().map(FileCache::load).unwrap_or_default();
        let (above, not_below) = match self.below_base() {
            Ok(above) => (above, None),
            Err(problem) => (PathBuf::new(), Some(problem)),
        };
        let reader = SkillReader { source: self, above, index: &index };
        let mut gather = Gather {
            reader: &reader,
            hits: Vec::new(),
            fresh: Vec::new(),
            links: Links::default(),
            any_deep: false,
            listing: Listing::default(),
        };
        let mut problems = walk(&self.root, &self.options, &reader, &mut gather);
        problems.retain(|problem| !matches!(problem.kind, SourceErrorKind::ProjectTooLarge { .. }));
        let Gather { hits, fresh, links, any_deep, mut listing, .. } = gather;
        listing.skills.sort_by(|a, b| a.entry.origin.location.cmp(&b.entry.origin.location));
        if self.sighted.is_some() {
            // The order is that of the clients.
            sightings::place(&self.root, &links, &mut listing.skills);
        } else if any_deep {
            gather::outer_first(&self.root, &mut listing.skills);
        }
        // A root that does not exist, or a skill that must not be skipped, ends the whole list.
        let fatal = problems.iter().position(|problem| self.is_fatal(problem));
        listing.problems.extend(problems);
        listing.problems.extend(not_below);
        if let Some(at) = fatal {
            return Err(listing.problems.swap_remove(at));
        }
        let changed = hits.len() != index.len() || !fresh.is_empty();
        if let Some(file) = self.cache.as_deref().filter(|_| changed) {
            let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
            let fresh: Vec<_> =
                fresh.iter().map(|(path, stamp, head)| (bytes(path), *stamp, head.as_slice())).collect();
            let mut skills: Vec<(&[u8], FileStamp, &[u8])> =
                hits.iter().filter_map(|at| index.file(*at)).collect();
            skills.extend(fresh.iter().map(|(path, stamp, head)| (path.as_slice(), *stamp, *head)));
            skills.sort_by(|a, b| a.0.cmp(b.0));
            // A cache that cannot be written only costs time.
            let _ = FileCache::save(skills, file);
        }
        if let Some(profile) = &self.profile {
            self.judge(&mut listing, profile)?;
        }
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        Ok(read::list_in(&opened(&self.folder(skill.location()), skill, self.within())?)?.manifest)
    }

    /// The path itself, also if it is not UTF-8.
    fn file(&self, skill: SourceSkill<'_>) -> Option<PathBuf> {
        Some(self.folder(skill.location()).join(skill.own_name()))
    }

    /// Lists and reads beneath one open folder, so that what is digested is what was listed.
    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let path = self.folder(skill.location());
        let folder = opened(&path, skill, self.within())?;
        let listing = read::list_in(&folder)?;
        let unlisted = listing.uncovered().filter(|_| within.refuse_unlisted && !listing.cut);
        if let Some(unlisted) = unlisted {
            return Err(SourceErrorKind::Uncovered.at(path.join(unlisted)));
        }
        let mut manifest = listing.complete(&path)?;
        let mut allowed = within.admit(&manifest, skill.location())?;
        for file in &mut manifest.files {
            let path = path.join(file.path.as_str());
            // By its real name: beside an own file with another name there may be a SKILL.md.
            let own = file.path.as_str() == skill.own_name();
            let mut open = if own { own_file(&folder, skill)? } else { folder.file(&file.path)? };
            let (digest, size) = if within.remembered {
                self.digests.of(&path, &mut open, &mut allowed)?
            } else {
                self.digests.anew(&path, &mut open, &mut allowed)?
            };
            (file.digest, file.size) = (Some(digest), size);
        }
        Ok(manifest)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let place = self.folder(skill.location());
        let file = if skill.is_own(path) {
            own_file(&SkillFolder::listed(&place, skill.own_name().as_ref(), skill.stamp.into())?, skill)?
        } else {
            opened(&place, skill, self.within())?.file(path)?
        };
        if let Some(within) = self.within() {
            Within::new(within)?.check(&file, &place.join(path.as_str()))?;
        }
        sandbox::read_slice(file, &place.join(path.as_str()), slice)
    }
}

impl DirSource {
    /// The path of the root below the folder that virtual paths are relative to; empty when that is the root.
    fn below_base(&self) -> Result<PathBuf, SourceError> {
        let Some(base) = &self.base else { return Ok(PathBuf::new()) };
        if let Ok(below) = self.root.strip_prefix(base) {
            return Ok(below.to_owned());
        }
        // One of the two paths may contain a link.
        let Ok(real) = std::fs::canonicalize(&self.root) else { return Ok(PathBuf::new()) };
        let above = std::fs::canonicalize(base).ok();
        match above.and_then(|above| Some(real.strip_prefix(above).ok()?.to_owned())) {
            Some(below) => Ok(below),
            None => {
                Err(SourceErrorKind::NotBelow { base: base.to_string_lossy().as_ref().into() }.at(&self.root))
            }
        }
    }

    /// Judges the listed skills.
    fn judge(&self, listing: &mut Listing, profile: &Profile) -> Result<(), SourceError> {
        for found in &mut listing.skills {
            judge(self, false, found, profile, self.budget.as_deref());
            if let (Some(Obstacle::Broken { problems, .. }), walk::OnError::Fail) =
                (&found.obstacle, self.options.on_error)
            {
                let location = found.entry.origin.location.clone();
                return Err(SourceErrorKind::Damaged { reason: reasons(problems) }.at_location(location));
            }
        }
        if self.options.on_error == walk::OnError::Ignore {
            listing.skills.retain(|found| !found.is_broken());
        }
        Ok(())
    }

    fn is_fatal(&self, problem: &SourceError) -> bool {
        let unusable = matches!(problem.kind, SourceErrorKind::Missing | SourceErrorKind::NotFolder);
        let of_root = || problem.at.path().is_some_and(|path| path == self.root.to_string_lossy());
        (unusable && of_root()) || self.options.on_error == walk::OnError::Fail
    }
}
