//! An index that is made when somebody first searches.

use std::path::PathBuf;
use std::sync::OnceLock;

use prowess_core::Entry;
use prowess_core::select::{Hit, Query, SelectError, Selector};

use super::SearchIndex;
use crate::registry::Registry;

/// Words in name, description and body of all skills of a registry, read when somebody first searches.
pub struct LazyIndex<'r> {
    registry: &'r Registry,
    cache: Option<PathBuf>,
    built: OnceLock<SearchIndex>,
}

impl<'r> LazyIndex<'r> {
    /// An index that has read nothing yet.
    pub fn new(registry: &'r Registry) -> Self {
        Self { registry, cache: None, built: OnceLock::new() }
    }

    /// Begins with what a file remembers.
    #[must_use]
    pub fn with_cache(mut self, file: Option<PathBuf>) -> Self {
        self.cache = file;
        self
    }
}

impl Selector for LazyIndex<'_> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let build = || SearchIndex::open(self.registry, self.cache.clone());
        self.built.get_or_init(build).select(query, among, limit)
    }
}
