//! How many bytes of answers may wait for their readers, in all.
//!
//! A file of 16 MiB is an answer of more than 20, and a reader who takes a byte now and then keeps all of it. As many
//! of them as there are connections would fill the memory of the machine, so answers are counted by their size. Room
//! for a large file is found before it is read; other answers are made first, and those that wait count too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Answers up to this size are not counted: all connections together hold little of them, and they get through when
/// there is no room for large ones.
pub(crate) const SMALL: usize = 64 * 1024;

/// There is no room for an answer.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for more answers that nobody reads: {0} bytes")]
pub(crate) struct NoRoom(usize);

/// The room for answers.
pub(crate) struct Unsent {
    /// For answers on their way to their readers.
    room: Arc<Semaphore>,
    /// For answers that were made and wait for room.
    made: Semaphore,
    /// How many may wait for room with nothing made yet.
    waiting: Semaphore,
    most: usize,
}

/// Room for an answer.
pub(crate) struct Share(OwnedSemaphorePermit);

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

impl Share {
    /// The bytes, which count until they are written or given up. What they do not need of the room is given back.
    pub(crate) fn hold(mut self, bytes: Bytes) -> Bytes {
        if let Some(rest) = self.0.num_permits().checked_sub(bytes.len()) {
            drop(self.0.split(rest));
        }
        Bytes::from_owner(Counted { bytes, _share: self.0 })
    }
}

impl Unsent {
    /// Room for `most` bytes, for which up to `waiting` requests may wait.
    pub(crate) fn new(most: usize, waiting: usize) -> Self {
        let most = most.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        let made = most / 8;
        Self {
            room: Arc::new(Semaphore::new(most - made)),
            made: Semaphore::new(made),
            waiting: Semaphore::new(waiting),
            most,
        }
    }

    /// The permits for so many bytes. What is larger than all the room there is gets through alone.
    fn permits(&self, size: usize) -> u32 {
        u32::try_from(size.min(self.most - self.most / 8)).unwrap_or(u32::MAX)
    }

    fn no_room(&self) -> NoRoom {
        NoRoom(self.most)
    }

    async fn wait(&self, permits: u32, patience: Duration) -> Result<Share, NoRoom> {
        let share = timeout(patience, Arc::clone(&self.room).acquire_many_owned(permits)).await;
        share.ok().and_then(Result::ok).map(Share).ok_or_else(|| self.no_room())
    }

    /// Room for an answer that takes up to so many bytes while it is made. A waiting request holds nothing but a place
    /// among the requests.
    pub(crate) async fn reserve(&self, size: usize, patience: Duration) -> Result<Share, NoRoom> {
        let permits = self.permits(size);
        if let Ok(share) = Arc::clone(&self.room).try_acquire_many_owned(permits) {
            return Ok(Share(share));
        }
        let _waiting = self.waiting.try_acquire().map_err(|_| self.no_room())?;
        self.wait(permits, patience).await
    }

    /// The bytes of an answer that was made already.
    pub(crate) async fn admit(&self, bytes: Bytes, patience: Duration) -> Result<Bytes, NoRoom> {
        if bytes.len() <= SMALL {
            return Ok(bytes);
        }
        let permits = self.permits(bytes.len());
        let share = match Arc::clone(&self.room).try_acquire_many_owned(permits) {
            Ok(share) => Share(share),
            Err(_) => {
                let _held = self.made.try_acquire_many(permits).map_err(|_| self.no_room())?;
                self.wait(permits, patience).await?
            }
        };
        Ok(share.hold(bytes))
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
        let unsent = Unsent::new(800 * 1024, 8);
        let first = unsent.admit(answer(650), TIME).await.unwrap();
        assert_eq!(first, answer(650));
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
        let huge = unsent.reserve(500 * 1024, TIME).await.unwrap().hold(answer(500));
        assert!(unsent.reserve(1024, TIME).await.is_err());
        drop(huge);
        assert!(unsent.admit(answer(65), TIME).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_wait_for_room_count_too() {
        let unsent = Unsent::new(800 * 1024, 8);
        let _all = unsent.admit(answer(700), TIME).await.unwrap();
        let waits = unsent.admit(answer(100), TIME);
        let refused = async {
            let refused = unsent.admit(answer(65), TIME * 10).await;
            // The first has not given up yet: nothing was held for the second.
            assert_eq!(unsent.made.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waits, refused);
        assert!(waited.is_err() && refused.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn room_that_was_reserved_and_is_not_needed_is_given_back() {
        let unsent = Unsent::new(800 * 1024, 1);
        let share = unsent.reserve(700 * 1024, TIME).await.unwrap();
        // One waits for room, and the next is refused at once.
        let waits = unsent.reserve(500 * 1024, TIME);
        let refused = async {
            let refused = unsent.reserve(500 * 1024, TIME * 10).await;
            assert_eq!(unsent.waiting.available_permits(), 0);
            refused
        };
        let (waited, refused) = tokio::join!(waits, refused);
        assert!(waited.is_err() && refused.is_err());
        let held = share.hold(answer(200));
        assert!(unsent.reserve(500 * 1024, TIME).await.is_ok());
        drop(held);
        assert_eq!(unsent.room.available_permits(), 700 * 1024);
    }
}
