//! [`SearchIndex`]: a search index over the names, descriptions and bodies of a registry's skills.

pub(crate) mod command;

mod gather;
mod lazy;
mod store;

use std::path::PathBuf;
use std::sync::Mutex;

use prowess_core::select::{Bm25, Hit, Postings, Query, Reader, SelectError, Selector, Settings, Texts};
use prowess_core::{Candidate, Catalog, Entry, Location, Stamp};

pub use gather::{analyse, gather, threads};
pub use lazy::LazyIndex;

use crate::fs::file_cache;
use crate::internal::locked;
use crate::registry::Registry;

/// The places of the skills in the cache file of an index; `None` if it is damaged or of another version.
pub(crate) fn places_in(cache: &std::path::Path) -> Option<Vec<Location>> {
    store::places(cache)
}

/// A search index over the names, descriptions and bodies of a registry's skills.
///
/// It contains every offered skill, but not the bodies of skills that are not trusted yet. A refresh reads only what
/// changed. A refreshed index finds the same as a new one.
///
/// ```
/// use prowess::search::SearchIndex;
/// use prowess::select::{SelectOptions, Query, search};
/// use prowess::{DirSource, Registry, ScanOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # std::fs::create_dir(folder.path().join("tidy-up"))?;
/// # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nSweep.\n")?;
/// # let folder = folder.path();
/// let mut registry = Registry::new();
/// registry.add(DirSource::new(folder, ScanOptions::unbounded()));
/// registry.refresh()?;
///
/// // Names and descriptions at once; bodies when there is time.
/// let mut index = SearchIndex::heads(&registry);
/// index.refresh(&registry);
/// let catalog = registry.catalog();
/// let hits = search(&index, &Query::text("sweeping"), &catalog.list(), &SelectOptions::default())?;
/// assert_eq!(hits[0].key, "tidy-up");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SearchIndex {
    index: Bm25,
    /// The analysed skills, in the order of their keys.
    known: Vec<Known>,
    cache: Option<PathBuf>,
}

/// The state of a skill when it was analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    location: Location,
    /// The state of its SKILL.md; none when it may change without a change of its stamp, or is not in a file.
    stamp: Option<Stamp>,
    /// Whether its body was read.
    body: bool,
}

/// The result of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Skills that were analysed, because they are new or have changed.
    pub analysed: usize,
    /// Skills that are unchanged.
    pub kept: usize,
    /// Skills that no longer exist.
    pub removed: usize,
}

impl SearchIndex {
    /// An index of names and descriptions: nothing is read. The next refresh reads the bodies.
    pub fn heads(registry: &Registry) -> Self {
        let mut index = Self::with(Vec::new(), Postings::default(), Vec::new(), None);
        index.update(registry, &registry.catalog(), false);
        index
    }

    /// An index with bodies, from a cache file and what changed since it was written. The file is rewritten when
    /// anything changed; it may be deleted at any time.
    pub fn open(registry: &Registry, cache: Option<PathBuf>) -> Self {
        let mut index = Self::remembered(cache.map(|cache| crate::env::place(&cache)));
        index.refresh(registry);
        index
    }

    /// An index with bodies of one catalog of a registry, without a cache.
    pub fn of_catalog(registry: &Registry, catalog: &Catalog) -> Self {
        let mut index = Self::remembered(None);
        index.follow(registry, catalog);
        index
    }

    /// The index in a cache file; an empty one without a file.
    fn remembered(cache: Option<PathBuf>) -> Self {
        let (keys, known, postings) = cache.as_deref().and_then(store::load).unwrap_or_default();
        Self::with(keys, postings, known, cache)
    }

    fn with(keys: Vec<String>, postings: Postings, known: Vec<Known>, cache: Option<PathBuf>) -> Self {
        Self { index: Bm25::new(keys, postings, Settings::default()), known, cache }
    }

    /// Updates it to what the registry offers now.
    pub fn refresh(&mut self, registry: &Registry) -> Refreshed {
        self.follow(registry, &registry.catalog())
    }

    /// Updates it to one catalog of a registry.
    fn follow(&mut self, registry: &Registry, catalog: &Catalog) -> Refreshed {
        let done = self.update(registry, catalog, true);
        if let Some(file) = self.cache.as_deref().filter(|_| done.analysed + done.removed > 0) {
            // A cache that cannot be written only costs time.
            let _ = store::save(file, self.index.keys(), &self.known, self.index.postings());
        }
        done
    }

