//! The sessions of protocol versions with a handshake, over HTTP: a limit, and a time to live that only clients extend.
//!
//! rmcp's own manager has no limit, and notifications of the server extend the life of its sessions: a library that
//! changes every minute would keep ten thousand abandoned sessions alive. So this wrapper has the only clock: a session
//! is in use when its client sends something, and for as long as the client has a stream open.

// The ids of rmcp have no order; the set is never iterated.
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::HeaderMap;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use prowess::internal::locked;

/// How long a busy session may take to close; then its handle is dropped, which ends it with an error.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a session could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("all sessions are in use: {0}")]
    Full(usize),
    #[error("all sessions of this token are in use: {0}")]
    ShareFull(usize),
}

impl SessionsError {
    /// The word for the limit in the log and the metrics.
    pub(crate) fn limit(&self) -> &'static str {
        if matches!(self, Self::ShareFull(_)) { "token-sessions" } else { "sessions" }
    }
}

/// The header with the id of a session.
const SESSION_ID: &str = "mcp-session-id";

/// The session that headers name.
fn named(headers: &HeaderMap) -> Option<SessionId> {
    headers.get(SESSION_ID)?.to_str().ok().map(SessionId::from)
}

/// When a session was last used.
#[derive(Debug)]
struct SessionUse {
    /// When the client last sent something, or closed a stream.
    last: Instant,
    /// The number of open streams.
    streams: usize,
    owner: u64,
    /// The requests whose handler has not ended.
    requests: HashSet<RequestId>,
    /// The newest stream of notifications. Locked while another one takes over.
    notifications: Arc<tokio::sync::Mutex<Option<Notifications>>>,
    /// Cancelled at the end of the session, for its streams without notifications.
    end: CancellationToken,
    _end: DropGuard,
    _permits: Permits,
}

/// The permits of a session: one of all, and one of the share of its owner.
type Permits = (OwnedSemaphorePermit, OwnedSemaphorePermit);

type OpenSessions = Mutex<BTreeMap<SessionId, SessionUse>>;

/// The sessions of a server, for one owner: a session is found only by the owner that created it.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    inner: Arc<LocalSessionManager>,
    /// The open sessions. A session that is not in here has ended, even while rmcp still closes it.
    open: Arc<OpenSessions>,
    /// One permit per session, since a session has no entry before rmcp has created it.
    permits: Arc<Semaphore>,
    max: usize,
    /// The same for this owner alone.
    share: Arc<Semaphore>,
    max_share: usize,
    time: Duration,
    owner: u64,
}

impl Sessions {
    pub(crate) fn new(max: usize, time: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        // It would close the idle stream of a connected client, and with it the session.
        inner.session_config.keep_alive = None;
        inner.session_config.init_timeout = Some(Duration::from_secs(10));
        inner.session_config.sse_retry = None;
        inner.session_config.completed_cache_ttl = Duration::from_secs(1);
        let (permits, share) = (Arc::new(Semaphore::new(max)), Arc::new(Semaphore::new(max)));
        let (inner, open) = (Arc::new(inner), Arc::default());
        Self { inner, open, permits, max, share, max_share: max, time, owner: 0 }
    }

    /// The same sessions for another owner, who may have a share of them. All owners have the same time to live.
    pub(crate) fn owned_by(&self, owner: u64, share: usize) -> Self {
        let max_share = share.min(self.max);
        Self { owner, share: Arc::new(Semaphore::new(max_share)), max_share, ..self.clone() }
    }

    /// The number of open sessions of all owners.
    pub(crate) fn len(&self) -> usize {
        locked(&self.open).len()
    }

    /// The permits for one more session. Expired sessions are closed first when there are none.
    async fn permits(&self) -> Result<Permits, SessionsError> {
        let permits = || {
            // The share first: an owner without one takes none of all, not even for a moment.
            let share = Arc::clone(&self.share).try_acquire_owned();
            let share = share.map_err(|_| match self.max_share {
                share if share < self.max => SessionsError::ShareFull(share),
                all => SessionsError::Full(all),
            })?;
            let one = Arc::clone(&self.permits).try_acquire_owned();
            Ok((one.map_err(|_| SessionsError::Full(self.max))?, share))
        };
        if let Ok(permits) = permits() {
            return Ok(permits);
        }
        self.expire().await;
        permits()
    }

