//! The order in which the files of skills are inspected in the background: each skill in its turn, once for all clients.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::library::snapshot::{SkillId, Snapshot};

/// The skills of the whole library, and after them those that only views of it have.
pub(crate) struct Turns {
    pub(crate) whole: Arc<Snapshot>,
    /// Each with one of its views: the views share what is known about it.
    others: BTreeMap<SkillId, Arc<Snapshot>>,
}

/// The skill that was inspected last.
#[derive(Debug)]
pub(crate) enum Turn {
    Whole(String),
    Other(SkillId),
}

impl Turns {
    pub(crate) fn new<'v>(
        whole: Arc<Snapshot>,
        views: impl IntoIterator<Item = &'v Arc<Snapshot>>,
    ) -> Arc<Self> {
        let mut others = BTreeMap::new();
        for view in views {
            others.extend(view.own().iter().map(|id| (id.clone(), Arc::clone(view))));
        }
        Arc::new(Self { whole, others })
    }

    /// The sources whose skills must be fetched.
    pub(crate) fn fetched_sources(&self) -> BTreeSet<Arc<str>> {
        let of_whole = self.whole.keys().filter_map(|key| self.whole.fetched_source(key));
        let of_others = self.others.iter().filter_map(|(id, view)| view.fetched_source(&id.key));
        of_whole.chain(of_others).cloned().collect()
    }

    /// Fetches the files of one source's skills, of at least one skill, until `budget` is used up or `stopped`: first of
    /// new skills, then of those that were inspected longest ago. The next call continues there, so that slow skills
    /// keep no others off the list.
    pub(crate) fn fetch(&self, source: &str, budget: Duration, stopped: impl Fn() -> bool) {
        let begun = Instant::now();
        let of_whole = self.whole.keys().map(|key| (&*self.whole, key));
        let of_others = self.others.iter().map(|(id, view)| (&**view, id.key.as_str()));
        let of_source = |(snapshot, key): &(&Snapshot, &str)| {
            snapshot.fetched_source(key).is_some_and(|own| **own == *source)
        };
        let mut due: Vec<(&Snapshot, &str)> = of_whole.chain(of_others).filter(of_source).collect();
        due.sort_by_cached_key(|(snapshot, key)| (snapshot.inspected_at(key), *key));
        for (snapshot, key) in due {
            if stopped() {
                return;
            }
            snapshot.published(key);
            if begun.elapsed() >= budget {
                return;
            }
        }
    }

    /// Inspects skills again that a client has listed or read, until `budget` is used up. Returns the skill after which to
    /// continue.
    pub(crate) fn inspect_again(&self, after: Option<&Turn>, budget: Duration) -> Option<Turn> {
        let begun = Instant::now();
        let is_over = || begun.elapsed() >= budget;
        let (of_whole, of_others) = match after {
            None => (Some(None), Bound::Unbounded),
            Some(Turn::Whole(key)) => (Some(Some(key.as_str())), Bound::Unbounded),
            Some(Turn::Other(id)) => (None, Bound::Excluded(id)),
        };
        for key in of_whole.into_iter().flat_map(|after| self.whole.keys_after(after)) {
            if self.whole.inspect_if_asked(key) && is_over() {
                return Some(Turn::Whole(key.to_owned()));
            }
        }
        for (id, view) in self.others.range((of_others, Bound::Unbounded)) {
            if view.inspect_if_asked(&id.key) && is_over() {
                return Some(Turn::Other(id.clone()));
            }
        }
        None
    }
}
