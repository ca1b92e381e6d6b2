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
use crate::server::connection::{Baseline, Connection, MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS};

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

/// Inspects the library outside the threads of the runtime, once it is the turn of its caller.
async fn inspect<T: Send + 'static>(
    shared: &Arc<Shared>,
    inspect: impl FnOnce(&Snapshot) -> T + Send + 'static,
) -> Option<T> {
    let shared = Arc::clone(shared);
    let permits = shared.work_limits.polls.permits().await.ok()?;
    let inspecting = tokio::task::spawn_blocking(move || {
        let _permits = permits;
        inspect(&shared.live.current())
    });
    inspecting.await.ok()
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
        let (_, files) = snapshot.state();
        let states = states_now(shared, &snapshot, uris);
        connection.store_baseline(uris, Baseline { snapshot, files, states });
    }
    accepted
}

/// The states of subscribed files, unless the caller would have to wait for its turn. rmcp calls this on a thread of the
/// runtime, which must neither wait nor keep others waiting while files are read.
fn states_now(shared: &Shared, snapshot: &Snapshot, uris: &[String]) -> Option<Vec<Option<String>>> {
    if uris.is_empty() {
        return Some(Vec::new());
    }
    let _permits = shared.work_limits.polls.permits_now()?;
    let read = || uris.iter().map(|uri| snapshot.state_of(uri)).collect();
    let several = Handle::try_current().map(|handle| handle.runtime_flavor());
    Some(match several {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(read),
        _ => read(),
    })
}

/// The URIs whose state is another one. Without earlier states, each that is served may have changed since the client was
/// told that its subscription began.
fn updated<'u>(
    uris: &'u [String],
    before: Option<&[Option<String>]>,
    now: &[Option<String>],
) -> impl Iterator<Item = &'u String> {
    let changed = move |at: usize, now: &Option<String>| match before {
        Some(before) => before.get(at) != Some(now),
        None => now.is_some(),
    };
    uris.iter().zip(now).enumerate().filter(move |(at, (_, now))| changed(*at, now)).map(|(_, (uri, _))| uri)
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
            None => (NotifiedState::of(now), Some(first(now))),
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
            for uri in updated(&uris, seen.as_deref(), &found) {
                sink.notify_resource_updated(uri.clone()).await.ok()?;
            }
            seen = Some(found);
        }
    };
    let _: Option<Option<()>> = tokio::select! {
        () = context.cancelled() => None,
        () = shared.stop.cancelled() => None,
        ended = notifying => Some(ended),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use prowess::{MemorySource, Registry, Scope};
    use rmcp::ServerHandler as _;

    use super::*;
    use crate::ServeOptions;
    use crate::server::Server;
    use crate::server::blocking::Permits;

    /// What callers share, once their library was read, and the URI of its only skill.
    async fn shared() -> (Arc<Shared>, String) {
        let source = MemorySource::new("memory");
        source.insert("alpha", "---\nname: alpha\ndescription: d\n---\nDo it.\n", Scope::User);
        let mut registry = Registry::new();
        registry.add(source);
        let shared = Shared::new(registry, &ServeOptions::default(), 1, CancellationToken::new());
        inspect(&shared, |_| ()).await.unwrap();
        (shared, "skill://alpha/SKILL.md".to_owned())
    }

    /// All polls that may run now.
    fn free_polls(shared: &Shared) -> Vec<Permits> {
        std::iter::from_fn(|| shared.work_limits.polls.permits_now()).collect()
    }

    #[tokio::test]
    async fn files_of_subscriptions_are_inspected_within_the_limit_of_their_caller() {
        let (shared, uri) = shared().await;
        let (server, uris) = (Server::new(Arc::clone(&shared)), vec![uri]);
        let mut wanted = SubscriptionFilter::default();
        wanted.resource_subscriptions = Some(uris.clone());
        let accepted_states = || {
            assert!(server.accepted_subscription_filter(&wanted).is_some());
            server.connection.take_baseline(&uris).unwrap().states
        };
        // The acknowledgement never waits: in place of that, it reads no file.
        let running = free_polls(&shared);
        assert_eq!(accepted_states(), None);
        let most = running.len();
        drop(running);
        assert!(matches!(accepted_states().as_deref(), Some([Some(_)])));
        let own = Arc::clone(&shared);
        let free = inspect(&shared, move |_| free_polls(&own).len()).await;
        assert_eq!(free, Some(most - 1));
        shared.stop.cancel();
    }

    #[test]
    fn a_subscription_without_earlier_states_announces_what_is_served() {
        let uris = ["a", "b", "c"].map(str::to_owned);
        let state = |text: &str| Some(text.to_owned());
        let now = [state("1"), None, state("3")];
        let before = [state("1"), state("2"), state("2")];
        assert!(updated(&uris, None, &now).eq(["a", "c"]));
        assert!(updated(&uris, Some(&before), &now).eq(["b", "c"]));
        assert_eq!(updated(&uris, Some(&now), &now).count(), 0);
    }
}
