//! [`Registry`]: merges sources into one catalog, refreshes it, and reads skills.
//!
//! From folders to a catalog, and from there to the text and the files of a skill:
//!
//! ```
//! use prowess::files::Groups;
//! use prowess::source::Slice;
//! use prowess::registry::trust::{Approvals, Trust};
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
//!     .add(DirSource::new(project, ScanOptions::default()).with_scope(Scope::Project))
//!     .add(DirSource::new(own, ScanOptions::unbounded()).with_scope(Scope::User))
//!     .set_trust(Trust::in_approved(Approvals::load(approvals)?));
//! registry.refresh()?;
//!
//! // Every skill is listed; trusted ones may be used.
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

pub mod digests;
pub mod trust;

mod error;
mod nested;
mod read;
mod refresh;
mod registered;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

pub use prowess_core::assembly::Disabled;
use prowess_core::assembly::{AssemblyRules, names_of};
use prowess_core::catalog::{LayerId, Named, TurnedOffBy};
use prowess_core::{Candidate, Catalog, Duplicates, Entry, Found, Obstacle, Profile, Scope};

pub use self::error::RegistryError;
pub(crate) use self::error::{DUPLICATE_HINT, NESTED_HINT, TAKEN_HINT};
pub(crate) use self::nested::{Inside, Operation};
use crate::error::{LookupError, SourceError, SourceErrorKind};
use crate::fs::walk::OnError;
use crate::internal::{read_locked, write_locked};
use crate::registry::digests::DigestLimits;
use crate::registry::trust::{InstalledRecords, Trust};
#[cfg(feature = "watch")]
use crate::source::Watched;
use crate::source::budget::ProjectBudget;
use crate::source::{self, Labels, Layer, MemorySource};

/// The function that is called for each file or folder that cannot be read.
type OnProblem = Box<dyn Fn(&SourceError) + Send + Sync>;

/// The function that makes a catalog of the skills that were found.
type Arrange = Box<dyn Fn(Vec<Arc<Candidate>>) -> Catalog + Send + Sync>;

/// Why a skill is left out, if it is.
pub(crate) type LeaveOut = Box<dyn Fn(&Found) -> Option<TurnedOffBy>>;

/// Skills that the user has by other means, and that are left out. They are listed again at each refresh.
pub(crate) trait Elsewhere: Send + Sync {
    /// Lists them.
    fn list(&self) -> LeaveOut;

    /// The folders whose changes may change the list.
    #[cfg(feature = "watch")]
    fn folders(&self) -> Vec<std::path::PathBuf>;
}

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
/// registry.add(DirSource::new(folder, ScanOptions::unbounded()));
/// registry.refresh()?;
/// assert_eq!(registry.catalog().list()[0].description, "Tidies up.");
/// assert_eq!(registry.document("tidy-up")?.body(), "Do.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    /// A number that no other registry of this process has.
    id: u64,
    /// The first has the registered skills.
    layers: Vec<Layer>,
    labels: Labels,
    memory: Arc<MemorySource>,
    rules: RwLock<AssemblyRules>,
    /// Makes the catalog in place of the rules about duplicates.
    arrange: Option<Arrange>,
    /// The id of the client whose view the catalog is.
    view_of: Option<&'static str>,
    elsewhere: Option<Box<dyn Elsewhere>>,
    profile: Option<Profile>,
    trust: RwLock<Trust>,
    /// The records of the skills that are installed for the user.
    installed: Option<Box<dyn InstalledRecords>>,
    limits: DigestLimits,
    on_error: OnError,
    /// Whether a refresh fails if no source can be listed.
    requires_one: bool,
    budget: Option<Arc<ProjectBudget>>,
    noted: Vec<Arc<SourceError>>,
    on_problem: Option<OnProblem>,
    /// The result of the last refresh. A refresh reads files without this lock, so that readers do not wait for the disk.
    seen: RwLock<Seen>,
    /// Held by a refresh, so that two refreshes run one after the other.
    refreshing: Mutex<()>,
    /// The last lists of remote sources.
    known: Mutex<refresh::Known>,
    /// Held while they are listed.
    asking: Mutex<()>,
}

