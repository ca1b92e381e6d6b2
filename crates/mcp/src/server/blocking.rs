//! Blocking work away from the threads of the runtime: so much at once, for so long, and no panic gets out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::lock::locked;

/// The longest a request may work: longer than a source elsewhere may, so that its own error is heard.
const WORK_TIME: Duration = Duration::from_secs(20);
/// How long a list may look at files before it ends with the skill it is at; the next page goes on there.
const LIST_TIME: Duration = Duration::from_secs(5);
/// How many requests read from one source elsewhere at once.
const FAR_AT_ONCE: usize = 4;

/// Where requests wait for their turn, in queues and not in threads.
pub(crate) struct Gates {
    /// For what lies here.
    pub(crate) near: Arc<Semaphore>,
    /// For lists, which look at the files of many skills: however long that takes, other requests have their turn.
    pub(crate) lists: Arc<Semaphore>,
    /// For what is read from elsewhere, one for each source: one that does not answer takes no place of another, nor of
    /// what is read here.
    far: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Gates {
    pub(crate) fn new() -> Self {
        // Files are mostly in memory, so more at once than processors only take turns, and each waits longer.
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let near = processors.saturating_mul(2).max(4);
        Self {
            near: Arc::new(Semaphore::new(near)),
            lists: Arc::new(Semaphore::new(processors.max(2))),
            far: Mutex::default(),
        }
    }

    /// The gate of a source elsewhere. There are as many as the library has such sources.
    pub(crate) fn far(&self, source: &str) -> Arc<Semaphore> {
        let new = || Arc::new(Semaphore::new(FAR_AT_ONCE));
        Arc::clone(locked(&self.far).entry(source.to_owned()).or_insert_with(new))
    }
}

/// Does blocking work behind a gate, unless it is cancelled before its turn. A panic becomes an error: rmcp answers
/// nothing when a handler panics, and the client would wait for ever.
pub(crate) async fn work<T: Send + 'static>(
    gate: &Arc<Semaphore>,
    cancelled: &CancellationToken,
    work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    let permit = unless_cancelled(cancelled, Arc::clone(gate).acquire_owned()).await?;
    let permit = permit.map_err(|_| stopping())?;
    let task = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match tokio::time::timeout(WORK_TIME, task).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(ErrorData::internal_error("the request could not be answered", None)),
        Err(_elapsed) => Err(ErrorData::internal_error("the request took too long", None)),
    }
}

/// When a list that begins now has to end.
pub(crate) fn end_of_list() -> Instant {
    Instant::now() + LIST_TIME
}

/// Waits for something, unless the request is cancelled before.
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