    /// The error for one more session, if the limit is reached.
    pub(crate) async fn full(&self) -> Option<SessionsError> {
        self.permits().await.err()
    }

    /// Closes expired sessions from time to time, until `stop` is cancelled.
    pub(crate) async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        let mut tick = tokio::time::interval((self.time / 4).max(Duration::from_millis(10)));
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => self.expire().await,
            }
        }
    }

    async fn expire(&self) {
        self.end(|session_use| session_use.streams == 0 && session_use.last.elapsed() > self.time).await;
    }

    /// Closes all sessions. Each refers to the manager and the manager to each, so none would end by itself.
    pub(crate) async fn end_all(&self) {
        self.end(|_| true).await;
    }

    /// Closes the sessions of this owner.
    pub(crate) async fn end_own(&self) {
        self.end(|session_use| session_use.owner == self.owner).await;
    }

    async fn end(&self, over: impl Fn(&SessionUse) -> bool) {
        // Chosen and removed under one lock: a session that is found in the map afterwards stays open.
        let ended: Vec<SessionId> = {
            let mut open = locked(&self.open);
            let over: Vec<SessionId> =
                open.iter().filter(|(_, session_use)| over(session_use)).map(|(id, _)| id.clone()).collect();
            for id in &over {
                open.remove(id);
            }
            over
        };
        for id in ended {
            let handle = self.inner.sessions.write().await.remove(&id);
            // One task per session, since a busy one must not delay the others.
            if let Some(handle) = handle {
                tokio::spawn(async move { timeout(CLOSE_TIMEOUT, handle.close()).await });
            }
        }
    }

    /// Whether headers name an open session of this owner.
    pub(crate) fn has(&self, headers: &HeaderMap) -> bool {
        named(headers)
            .is_some_and(|id| locked(&self.open).get(&id).is_some_and(|session| session.owner == self.owner))
    }

    /// Whether a session is open. The lookup counts as use by its client.
    fn touch(&self, id: &SessionId) -> bool {
        let mut open = locked(&self.open);
        let session_use = open.get_mut(id).filter(|session_use| session_use.owner == self.owner);
        session_use.map(|session_use| session_use.last = Instant::now()).is_some()
    }

    /// Marks the id of a request as open in the session that its headers name. An error if it is open already: rmcp
    /// would send the response of one request to the other. `None` without a session of this owner.
    pub(crate) fn open_request(
        &self,
        headers: &HeaderMap,
        id: &RequestId,
    ) -> Result<Option<OpenRequest>, OpenAlready> {
        let Some(session) = named(headers) else { return Ok(None) };
        {
            let mut open = locked(&self.open);
            let session_use = open.get_mut(&session).filter(|session_use| session_use.owner == self.owner);
            let Some(session_use) = session_use else { return Ok(None) };
            if !session_use.requests.insert(id.clone()) {
                return Err(OpenAlready);
            }
        }
        let mark = OpenMark { open: Arc::clone(&self.open), session, id: id.clone() };
        Ok(Some(OpenRequest { _mark: Arc::new(mark) }))
    }

    /// Opens a stream of a session's notifications, which takes over from the one before. rmcp sends events to the first
    /// one that is open, and a client that comes back may have one that only looks open. The one before stays open without
    /// events: a client that has several, and opens each again when it ends, would do so forever.
    async fn newest<S: Stream<Item = ServerSseMessage> + Send + Sync + 'static>(
        &self,
        id: &SessionId,
        stream: impl Future<Output = Result<S, LocalSessionManagerError>>,
    ) -> Result<EventStream, SessionsError> {
        let guard = self.open_stream(id);
        let known = locked(&self.open)
            .get(id)
            .map(|session_use| (Arc::clone(&session_use.notifications), session_use.end.clone()));
        let (known, end) = known.unwrap_or_default();
        let mut newest = known.lock().await;
        if let Some(before) = newest.take() {
            before.end();
        }
        let own = Notifications(Arc::new(Mutex::new(Some(Box::pin(stream.await?)))));
        *newest = Some(own.clone());
        let end = Box::pin(end.cancelled_owned());
        Ok(Box::pin(guard.attach(NotificationStream { events: own, end })))
    }

    /// Counts a stream of a session until it is dropped.
    fn open_stream(&self, id: &SessionId) -> OpenStream {
        if let Some(session_use) = locked(&self.open).get_mut(id) {
            session_use.streams += 1;
        }
        OpenStream { open: Arc::clone(&self.open), id: id.clone() }
    }
}

