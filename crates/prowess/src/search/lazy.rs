//! [`LazyIndex`]: a search index that is built at the first search, and follows every refresh of its registry.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use prowess_core::select::{Hit, Query, SelectError, Selector};
use prowess_core::{Catalog, Entry};

use super::SearchIndex;
use crate::internal::{read_locked, write_locked};
use crate::registry::Registry;

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
    /// The index, and the catalog it was built from.
    built: RwLock<Option<(Arc<Catalog>, SearchIndex)>>,
}

impl<R: Deref<Target = Registry>> LazyIndex<R> {
    /// An index that has read nothing yet.
    pub fn new(registry: R) -> Self {
        Self { registry, cache: None, built: RwLock::default() }
    }

    /// Sets the cache file of the index.
    #[must_use]
    pub fn with_cache(mut self, file: Option<PathBuf>) -> Self {
        self.cache = file;
        self
    }
}

impl<R: Deref<Target = Registry> + Send + Sync> Selector for LazyIndex<R> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let now = self.registry.catalog();
        if let Some((of, index)) = &*read_locked(&self.built)
            && Arc::ptr_eq(of, &now)
        {
            return index.select(query, among, limit);
        }
        let mut built = write_locked(&self.built);
        // Another search may have waited for the same refresh, or for a later one.
        let now = self.registry.catalog();
        let (of, index) =
            built.get_or_insert_with(|| (Arc::default(), SearchIndex::remembered(self.cache.clone())));
        if !Arc::ptr_eq(of, &now) {
            index.follow(&self.registry, &now);
            *of = now;
        }
        index.select(query, among, limit)
    }
}