    fn update(&mut self, registry: &Registry, catalog: &Catalog, bodies: bool) -> Refreshed {
        let settled = file_cache::settled();
        let mut kept: Vec<Option<u32>> = vec![None; self.known.len()];
        let mut fresh: Vec<(u32, &Candidate, bool)> = Vec::new();
        let mut known = Vec::with_capacity(catalog.len());
        let mut here = 0;
        let keys = self.index.keys();
        // Both are sorted by key.
        let mut at = 0;
        for (number, candidate) in (0..).zip(catalog.iter()) {
            let key = candidate.entry.key.as_str();
            while keys.get(at).is_some_and(|known| known.as_str() < key) {
                at += 1;
            }
            let same = keys.get(at).filter(|known| *known == key).and_then(|_| self.known.get(at));
            here += usize::from(same.is_some());
            let wanted = bodies && may_read(candidate);
            match (same.filter(|same| same.is(candidate, wanted)), kept.get_mut(at)) {
                (Some(same), Some(slot)) => {
                    *slot = Some(number);
                    known.push(same.clone());
                }
                _ => {
                    fresh.push((number, candidate, wanted));
                    known.push(Known::new(candidate, wanted, settled));
                }
            }
        }
        let done = Refreshed {
            analysed: fresh.len(),
            kept: known.len() - fresh.len(),
            removed: self.known.len() - here,
        };
        if done.analysed + done.removed == 0 {
            return done;
        }
        let unread: Mutex<Vec<u32>> = Mutex::default();
        let new = gather(fresh.len(), threads(), |at, reader| {
            let Some((number, candidate, wanted)) = fresh.get(at) else { return };
            if !add(registry, candidate, *wanted, reader) {
                locked(&unread).push(*number);
            }
        });
        for number in std::mem::take(&mut *locked(&unread)) {
            if let Some(known) = known.get_mut(number as usize) {
                known.stamp = None;
            }
        }
        let numbers = fresh.iter().map(|(number, ..)| Some(*number)).collect();
        let keys = catalog.iter().map(|candidate| candidate.entry.key.clone()).collect();
        let empty = Bm25::new(Vec::new(), Postings::default(), Settings::default());
        let (_, old) = std::mem::replace(&mut self.index, empty).into_parts();
        let postings = if done.kept == 0 { new } else { Postings::merge(vec![(old, kept), (new, numbers)]) };
        self.index = Bm25::new(keys, postings, Settings::default());
        self.known = known;
        done
    }

    /// The number of skills.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether it has no skills.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The selector over these skills.
    pub fn selector(&self) -> &Bm25 {
        &self.index
    }
}

/// Whether a search may read the body of a skill: the skill may be used, and its source does not announce its
/// frontmatter separately.
fn may_read(candidate: &Candidate) -> bool {
    candidate.is_usable() && candidate.announced.is_none()
}

/// Analyses one skill. One that cannot be read is found by its name and description, and false is returned.
fn add(registry: &Registry, candidate: &Candidate, body: bool, reader: &mut Reader) -> bool {
    // Through the candidate itself: its key may refer to another skill by now.
    let document = if body { registry.head_of(candidate).ok().map(|head| head.document()) } else { None };
    reader.add(&Texts::of(&candidate.entry, document.as_ref().map(prowess_core::Document::body)));
    document.is_some() || !body
}

impl Known {
    fn new(candidate: &Candidate, body: bool, settled: i64) -> Self {
        let stamp = candidate.stamp;
        // A file that changed just now may change again without a change of its stamp.
        let sure = stamp != Stamp::default() && stamp.changed() < settled;
        Self { location: candidate.entry.origin.location.clone(), stamp: sure.then_some(stamp), body }
    }

    /// Whether a skill is unchanged since it was analysed.
    fn is(&self, candidate: &Candidate, body: bool) -> bool {
        self.stamp == Some(candidate.stamp)
            && self.body == body
            && self.location == candidate.entry.origin.location
    }
}

impl Selector for SearchIndex {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.index.select(query, among, limit)
    }
}