/// A request with this id is open in the session.
#[derive(Debug)]
pub(crate) struct OpenAlready;

/// An open request of a session, until the last clone is dropped. Its transport has one, and its handler too: a handler
/// may outlive the connection of its client, and its response would be taken for that of the next request with this id.
#[derive(Clone)]
pub(crate) struct OpenRequest {
    _mark: Arc<OpenMark>,
}

struct OpenMark {
    open: Arc<OpenSessions>,
    session: SessionId,
    id: RequestId,
}

impl Drop for OpenMark {
    fn drop(&mut self) {
        if let Some(session_use) = locked(&self.open).get_mut(&self.session) {
            session_use.requests.remove(&self.id);
        }
    }
}

type EventStream = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// The notifications of a session, until another stream takes them over.
#[derive(Clone)]
struct Notifications(Arc<Mutex<Option<EventStream>>>);

impl Notifications {
    /// From here on, rmcp sends them to the next stream.
    fn end(&self) {
        locked(&self.0).take();
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Notifications").finish_non_exhaustive()
    }
}

/// A stream of notifications, which is silent once another one has taken them over, until the session ends.
struct NotificationStream {
    events: Notifications,
    end: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Stream for NotificationStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        // Polled in any case, since it becomes silent without being woken.
        let ended = self.end.as_mut().poll(context).is_ready();
        match &mut *locked(&self.events.0) {
            Some(events) => events.as_mut().poll_next(context),
            None if ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Drop for NotificationStream {
    fn drop(&mut self) {
        // The session may refer to them.
        self.events.end();
    }
}

/// Counts an open stream of a session.
struct OpenStream {
    open: Arc<OpenSessions>,
    id: SessionId,
}

impl OpenStream {
    /// Counts until the stream is dropped.
    fn attach<T>(self, stream: impl Stream<Item = T>) -> impl Stream<Item = T> {
        stream.map(move |item| {
            let _ = &self;
            item
        })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if let Some(session_use) = locked(&self.open).get_mut(&self.id) {
            session_use.streams = session_use.streams.saturating_sub(1);
            // From here on the client has the whole time to live to reconnect.
            session_use.last = Instant::now();
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let permits = self.permits().await?;
        let (id, transport) = self.inner.create_session().await?;
        let end = CancellationToken::new();
        let session_use = SessionUse {
            last: Instant::now(),
            streams: 0,
            owner: self.owner,
            requests: HashSet::new(),
            notifications: Arc::default(),
            _end: end.clone().drop_guard(),
            end,
            _permits: permits,
        };
        locked(&self.open).insert(id.clone(), session_use);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.touch(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        {
            let mut open = locked(&self.open);
            if open.get(id).is_some_and(|session_use| session_use.owner != self.owner) {
                return Ok(());
            }
            open.remove(id);
        }
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let guard = self.open_stream(id);
        Ok(guard.attach(self.inner.create_stream(id, message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.touch(id);
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.newest(id, self.inner.create_standalone_stream(id)).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.resume(id, event_after(&last_event_id));
        if last_event_id.parse::<usize>().is_err() {
            // That of a request, or no event, which silences no other stream.
            let guard = self.open_stream(id);
            return Ok(Box::pin(guard.attach(stream.await?)) as EventStream);
        }
        self.newest(id, stream).await
    }
}

/// The id of the event after one: rmcp sends the event with a given id again, and `Last-Event-ID` names the last one that
/// the client has. The ids are a number, and for the stream of a request another one after a slash.
fn event_after(last: &str) -> String {
    let (number, rest) = last.split_at(last.find('/').unwrap_or(last.len()));
    let next = number.parse().ok().and_then(|number: usize| number.checked_add(1));
    next.map_or_else(|| last.to_owned(), |next| format!("{next}{rest}"))
}

#[cfg(test)]
mod tests;