/// The result of a refresh.
#[derive(Clone, Default)]
struct Seen {
    catalog: Arc<Catalog>,
    problems: Vec<Arc<SourceError>>,
    /// Those of whole sources, with the numbers of their layers.
    unlisted: Vec<(usize, Arc<SourceError>)>,
    passed_over: bool,
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skills = self.catalog().len();
        formatter.debug_struct("Registry").field("skills", &skills).finish_non_exhaustive()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry without sources. Skills can be registered.
    pub fn new() -> Self {
        let memory = Arc::new(MemorySource::registered());
        let mut labels = Labels::default();
        Self {
            id: next_id(),
            layers: vec![Layer::shared(memory.clone()).beside(&mut labels)],
            labels,
            memory,
            rules: RwLock::default(),
            arrange: None,
            view_of: None,
            elsewhere: None,
            profile: None,
            trust: RwLock::new(Trust::in_every_scope()),
            installed: None,
            limits: DigestLimits::default(),
            on_error: OnError::Fail,
            requires_one: false,
            budget: None,
            noted: Vec::new(),
            on_problem: None,
            seen: RwLock::default(),
            refreshing: Mutex::default(),
            known: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// Adds a source. Earlier sources have precedence.
    pub fn add(&mut self, source: impl Into<Layer>) -> &mut Self {
        let layer = source.into().beside(&mut self.labels);
        self.layers.push(layer);
        self
    }

    /// Records something that could not be read before the registry existed, to be reported with the rest.
    pub fn note(&mut self, problem: SourceError) -> &mut Self {
        self.noted.push(Arc::new(problem));
        self
    }

    /// Sets which of two skills with one key is offered.
    pub fn set_duplicates(&mut self, duplicates: Duplicates) -> &mut Self {
        write_locked(&self.rules).duplicates = duplicates;
        self
    }

    /// Which of two skills with one key is offered.
    pub fn duplicates(&self) -> Duplicates {
        read_locked(&self.rules).duplicates
    }

    /// Makes the catalog with a function, in place of the rules about duplicates. Lists of names then mean folders too.
    pub(crate) fn arrange(
        &mut self,
        arrange: impl Fn(Vec<Arc<Candidate>>) -> Catalog + Send + Sync + 'static,
    ) -> &mut Self {
        self.arrange = Some(Box::new(arrange));
        write_locked(&self.rules).by_folder = true;
        self
    }

    /// Sets the id of the client whose view the catalog is.
    pub(crate) fn set_view_of(&mut self, client: &'static str) -> &mut Self {
        self.view_of = Some(client);
        self
    }

    /// The id of the client whose view the catalog is, if it is one.
    pub(crate) fn view_of(&self) -> Option<&'static str> {
        self.view_of
    }

    /// Leaves out the skills that the user has by other means.
    pub(crate) fn leave_out(&mut self, elsewhere: impl Elsewhere + 'static) -> &mut Self {
        self.elsewhere = Some(Box::new(elsewhere));
        self
    }

    /// Sets the profile that the skills of every source must pass; if a layer has its own profile, both apply. Skills
    /// with errors are in the catalog as broken, with every error. Without a profile, every skill that loads is offered.
    pub fn set_profile(&mut self, profile: Profile) -> &mut Self {
        self.profile = Some(profile);
        self
    }

    /// Turns skills off without deleting them: they are hidden everywhere.
    pub fn disable(&mut self, disabled: impl IntoIterator<Item = Disabled>) -> &mut Self {
        write_locked(&self.rules).disabled.extend(disabled);
        self
    }

    /// Sets what is trusted from the next refresh on. By default, everything is except the skills of a layer with
    /// [`Layer::with_approval_required`].
    pub fn set_trust(&self, trust: Trust) {
        *write_locked(&self.trust) = trust;
    }

    /// Makes the installed skills of a user need an approval. The user's records are read at each refresh.
    pub(crate) fn set_installed(&mut self, records: impl InstalledRecords + 'static) -> &mut Self {
        self.installed = Some(Box::new(records));
        self
    }

    /// Sets how large a skill may be whose files are digested for an approval. A larger one is not approved.
    pub fn set_digest_limits(&mut self, limits: DigestLimits) -> &mut Self {
        self.limits = limits;
        self
    }

    /// Sets what happens when a source cannot be listed at all. By default, the refresh fails. It always fails if the
    /// operation itself was interrupted.
    pub fn set_on_error(&mut self, on_error: OnError) -> &mut Self {
        self.on_error = on_error;
        self
    }

    /// Makes a refresh fail if there are sources, none of them can be listed, and no skill is registered.
    pub(crate) fn require_one(&mut self) -> &mut Self {
        self.requires_one = true;
        self
    }

    /// Resets a budget with each refresh, and reports it when it is used up.
    pub(crate) fn set_budget(&mut self, budget: Arc<ProjectBudget>) -> &mut Self {
        self.budget = Some(budget);
        self
    }

    /// Calls a function for each file or folder that cannot be read.
    pub fn on_problem(&mut self, call: impl Fn(&SourceError) + Send + Sync + 'static) -> &mut Self {
        self.on_problem = Some(Box::new(call));
        self
    }

    /// The names of a skill that the lists of [`Disabled`] may give.
    pub fn names_of<'e>(&self, entry: &'e Entry) -> impl Iterator<Item = &'e str> + use<'e> {
        names_of(entry, read_locked(&self.rules).by_folder)
    }

    /// The folders whose changes may change what the sources list or read.
    #[cfg(feature = "watch")]
    pub(crate) fn folders(&self) -> Vec<std::path::PathBuf> {
        let own = self.layers.iter().flat_map(|layer| &layer.traits().folders).flat_map(Watched::folders);
        own.chain(self.elsewhere.iter().flat_map(|elsewhere| elsewhere.folders())).collect()
    }

