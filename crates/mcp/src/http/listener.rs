//! The accept loop: the number of connections, the timeouts of each, and graceful shutdown.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::http::HttpServer;
use crate::http::access_log;
use crate::http::callers::SUBSCRIPTION_GRACE;
use crate::http::newcomers::Newcomers;
use crate::http::options::HttpOptions;
use crate::http::permit_body::with_permit;
use crate::http::queue::Queue;
use crate::http::sessions::Sessions;
use crate::http::write_timeout::WriteTimeout;
use crate::server::Shared;

/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8192;

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
    let newcomers = Newcomers::new(options.max_newcomers, options.max_connections);
    let graceful = GracefulShutdown::new();
    let mut serving = http1::Builder::new();
    serving
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_header_size(options.max_head)
        // The buffer must hold a whole head.
        .max_buf_size(options.max_head.max(MIN_BUFFER))
        .keep_alive(true);
    let mut queue = Queue::new(newcomers);
    loop {
        let (stream, peer, slot) = match queue.next() {
            Some(Ok(entered)) => entered,
            waiting => {
                let may_enter = async {
                    match waiting {
                        Some(Err(until)) => sleep_until(until).await,
                        _ => pending().await,
                    }
                };
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = may_enter => {}
                    accepted = listener.accept(), if !queue.is_full() => match accepted {
                        Ok((stream, peer)) => {
                            if queue.push(stream, peer).is_some() {
                                server.shared.metrics.count_refusal("newcomer");
                            }
                        }
                        Err(error) => {
                            // Out of file descriptors, or the client has already disconnected: neither ends the server.
                            tracing::warn!(%error, "could not accept");
                            sleep(Duration::from_millis(50)).await;
                        }
                    },
                }
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let requests = Arc::new(Semaphore::new(1));
        let (own, place) = (Arc::clone(&requests), Arc::clone(&slot));
        let io = TokioIo::new(WriteTimeout::new(stream, options.stall_time, stop.clone(), own, place));
        let server = Arc::clone(&server);
        let (own, held, evicted) = (Arc::clone(&server), Arc::clone(&server.served), slot.evicted());
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
    // What is queued is closed with the socket.
    drop((listener, queue));
    // Subscriptions end with their result; streams without a result are closed after that.
    let mut ending = std::pin::pin!(graceful.shutdown());
    if timeout(SUBSCRIPTION_GRACE, ending.as_mut()).await.is_err() {
        streams.cancel();
        let _ = timeout(options.grace, ending).await;
    }
    let _ = timeout(options.grace, sweeper).await;
    sessions.end_all().await;
}
