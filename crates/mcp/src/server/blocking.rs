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
/// The same of all remote sources together.
const MAX_REMOTE: usize = 128;
/// The number of threads for the other blocking work: reloads and looks at the token file.
const OTHER_THREADS: usize = 64;

/// The maximum number of requests on local skills at once, of those that list, and of polls of subscriptions.
fn max_local() -> [usize; 3] {
    // Files are mostly in the page cache, so more threads than processors only slow each other down.
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    [processors.saturating_mul(2).max(4), processors.max(2), processors.max(2)]
}

/// The number of threads that blocking work needs, so that remote sources that hang leave those of other work.
pub(crate) fn max_threads() -> usize {
    max_local().iter().sum::<usize>() + MAX_REMOTE + OTHER_THREADS
}

/// What work holds while it runs.
pub(crate) type Permits = Vec<OwnedSemaphorePermit>;

/// How much work may run at once: of all callers, and of one.
#[derive(Clone)]
pub(crate) struct WorkLimit {
    all: Arc<Semaphore>,
    own: Option<Arc<Semaphore>>,
    most: usize,
    /// A limit on this work and on other work, taken after this one: work that waits here takes nothing of it.
    shared: Option<Arc<Self>>,
}

impl WorkLimit {
    fn new(most: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(most)), own: None, most, shared: None }
    }

    /// The part of one caller: half.
    fn part(&self) -> Self {
        let most = (self.most / 2).max(1);
        Self { own: Some(Arc::new(Semaphore::new(most))), ..self.clone() }
    }

    /// The limits in the order in which they are taken. A caller waits for its own part first, so that its work takes no
    /// place of the others meanwhile.
    fn semaphores(&self) -> impl Iterator<Item = &Arc<Semaphore>> {
        let limits = [Some(self), self.shared.as_deref()].into_iter().flatten();
        limits.flat_map(|limit| limit.own.iter().chain([&limit.all]))
    }

    /// Waits until work may begin. It counts until the permits are dropped.
    pub(crate) async fn permits(&self) -> Result<Permits, AcquireError> {
        let mut permits = Vec::with_capacity(4);
        for semaphore in self.semaphores() {
            permits.push(Arc::clone(semaphore).acquire_owned().await?);
        }
        Ok(permits)
    }

    /// The permits, if work may begin at once.
    pub(crate) fn permits_now(&self) -> Option<Permits> {
        self.semaphores().map(|semaphore| Arc::clone(semaphore).try_acquire_owned().ok()).collect()
    }
}

/// The limits on blocking work: of all callers, or the part of one. Requests wait for a permit as tasks, not as threads.
pub(crate) struct WorkLimits {
    /// For work on local skills.
    pub(crate) local: WorkLimit,
    /// For lists, which inspect the files of many skills and so must not block other requests.
    pub(crate) lists: WorkLimit,
    /// For polls of subscriptions, which no request waits for.
    pub(crate) polls: WorkLimit,
    /// One for each remote source, so that a slow source blocks neither the others nor local work.
    remote: Mutex<BTreeMap<String, WorkLimit>>,
    /// For all remote sources, so that many that hang leave threads for local work.
    all_remote: Arc<WorkLimit>,
    whole: Option<Arc<Self>>,
}

impl WorkLimits {
    pub(crate) fn new() -> Self {
        let [local, lists, polls] = max_local().map(WorkLimit::new);
        let all_remote = Arc::new(WorkLimit::new(MAX_REMOTE));
        Self { local, lists, polls, remote: Mutex::default(), all_remote, whole: None }
    }

    /// The part of one caller.
    pub(crate) fn part_of(whole: &Arc<Self>) -> Self {
        let [local, lists, polls] = [&whole.local, &whole.lists, &whole.polls].map(WorkLimit::part);
        let all_remote = Arc::new(whole.all_remote.part());
        Self { local, lists, polls, remote: Mutex::default(), all_remote, whole: Some(Arc::clone(whole)) }
    }

    /// The limit of a remote source.
    pub(crate) fn remote(&self, source: &str) -> WorkLimit {
        let new = || {
            let own = match &self.whole {
                Some(whole) => whole.remote(source).part(),
                None => WorkLimit::new(MAX_PER_SOURCE),
            };
            WorkLimit { shared: Some(Arc::clone(&self.all_remote)), ..own }
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
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The permits, if they need not be waited for. Polled outside of a runtime, which makes a task wait after a number of
    /// permits that machines with many processors have.
    fn at_once(limit: &WorkLimit) -> Option<Permits> {
        let mut waiting = std::pin::pin!(limit.permits());
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permits) => Some(permits.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_caller_with_much_work_keeps_no_other_waiting() {
        let whole = Arc::new(WorkLimits::new());
        let (one, other) = (WorkLimits::part_of(&whole), WorkLimits::part_of(&whole));
        let kinds: [fn(&WorkLimits) -> WorkLimit; 5] = [
            |limits| limits.local.clone(),
            |limits| limits.lists.clone(),
            |limits| limits.polls.clone(),
            |limits| limits.remote("slow"),
            |limits| WorkLimit::clone(&limits.all_remote),
        ];
        for of in kinds {
            let (own, most) = (of(&one), of(&whole).most);
            let mut running = Vec::new();
            while let Some(permits) = at_once(&own) {
                running.push(permits);
            }
            assert_eq!(running.len(), most / 2);
            // More of its work waits, and that of another caller begins at once.
            let mut waiting = std::pin::pin!(own.permits());
            let mut context = Context::from_waker(Waker::noop());
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            assert!(at_once(&of(&other)).is_some());
            drop(running);
            assert!(waiting.as_mut().poll(&mut context).is_ready());
        }
    }

    #[test]
    fn many_sources_that_hang_leave_threads_for_local_work() {
        let runtime = crate::runtime().unwrap();
        let gate = Arc::new(Mutex::new(()));
        let closed = locked(&gate);
        let (limits, never) = (WorkLimits::new(), CancellationToken::new());
        runtime.block_on(async {
            // Enough to take every thread.
            for source in 0..max_threads().div_ceil(MAX_PER_SOURCE) {
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

    #[test]
    fn work_that_waits_for_its_source_takes_no_place_of_other_sources() {
        let limits = WorkLimits::new();
        let slow = limits.remote("slow");
        let mut running = Vec::new();
        while let Some(permits) = at_once(&slow) {
            running.push(permits);
        }
        let mut waiting = std::pin::pin!(slow.permits());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(running.len(), MAX_PER_SOURCE);
        assert_eq!(limits.all_remote.all.available_permits(), MAX_REMOTE - MAX_PER_SOURCE);
        assert!(at_once(&limits.remote("quick")).is_some());
    }
}
