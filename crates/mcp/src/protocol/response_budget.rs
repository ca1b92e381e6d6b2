//! The memory budget of responses that clients have not read yet.
//!
//! A file of 16 MiB is a response of more than 20 MiB, and a slow client keeps all of it in memory. One such response
//! per connection could exhaust the memory of the machine, so the bytes of all responses are counted. Memory for a
//! large file is reserved before the file is read; other responses are built first, and count while they wait too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Responses up to this size are not counted: all connections together hold few of these bytes, and small responses
/// must get through when the budget is exhausted.
pub(crate) const SMALL_RESPONSE: usize = 64 * 1024;

/// The budget did not become free in time.
#[derive(Debug, thiserror::Error)]
#[error("the budget for responses that clients have not read is exhausted: {0} bytes")]
pub(crate) struct BudgetExhausted(usize);

/// The budget, shared by all connections.
pub(crate) struct ResponseBudget {
    /// Bytes of responses that are being sent.
    sending: Arc<Semaphore>,
    /// Bytes of responses that are built and wait to be sent.
    built: Semaphore,
    /// The number of requests that may wait before their response is built.
    waiting: Semaphore,
    most: usize,
}

/// Bytes of the budget that are reserved for a response.
pub(crate) struct Reservation(OwnedSemaphorePermit);

/// Bytes that count until they are dropped.
struct Counted {
    bytes: Bytes,
    _reservation: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Reservation {
    /// The bytes, which count until they are sent or dropped. The rest of the reservation is released.
    pub(crate) fn hold(mut self, bytes: Bytes) -> Bytes {
        if let Some(rest) = self.0.num_permits().checked_sub(bytes.len()) {
            drop(self.0.split(rest));
        }
        Bytes::from_owner(Counted { bytes, _reservation: self.0 })
    }
}

impl ResponseBudget {
    /// A budget of `most` bytes, for which up to `waiting` requests may wait.
    pub(crate) fn new(most: usize, waiting: usize) -> Self {
        let most = most.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        let built = most / 8;
        Self {
            sending: Arc::new(Semaphore::new(most - built)),
            built: Semaphore::new(built),
            waiting: Semaphore::new(waiting),
            most,
        }
    }

    /// The permits for `size` bytes. A response that is larger than the budget takes all of it.
    fn permits(&self, size: usize) -> u32 {
        u32::try_from(size.min(self.most - self.most / 8)).unwrap_or(u32::MAX)
    }

    fn exhausted(&self) -> BudgetExhausted {
        BudgetExhausted(self.most)
    }

    async fn wait(&self, permits: u32, time: Duration) -> Result<Reservation, BudgetExhausted> {
        let reservation = timeout(time, Arc::clone(&self.sending).acquire_many_owned(permits)).await;
        reservation.ok().and_then(Result::ok).map(Reservation).ok_or_else(|| self.exhausted())
    }

    /// Reserves up to `size` bytes for a response that is not built yet. A waiting request holds no memory.
    pub(crate) async fn reserve(&self, size: usize, time: Duration) -> Result<Reservation, BudgetExhausted> {
        let permits = self.permits(size);
        if let Ok(permit) = Arc::clone(&self.sending).try_acquire_many_owned(permits) {
            return Ok(Reservation(permit));
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| self.exhausted())?;
        self.wait(permits, time).await
    }

    /// The bytes of a response that is already built, once they fit.
    pub(crate) async fn admit(&self, bytes: Bytes, time: Duration) -> Result<Bytes, BudgetExhausted> {
        if bytes.len() <= SMALL_RESPONSE {
            return Ok(bytes);
        }
        let permits = self.permits(bytes.len());
        let reservation = match Arc::clone(&self.sending).try_acquire_many_owned(permits) {
            Ok(permit) => Reservation(permit),
            Err(_) => {
                let _counted = self.built.try_acquire_many(permits).map_err(|_| self.exhausted())?;
                self.wait(permits, time).await?
            }
        };
        Ok(reservation.hold(bytes))
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
            assert_eq!(budget.built.available_permits(), 0);
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
            assert_eq!(budget.waiting.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waits, refused);
        assert!(waited.is_err() && refused.is_err());
        let held = reservation.hold(response(200));
        assert!(budget.reserve(500 * 1024, TIME).await.is_ok());
        drop(held);
        assert_eq!(budget.sending.available_permits(), 700 * 1024);
    }
}
