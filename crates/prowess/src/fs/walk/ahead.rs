//! Looking at many folders at once: several threads read the skills of a large folder, and the walk takes them in order.
//!
//! The walk itself stays on one thread and decides everything in its own order: what counts, what ends it, which of two
//! ways to a file is the first. Threads only read what it will ask for next. So what is found, and where each limit is
//! reached, does not depend on their number. Each batch is at most about as large as all before it, so that a walk that
//! ends at a limit has not done much more than it needed.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many folders are read before the walk takes what was found in them, at first. Each batch is twice the one before,
/// since threads are started for each. A folder with fewer folders is read on one thread: that takes a few milliseconds,
/// and threads of their own would cost more than they save. Tests have small folders.
pub(super) const FIRST_BATCH: usize = if cfg!(test) { 3 } else { 512 };
/// The most folders in a batch: what bounds the memory for what the walk did not take yet.
pub(super) const MAX_BATCH: usize = 4096;
/// How many folders a thread takes at a time.
const SHARE: usize = if cfg!(test) { 2 } else { 8 };

/// As many threads as the machine runs at once, within a limit.
pub(super) fn available(limit: usize) -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).min(limit)
}

/// Reads each item, on this thread and on others; the results are in the order of the items. Each thread has a buffer.
/// When the system starts no more threads, those that there are do the work.
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
