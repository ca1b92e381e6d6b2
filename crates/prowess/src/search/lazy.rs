//! [`LazyIndex`]: a search index that is built at the first search, and follows every refresh of its registry.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use prowess_core::select::{Hit, Query, SelectError, Selector};
use prowess_core::{Catalog, Entry};

use super::SearchIndex;
use crate::internal::{locked, read_locked, write_locked};
use crate::registry::{Inside, Operation, Registry};

/// How deep searches may be inside one another, if code of the host is read on the thread of the search.
const MAX_NESTED: usize = 16;

/// The result of a search.
type Ranked = Result<Vec<Hit>, SelectError>;

/// A search index over name, description and body of all skills of a registry, built at the first search. After a
/// refresh of the registry the next search reads what changed, so that a search always ranks the current catalog.
///
/// The registry is a `&Registry`, or an `Arc<Registry>` for a host that keeps both.
///
/// ```
/// use prowess::search::LazyIndex;
/// use prowess::select::{Query, Selector};
/// use prowess::{MemorySource, Registry, Scope};
///
/// # use std::sync::Arc;
/// let skills = Arc::new(MemorySource::new("mine"));
/// let mut registry = Registry::new();
/// registry.add(prowess::Layer::shared(skills.clone()));
/// registry.refresh()?;
/// let index = LazyIndex::new(&registry);
/// let find = |words: &str| index.select(&Query::text(words), &registry.catalog().list(), 5);
/// assert_eq!(find("bake bread")?.len(), 0);
///
/// skills.insert("bread", "---\nname: bread\ndescription: Bakes bread.\n---\n", Scope::Explicit);
/// registry.refresh()?;
/// assert_eq!(find("bake bread")?[0].key, "bread");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LazyIndex<R> {
    registry: R,
    cache: Option<PathBuf>,
    /// The index, and the catalog it was built from; none while a search builds it.
    built: RwLock<Option<(Arc<Catalog>, SearchIndex)>>,
    /// Held while a search builds the index, so that the others do not build it too.
    building: Mutex<()>,
}

impl<R> fmt::Debug for LazyIndex<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LazyIndex").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl<R: Deref<Target = Registry>> LazyIndex<R> {
    /// An index that has read nothing yet.
    pub fn new(registry: R) -> Self {
        Self { registry, cache: None, built: RwLock::default(), building: Mutex::default() }
    }

    /// Sets the cache file of the index.
    #[must_use]
    pub fn with_cache(mut self, file: Option<PathBuf>) -> Self {
        self.cache = file;
        self
    }

    /// The best skills of this index, or of a small one for the keys that the small one has: for a client that is offered
    /// other skills with some keys. The scores are comparable: a word is as rare as in both indexes together.
    pub fn select_with(
        &self,
        own: &SearchIndex,
        query: &Query,
        among: &[&Entry],
        limit: usize,
    ) -> Result<Vec<Hit>, SelectError> {
        self.ranked(|index| Ok(index.select_with(own, query, among, limit)))
    }

    /// Ranks with the index that is there, if it is that of this catalog.
    fn ranked_now(&self, now: &Arc<Catalog>, rank: &impl Fn(&SearchIndex) -> Ranked) -> Option<Ranked> {
        let built = read_locked(&self.built);
        let (_, index) = built.as_ref().filter(|(of, _)| Arc::ptr_eq(of, now))?;
        Some(rank(index))
    }

    /// Ranks with the index of the current catalog.
    fn ranked(&self, rank: impl Fn(&SearchIndex) -> Ranked) -> Ranked {
        if let Some(hits) = self.ranked_now(&self.registry.catalog(), &rank) {
            return hits;
        }
        // Code of the host may search while it is read. It must not wait for the search that reads it, nor search
        // without end.
        let calling_thread = self.registry.has_calling_thread();
        let nested = Inside::depth(self.registry.id(), Operation::Index);
        if nested > if calling_thread { MAX_NESTED } else { 0 } {
            let reason = "a source searched the skills while a search was reading it".to_owned();
            return Err(SelectError::Stopped { reason });
        }
        let _turn = (!calling_thread).then(|| locked(&self.building));
        // Another search may have waited for the same refresh, or for a later one.
        let now = self.registry.catalog();
        if let Some(hits) = self.ranked_now(&now, &rank) {
            return hits;
        }
        let before = write_locked(&self.built).take();
        let (_, mut index) =
            before.unwrap_or_else(|| (Arc::default(), SearchIndex::remembered(self.cache.clone())));
        let (_, ended) = index.follow(&self.registry, &now);
        let (of, hits) = match ended {
            None => {
                let hits = rank(&index);
                (now, hits)
            }
            // The next search reads what is missing.
            Some(error) => (Arc::default(), Err(SelectError::Stopped { reason: error.full_message() })),
        };
        let mut built = write_locked(&self.built);
        let current = self.registry.catalog();
        if !built.as_ref().is_some_and(|(other, _)| Arc::ptr_eq(other, &current)) {
            *built = Some((of, index));
        }
        hits
    }
}

impl<R: Deref<Target = Registry> + Send + Sync> Selector for LazyIndex<R> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.ranked(|index| index.select(query, among, limit))
    }
}
