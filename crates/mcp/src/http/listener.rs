//! The accept loop: the number of connections, the timeouts of each, and graceful shutdown.
//!
//! A connection counts only once a request on it had a valid token. Until then it is a newcomer: there are a few, and the
//! oldest gives way to the next, so that clients without a token cannot keep those with one out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use prowess::internal::locked;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::http::HttpServer;
use crate::http::access_log;
use crate::http::callers::SUBSCRIPTION_GRACE;
use crate::http::options::HttpOptions;
use crate::http::permit_body::with_permit;
use crate::http::sessions::Sessions;
use crate::http::write_timeout::WriteTimeout;
use crate::server::Shared;

/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8192;

/// The connections on which no request had a valid token yet, the oldest first.
struct Newcomers {
    max: usize,
    next: AtomicU64,
    open: Mutex<BTreeMap<u64, CancellationToken>>,
}

impl Newcomers {
    fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, next: AtomicU64::new(0), open: Mutex::default() })
    }

    /// A new connection, which ends the oldest ones if there are too many.
    fn enter(self: &Arc<Self>, served: &Arc<Semaphore>) -> Arc<ConnectionSlot> {
        let (number, evicted) = (self.next.fetch_add(1, Ordering::Relaxed), CancellationToken::new());
        let mut open = locked(&self.open);
        while open.len() >= self.max {
            let Some((_, oldest)) = open.pop_first() else { break };
            oldest.cancel();
        }
        open.insert(number, evicted.clone());
        let (newcomers, served) = (Arc::clone(self), Arc::clone(served));
        Arc::new(ConnectionSlot { newcomers, number, evicted, served, permits: Mutex::default() })
    }
}

/// The place of a connection among the newcomers, then among those that are served.
pub(crate) struct ConnectionSlot {
    newcomers: Arc<Newcomers>,
    number: u64,
    evicted: CancellationToken,
    served: Arc<Semaphore>,
    permits: Mutex<Option<[OwnedSemaphorePermit; 2]>>,
}

impl ConnectionSlot {
    /// Whether a request on this connection had a valid token.
    pub(crate) fn is_served(&self) -> bool {
        locked(&self.permits).is_some()
    }

    /// Serves the connection from now on, within the limit of its first caller and that of all. False when all connections
    /// are in use.
    pub(crate) fn serve(&self, of_caller: &Arc<Semaphore>) -> bool {
        let mut permits = locked(&self.permits);
        if permits.is_none() {
            let one = |limit: &Arc<Semaphore>| Arc::clone(limit).try_acquire_owned().ok();
            *permits = one(of_caller).and_then(|own| Some([own, one(&self.served)?]));
            if permits.is_some() {
                locked(&self.newcomers.open).remove(&self.number);
            }
        }
        permits.is_some()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        locked(&self.newcomers.open).remove(&self.number);
    }
}

/// Serves until `stop` is cancelled, then gives running requests time to finish.
pub(crate) async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    options: HttpOptions,
    host: Host,
    stop: CancellationToken,
) {
    let sessions = Arc::new(Sessions::new(options.max_sessions, options.session_time));
    let sweeper = tokio::spawn(Arc::clone(&sessions).sweep(stop.clone()));
    // Ends the streams that do not end by themselves.
    let streams = CancellationToken::new();
    let server = Arc::new(HttpServer::new(shared, Arc::clone(&sessions), options.clone(), streams.clone()));
    host.start(&server, &stop);
    let newcomers = Newcomers::new(options.max_newcomers);
    let served = Arc::new(Semaphore::new(options.max_connections));
    let graceful = GracefulShutdown::new();
    let mut serving = http1::Builder::new();
    serving
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_header_size(options.max_head)
        // The buffer must hold a whole head.
        .max_buf_size(options.max_head.max(MIN_BUFFER))
        .keep_alive(true);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, or the client has already disconnected: neither ends the server.
                tracing::warn!(%error, "could not accept");
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let requests = Arc::new(Semaphore::new(1));
        let own = Arc::clone(&requests);
        let io = TokioIo::new(WriteTimeout::new(stream, options.stall_time, stop.clone(), own));
        let server = Arc::clone(&server);
        let slot = newcomers.enter(&served);
        let (own, held, evicted) = (Arc::clone(&server), Arc::clone(&server.served), slot.evicted.clone());
        let service = service_fn(move |request| {
            let (server, requests, slot) = (Arc::clone(&server), Arc::clone(&requests), Arc::clone(&slot));
            async move {
                let answering = requests.acquire_owned().await;
                let response = server.respond(request, peer, &slot).await;
                Ok::<_, Infallible>(match answering {
                    Ok(permit) => with_permit(response, permit),
                    Err(_closed) => response,
                })
            }
        });
        let connection = graceful.watch(serving.serve_connection(io, service));
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => {
                    if let Err(error) = ended {
                        access_log::refused_head(&error, peer, &own.shared.metrics);
                    }
                }
                () = evicted.cancelled() => own.shared.metrics.count_refusal("newcomer"),
            }
            drop(held);
        });
    }
    drop(listener);
    // Subscriptions end with their result; streams without a result are closed after that.
    let mut ending = std::pin::pin!(graceful.shutdown());
    if timeout(SUBSCRIPTION_GRACE, ending.as_mut()).await.is_err() {
        streams.cancel();
        let _ = timeout(options.grace, ending).await;
    }
    let _ = timeout(options.grace, sweeper).await;
    sessions.end_all().await;
}
