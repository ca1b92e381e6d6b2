//! The sessions of the handshake eras over HTTP: a cap, and a time to live that only the client's own words extend.
//!
//! rmcp's own manager has no cap, and what the server tells extends the life of its sessions: a library that changes
//! every minute would keep ten thousand dead sessions alive. So the clock is ours.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;

use crate::snapshot::locked;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionsError {
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
    #[error("there are as many sessions as there may be")]
    Full,
}

/// When a client last said something, and how many streams it listens to.
#[derive(Debug)]
struct Seen {
    at: Instant,
    streams: Arc<AtomicUsize>,
}

/// The sessions of a server.
#[derive(Debug)]
pub(crate) struct Sessions {
    inner: LocalSessionManager,
    seen: Mutex<BTreeMap<SessionId, Seen>>,
    max: usize,
    time: Duration,
}

impl Sessions {
    pub(crate) fn new(max: usize, time: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(time.saturating_mul(2));
        inner.session_config.init_timeout = Some(Duration::from_secs(10));
        inner.session_config.sse_retry = None;
        inner.session_config.completed_cache_ttl = Duration::from_secs(1);
        Self { inner, seen: Mutex::default(), max, time }
    }

    /// Whether there may be no more.
    pub(crate) async fn is_full(&self) -> bool {
        if locked(&self.seen).len() < self.max {
            return false;
        }
        self.expire().await;
        locked(&self.seen).len() >= self.max
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
        let over: Vec<SessionId> = {
            let seen = locked(&self.seen);
            let over =
                |seen: &Seen| seen.at.elapsed() > self.time && seen.streams.load(Ordering::Relaxed) == 0;
            seen.iter().filter(|(_, seen)| over(seen)).map(|(id, _)| id.clone()).collect()
        };
        for id in over {
            let _ = self.close_session(&id).await;
        }
    }

    fn touch(&self, id: &SessionId) {
        if let Some(seen) = locked(&self.seen).get_mut(id) {
            seen.at = Instant::now();
        }
    }
}

/// Counts a stream for as long as it is held.
struct Listening(Arc<AtomicUsize>);
impl Drop for Listening {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if self.is_full().await {
            return Err(SessionsError::Full);
        }
        let (id, transport) = self.inner.create_session().await?;
        locked(&self.seen).insert(id.clone(), Seen { at: Instant::now(), streams: Arc::default() });
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
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        locked(&self.seen).remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.touch(id);
        Ok(self.inner.create_stream(id, message).await?)
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.touch(id);
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.touch(id);
        let streams = locked(&self.seen).get(id).map(|seen| Arc::clone(&seen.streams)).unwrap_or_default();
        streams.fetch_add(1, Ordering::Relaxed);
        let listening = Listening(streams);
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(stream.map(move |message| {
            let _ = &listening;
            message
        }))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.touch(id);
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}
