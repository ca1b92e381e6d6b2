//! Reading ahead: several threads read the skills of a large folder, and the walk takes the results in order.
//!
//! The walk itself runs on one thread and makes all decisions in its own order: what counts, what ends it, and which of
//! two paths to a file comes first. The threads only read what it will need next. So the results, and where each limit
//! is reached, do not depend on the number of threads. A batch is at most about as large as all batches before it, so a
//! walk that ends at a limit has not done much more work than necessary.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of folders in the first batch. Each batch is twice as large as the one before, since each starts its own
/// threads. A folder with fewer folders is read on one thread: that takes a few milliseconds, less than starting
/// threads. Tests use small folders.
pub(super) const FIRST_BATCH: usize = if cfg!(test) { 3 } else { 512 };
/// The maximum number of folders in a batch. It bounds the memory for results that the walk has not taken yet.
pub(super) const MAX_BATCH: usize = 4096;
/// The number of folders that a thread takes at a time.
const SHARE: usize = if cfg!(test) { 2 } else { 8 };

/// The number of threads that the machine runs at once, within a limit.
pub(super) fn available(limit: usize) -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).min(limit)
}

/// Reads each item on this thread and on others. The results are in the order of the items. Each thread has its own
/// buffer. If the system cannot start a thread, the others do its work.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    read: impl Fn(&T, &mut Vec<u8>) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut results, mut buffer) = (Vec::new(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = items.chunks(SHARE).nth(at) else { return results };
            results.push((at, share.iter().map(|item| read(item, &mut buffer)).collect::<Vec<R>>()));
        }
    };
    let threads = threads.min(items.len().div_ceil(SHARE));
    let mut results = thread::scope(|scope| {
        let others = (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok());
        let others: Vec<_> = others.collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().flat_map(|(_, share)| share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_in_order_whatever_the_number_of_threads() {
        for count in [0, 1, SHARE, SHARE + 1, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            for threads in [0, 1, 2, 4, 80] {
                let made = in_order(&items, threads, |item, _| item * 2);
                assert!(made.into_iter().eq((0..count).map(|item| item * 2)), "{count} on {threads}");
            }
        }
    }
}
