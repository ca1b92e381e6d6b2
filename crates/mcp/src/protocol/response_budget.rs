//! The memory budget of responses that clients have not read yet.
//!
//! A file of 16 MiB is a response of more than 20 MiB, and a slow client keeps all of it in memory. One such response
//! per connection could exhaust the memory of the machine, so the bytes of all responses are counted. Memory for a
//! large file is reserved before the file is read; other responses are built first, and count while they wait too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Responses up to this size are not counted: all connections together hold few of these bytes, and small responses
/// must get through when the budget is exhausted.
pub(crate) const SMALL_RESPONSE: usize = 64 * 1024;

/// The budget did not become free in time.
#[derive(Debug, thiserror::Error)]
#[error("the budget for responses that clients have not read is exhausted: {0} bytes")]
pub(crate) struct BudgetExhausted(usize);

/// The budget: all of it, or the part of one caller.
#[derive(Clone)]
pub(crate) struct ResponseBudget {
    all: Arc<Limits>,
    own: Option<Arc<Limits>>,
    waiting: usize,
}

struct Limits {
    /// Bytes of responses that are being sent.
    sending: Arc<Semaphore>,
    /// Bytes of responses that are built and wait to be sent.
    built: Semaphore,
    /// The number of requests that may wait before their response is built.
    waiting: Semaphore,
    most: usize,
}

/// Bytes of the budget that are reserved for a response: of its caller's part, and of all.
pub(crate) struct Reservation(Vec<OwnedSemaphorePermit>);

/// Bytes that count until they are dropped.
struct Counted {
    bytes: Bytes,
    _reserved: Vec<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Reservation {
    /// The bytes, which count until they are sent or dropped. The rest of the reservation is released.
    pub(crate) fn hold(mut self, bytes: Bytes) -> Bytes {
        for reserved in &mut self.0 {
            if let Some(rest) = reserved.num_permits().checked_sub(bytes.len()) {
                drop(reserved.split(rest));
            }
        }
        Bytes::from_owner(Counted { bytes, _reserved: self.0 })
    }
}

impl ResponseBudget {
    /// A budget of `most` bytes, for which up to `waiting` requests may wait.
    pub(crate) fn new(most: usize, waiting: usize) -> Self {
        Self { all: Arc::new(Limits::new(most, waiting)), own: None, waiting }
    }

    /// The part of a caller whose responses take at most so many bytes. At most half of the requests that may wait are its.
    pub(crate) fn part(&self, most: usize) -> Self {
        let most = most.min(self.all.most);
        Self { own: Some(Arc::new(Limits::new(most, (self.waiting / 2).max(1)))), ..self.clone() }
    }

    /// The number of bytes of all callers.
    pub(crate) fn most(&self) -> usize {
        self.all.most
    }

    /// The limits, and what a response takes of each. A caller waits for its own part first, so that it takes no place of
    /// the others meanwhile. A response that is larger than its part takes half of all, not what the others have.
    fn taken(&self, size: usize) -> impl Iterator<Item = (&Limits, usize)> {
        let of_all = if self.own.is_some() { size.min(self.all.for_sending() / 2) } else { size };
        self.own.iter().map(move |own| (&**own, size)).chain([(&*self.all, of_all)])
    }

    /// Reserves up to `size` bytes for a response that is not built yet. A waiting request holds no memory.
    pub(crate) async fn reserve(&self, size: usize, time: Duration) -> Result<Reservation, BudgetExhausted> {
        let (deadline, mut reserved) = (Instant::now() + time, Vec::with_capacity(2));
        for (limits, size) in self.taken(size) {
            reserved.push(limits.reserve(size, deadline).await?);
        }
        Ok(Reservation(reserved))
    }

    /// The bytes of a response that is already built, once they fit.
    pub(crate) async fn admit(&self, bytes: Bytes, time: Duration) -> Result<Bytes, BudgetExhausted> {
        if bytes.len() <= SMALL_RESPONSE {
            return Ok(bytes);
        }
        let (deadline, mut reserved) = (Instant::now() + time, Vec::with_capacity(2));
        for (limits, size) in self.taken(bytes.len()) {
            reserved.push(limits.admit(size, deadline).await?);
        }
        Ok(Reservation(reserved).hold(bytes))
    }
}

impl Limits {
    fn new(most: usize, waiting: usize) -> Self {
        let most = most.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        let built = most / 8;
        Self {
            sending: Arc::new(Semaphore::new(most - built)),
            built: Semaphore::new(built),
            waiting: Semaphore::new(waiting),
            most,
        }
    }

    /// The bytes of responses that may be sent at once.
    fn for_sending(&self) -> usize {
        self.most - self.most / 8
    }

    /// The permits for `size` bytes. A response that is larger than the budget takes all of it.
    fn permits(&self, size: usize) -> u32 {
        u32::try_from(size.min(self.for_sending())).unwrap_or(u32::MAX)
    }