    /// The names of the sources, the strongest first.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| &**layer.label())
    }

    /// A number that no other registry of this process has.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The catalog as of the last refresh.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.seen().catalog
    }

    /// What could not be read, at the last refresh and before. A skill that cannot be read is in the catalog, as a broken
    /// skill.
    pub fn problems(&self) -> Vec<Arc<SourceError>> {
        self.noted.iter().cloned().chain(self.seen().problems).collect()
    }

    /// The errors of the sources that could not be listed at all at the last refresh. [`Registry::problems`] has them too.
    pub fn unlisted(&self) -> Vec<Arc<SourceError>> {
        self.seen().unlisted.into_iter().map(|(_, error)| error).collect()
    }

    /// Whether the source with the label of this skill could not be listed at all at the last refresh.
    pub(crate) fn is_unlisted(&self, skill: &Candidate) -> bool {
        let is_of = |layer: &Layer| *layer.label() == skill.source;
        let seen = read_locked(&self.seen);
        seen.unlisted.iter().filter_map(|(at, _)| self.layers.get(*at)).any(is_of)
    }

    /// Whether no source could be listed at the last refresh.
    pub(crate) fn lists_nothing(&self) -> bool {
        let unlisted = read_locked(&self.seen).unlisted.len();
        // The first layer has the registered skills.
        unlisted > 0 && unlisted + 1 == self.layers.len() && self.memory.is_empty()
    }

    /// Whether there may be more skills that the sources passed over at the last refresh, as in folders that are deeper
    /// than a client looks. If not, the catalog has all of them.
    pub fn passed_over(&self) -> bool {
        read_locked(&self.seen).passed_over
    }

    fn seen(&self) -> Seen {
        read_locked(&self.seen).clone()
    }

    /// The offered skill with this key.
    pub fn get(&self, key: &str) -> Result<Arc<Candidate>, LookupError> {
        self.catalog().shared(key).ok_or_else(|| self.unknown(key))
    }

    /// The offered skill that a name refers to: by its key, else by its name or its folder's, else ignoring case.
    pub fn named(&self, name: &str) -> Result<Arc<Candidate>, LookupError> {
        let catalog = self.catalog();
        let shared = |skill: &Candidate| catalog.shared(&skill.entry.key);
        match catalog.named(name) {
            Named::One(skill) => shared(skill).ok_or_else(|| self.unknown(name)),
            Named::Several(skills) => {
                let keys = skills.into_iter().map(|skill| skill.entry.key.clone()).collect();
                Err(LookupError::Ambiguous { name: name.to_owned(), keys })
            }
            Named::NotOffered(_) | Named::Unknown => Err(self.unknown(name)),
        }
    }

    /// Why no skill with this key is offered: it has an obstacle, or does not exist.
    fn unknown(&self, key: &str) -> LookupError {
        let catalog = self.catalog();
        if let Named::NotOffered(found) = catalog.named(key)
            && let Some((skill, standing)) = found.first()
        {
            return LookupError::not_offered(key, skill, (*standing).clone());
        }
        // A name that is not a key leads to the key.
        let similar = match catalog.named(key) {
            Named::One(skill) => vec![skill.entry.key.clone()],
            _ => catalog.similar(key).into_iter().map(str::to_owned).collect(),
        };
        LookupError::Unknown { key: key.to_owned(), similar }
    }

    fn layer(&self, candidate: &Candidate) -> Result<&Layer, SourceError> {
        let LayerId { registry, at } = candidate.layer;
        let layer = self.layers.get(at).filter(|_| registry == self.id);
        layer.ok_or_else(|| self.unknown(&candidate.entry.key).into())
    }

    /// Whether any source preloads its skills.
    pub fn has_preloads(&self) -> bool {
        self.layers.iter().any(Layer::preloads)
    }

    /// Whether the user approved a skill that is not trusted now, because it changed since then.
    pub fn changed_since_approval(&self, candidate: &Candidate) -> bool {
        candidate.obstacle == Some(Obstacle::Untrusted)
            && read_locked(&self.trust).approval_of(&candidate.entry.origin.location).is_some()
    }

    /// Whether a skill is used only after an approval, if projects are not trusted.
    pub fn needs_trust(&self, candidate: &Candidate) -> bool {
        self.layer(candidate).is_ok()
            && (candidate.wants_approval || candidate.entry.origin.scope == Scope::Project)
    }
}

/// A number for a registry, never 0.
fn next_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Why a skill is broken, as an error.
fn damage(candidate: &Candidate) -> Option<SourceError> {
    let Some(Obstacle::Broken { problems, .. }) = &candidate.obstacle else { return None };
    let location = candidate.entry.origin.location.clone();
    Some(SourceErrorKind::Damaged { reason: source::reasons(problems) }.at_location(location))
}
