//! The sessions of protocol versions with a handshake, over HTTP: a limit, and a time to live that only clients extend.
//!
//! rmcp's own manager has no limit, and notifications of the server extend the life of its sessions: a library that
//! changes every minute would keep ten thousand abandoned sessions alive. So this wrapper has the only clock: a session
//! is in use when its client sends something, and for as long as the client has a stream open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

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
}

/// When a session was last used.
#[derive(Debug)]
struct SessionUse {
    /// When the client last sent something, or closed a stream.
    last: Instant,
    /// The number of open streams.
    streams: usize,
    owner: u64,
    _permit: OwnedSemaphorePermit,
}

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
        let permits = Arc::new(Semaphore::new(max));
        Self { inner: Arc::new(inner), open: Arc::default(), permits, max, time, owner: 0 }
    }

    /// The same sessions for another owner. All owners share the limit and the time to live.
    pub(crate) fn owned_by(&self, owner: u64) -> Self {
        Self { owner, ..self.clone() }
    }

    /// The number of open sessions of all owners.
    pub(crate) fn len(&self) -> usize {
        locked(&self.open).len()
    }

    /// A permit for one more session. Expired sessions are closed first when there is none.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, SessionsError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        self.expire().await;
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| SessionsError::Full(self.max))
    }

    /// The error for one more session, if the limit is reached.
    pub(crate) async fn full(&self) -> Option<SessionsError> {
        self.permit().await.err()
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

    /// Whether a session is open. The lookup counts as use by its client.
    fn touch(&self, id: &SessionId) -> bool {
        let mut open = locked(&self.open);
        let session_use = open.get_mut(id).filter(|session_use| session_use.owner == self.owner);
        session_use.map(|session_use| session_use.last = Instant::now()).is_some()
    }

    /// Counts a stream of a session until it is dropped.
    fn open_stream(&self, id: &SessionId) -> OpenStream {
        if let Some(session_use) = locked(&self.open).get_mut(id) {
            session_use.streams += 1;
        }
        OpenStream { open: Arc::clone(&self.open), id: id.clone() }
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
        let permit = self.permit().await?;
        let (id, transport) = self.inner.create_session().await?;
        let session_use = SessionUse { last: Instant::now(), streams: 0, owner: self.owner, _permit: permit };
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
        let guard = self.open_stream(id);
        Ok(guard.attach(self.inner.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let guard = self.open_stream(id);
        Ok(guard.attach(self.inner.resume(id, last_event_id).await?))
    }
}

#[cfg(test)]
mod tests {
    use rmcp::serve_server;
    use serde_json::{Value, json};
    use tokio::task::JoinHandle;

    use super::*;

    const TIME: Duration = Duration::from_secs(300);
    const HOUR: Duration = Duration::from_secs(3600);

    struct EmptyServer;
    impl rmcp::ServerHandler for EmptyServer {}

    fn message(value: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(value).unwrap()
    }

    /// An initialized session, and the task that serves it.
    async fn initialized(sessions: &Sessions) -> (SessionId, JoinHandle<()>) {
        let (id, transport) = sessions.create_session().await.unwrap();
        let serving = tokio::spawn(async move {
            let _ = serve_server(EmptyServer, transport).await.unwrap().waiting().await;
        });
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        sessions.initialize_session(&id, message(hello)).await.unwrap();
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        sessions.accept_message(&id, message(done)).await.unwrap();
        (id, serving)
    }

    /// Whether a session is open after expired ones were closed.
    async fn lives(sessions: &Sessions, id: &SessionId) -> bool {
        sessions.expire().await;
        locked(&sessions.open).contains_key(id)
    }

    /// Fails unless a session outlives its time while a stream without messages is open.
    async fn assert_keeps_alive<T>(sessions: &Sessions, id: &SessionId, stream: impl Stream<Item = T>) {
        let mut stream = std::pin::pin!(stream);
        assert!(timeout(HOUR, stream.next()).await.is_err(), "the stream ended or sent something");
        assert!(lives(sessions, id).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_stream_keeps_its_session_alive_without_messages() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = initialized(&sessions).await;
        let stream = sessions.create_standalone_stream(&id).await.unwrap();
        assert_keeps_alive(&sessions, &id, stream).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_resumed_stream_keeps_its_session_alive() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = initialized(&sessions).await;
        let stream = sessions.resume(&id, "0".to_owned()).await.unwrap();
        assert_keeps_alive(&sessions, &id, stream).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_has_its_whole_time_to_live_after_its_stream_closes() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = initialized(&sessions).await;
        let stream = sessions.create_standalone_stream(&id).await.unwrap();
        tokio::time::advance(HOUR).await;
        drop(stream);
        assert!(lives(&sessions, &id).await);
        tokio::time::advance(TIME).await;
        assert!(lives(&sessions, &id).await);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!lives(&sessions, &id).await);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_sessions_release_all_resources() {
        let sessions = Sessions::new(2, TIME);
        let (first, first_serving) = initialized(&sessions).await;
        let (second, second_serving) = initialized(&sessions).await;
        drop(sessions.create_standalone_stream(&first).await.unwrap());
        assert!(matches!(sessions.create_session().await, Err(SessionsError::Full(2))));
        tokio::time::advance(TIME * 2).await;
        assert!(!lives(&sessions, &first).await && !lives(&sessions, &second).await);
        // The tasks that serve end only when rmcp's workers have.
        for serving in [first_serving, second_serving] {
            serving.await.unwrap();
        }
        assert!(locked(&sessions.open).is_empty() && sessions.inner.sessions.read().await.is_empty());
        assert_eq!(sessions.permits.available_permits(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_exists_only_for_its_owner() {
        let sessions = Sessions::new(2, TIME);
        let (own, other) = (sessions.owned_by(1), sessions.owned_by(2));
        let (id, serving) = initialized(&own).await;
        let (kept, _serving) = initialized(&other).await;
        other.close_session(&id).await.unwrap();
        assert!(own.has_session(&id).await.unwrap() && !other.has_session(&id).await.unwrap());
        own.end_own().await;
        serving.await.unwrap();
        assert!(!own.has_session(&id).await.unwrap() && other.has_session(&kept).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_ends_sessions_with_open_streams() {
        let sessions = Sessions::new(1, TIME);
        let (id, serving) = initialized(&sessions).await;
        let mut stream = Box::pin(sessions.create_standalone_stream(&id).await.unwrap());
        sessions.end_all().await;
        serving.await.unwrap();
        assert!(stream.next().await.is_none());
        assert!(!sessions.has_session(&id).await.unwrap());
    }
}
