//! Notifications about changes of the library: per connection before 2026-07-28, per subscription since.
//!
//! Each task keeps the state that its client was last notified of and compares: several changes become one notification,
//! and a slow client gets notifications later, never wrong ones.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServiceError};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::library::snapshot::{ListVersions, Snapshot};
use crate::server::Shared;
use crate::server::connection::{Connection, MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS};

/// How often subscribed files are polled; the watcher reports changes of SKILL.md sooner.
const POLL: Duration = Duration::from_secs(1);

/// The number of the first snapshot of a library. No client has seen an older one.
const FIRST_SNAPSHOT: u64 = 1;

/// The lists that changed.
struct ChangedLists {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// The state of the lists that a client was last notified of.
#[derive(Clone, Copy)]
struct NotifiedState {
    state: (u64, u64),
    lists: ListVersions,
}

impl NotifiedState {
    fn of(snapshot: &Snapshot) -> Self {
        Self { state: snapshot.state(), lists: snapshot.list_versions() }
    }

    /// The same state with an earlier number of file changes.
    fn with_files(mut self, files: u64) -> Self {
        self.state.1 = files;
        self
    }

    /// The current state of the lists. They are compared only if the state of the library is another one.
    fn next(self, snapshot: &Snapshot) -> Self {
        if snapshot.state() == self.state { self } else { Self::of(snapshot) }
    }

    /// Moves on to a later state, and returns the lists that changed.
    fn advance(&mut self, next: Self) -> ChangedLists {
        // Changes of the files of other skills count in the state only.
        let files = next.lists.files > self.state.1;
        let (before, after) = (&self.lists, &next.lists);
        let changed = ChangedLists {
            tools: before.tools != after.tools,
            prompts: before.prompts != after.prompts,
            resources: files || before.resources != after.resources,
        };
        *self = next;
        changed
    }
}

/// Inspects the library outside the threads of the runtime.
async fn inspect<T: Send + 'static>(
    shared: &Arc<Shared>,
    inspect: impl FnOnce(&Snapshot) -> T + Send + 'static,
) -> Option<T> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || inspect(&shared.live.current())).await.ok()
}

/// Waits for a change, or until subscribed files are to be polled; `None` when there will be no more changes.
async fn next(changed: &mut watch::Receiver<u64>, polling: bool) -> Option<()> {
    if !polling {
        return changed.changed().await.ok();
    }
    match tokio::time::timeout(POLL, changed.changed()).await {
        Ok(Err(_)) => None,
        Ok(Ok(())) | Err(_) => Some(()),
    }
}

/// Notifies a connection with a handshake, until it ends.
///
/// `since` is the state of the library when the connection began. Requests are answered while the handshake ends, so the
/// client may have seen any state since then; if there is a newer snapshot, it is told that every list changed.
pub(crate) async fn notify(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    (snapshot, files): (u64, u64),
    peer: Peer<RoleServer>,
    end: CancellationToken,
) {
    let notifying = async {
        // Subscribed before the state is read, so that no change is missed between the two.
        let mut changed = shared.live.changes();
        let since = (snapshot.max(FIRST_SNAPSHOT), files);
        let mut notified = inspect(&shared, NotifiedState::of).await?;
        let newer = notified.state.0 != since.0;
        let missed =
            ChangedLists { tools: newer, prompts: newer, resources: newer || notified.lists.files > since.1 };
        notify_peer(&peer, &missed, shared.tools, Vec::new()).await.ok()?;
        loop {
            tokio::select! {
                next = next(&mut changed, connection.is_subscribed()) => next?,
                // From now on there are files to poll.
                () = connection.subscribing() => continue,
            }
            let (own, before) = (Arc::clone(&connection), notified);
            let (now, updated) = inspect(&shared, move |snapshot| {
                // The subscribed files first: polling them may change the state of the library.
                let updated = own.take_updated(snapshot);
                (before.next(snapshot), updated)
            })
            .await?;
            let changed = notified.advance(now);
            notify_peer(&peer, &changed, shared.tools, updated).await.ok()?;
        }
    };
    // A client that does not read blocks this task and nothing else.
    let _: Option<Option<()>> = tokio::select! {
        () = end.cancelled() => None,
        ended = notifying => Some(ended),
    };
}