    fn exhausted(&self) -> BudgetExhausted {
        BudgetExhausted(self.most)
    }

    async fn wait(&self, permits: u32, deadline: Instant) -> Result<OwnedSemaphorePermit, BudgetExhausted> {
        let reserved = timeout_at(deadline, Arc::clone(&self.sending).acquire_many_owned(permits)).await;
        reserved.ok().and_then(Result::ok).ok_or_else(|| self.exhausted())
    }

    async fn reserve(&self, size: usize, deadline: Instant) -> Result<OwnedSemaphorePermit, BudgetExhausted> {
        let permits = self.permits(size);
        if let Ok(permit) = Arc::clone(&self.sending).try_acquire_many_owned(permits) {
            return Ok(permit);
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| self.exhausted())?;
        self.wait(permits, deadline).await
    }

    async fn admit(&self, size: usize, deadline: Instant) -> Result<OwnedSemaphorePermit, BudgetExhausted> {
        let permits = self.permits(size);
        if let Ok(permit) = Arc::clone(&self.sending).try_acquire_many_owned(permits) {
            return Ok(permit);
        }
        let _counted = self.built.try_acquire_many(permits).map_err(|_| self.exhausted())?;
        self.wait(permits, deadline).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(30);

    fn response(kib: usize) -> Bytes {
        vec![b'x'; kib * 1024].into()
    }

    #[tokio::test(start_paused = true)]
    async fn large_responses_wait_for_the_budget_and_small_ones_do_not() {
        let budget = ResponseBudget::new(800 * 1024, 8);
        let first = budget.admit(response(650), TIME).await.unwrap();
        assert_eq!(first, response(650));
        assert!(budget.admit(response(100), TIME).await.is_err());
        assert!(budget.admit(response(64), TIME).await.is_ok());
        // A slice that is not sent yet keeps the whole response counted.
        let rest = first.slice(1000..);
        drop(first);
        assert!(budget.admit(response(100), TIME).await.is_err());
        let (second, ()) = tokio::join!(budget.admit(response(100), TIME), async { drop(rest) });
        assert!(second.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_larger_than_the_budget_is_sent_alone() {
        let budget = ResponseBudget::new(100 * 1024, 8);
        let huge = budget.admit(response(500), TIME).await.unwrap();
        assert!(budget.admit(response(65), TIME).await.is_err());
        drop(huge);
        let huge = budget.reserve(500 * 1024, TIME).await.unwrap().hold(response(500));
        assert!(budget.reserve(1024, TIME).await.is_err());
        drop(huge);
        assert!(budget.admit(response(65), TIME).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn responses_that_wait_count_too() {
        let budget = ResponseBudget::new(800 * 1024, 8);
        let _all = budget.admit(response(700), TIME).await.unwrap();
        let waits = budget.admit(response(100), TIME);
        let refused = async {
            let refused = budget.admit(response(65), TIME * 10).await;
            // The first still waits, and nothing was reserved for the second.
            assert_eq!(budget.all.built.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waits, refused);
        assert!(waited.is_err() && refused.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_unused_part_of_a_reservation_is_released() {
        let budget = ResponseBudget::new(800 * 1024, 1);
        let reservation = budget.reserve(700 * 1024, TIME).await.unwrap();
        // One request waits, and the next is refused at once.
        let waits = budget.reserve(500 * 1024, TIME);
        let refused = async {
            let refused = budget.reserve(500 * 1024, TIME * 10).await;
            assert_eq!(budget.all.waiting.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waits, refused);
        assert!(waited.is_err() && refused.is_err());
        let held = reservation.hold(response(200));
        assert!(budget.reserve(500 * 1024, TIME).await.is_ok());
        drop(held);
        assert_eq!(budget.all.sending.available_permits(), 700 * 1024);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_reads_nothing_leaves_room_for_the_others() {
        let budget = ResponseBudget::new(800 * 1024, 4);
        let (one, other) = (budget.part(400 * 1024), budget.part(400 * 1024));
        let held = one.admit(response(340), TIME).await.unwrap();
        // Two of its requests wait, and the next is refused at once.
        let waits = async { tokio::join!(one.reserve(100 * 1024, TIME), one.reserve(100 * 1024, TIME)) };
        let others = async {
            assert!(one.reserve(100 * 1024, TIME * 10).await.is_err());
            assert!(other.admit(response(300), TIME).await.is_ok());
            assert!(other.reserve(300 * 1024, TIME).await.is_ok());
        };
        let ((first, second), ()) = tokio::join!(waits, others);
        assert!(first.is_err() && second.is_err());
        // One that is larger than the part, or than all, takes all of the part and nothing of the others.
        drop(held);
        for size in [400, 4000] {
            let _huge = one.reserve(size * 1024, TIME).await.unwrap();
            assert!(one.reserve(1, TIME).await.is_err() && other.reserve(300 * 1024, TIME).await.is_ok());
            let _other = other.admit(response(4000), Duration::ZERO).await.unwrap();
        }
    }
}
