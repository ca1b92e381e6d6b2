//! The accept loop: the number of connections, the timeouts of each, and graceful shutdown.
//!
//! When all connections are in use, further clients get a response that says so, since a client cannot distinguish a full
//! server from a dead one. A few extra connections exist for that; each is so short that they cannot stay in use.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
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

/// The maximum number of refusals at once.
const MAX_REFUSALS: usize = 32;
/// How long a refusal may take, from the first byte to the last.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8192;

/// How a connection is handled, with the permit that it holds.
enum Admission {
    Serve(OwnedSemaphorePermit),
    Refuse(OwnedSemaphorePermit),
}

/// The permits for connections.
struct ConnectionLimits {
    served: Arc<Semaphore>,
    refused: Arc<Semaphore>,
}

impl ConnectionLimits {
    fn new(most: usize) -> Self {
        Self { served: Arc::new(Semaphore::new(most)), refused: Arc::new(Semaphore::new(MAX_REFUSALS)) }
    }

    /// A permit to serve if there is one, else one to refuse; waits when both are exhausted.
    async fn next(&self) -> Result<Admission, AcquireError> {
        tokio::select! {
            biased;
            permit = Arc::clone(&self.served).acquire_owned() => permit.map(Admission::Serve),
            permit = Arc::clone(&self.refused).acquire_owned() => permit.map(Admission::Refuse),
        }
    }

    /// Turns a refusal into service if a permit was released while no client connected.
    fn upgrade(&self, admission: Admission) -> Admission {
        match (admission, Arc::clone(&self.served).try_acquire_owned()) {
            (Admission::Refuse(_), Ok(permit)) => Admission::Serve(permit),
            (admission, _) => admission,
        }
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
    let limits = ConnectionLimits::new(options.max_connections);
    let graceful = GracefulShutdown::new();
    let mut serving = http1::Builder::new();
    serving
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_header_size(options.max_head)
        // The buffer must hold a whole head.
        .max_buf_size(options.max_head.max(MIN_BUFFER))
        .keep_alive(true);
    let mut refusing = serving.clone();
    refusing.keep_alive(false);
    loop {
        let next = async {
            let admission = limits.next().await.ok()?;
            Some((listener.accept().await, admission))
        };
        let next = tokio::select! {
            () = stop.cancelled() => None,
            next = next => next,
        };
        let Some((accepted, admission)) = next else { break };
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
        match limits.upgrade(admission) {
            Admission::Serve(permit) => {
                let (own, held) = (Arc::clone(&server), (permit, Arc::clone(&server.served)));
                let service = service_fn(move |request| {
                    let (server, requests) = (Arc::clone(&server), Arc::clone(&requests));
                    async move {
                        let answering = requests.acquire_owned().await;
                        let response = server.respond(request, peer).await;
                        Ok::<_, Infallible>(match answering {
                            Ok(permit) => with_permit(response, permit),
                            Err(_closed) => response,
                        })
                    }
                });
                let connection = graceful.watch(serving.serve_connection(io, service));
                tokio::spawn(async move {
                    if let Err(error) = connection.await {
                        access_log::refused_head(&error, peer, &own.shared.metrics);
                    }
                    drop(held);
                });
            }
            Admission::Refuse(permit) => {
                let service = service_fn(move |request| {
                    let server = Arc::clone(&server);
                    async move { Ok::<_, Infallible>(server.refuse(&request, peer)) }
                });
                let connection = graceful.watch(refusing.serve_connection(io, service));
                tokio::spawn(async move {
                    let _ = timeout(REFUSAL_TIMEOUT, connection).await;
                    drop(permit);
                });
            }
        }
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