async fn notify_peer(
    peer: &Peer<RoleServer>,
    changed: &ChangedLists,
    tools: bool,
    updated: Vec<String>,
) -> Result<(), ServiceError> {
    if changed.tools && tools {
        peer.notify_tool_list_changed().await?;
    }
    if changed.prompts {
        peer.notify_prompt_list_changed().await?;
    }
    if changed.resources {
        peer.notify_resource_list_changed().await?;
    }
    for uri in updated {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// The part of a requested filter that is served. The current state becomes the baseline of the subscription, so that
/// a client misses no change after the acknowledgement.
pub(crate) fn accepted(
    requested: &SubscriptionFilter,
    shared: &Shared,
    connection: &Connection,
) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if !shared.tools {
        accepted.tools_list_changed = None;
    }
    if let Some(uris) = &mut accepted.resource_subscriptions {
        let known = |uri: &String| crate::protocol::uri::parse(uri).is_some();
        let unique: BTreeSet<String> = uris.drain(..).filter(known).take(MAX_SUBSCRIPTIONS).collect();
        let mut bytes = 0;
        let fits = |uri: &String| {
            bytes += uri.len();
            bytes <= MAX_SUBSCRIBED_BYTES
        };
        uris.extend(unique.into_iter().take_while(fits));
    }
    if let Some(snapshot) = shared.live.known() {
        let uris = accepted.resource_subscriptions.as_deref().unwrap_or_default();
        let several = Handle::try_current().map(|handle| handle.runtime_flavor());
        // Files are read here, and rmcp calls this on a thread of the runtime, which must not block the others.
        if several.is_ok_and(|flavor| flavor == RuntimeFlavor::MultiThread) && !uris.is_empty() {
            tokio::task::block_in_place(|| connection.store_baseline(snapshot, uris));
        } else {
            connection.store_baseline(snapshot, uris);
        }
    }
    accepted
}

/// Runs one subscription of the sessionless era. It ends with its result when the server stops.
pub(crate) async fn listen(
    shared: &Arc<Shared>,
    connection: &Connection,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let mut changed = shared.live.changes();
    let accepted = context.accepted().clone();
    let uris = Arc::new(accepted.resource_subscriptions.clone().unwrap_or_default());
    let wants = |flag: Option<bool>| flag == Some(true);
    let notifying = async {
        let own = Arc::clone(&uris);
        let states =
            move |snapshot: &Snapshot| own.iter().map(|uri| snapshot.state_of(uri)).collect::<Vec<_>>();
        let (baseline, first) = (connection.take_baseline(&uris), states.clone());
        let (mut notified, mut seen) = inspect(shared, move |now| match baseline {
            Some(baseline) => {
                (NotifiedState::of(&baseline.snapshot).with_files(baseline.files), baseline.states)
            }
            None => (NotifiedState::of(now), first(now)),
        })
        .await?;
        loop {
            next(&mut changed, !uris.is_empty()).await?;
            let (states, before) = (states.clone(), notified);
            let (now, found) = inspect(shared, move |snapshot| {
                let found = states(snapshot);
                (before.next(snapshot), found)
            })
            .await?;
            let lists = notified.advance(now);
            let sink = context.sink();
            if lists.tools && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await.ok()?;
            }
            if lists.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await.ok()?;
            }
            if lists.resources && wants(accepted.resources_list_changed) {
                sink.notify_resource_list_changed().await.ok()?;
            }
            for (uri, _) in
                uris.iter().zip(seen.iter().zip(&found)).filter(|(_, (before, after))| before != after)
            {
                sink.notify_resource_updated(uri.clone()).await.ok()?;
            }
            seen = found;
        }
    };
    let _: Option<Option<()>> = tokio::select! {
        () = context.cancelled() => None,
        () = shared.stop.cancelled() => None,
        ended = notifying => Some(ended),
    };
    Ok(())
}
