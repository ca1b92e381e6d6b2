//! Blocking work away from the threads of the runtime: so much at once, for so long, and no panic gets out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::ErrorData;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::lock::locked;

/// The longest a request may work: longer than a source elsewhere may, so that its own error is heard.
const WORK_TIME: Duration = Duration::from_secs(20);
/// How many requests read from one source elsewhere at once.
const FAR_AT_ONCE: usize = 4;

/// Where requests wait for their turn, in queues and not in threads.
pub(crate) struct Gates {
    /// For what lies here.
    pub(crate) near: Arc<Semaphore>,
    /// For what is read from elsewhere, one for each source: one that does not answer takes no place of another, nor of
    /// what is read here.
    far: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Gates {
    pub(crate) fn new() -> Self {
        // Files are mostly in memory, so more at once than processors only take turns, and each waits longer.
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let near = processors.saturating_mul(2).max(4);
        Self { near: Arc::new(Semaphore::new(near)), far: Mutex::default() }
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
    let permit = tokio::select! {
        permit = Arc::clone(gate).acquire_owned() => permit.map_err(|_| stopping())?,
        () = cancelled.cancelled() => return Err(stopping()),
    };
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

fn stopping() -> ErrorData {
    ErrorData::internal_error("the server is stopping", None)
}
