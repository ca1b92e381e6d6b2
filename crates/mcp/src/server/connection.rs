//! What one connection of the handshake eras has for itself: its session, and what it subscribed to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use prowess::session::Session;
use rmcp::ErrorData;
use tokio::sync::Notify;

use crate::library::snapshot::Snapshot;
use crate::lock::locked;
use crate::protocol::uri;
use crate::server::Shared;
use crate::server::skills::unknown;

/// The most resources one connection may subscribe to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 512;

/// The state of one connection.
#[derive(Default)]
pub(crate) struct Connection {
    /// Made when a tool or a prompt first asks: many handlers are made that never need one. With the number of the
    /// library's state it knows.
    session: Mutex<Option<(u64, Session)>>,
    /// URI, and the state that was last told or seen.
    subscribed: Mutex<BTreeMap<String, Option<String>>>,
    /// Tells whoever notifies that there is more to look at.
    more: Notify,
    /// What those know who are about to listen to some URIs.
    expecting: Mutex<BTreeMap<Vec<String>, Baseline>>,
}

/// What somebody who listens may have seen before.
pub(crate) struct Baseline {
    pub(crate) snapshot: Arc<Snapshot>,
    /// The state of each URI.
    pub(crate) states: Vec<Option<String>>,
}

impl Connection {
    /// Does something with the session, on the library of now. One call at a time: a session is a state machine.
    pub(crate) fn with_session<T>(&self, snapshot: &Snapshot, act: impl FnOnce(&mut Session) -> T) -> T {
        let mut held = locked(&self.session);
        let (number, session) = held.get_or_insert_with(|| (snapshot.number, snapshot.session.clone()));
        // Of two calls at once, the one that began earlier may know an older state.
        if *number < snapshot.number {
            // What is active stays so if it is still there; what changed is stated anew when it is loaded.
            session.set_catalog(snapshot.session.shared_catalog());
            *number = snapshot.number;
        }
        act(session)
    }

    /// Remembers a URI, if there is something to subscribe to.
    pub(crate) fn subscribe(&self, shared: &Shared, uri: String) -> Result<(), ErrorData> {
        let snapshot = shared.live.current();
        // A subscription waits for a remote source; a notification does not.
        uri::parse(&uri).and_then(|(key, _)| snapshot.published(&key));
        let state = snapshot.state_of(&uri);
        let state = state.ok_or_else(|| unknown("no resource is served at", &uri))?;
        let mut subscribed = locked(&self.subscribed);
        if subscribed.len() >= MAX_SUBSCRIPTIONS && !subscribed.contains_key(&uri) {
            let text = format!("a connection has at most {MAX_SUBSCRIPTIONS} subscriptions");
            return Err(ErrorData::invalid_params(text, None));
        }
        subscribed.insert(uri, Some(state));
        self.more.notify_one();
        Ok(())
    }

    /// Whether there are files to look at.
    pub(crate) fn is_subscribed(&self) -> bool {
        !locked(&self.subscribed).is_empty()
    }

    /// Waits for a subscription.
    pub(crate) async fn subscribing(&self) {
        self.more.notified().await;
    }

    /// Notes the state of now for somebody who is about to listen to these URIs.
    pub(crate) fn expect(&self, snapshot: Arc<Snapshot>, uris: &[String]) {
        let states = uris.iter().map(|uri| snapshot.state_of(uri)).collect();
        locked(&self.expecting).insert(uris.to_vec(), Baseline { snapshot, states });
    }

    /// What was noted for them.
    pub(crate) fn baseline(&self, uris: &[String]) -> Option<Baseline> {
        locked(&self.expecting).remove(uris)
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        locked(&self.subscribed).remove(uri);
    }

    /// The subscribed URIs whose state is news, which from now on is known.
    pub(crate) fn news(&self, snapshot: &Snapshot) -> Vec<String> {
        let uris: Vec<String> = locked(&self.subscribed).keys().cloned().collect();
        let fresh = |uri: &String| {
            let state = snapshot.state_of(uri);
            let mut subscribed = locked(&self.subscribed);
            subscribed.get_mut(uri).is_some_and(|before| {
                let news = *before != state;
                *before = state;
                news
            })
        };
        uris.into_iter().filter(fresh).collect()
    }
}
