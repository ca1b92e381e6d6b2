//! The fresh sessions of a snapshot, which connections and single calls clone.

use std::sync::{Arc, OnceLock};

use prowess::drive::{Performer, finish};
use prowess::search::{LazyIndex, SearchIndex};
use prowess::select::{Hit, Query, SelectError, Selector};
use prowess::session::{Options, Policy, Session, Step, Tool};
use prowess::{Candidate, Catalog, Entry, Registry};

use crate::ServeOptions;

/// The search index of a registry, built at the first search.
pub(crate) type Index = LazyIndex<Arc<Registry>>;

/// A registry, its search index, and sessions over its catalog.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) registry: Arc<Registry>,
    index: Arc<Index>,
    /// What a client is offered in place of skills that it may not see.
    own: Option<Arc<Own>>,
    /// For a connection; preloaded skills are active in it.
    pub(crate) connection: Session,
    /// For a single call, which has no limit of active skills and nothing to unload.
    pub(crate) single: Session,
}

impl Sessions {
    pub(crate) fn new(
        registry: Arc<Registry>,
        index: Arc<Index>,
        catalog: Arc<Catalog>,
        policy: Policy,
        options: Options,
    ) -> Self {
        Self::over(registry, index, catalog, None, policy, options)
    }

    fn over(
        registry: Arc<Registry>,
        index: Arc<Index>,
        catalog: Arc<Catalog>,
        own: Option<Arc<Own>>,
        policy: Policy,
        options: Options,
    ) -> Self {
        let mut single = options.clone().with_max_active(0);
        single.tools.remove(&Tool::Unload);
        let single = Session::new("mcp", Arc::clone(&catalog), policy.clone(), single);
        let connection = Session::new("mcp", catalog, policy, options);
        let mut sessions = Self { registry, index, own, connection, single };
        sessions.preload();
        sessions
    }

    /// The same for a client with another policy. A skill outside of its bounds shadows none within them; the filter of the
    /// server only narrows what the library offers.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        let (registry, index) = (Arc::clone(&self.registry), Arc::clone(&self.index));
        let (whole, options) = (self.connection.shared_catalog(), self.connection.options().clone());
        let own = whole.among(|skill| policy.bounds.passes(&skill.virtual_path)).map(|catalog| {
            let index = OwnIndex {
                registry: Arc::clone(&registry),
                whole: Arc::clone(&index),
                replaced: replaced(&catalog, &whole),
                built: OnceLock::new(),
            };
            Arc::new(Own { catalog: Arc::new(catalog), index })
        });
        let catalog = own.as_ref().map_or(whole, |own| Arc::clone(&own.catalog));
        Self::over(registry, index, catalog, own, policy, options)
    }

    /// What performs the effects of these sessions.
    pub(crate) fn performer(&self) -> Performer<'_> {
        match &self.own {
            Some(own) => Performer::new(&self.registry, &own.index).with_catalog(&own.catalog),
            None => Performer::new(&self.registry, &*self.index),
        }
    }

    /// Activates the preloaded skills. A remote one would delay the library, so it is read when it is loaded.
    fn preload(&mut self) {
        let mut session = self.connection.clone();
        let performer = self.performer();
        for (name, step) in session.preload(&[]) {
            let skill = session.catalog().get(&name);
            // Not for this client, and no trouble.
            if skill.is_some_and(|skill| !session.policy().bounds.passes(&skill.virtual_path)) {
                continue;
            }
            let remote = skill.is_some_and(|skill| self.registry.is_remote(skill));
            let result = match step {
                Step::Need(ticket, _) if remote => {
                    session.cancel(ticket);
                    tracing::info!(target: "prowess", skill = name, "not preloaded: it is in a remote source");
                    continue;
                }
                step => finish(&mut session, &performer, step),
            };
            if let Some(reason) = result.reason {
                tracing::warn!(target: "prowess", skill = name, reason = reason.code(), "not preloaded");
            }
        }
        self.connection = session;
    }
}

/// What a client is offered that may not see some skills of the library which have the keys of others.
struct Own {
    catalog: Arc<Catalog>,
    index: OwnIndex,
}

/// A small index of the skills that a client is offered in place of others, beside the index of the whole library, which all
/// clients share. So the index of a token grows with these skills alone.
struct OwnIndex {
    registry: Arc<Registry>,
    whole: Arc<Index>,
    replaced: Vec<Arc<Candidate>>,
    /// Built at the first search.
    built: OnceLock<SearchIndex>,
}

impl OwnIndex {
    fn built(&self) -> &SearchIndex {
        self.built
            .get_or_init(|| SearchIndex::of_catalog(&self.registry, &Catalog::apart(self.replaced.clone())))
    }
}

impl Selector for OwnIndex {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.whole.select_with(self.built(), query, among, limit)
    }
}

/// The offered skills of a catalog that are others than those of the whole library.
fn replaced(own: &Catalog, whole: &Catalog) -> Vec<Arc<Candidate>> {
    // Both offer the same keys.
    let different = own.iter().zip(whole.iter()).filter(|(own, whole)| !std::ptr::eq(*own, *whole));
    different.filter_map(|(skill, _)| own.shared(&skill.entry.key)).collect()
}

/// How all sessions of a server behave.
pub(crate) fn options(options: &ServeOptions) -> Options {
    // No request returns the events of a session, and a client could fill the memory with them.
    let mut session = options.session.clone().with_max_events(0);
    // The server runs no scripts.
    session.tools.remove(&Tool::Run);
    session
}

#[cfg(test)]
mod tests;
