//! [`SearchIndex`]: a search index over the names, descriptions and bodies of a registry's skills.

pub(crate) mod command;

mod gather;
mod lazy;
mod store;

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use prowess_core::select::{Bm25, Hit, Postings, Query, SelectError, Selector, Settings, Texts, best};
use prowess_core::{Candidate, Catalog, Entry, Location, Stamp};

pub use gather::{analyse, gather, threads};
pub use lazy::LazyIndex;

use crate::error::{SourceError, SourceErrorKind};
use crate::fs::file_cache;
use crate::internal::locked;
use crate::registry::{Inside, Operation, Registry};

/// The places of the skills in the cache file of an index; `None` if it is damaged or of another version.
pub(crate) fn places_in(cache: &std::path::Path) -> Option<Vec<Location>> {
    store::places(cache)
}

/// A search index over the names, descriptions and bodies of a registry's skills.
///
/// It contains every offered skill, but not the bodies of skills that are not trusted yet. A refresh reads only what
/// changed. A refreshed index finds the same as a new one. A skill that cannot be read is found by its name and
/// description, until a later refresh reads it.
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
        self.follow(registry, &registry.catalog()).0
    }

    /// Updates it to one catalog of a registry. An error ended it before every skill was read; the next update reads the
    /// others.
    fn follow(&mut self, registry: &Registry, catalog: &Catalog) -> (Refreshed, Option<SourceError>) {
        let (done, ended) = self.update(registry, catalog, true);
        let changed = ended.is_none() && done.analysed + done.removed > 0;
        if let Some(file) = self.cache.as_deref().filter(|_| changed) {
            // A cache that cannot be written only costs time.
            let _ = store::save(file, self.index.keys(), &self.known, self.index.postings());
        }
        (done, ended)
    }

    fn update(
        &mut self,
        registry: &Registry,
        catalog: &Catalog,
        bodies: bool,
    ) -> (Refreshed, Option<SourceError>) {
        let settled = file_cache::settled();
        let mut kept: Vec<Option<u32>> = vec![None; self.known.len()];
        let mut fresh: Vec<Fresh<'_>> = Vec::new();
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
            return (done, None);
        }
        let analysed = analysed(registry, fresh);
        for number in analysed.unread {
            if let Some(known) = known.get_mut(number as usize) {
                known.stamp = None;
            }
        }
        let keys = catalog.iter().map(|candidate| candidate.entry.key.clone()).collect();
        let empty = Bm25::new(Vec::new(), Postings::default(), Settings::default());
        let (_, old) = std::mem::replace(&mut self.index, empty).into_parts();
        let mut parts = analysed.parts;
        if done.kept > 0 {
            parts.push((old, kept));
        }
        // The numbers of an only part are those of the catalog already.
        let postings = match parts.pop() {
            Some((only, _)) if parts.is_empty() && done.kept == 0 => only,
            last => Postings::merge(parts.into_iter().chain(last).collect()),
        };
        self.index = Bm25::new(keys, postings, Settings::default());
        self.known = known;
        (done, analysed.ended)
    }

    /// The number of skills.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether it has no skills.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The best skills of this index, or of a small one for the keys that the small one has. A query weighs its words
    /// as in both indexes together, so that the scores are comparable.
    fn select_with(&self, own: &Self, query: &Query, among: &[&Entry], limit: usize) -> Vec<Hit> {
        let is_own = |entry: &&Entry| own.index.keys().binary_search(&entry.key).is_ok();
        let (of_own, others): (Vec<&Entry>, Vec<&Entry>) = among.iter().copied().partition(is_own);
        let mask = self.index.mask(&others);
        let mut hits = self.index.search_beside(&own.index, &query.text, limit, Some(&mask));
        let mask = own.index.mask(&of_own);
        hits.extend(own.index.search_beside(&self.index, &query.text, limit, Some(&mask)));
        best(hits, limit)
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

/// A skill to analyse: its number in the catalog, and whether its body is wanted.
type Fresh<'c> = (u32, &'c Candidate, bool);

/// Skills that were analysed.
struct Analysed {
    /// Their postings, each with the numbers of its skills.
    parts: Vec<(Postings, Vec<Option<u32>>)>,
    /// The numbers of those that could not be read.
    unread: Vec<u32>,
    /// The error that ended it, after which no more was read.
    ended: Option<SourceError>,
}

/// Analyses skills: on several threads, except those of sources that are read on the calling thread.
fn analysed(registry: &Registry, fresh: Vec<Fresh<'_>>) -> Analysed {
    let (here, anywhere): (Vec<Fresh<'_>>, Vec<Fresh<'_>>) =
        fresh.into_iter().partition(|(_, candidate, body)| *body && registry.is_calling_thread(candidate));
    let (unread, ended) = (Mutex::<Vec<u32>>::default(), Mutex::<Option<SourceError>>::default());
    let mut parts = Vec::new();
    for (fresh, threads, ends) in [(here, 1, true), (anywhere, threads(), false)] {
        let postings = gather(fresh.len(), threads, |at, reader| {
            let Some((number, candidate, body)) = fresh.get(at) else { return };
            let wanted = *body && locked(&ended).is_none();
            // Through the candidate itself: its key may refer to another skill by now.
            let read = || {
                let _inside = Inside::enter(registry.id(), Operation::Index);
                registry.head_of(candidate)
            };
            let document = match wanted.then(read) {
                Some(Ok(head)) => Some(head.document()),
                Some(Err(error)) if ends && ends_operation(&error) => {
                    *locked(&ended) = Some(error);
                    None
                }
                _ => None,
            };
            reader.add(&Texts::of(&candidate.entry, document.as_ref().map(prowess_core::Document::body)));
            if *body && document.is_none() {
                locked(&unread).push(*number);
            }
        });
        let numbers: Vec<Option<u32>> = fresh.iter().map(|(number, ..)| Some(*number)).collect();
        if !numbers.is_empty() {
            parts.push((postings, numbers));
        }
    }
    let (unread, ended) = (std::mem::take(&mut *locked(&unread)), locked(&ended).take());
    Analysed { parts, unread, ended }
}

/// Whether a read did not fail by itself, but ended with its operation, or took too long.
fn ends_operation(error: &SourceError) -> bool {
    let ends =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::TimedOut);
    matches!(&error.kind, SourceErrorKind::Io(error) if ends(error))
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
