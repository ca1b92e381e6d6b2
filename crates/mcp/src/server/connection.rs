//! The state of one connection: its session and its subscriptions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use prowess::conversation::Conversation;
use prowess::session::{MemoryPool, Session};
use rmcp::ErrorData;
use tokio::sync::Notify;

use crate::library::snapshot::Snapshot;
use crate::protocol::uri;
use crate::server::Shared;
use crate::server::errors::not_served;
use prowess::internal::locked;

/// The maximum number of resource subscriptions per connection.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 512;
/// The maximum length of their URIs together, in bytes: a client writes a URI in many ways, and several copies are kept.
pub(crate) const MAX_SUBSCRIBED_BYTES: usize = 64 * 1024;

/// The state of one connection.
pub(crate) struct Connection {
    /// What its session keeps counts here.
    pool: Arc<MemoryPool>,
    /// Created on first use, since rmcp creates handlers that never need one. With the number of the snapshot that it
    /// follows.
    conversation: Mutex<Option<(u64, Conversation)>>,
    /// The subscribed URIs, and the last known state of each.
    subscribed: Mutex<BTreeMap<String, Option<String>>>,
    /// Wakes the notification task after a new subscription.
    more: Notify,
    /// The baselines of subscriptions that are accepted and not started yet, by their URIs.
    pending: Mutex<BTreeMap<Vec<String>, Baseline>>,
}

/// The state against which a new subscription compares.
pub(crate) struct Baseline {
    pub(crate) snapshot: Arc<Snapshot>,
    /// The number of file changes.
    pub(crate) files: u64,
    /// The state of each URI; `None` if their files could not be read at once.
    pub(crate) states: Option<Vec<Option<String>>>,
}

impl Connection {
    pub(crate) fn new(pool: Arc<MemoryPool>) -> Self {
        let (conversation, subscribed) = (Mutex::default(), Mutex::default());
        Self { pool, conversation, subscribed, more: Notify::new(), pending: Mutex::default() }
    }

    /// Uses the session with the current catalog. One call at a time, since a session is a state machine.
    pub(crate) fn with_session<T>(&self, snapshot: &Snapshot, act: impl FnOnce(&mut Session) -> T) -> T {
        let mut guard = locked(&self.conversation);
        let (number, conversation) = guard.get_or_insert_with(|| {
            let mut session = snapshot.sessions.connection.clone();
            session.join(Arc::clone(&self.pool));
            (snapshot.number, Conversation::new(session))
        });
        // Of two concurrent calls, the one that began earlier may have the older snapshot.
        if *number < snapshot.number {
            // Active skills that still exist stay active; a changed skill is updated when it is loaded again.
            conversation.follow_session(&snapshot.sessions.connection);
            // No request returns them.
            drop(conversation.changes());
            *number = snapshot.number;
        }
        act(conversation.session_mut())
    }

    /// Subscribes to a URI, if a resource is served there.
    pub(crate) fn subscribe(&self, shared: &Shared, uri: String) -> Result<(), ErrorData> {
        let snapshot = shared.live.current();
        // A subscription waits for a remote source; notifications do not.
        uri::parse(&uri).and_then(|(key, _)| snapshot.published(&key));
        let state = snapshot.state_of(&uri);
        let state = state.ok_or_else(|| not_served("no resource is served at", &uri))?;
        let mut subscribed = locked(&self.subscribed);
        if subscribed.len() >= MAX_SUBSCRIPTIONS && !subscribed.contains_key(&uri) {
            let text = format!("a connection has at most {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(ErrorData::invalid_params(text, None));
        }
        let bytes: usize = subscribed.keys().filter(|known| **known != uri).map(String::len).sum();
        if bytes + uri.len() > MAX_SUBSCRIBED_BYTES {
            let text = format!("the URIs of all subscriptions have at most {MAX_SUBSCRIBED_BYTES} bytes");
            return Err(ErrorData::invalid_params(text, None));
        }
        subscribed.insert(uri, Some(state));
        self.more.notify_one();
        Ok(())
    }

    /// Whether there are subscriptions.
    pub(crate) fn is_subscribed(&self) -> bool {
        !locked(&self.subscribed).is_empty()
    }

    /// Waits for a new subscription.
    pub(crate) async fn subscribing(&self) {
        self.more.notified().await;
    }

    /// Stores the baseline for a subscription to these URIs that is about to start.
    pub(crate) fn store_baseline(&self, uris: &[String], baseline: Baseline) {
        locked(&self.pending).insert(uris.to_vec(), baseline);
    }

    /// Takes the stored baseline for these URIs.
    pub(crate) fn take_baseline(&self, uris: &[String]) -> Option<Baseline> {
        locked(&self.pending).remove(uris)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        locked(&self.subscribed).remove(uri);
    }

    /// The subscribed URIs whose state changed since the last call.
    pub(crate) fn take_updated(&self, snapshot: &Snapshot) -> Vec<String> {
        let uris: Vec<String> = locked(&self.subscribed).keys().cloned().collect();
        let is_updated = |uri: &String| {
            let state = snapshot.state_of(uri);
            let mut subscribed = locked(&self.subscribed);
            subscribed.get_mut(uri).is_some_and(|before| {
                let changed = *before != state;
                *before = state;
                changed
            })
        };
        uris.into_iter().filter(is_updated).collect()
    }
}
