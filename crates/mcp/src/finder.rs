//! The search of the library as it is now, with an index that is made when somebody first searches.

use std::sync::PoisonError;

use prowess::Entry;
use prowess::index::SearchIndex;
use prowess::select::{Hit, Query, SelectError, Selector};

use crate::live::Live;

/// Finds skills of one state by their words. The index is made when somebody first searches, and kept.
pub(crate) struct Finder<'l> {
    pub(crate) live: &'l Live,
    pub(crate) number: u64,
}

impl Selector for Finder<'_> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let live = self.live;
        if let Some((number, index)) = &*live.index.read().unwrap_or_else(PoisonError::into_inner)
            && *number >= self.number
        {
            return index.select(query, among, limit);
        }
        let mut held = live.index.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            Some((number, _)) if *number >= self.number => {}
            Some((number, index)) => {
                index.refresh(&live.registry);
                *number = self.number;
            }
            None => *held = Some((self.number, SearchIndex::open(&live.registry, live.terms.clone()))),
        }
        match &*held {
            Some((_, index)) => index.select(query, among, limit),
            None => Ok(Vec::new()),
        }
    }
}
