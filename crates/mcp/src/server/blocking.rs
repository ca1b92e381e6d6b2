//! Blocking work outside the runtime's threads, with limits, a timeout and no escaping panics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use prowess::internal::locked;

/// The timeout of a request: longer than that of a remote source, so that the source's own error is reported.
const WORK_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a list may inspect files before it ends its page; the next page continues there.
const LIST_TIME: Duration = Duration::from_secs(5);
/// The maximum number of requests that read from one remote source at once.
const MAX_PER_SOURCE: usize = 4;

/// How much work may run at once: of all callers, and of one.
#[derive(Clone)]
pub(crate) struct WorkLimit {
    all: Arc<Semaphore>,
    own: Option<Arc<Semaphore>>,
    most: usize,
}

/// The permits of work that runs.
type WorkPermits = (Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl WorkLimit {
    fn new(most: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), own: None, most }
    }

    /// The part of one caller: half.
    fn part(&self) -> Self {
        let most = self.most.div_ceil(2);
        Self { own: Some(Arc::new(Semaphore::new(most))), ..self.clone() }
    }

    /// A caller waits for its own part first, so that its work takes no place of the others meanwhile.
    async fn permits(&self) -> Result<WorkPermits, AcquireError> {
        let own = match &self.own {
            Some(own) => Some(Arc::clone(own).acquire_owned().await?),
            None => None,
        };
        Ok((own, Arc::clone(&self.all).acquire_owned().await?))
    }
}

/// The limits on blocking work: of all callers, or the part of one. Requests wait for a permit as tasks, not as threads.
pub(crate) struct WorkLimits {
    /// For work on local skills.
    pub(crate) local: WorkLimit,
    /// For lists, which inspect the files of many skills and so must not block other requests.
    pub(crate) lists: WorkLimit,
    /// One for each remote source, so that a slow source blocks neither the others nor local work.
    remote: Mutex<BTreeMap<String, WorkLimit>>,
    whole: Option<Arc<Self>>,
}

impl WorkLimits {
    pub(crate) fn new() -> Self {
        // Files are mostly in the page cache, so more threads than processors only slow each other down.
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let local = processors.saturating_mul(2).max(4);
        let (local, lists) = (WorkLimit::new(local), WorkLimit::new(processors.max(2)));
        Self { local, lists, remote: Mutex::default(), whole: None }
    }

    /// The part of one caller.
    pub(crate) fn part_of(whole: &Arc<Self>) -> Self {
        let (local, lists) = (whole.local.part(), whole.lists.part());
        Self { local, lists, remote: Mutex::default(), whole: Some(Arc::clone(whole)) }
    }

    /// The limit of a remote source.
    pub(crate) fn remote(&self, source: &str) -> WorkLimit {
        let new = || match &self.whole {
            Some(whole) => whole.remote(source).part(),
            None => WorkLimit::new(MAX_PER_SOURCE),
        };
        locked(&self.remote).entry(source.to_owned()).or_insert_with(new).clone()
    }
}

/// Runs blocking work with a permit, unless the request is cancelled before. A panic becomes an error: rmcp sends no
/// response when a handler panics, and the client would wait forever.
pub(crate) async fn work<T: Send + 'static>(
    limit: &WorkLimit,
    cancelled: &CancellationToken,
    work: impl FnOnce() -> Result<T, ErrorData> + Send + 'static,
) -> Result<T, ErrorData> {
    let permits = unless_cancelled(cancelled, limit.permits()).await?;
    let permits = permits.map_err(|_| stopping())?;
    let task = tokio::task::spawn_blocking(move || {
        let _permits = permits;
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

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_with_much_work_keeps_no_other_waiting() {
        let whole = Arc::new(WorkLimits::new());
        let (one, other) = (WorkLimits::part_of(&whole), WorkLimits::part_of(&whole));
        let kinds: [fn(&WorkLimits) -> WorkLimit; 3] =
            [|limits| limits.local.clone(), |limits| limits.lists.clone(), |limits| limits.remote("slow")];
        for of in kinds {
            let (own, most) = (of(&one), of(&whole).most);
            let mut running = Vec::new();
            while let Ok(permits) = timeout(Duration::ZERO, own.permits()).await {
                running.push(permits.unwrap());
            }
            assert_eq!(running.len(), most.div_ceil(2));
            // More of its work waits, and that of another caller begins at once.
            let mut waiting = std::pin::pin!(own.permits());
            assert!(timeout(Duration::ZERO, waiting.as_mut()).await.is_err());
            let others = timeout(Duration::ZERO, of(&other).permits()).await;
            assert!(others.is_ok_and(|permits| permits.is_ok()));
            drop(running);
            assert!(waiting.await.is_ok());
        }
    }
    #[test]
    fn many_sources_that_hang_leave_threads_for_local_work() {
        let runtime = crate::runtime().unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = locked(&gate);
        let (limits, never) = (WorkLimits::new(), CancellationToken::new());
        runtime.block_on(async {
            for source in 0..20 {
                let limit = limits.remote(&source.to_string());
                for _ in 0..MAX_PER_SOURCE {
                    let (limit, never, gate) = (limit.clone(), never.clone(), Arc::clone(&gate));
                    let hanging = move || {
                        drop(locked(&gate));
                        Ok(())
                    };
                    tokio::spawn(async move { work(&limit, &never, hanging).await });
                }
                while limit.all.available_permits() > 0 {
                    tokio::task::yield_now().await;
                }
            }
            assert_eq!(work(&limits.local, &never, || Ok("done")).await.unwrap(), "done");
        });
        drop(closed);
        runtime.shutdown_background();
    }
}
