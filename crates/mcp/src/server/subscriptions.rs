//! Who is told when the library changes: connections of the handshake eras, and those who listen since.
//!
//! Each remembers what it was last told and compares: several changes become one, and a slow reader falls behind in
//! time, never in truth.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServiceError};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::library::snapshot::{Marks, Snapshot};
use crate::server::Shared;
use crate::server::connection::{Connection, MAX_SUBSCRIPTIONS};

/// How often files that somebody subscribed to are looked at; of SKILL.md the watcher tells sooner.
const LOOK: Duration = Duration::from_secs(1);

/// What is new in the lists.
struct News {
    tools: bool,
    prompts: bool,
    resources: bool,
}

fn news(before: &Marks, after: &Marks) -> News {
    News {
        tools: before.tools != after.tools,
        prompts: before.prompts != after.prompts,
        resources: (&before.resources, before.files) != (&after.resources, after.files),
    }
}

/// Looks at the library away from the threads of the runtime.
async fn look<T: Send + 'static>(
    shared: &Arc<Shared>,
    look: impl FnOnce(&Snapshot) -> T + Send + 'static,
) -> Option<T> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || look(&shared.live.current())).await.ok()
}

/// Waits for a change, or until it is time to look at files that somebody subscribed to; nothing when there will be
/// no more changes.
async fn next(changed: &mut watch::Receiver<u64>, looking: bool) -> Option<()> {
    if !looking {
        return changed.changed().await.ok();
    }
    match tokio::time::timeout(LOOK, changed.changed()).await {
        Ok(Err(_)) => None,
        Ok(Ok(())) | Err(_) => Some(()),
    }
}

/// Tells a connection of the handshake eras, until it ends. `first` is what it may have seen so far.
pub(crate) async fn notify(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    first: Option<Arc<Snapshot>>,
    peer: Peer<RoleServer>,
    end: CancellationToken,
) {
    let mut changed = shared.live.changes();
    let telling = async {
        let (mut state, mut known) = look(&shared, move |now| {
            let first = first.as_deref().unwrap_or(now);
            (first.state(), first.marks())
        })
        .await?;
        loop {
            tokio::select! {
                next = next(&mut changed, connection.is_subscribed()) => next?,
                // From now on there are files to look at.
                () = connection.subscribing() => continue,
            }
            let own = Arc::clone(&connection);
            let seen = state;
            let (reached, now, updated) = look(&shared, move |snapshot| {
                // Its own files first: that look may find more that is new.
                let updated = own.news(snapshot);
                (snapshot.state(), (snapshot.state() != seen).then(|| snapshot.marks()), updated)
            })
            .await?;
            state = reached;
            let now = now.unwrap_or_else(|| known.clone());
            let news = news(&known, &now);
            known = now;
            tell(&peer, &news, shared.tools, updated).await.ok()?;
        }
    };
    // A reader who does not read holds up this task and nothing else.
    let _: Option<Option<()>> = tokio::select! {
        () = end.cancelled() => None,
        told = telling => Some(told),
    };
}

async fn tell(
    peer: &Peer<RoleServer>,
    news: &News,
    tools: bool,
    updated: Vec<String>,
) -> Result<(), ServiceError> {
    if news.tools && tools {
        peer.notify_tool_list_changed().await?;
    }
    if news.prompts {
        peer.notify_prompt_list_changed().await?;
    }
    if news.resources {
        peer.notify_resource_list_changed().await?;
    }
    for uri in updated {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// The part of a wished-for filter that is served. What is told later is told against the state of now: whoever is
/// acknowledged misses nothing.
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
        uris.extend(unique);
    }
    if let Some(snapshot) = shared.live.known() {
        let uris = accepted.resource_subscriptions.as_deref().unwrap_or_default();
        let several = Handle::try_current().map(|handle| handle.runtime_flavor());
        // Files are looked at, and rmcp asks on a thread of the runtime: the others must go on.
        if several.is_ok_and(|flavor| flavor == RuntimeFlavor::MultiThread) && !uris.is_empty() {
            tokio::task::block_in_place(|| connection.expect(snapshot, uris));
        } else {
            connection.expect(snapshot, uris);
        }
    }
    accepted
}

/// One subscription of the sessionless era. It ends with its result when the server stops.
pub(crate) async fn listen(
    shared: &Arc<Shared>,
    connection: &Connection,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let mut changed = shared.live.changes();
    let accepted = context.accepted().clone();
    let uris = Arc::new(accepted.resource_subscriptions.clone().unwrap_or_default());
    let wants = |flag: Option<bool>| flag == Some(true);
    let telling = async {
        let own = Arc::clone(&uris);
        let states =
            move |snapshot: &Snapshot| own.iter().map(|uri| snapshot.state_of(uri)).collect::<Vec<_>>();
        let (before, first) = (connection.baseline(&uris), states.clone());
        let (mut state, mut known, mut seen) = look(shared, move |now| match before {
            Some(before) => (before.snapshot.state(), before.snapshot.marks(), before.states),
            None => (now.state(), now.marks(), first(now)),
        })
        .await?;
        loop {
            next(&mut changed, !uris.is_empty()).await?;
            let (states, before) = (states.clone(), state);
            let (reached, now, found) = look(shared, move |now| {
                let found = states(now);
                (now.state(), (now.state() != before).then(|| now.marks()), found)
            })
            .await?;
            state = reached;
            let now = now.unwrap_or_else(|| known.clone());
            let news = news(&known, &now);
            known = now;
            let sink = context.sink();
            if news.tools && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await.ok()?;
            }
            if news.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await.ok()?;
            }
            if news.resources && wants(accepted.resources_list_changed) {
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
        told = telling => Some(told),
    };
    Ok(())
}
