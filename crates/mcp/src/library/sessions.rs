//! The fresh sessions of a snapshot, which connections and single calls clone.

use std::sync::Arc;

use prowess::drive::{Performer, finish};
use prowess::search::LazyIndex;
use prowess::session::{Options, Policy, Session, Step, Tool};
use prowess::{Catalog, Registry};

use crate::ServeOptions;

/// The search index of a registry, built at the first search.
pub(crate) type Index = LazyIndex<Arc<Registry>>;

/// A registry, its search index, and sessions over its catalog.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: Arc<Index>,
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
        let mut single = options.clone().with_max_active(0);
        single.tools.remove(&Tool::Unload);
        let single = Session::new("mcp", Arc::clone(&catalog), policy.clone(), single);
        let mut connection = Session::new("mcp", catalog, policy, options);
        preload(&mut connection, &registry, &index);
        Self { registry, index, connection, single }
    }

    /// The same with another policy.
    pub(crate) fn with_policy(&self, policy: Policy) -> Self {
        let (catalog, options) = (self.connection.shared_catalog(), self.connection.options().clone());
        Self::new(Arc::clone(&self.registry), Arc::clone(&self.index), catalog, policy, options)
    }
}

/// How all sessions of a server behave.
pub(crate) fn options(options: &ServeOptions) -> Options {
    // No request returns the events of a session, and a client could fill the memory with them.
    let mut session = options.session.clone().with_max_events(0);
    // The server runs no scripts.
    session.tools.remove(&Tool::Run);
    session
}

/// Activates the preloaded skills. A remote one would delay the library, so it is read when it is loaded.
fn preload(session: &mut Session, registry: &Registry, index: &Index) {
    let performer = Performer::new(registry, index);
    for (name, step) in session.preload(&[]) {
        let remote = session.catalog().get(&name).is_some_and(|skill| registry.is_remote(skill));
        let result = match step {
            Step::Need(ticket, _) if remote => {
                session.cancel(ticket);
                tracing::info!(target: "prowess", skill = name, "not preloaded: it is in a remote source");
                continue;
            }
            step => finish(session, &performer, step),
        };
        if let Some(reason) = result.reason {
            tracing::warn!(target: "prowess", skill = name, reason = reason.code(), "not preloaded");
        }
    }
}
