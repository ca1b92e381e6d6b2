//! Blocking work outside the runtime's threads, with limits, a timeout and no escaping panics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use prowess::internal::locked;

/// The timeout of a request: longer than that of a remote source, so that the source's own error is reported.
const WORK_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a list may inspect files before it ends its page; the next page continues there.
const LIST_TIME: Duration = Duration::from_secs(5);
/// The maximum number of requests that read from one remote source at once.
const MAX_PER_SOURCE: usize = 4;

/// The limits on blocking work. Requests wait for a permit as tasks, not as threads.
pub(crate) struct WorkLimits {
    /// For work on local skills.
    pub(crate) local: Arc<Semaphore>,
    /// For lists, which inspect the files of many skills and so must not block other requests.
    pub(crate) lists: Arc<Semaphore>,
    /// One for each remote source, so that a slow source blocks neither the others nor local work.
    remote: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl WorkLimits {
    pub(crate) fn new() -> Self {
        // Files are mostly in the page cache, so more threads than processors only slow each other down.
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let local = processors.saturating_mul(2).max(4);
        Self {
            local: Arc::new(Semaphore::new(local)),
            lists: Arc::new(Semaphore::new(processors.max(2))),
            remote: Mutex::default(),
        }
    }

    /// The limit of a remote source.
    pub(crate) fn remote(&self, source: &str) -> Arc<Semaphore> {
        let new = || Arc::new(Semaphore::new(MAX_PER_SOURCE));
        Arc::clone(locked(&self.remote).entry(source.to_owned()).or_insert_with(new))
    }
}

/// Runs blocking work with a permit, unless the request is cancelled before. A panic becomes an error: rmcp sends no
/// response when a handler panics, and the client would wait forever.
pub(crate) async fn work<T: Send + 'static>(
    limit: &Arc<Semaphore>,
    cancelled: &CancellationToken,
    work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    let permit = unless_cancelled(cancelled, Arc::clone(limit).acquire_owned()).await?;
    let permit = permit.map_err(|_| stopping())?;
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match tokio::time::timeout(WORK_TIMEOUT, task).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(ErrorData::internal_error("the request could not be answered", None)),
        Err(_elapsed) => Err(ErrorData::internal_error("the request took too long", None)),
    }
}

/// When a list that begins now must end its page.
pub(crate) fn end_of_list() -> Instant {
    Instant::now() + LIST_TIME
}

/// Waits for a future, unless the request is cancelled before.
pub(crate) async fn unless_cancelled<T>(
    cancelled: &CancellationToken,
    waiting: impl Future<Output = T>,
) -> Result<T, ErrorData> {
    tokio::select! {
        got = waiting => Ok(got),
        () = cancelled.cancelled() => Err(stopping()),
    }
}

fn stopping() -> ErrorData {
    ErrorData::internal_error("the server is stopping", None)
}
