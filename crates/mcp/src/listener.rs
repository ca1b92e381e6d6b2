//! Connections: how many there may be, how long each may take, and how they end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::http::Front;
use crate::http_options::HttpOptions;
use crate::patient::Patient;
use crate::server::Shared;
use crate::sessions::Sessions;

/// How long those who are told of the end have before their streams are closed.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Serves until `stop`; then lets what is under way end, for a while.
pub(crate) async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    options: HttpOptions,
    stop: CancellationToken,
) {
    let sessions = Arc::new(Sessions::new(options.max_sessions, options.session_time));
    let sweeper = tokio::spawn(Arc::clone(&sessions).sweep(stop.clone()));
    // Ends what does not end by itself.
    let streams = CancellationToken::new();
    let front = Arc::new(Front::new(shared, Arc::clone(&sessions), options.clone(), streams.clone()));
    let connections = Arc::new(Semaphore::new(options.max_connections));
    let graceful = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_buf_size(64 * 1024)
        .keep_alive(true);
    loop {
        // No accept without a place: further clients wait in the kernel's queue.
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                // Out of descriptors, or the client is gone already: neither ends the server.
                tracing::warn!(%error, "could not accept");
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(Patient::new(stream, options.stall_time, stop.clone()));
        let front = Arc::clone(&front);
        let service = service_fn(move |request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        });
        let connection = graceful.watch(builder.serve_connection(io, service));
        tokio::spawn(async move {
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    // Subscriptions end with their result; streams without one are closed when those had their time.
    let mut ending = std::pin::pin!(graceful.shutdown());
    if timeout(LAST_WORDS, ending.as_mut()).await.is_err() {
        streams.cancel();
        let _ = timeout(options.grace, ending).await;
    }
    let _ = timeout(options.grace, sweeper).await;
    sessions.end_all().await;
}
