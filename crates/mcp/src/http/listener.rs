//! Connections: how many there may be, how long each may take, and how they end.
//!
//! Beyond the last place a client is not left waiting, since it could not tell a server that is full from one that is
//! dead. A few more places are there to say so; each is held so shortly that they cannot stay taken.

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

use crate::http::Front;
use crate::http::options::HttpOptions;
use crate::http::sessions::Sessions;
use crate::http::write_timeout::Patient;
use crate::server::Shared;

/// How long those who are told of the end have before their streams are closed.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How many can be told at once that there is no place.
const REFUSALS: usize = 32;
/// How long it may take to tell one of them, from the first byte to the last.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// The least that hyper works with.
const LEAST_BUFFER: usize = 8192;

/// Where a client sits.
enum Place {
    Inside(OwnedSemaphorePermit),
    Outside(OwnedSemaphorePermit),
}

/// The places for clients.
struct Places {
    inside: Arc<Semaphore>,
    outside: Arc<Semaphore>,
}

impl Places {
    fn new(max_connections: usize) -> Self {
        Self {
            inside: Arc::new(Semaphore::new(max_connections)),
            outside: Arc::new(Semaphore::new(REFUSALS)),
        }
    }

    /// The best place there is; waits when there is none at all.
    async fn next(&self) -> Result<Place, AcquireError> {
        tokio::select! {
            biased;
            place = Arc::clone(&self.inside).acquire_owned() => place.map(Place::Inside),
            place = Arc::clone(&self.outside).acquire_owned() => place.map(Place::Outside),
        }
    }

    /// A place inside, if one has become free while nobody came.
    fn better(&self, place: Place) -> Place {
        match (place, Arc::clone(&self.inside).try_acquire_owned()) {
            (Place::Outside(_), Ok(inside)) => Place::Inside(inside),
            (place, _) => place,
        }
    }
}

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
    let places = Places::new(options.max_connections);
    let graceful = GracefulShutdown::new();
    let mut inside = http1::Builder::new();
    inside
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_header_size(options.max_head)
        // What is read ahead may be more than a head, and no less.
        .max_buf_size(options.max_head.max(LEAST_BUFFER))
        .keep_alive(true);
    let mut outside = inside.clone();
    outside.keep_alive(false);
    loop {
        let next = async {
            let place = places.next().await.ok()?;
            Some((listener.accept().await, place))
        };
        let next = tokio::select! {
            () = stop.cancelled() => None,
            next = next => next,
        };
        let Some((accepted, place)) = next else { break };
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
        match places.better(place) {
            Place::Inside(place) => {
                let service = service_fn(move |request| {
                    let front = Arc::clone(&front);
                    async move { Ok::<_, Infallible>(front.answer(request).await) }
                });
                let connection = graceful.watch(inside.serve_connection(io, service));
                tokio::spawn(async move {
                    let _ = connection.await;
                    drop(place);
                });
            }
            Place::Outside(place) => {
                let service = service_fn(move |request| {
                    let front = Arc::clone(&front);
                    async move { Ok::<_, Infallible>(front.refusal(&request)) }
                });
                let connection = graceful.watch(outside.serve_connection(io, service));
                tokio::spawn(async move {
                    let _ = timeout(REFUSAL_TIME, connection).await;
                    drop(place);
                });
            }
        }
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
