//! Sources become one catalog, and stay one: refresh, register, read.
//!
//! From folders to a catalog, and from there to the text and the files of a skill:
//!
//! ```
//! use prowess::resources::Groups;
//! use prowess::source::Slice;
//! use prowess::trust::{Approvals, Trust};
//! use prowess::{DirSource, Registry, ScanOptions, Scope, TooLarge};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (project, own) = (folder.path().join("project"), folder.path().join("own"));
//! # std::fs::create_dir_all(project.join("tidy-up"))?;
//! # std::fs::create_dir_all(own.join("tidy-up/references"))?;
//! # std::fs::write(project.join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Not trusted.\n---\n")?;
//! # std::fs::write(own.join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n")?;
//! # std::fs::write(own.join("tidy-up/references/more.md"), "more\n")?;
//! # let approvals = &folder.path().join("trust.json");
//! let mut registry = Registry::new();
//! registry
//!     .add(DirSource::new(project, ScanOptions::default()).in_scope(Scope::Project))
//!     .add(DirSource::new(own, ScanOptions::named()).in_scope(Scope::User))
//!     .trust(Trust::in_approved(Approvals::load(approvals)?));
//! registry.refresh()?;
//!
//! // What is found is seen; what is trusted may be used.
//! let catalog = registry.catalog();
//! for skill in catalog.iter().filter(|skill| skill.is_usable()) {
//!     println!("{}: {}", skill.entry.key, skill.entry.description);
//! }
//! for (candidate, standing) in catalog.why("tidy-up") {
//!     println!("{}: {standing:?}", candidate.entry.origin.location);
//! }
//!
//! // Read now, not when it was listed.
//! let body = registry.document("tidy-up")?.body().to_owned();
//! let groups = Groups::of(&registry.files("tidy-up")?, true);
//! let page = registry.read_resource("tidy-up", "references/more.md", Slice::first(4096), TooLarge::Page)?;
//! assert_eq!((body.as_str(), groups.references.len(), page.size), ("Do.", 1, 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::catalog::DuplicateError;
use prowess_core::{
    Candidate, Catalog, Delta, Document, Duplicates, Entry, LoadError, Manifest, Obstacle, Origin, Profile,
    RelPath, Scope, Skill, parse, parse_head,
};

use crate::error::SourceError;
use crate::glob::Glob;
use crate::resources::{self, Resource, TooLarge};
use crate::scan::ScanOptions;
use crate::source::{Chunk, DirSource, MemorySource, Slice, Source};
use crate::trust::{self, Trust, Verdict};
use crate::{files, scan};

/// Why a registry could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Two skills have one key, and that was to be an error.
    #[error(transparent)]
    Duplicate(#[from] DuplicateError),
    /// A skill with this key is registered already.
    #[error("a skill with this name is registered already: {0}; replace it, or give this one another name")]
    Taken(String),
    /// A skill is no skill.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// The largest file that is held in memory for a digest.
const MAX_DIGESTED: usize = 64 << 20;

/// A skill that is turned off, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disabled {
    /// The keys or names it is about; `*` stands for any text.
    pub glob: Glob,
    /// Who turned it off, such as the path of a configuration.
    pub by: String,
    /// Whether that counts for the user's own and built-in skills too. A project that is not trusted must not be
    /// able to hide them.
    pub everyones: bool,
}

/// What is called for each file or folder that cannot be read.
type OnProblem = Box<dyn Fn(&SourceError) + Send + Sync>;

