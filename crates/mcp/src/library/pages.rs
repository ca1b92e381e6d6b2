//! A short-lived cache for the pages of `skills/list`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::protocol::wire::Era;
use prowess::internal::locked;

/// The maximum number of cached pages. Only valid cursors get this far, so there are as many as pages.
const MAX_PAGES: usize = 4096;

/// The cached pages of one snapshot, by cursor and era.
#[derive(Default)]
pub(in crate::library) struct PageCache(Mutex<BTreeMap<(Option<String>, Era), CachedPage>>);

struct CachedPage {
    built: Instant,
    /// The number of file changes when the page was begun.
    changes: u64,
    /// Whether a request rebuilds it.
    rebuilding: bool,
    page: Bytes,
}

impl PageCache {
    /// A page that is no older than `fresh`. When it is older, one request gets `None` and rebuilds it; the others get
    /// the old page until then. `changes` is the current number of file changes.
    pub(in crate::library) fn get(
        &self,
        cursor: Option<&str>,
        era: Era,
        changes: u64,
        fresh: Duration,
    ) -> Option<Bytes> {
        let mut pages = locked(&self.0);
        let cached = pages.get_mut(&(cursor.map(str::to_owned), era))?;
        // A client that was notified of a change must not get a page from before it.
        if cached.changes != changes {
            return None;
        }
        let age = cached.built.elapsed();
        if age < fresh || (cached.rebuilding && age < 2 * fresh) {
            return Some(cached.page.clone());
        }
        cached.rebuilding = true;
        None
    }

    /// Stores a page that was begun after `changes` file changes.
    pub(in crate::library) fn insert(&self, cursor: Option<String>, era: Era, changes: u64, page: Bytes) {
        let mut pages = locked(&self.0);
        if pages.len() < MAX_PAGES {
            let cached = CachedPage { built: Instant::now(), changes, rebuilding: false, page };
            pages.insert((cursor, era), cached);
        }
    }
}
