//! The sessions of the handshake eras over HTTP: a cap, and a time to live that only the client itself extends.
//!
//! rmcp's own manager has no cap, and what the server tells extends the life of its sessions: a library that changes
//! every minute would keep ten thousand dead sessions alive. So the clock is ours, and the only one: a client is there
//! when it says something, and for as long as it has a stream open.

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

use crate::lock::locked;

/// How long a busy session may take to hear of its end; then its handle is dropped, which ends it too, as an error.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("there are as many sessions as there may be: {0}")]
    Full(usize),
}

/// What tells that a client is still there.
#[derive(Debug)]
struct Presence {
    /// When it last said something, or closed a stream.
    last: Instant,
    /// How many streams it has open.
    streams: usize,
    _place: OwnedSemaphorePermit,
}

type Present = Mutex<BTreeMap<SessionId, Presence>>;

/// The sessions of a server.
#[derive(Debug)]
pub(crate) struct Sessions {
    inner: LocalSessionManager,
    /// The sessions that there are; what is not in here is over, even while rmcp still ends it.
    present: Arc<Present>,
    /// Counts places rather than entries, since a session has no entry before rmcp has made it.
    places: Arc<Semaphore>,
    max: usize,
    time: Duration,
}

impl Sessions {
    pub(crate) fn new(max: usize, time: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        // Would close the silent stream of a client that is there, and with it the session.
        inner.session_config.keep_alive = None;
        inner.session_config.init_timeout = Some(Duration::from_secs(10));
        inner.session_config.sse_retry = None;
        inner.session_config.completed_cache_ttl = Duration::from_secs(1);
        Self { inner, present: Arc::default(), places: Arc::new(Semaphore::new(max)), max, time }
    }

    /// A place for one more, if there is one.
    async fn place(&self) -> Result<OwnedSemaphorePermit, SessionsError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        self.expire().await;
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| SessionsError::Full(self.max))
    }

    /// Why there may be no more, if that is so.
    pub(crate) async fn full(&self) -> Option<SessionsError> {
        self.place().await.err()
    }

    /// Ends sessions nobody has used for too long, again and again.
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
        self.end(|presence| presence.streams == 0 && presence.last.elapsed() > self.time).await;
    }

    /// Ends all sessions. Each holds on to the manager and the manager to each, so none would end by itself.
    pub(crate) async fn end_all(&self) {
        self.end(|_| true).await;
    }

    async fn end(&self, over: impl Fn(&Presence) -> bool) {
        // Taken out in one go with the look at them: whoever is found there afterwards stays.
        let ended: Vec<SessionId> = {
            let mut present = locked(&self.present);
            let over: Vec<SessionId> =
                present.iter().filter(|(_, presence)| over(presence)).map(|(id, _)| id.clone()).collect();
            for id in &over {
                present.remove(id);
            }
            over
        };
        for id in ended {
            let handle = self.inner.sessions.write().await.remove(&id);
            // A task for each, since one that is busy must not hold up the others.
            if let Some(handle) = handle {
                tokio::spawn(async move { timeout(FAREWELL, handle.close()).await });
            }
        }
    }

    /// Whether a session is there; that it was asked for is a word of its client.
    fn touch(&self, id: &SessionId) -> bool {
        let mut present = locked(&self.present);
        let presence = present.get_mut(id);
        presence.map(|presence| presence.last = Instant::now()).is_some()
    }

    /// Counts a stream of a session until it is dropped.
    fn listening(&self, id: &SessionId) -> Listening {
        if let Some(presence) = locked(&self.present).get_mut(id) {
            presence.streams += 1;
        }
        Listening { present: Arc::clone(&self.present), id: id.clone() }
    }
}

/// A stream that a client has open.
struct Listening {
    present: Arc<Present>,
    id: SessionId,
}

impl Listening {
    /// Counts for as long as the stream is held.
    fn to<T>(self, stream: impl Stream<Item = T>) -> impl Stream<Item = T> {
        stream.map(move |item| {
            let _ = &self;
            item
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(presence) = locked(&self.present).get_mut(&self.id) {
            presence.streams = presence.streams.saturating_sub(1);
            // From here on the client has its whole time to come back.
            presence.last = Instant::now();
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let place = self.place().await?;
        let (id, transport) = self.inner.create_session().await?;
        let presence = Presence { last: Instant::now(), streams: 0, _place: place };
        locked(&self.present).insert(id.clone(), presence);
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
        locked(&self.present).remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let listening = self.listening(id);
        Ok(listening.to(self.inner.create_stream(id, message).await?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.touch(id);
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let listening = self.listening(id);
        Ok(listening.to(self.inner.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let listening = self.listening(id);
        Ok(listening.to(self.inner.resume(id, last_event_id).await?))
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

    struct Silent;
    impl rmcp::ServerHandler for Silent {}

    fn message(value: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(value).unwrap()
    }

    /// A session that has begun, and the task that serves it.
    async fn begun(sessions: &Sessions) -> (SessionId, JoinHandle<()>) {
        let (id, transport) = sessions.create_session().await.unwrap();
        let serving = tokio::spawn(async move {
            let _ = serve_server(Silent, transport).await.unwrap().waiting().await;
        });
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        sessions.initialize_session(&id, message(hello)).await.unwrap();
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        sessions.accept_message(&id, message(done)).await.unwrap();
        (id, serving)
    }

    /// Whether a session is there after a look at the clock.
    async fn lives(sessions: &Sessions, id: &SessionId) -> bool {
        sessions.expire().await;
        locked(&sessions.present).contains_key(id)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_open_keeps_its_session_however_silent() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = begun(&sessions).await;
        let mut stream = Box::pin(sessions.create_standalone_stream(&id).await.unwrap());
        assert!(timeout(HOUR, stream.next()).await.is_err(), "the stream has ended or said something");
        assert!(lives(&sessions, &id).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_resumed_keeps_its_session_too() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = begun(&sessions).await;
        let mut stream = Box::pin(sessions.resume(&id, "0".to_owned()).await.unwrap());
        assert!(timeout(HOUR, stream.next()).await.is_err(), "the stream has ended or said something");
        assert!(lives(&sessions, &id).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_has_its_whole_time_after_its_stream_has_closed() {
        let sessions = Sessions::new(1, TIME);
        let (id, _serving) = begun(&sessions).await;
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
    async fn nothing_is_left_of_sessions_that_are_over() {
        let sessions = Sessions::new(2, TIME);
        let (first, first_serving) = begun(&sessions).await;
        let (second, second_serving) = begun(&sessions).await;
        drop(sessions.create_standalone_stream(&first).await.unwrap());
        assert!(matches!(sessions.create_session().await, Err(SessionsError::Full(2))));
        tokio::time::advance(TIME * 2).await;
        assert!(!lives(&sessions, &first).await && !lives(&sessions, &second).await);
        // The tasks that serve end only when rmcp's workers have.
        for serving in [first_serving, second_serving] {
            serving.await.unwrap();
        }
        assert!(locked(&sessions.present).is_empty() && sessions.inner.sessions.read().await.is_empty());
        assert_eq!(sessions.places.available_permits(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_server_ends_sessions_that_listen() {
        let sessions = Sessions::new(1, TIME);
        let (id, serving) = begun(&sessions).await;
        let mut stream = Box::pin(sessions.create_standalone_stream(&id).await.unwrap());
        sessions.end_all().await;
        serving.await.unwrap();
        assert!(stream.next().await.is_none());
        assert!(!sessions.has_session(&id).await.unwrap());
    }
}