/// Sources, and the catalog made of them.
///
/// ```
/// use prowess::{DirSource, Registry, ScanOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # std::fs::create_dir(folder.path().join("tidy-up"))?;
/// # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n")?;
/// # let folder = folder.path();
/// let mut registry = Registry::new();
/// registry.add(DirSource::new(folder, ScanOptions::named()));
/// registry.refresh()?;
/// assert_eq!(registry.catalog().list()[0].description, "Tidies up.");
/// assert_eq!(registry.document("tidy-up")?.body(), "Do.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    sources: Vec<Arc<dyn Source>>,
    memory: Arc<MemorySource>,
    duplicates: Duplicates,
    disabled: Vec<Disabled>,
    trust: Trust,
    catalog: Arc<Catalog>,
    problems: Vec<SourceError>,
    on_problem: Option<OnProblem>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry without sources: what is registered is all there is.
    pub fn new() -> Self {
        Self {
            sources: Vec::new(),
            memory: Arc::new(MemorySource::new("registered")),
            duplicates: Duplicates::default(),
            disabled: Vec::new(),
            trust: Trust::everything(),
            catalog: Arc::default(),
            problems: Vec::new(),
            on_problem: None,
        }
    }

    /// Adds a source. Sources come in the order of precedence, the strongest first.
    pub fn add(&mut self, source: impl Source + 'static) -> &mut Self {
        self.sources.push(Arc::new(source));
        self
    }

    /// Says which of two skills with one key is offered.
    pub fn duplicates(&mut self, duplicates: Duplicates) -> &mut Self {
        self.duplicates = duplicates;
        self
    }

    /// Turns skills off without deleting them: they are hidden everywhere.
    pub fn disable(&mut self, disabled: impl IntoIterator<Item = Disabled>) -> &mut Self {
        self.disabled.extend(disabled);
        self
    }

    /// Says what is trusted; everything, if nothing is said.
    pub fn trust(&mut self, trust: Trust) -> &mut Self {
        self.trust = trust;
        self
    }

    /// Calls a function for each file or folder that cannot be read.
    pub fn on_problem(&mut self, call: impl Fn(&SourceError) + Send + Sync + 'static) -> &mut Self {
        self.on_problem = Some(Box::new(call));
        self
    }

    /// Asks every source anew, makes a new catalog and says what changed. On an error the old one stays.
    pub fn refresh(&mut self) -> Result<Delta, RegistryError> {
        let mut candidates = Vec::new();
        let mut problems = Vec::new();
        let memory: Arc<dyn Source> = self.memory.clone();
        for source in std::iter::once(&memory).chain(&self.sources) {
            let offer = source.list()?;
            problems.extend(offer.problems);
            let id: Arc<str> = source.id().into();
            let mut listed = offer.candidates;
            for candidate in &mut listed {
                let candidate = Arc::make_mut(candidate);
                self.judge(candidate, source.as_ref());
                candidate.source = Arc::clone(&id);
            }
            candidates.append(&mut listed);
        }
        self.trust.remember();
        if let Some(call) = &self.on_problem {
            problems.iter().for_each(call);
        }
        let catalog = Catalog::new(candidates, self.duplicates)?;
        let delta = catalog.since(&self.catalog);
        self.catalog = Arc::new(catalog);
        self.problems = problems;
        Ok(delta)
    }

    /// Decides whether a skill that loads may be offered and used.
    fn judge(&self, candidate: &mut Candidate, source: &dyn Source) {
        if candidate.obstacle.is_some() {
            return;
        }
        let names = [&candidate.entry.key, &candidate.entry.name];
        let users = matches!(candidate.entry.origin.scope, Scope::User | Scope::Builtin);
        let off = self.disabled.iter().find(|disabled| {
            (disabled.everyones || !users) && names.iter().any(|name| disabled.glob.matches(name))
        });
        if let Some(disabled) = off {
            candidate.obstacle = Some(Obstacle::Disabled { by: disabled.by.clone() });
            return;
        }
        match self.trust.judge(candidate, || source.files(candidate)) {
            Verdict::Yes => {}
            Verdict::No => candidate.obstacle = Some(Obstacle::Untrusted),
            Verdict::AsApproved(digest) => candidate.approved = Some(digest),
        }
    }

    /// The catalog as of the last refresh.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// What could not be read at the last refresh.
    pub fn problems(&self) -> &[SourceError] {
        &self.problems
    }

    /// Registers a skill that lives in memory, before all sources. A taken key is an error unless `replace` is set.
    pub fn register(&mut self, skill: &Skill, replace: bool) -> Result<Delta, RegistryError> {
        if !replace && self.catalog.has(&skill.entry.key) {
            return Err(RegistryError::Taken(skill.entry.key.clone()));
        }
        self.memory.insert_skill(skill, Scope::Explicit);
        self.refresh()
    }

    /// Takes a registered skill away. One that a source lists cannot be taken away; disable it.
    pub fn unregister(&mut self, key: &str) -> Result<Delta, RegistryError> {
        if !self.memory.remove(key) {
            return Err(self.unknown(key).into());
        }
        self.refresh()
    }

    /// The offered skill with this key.
    pub fn get(&self, key: &str) -> Result<&Candidate, SourceError> {
        self.catalog.get(key).ok_or_else(|| self.unknown(key))
    }

    fn unknown(&self, key: &str) -> SourceError {
        SourceError::unknown(key, self.catalog.similar(key).into_iter().map(str::to_owned).collect())
    }

    fn source(&self, candidate: &Candidate) -> Result<Arc<dyn Source>, SourceError> {
        if *candidate.source == *self.memory.id() {
            return Ok(self.memory.clone());
        }
        let source = self.sources.iter().find(|source| *source.id() == *candidate.source);
        source.cloned().ok_or_else(|| self.unknown(&candidate.entry.key))
    }

    /// The SKILL.md of a skill, read now: no stale body, no stale offset.
    pub fn document(&self, key: &str) -> Result<Document, SourceError> {
        let candidate = self.get(key)?;
        let limit = prowess_core::limits::MAX_FILE_BYTES;
        let chunk =
            self.source(candidate)?.read(candidate, &resources::skill_md()?, Slice::first(limit + 1))?;
        Ok(parse_head(&chunk.bytes, chunk.size))
    }

    /// The files of a skill, listed now.
    pub fn files(&self, key: &str) -> Result<Manifest, SourceError> {
        self.files_of(self.get(key)?)
    }

    /// The files of a skill that was found, offered or not, listed now.
    pub fn files_of(&self, candidate: &Candidate) -> Result<Manifest, SourceError> {
        self.source(candidate)?.files(candidate)
    }

    /// Bytes of a file of a skill. `path` is as a model or a person wrote it.
    pub fn read_bytes(&self, key: &str, path: &str, slice: Slice) -> Result<Chunk, SourceError> {
        let candidate = self.get(key)?;
        let path = requested(path)?;
        self.source(candidate)?.read(candidate, &path, slice)
    }

    /// The digest over all files of a skill, through its source: what an approval is bound to.
    pub fn digest(&self, key: &str) -> Result<String, SourceError> {
        let candidate = self.get(key)?;
        let source = self.source(candidate)?;
        trust::digest_of_bytes(&source.files(candidate)?, |path| whole(source.as_ref(), candidate, path))
    }

    /// Bytes of a file, and the digest over all files of its skill in which those very bytes were counted.
    pub fn read_with_digest(
        &self,
        key: &str,
        path: &RelPath,
        slice: Slice,
    ) -> Result<(Chunk, String), SourceError> {
        let candidate = self.get(key)?;
        let source = self.source(candidate)?;
        let mut bytes = whole(source.as_ref(), candidate, path)?;
        let files = source.files(candidate)?;
        let digest = trust::digest_of_bytes(&files, |other| {
            if other == path { Ok(bytes.clone()) } else { whole(source.as_ref(), candidate, other) }
        })?;
        let size = bytes.len() as u64;
        let start = usize::try_from(slice.offset).unwrap_or(usize::MAX).min(bytes.len());
        bytes.drain(..start);
        bytes.truncate(slice.limit);
        Ok((Chunk { bytes, size }, digest))
    }

    /// A file of a skill. `path` is as a model or a person wrote it.
    pub fn read_resource(
        &self,
        key: &str,
        path: &str,
        slice: Slice,
        too_large: TooLarge,
    ) -> Result<Resource, SourceError> {
        let candidate = self.get(key)?;
        let path = requested(path)?;
        resources::read(self.source(candidate)?.as_ref(), candidate, &path, slice, too_large)
    }
}

