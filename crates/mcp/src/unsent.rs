//! How many bytes of answers may wait for their readers, in all.
//!
//! A file of 16 MiB is an answer of more than 20, and a reader who takes a byte now and then keeps all of it. As many
//! of them as there are connections would fill the memory of the machine, so answers are counted by their size.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Answers up to this size are not counted: all connections together hold little of them, and they get through when
/// there is no room for large ones.
const SMALL: usize = 64 * 1024;

/// There is no room for an answer.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for more answers that nobody reads: {0} bytes")]
pub(crate) struct NoRoom(usize);

/// The room for answers.
pub(crate) struct Unsent {
    room: Arc<Semaphore>,
    most: usize,
    waiting: Semaphore,
}

/// Bytes that count until nobody holds them.
struct Counted {
    bytes: Bytes,
    _share: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Unsent {
    /// Room for `most` bytes, for which up to `waiting` answers may wait.
    pub(crate) fn new(most: usize, waiting: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(most)), most, waiting: Semaphore::new(waiting) }
    }

    /// The bytes of an answer, which count until they are written or given up. One that is larger than all the room
    /// there is gets through alone.
    pub(crate) async fn admit(&self, bytes: Bytes, time: Duration) -> Result<Bytes, NoRoom> {
        if bytes.len() <= SMALL {
            return Ok(bytes);
        }
        let size = u32::try_from(bytes.len().min(self.most)).unwrap_or(u32::MAX);
        let room = || Arc::clone(&self.room);
        let share = match room().try_acquire_many_owned(size) {
            Ok(share) => share,
            Err(_) => {
                // Who waits is held in memory too, and keeps a place among the requests.
                let _waiting = self.waiting.try_acquire().map_err(|_| NoRoom(self.most))?;
                let share = timeout(time, room().acquire_many_owned(size)).await;
                share.ok().and_then(Result::ok).ok_or(NoRoom(self.most))?
            }
        };
        Ok(Bytes::from_owner(Counted { bytes, _share: share }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(30);

    fn answer(kib: usize) -> Bytes {
        vec![b'x'; kib * 1024].into()
    }

    #[tokio::test(start_paused = true)]
    async fn large_answers_wait_for_room_and_small_ones_do_not() {
        let unsent = Unsent::new(200 * 1024, 8);
        let first = unsent.admit(answer(150), TIME).await.unwrap();
        assert_eq!(first, answer(150));
        assert!(unsent.admit(answer(100), TIME).await.is_err());
        assert!(unsent.admit(answer(64), TIME).await.is_ok());
        // A part that is still to be written keeps the whole.
        let rest = first.slice(1000..);
        drop(first);
        assert!(unsent.admit(answer(100), TIME).await.is_err());
        let (second, ()) = tokio::join!(unsent.admit(answer(100), TIME), async { drop(rest) });
        assert!(second.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_larger_than_all_the_room_gets_through_alone() {
        let unsent = Unsent::new(100 * 1024, 8);
        let huge = unsent.admit(answer(500), TIME).await.unwrap();
        assert!(unsent.admit(answer(65), TIME).await.is_err());
        drop(huge);
        assert!(unsent.admit(answer(65), TIME).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_wait_for_room() {
        let unsent = Unsent::new(100 * 1024, 1);
        let _all = unsent.admit(answer(100), TIME).await.unwrap();
        let waiting = unsent.admit(answer(100), TIME);
        let refused = async {
            let refused = unsent.admit(answer(100), TIME * 10).await;
            // The first has not given up yet: nobody waited for the second.
            assert_eq!(unsent.waiting.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waiting, refused);
        assert!(waited.is_err() && refused.is_err());
    }
}