/// All bytes of a file; one that is too large to hold is an error.
fn whole(source: &dyn Source, skill: &Candidate, path: &RelPath) -> Result<Vec<u8>, SourceError> {
    let chunk = source.read(skill, path, Slice::first(MAX_DIGESTED))?;
    if chunk.size > chunk.bytes.len() as u64 {
        let (size, limit) = (chunk.size, MAX_DIGESTED as u64);
        return Err(SourceError::TooLarge { path: path.as_str().into(), size, limit });
    }
    Ok(chunk.bytes)
}

/// The path of a file as a model or a person wrote it.
fn requested(path: &str) -> Result<RelPath, SourceError> {
    RelPath::from_request(path)
        .map_err(|error| SourceError::BadPath { path: PathBuf::from(error.path()), error })
}

/// Loads one skill from its folder or its SKILL.md.
pub fn load(path: &Path, profile: &Profile) -> Result<Skill, RegistryError> {
    let file = if path.is_dir() {
        let names = scan::FILE_NAMES.map(|name| path.join(name));
        let found = names.into_iter().find(|file| file.symlink_metadata().is_ok());
        found.ok_or_else(|| SourceError::NoSkill { path: path.to_owned() })?
    } else {
        path.to_owned()
    };
    let document = files::read_skill(&file)?.document();
    let found = scan::Found { path: file };
    let listing = files::list(found.folder())?;
    let entry = document.load(&found.origin(), Some(&listing.manifest), profile)?;
    Ok(Skill { entry, instructions: document.body().to_owned() })
}

/// Loads a skill from its text.
pub fn loads(text: &str, profile: &Profile) -> Result<Skill, LoadError> {
    let document = parse(text.as_bytes());
    let entry = document.load(&Origin::text("<text>"), None, profile)?;
    Ok(Skill { entry, instructions: document.body().to_owned() })
}

/// The skills in some folders, as one list; of namesakes the first, in the order of the folders.
pub fn discover(roots: &[&Path], options: &ScanOptions) -> Result<Vec<Entry>, RegistryError> {
    let mut registry = Registry::new();
    for root in roots {
        registry.add(DirSource::new(*root, options.clone()));
    }
    registry.refresh()?;
    Ok(registry.catalog().list().into_iter().cloned().collect())
}
