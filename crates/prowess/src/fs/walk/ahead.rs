//! Reading ahead: several threads read the skills of a large folder, while the walk takes the results in order.
//!
//! The walk itself runs on one thread and makes all decisions in its own order: what counts, what ends it, and which of
//! two paths to a file comes first. The threads only read what it will need next. So the results, and where each limit
//! is reached, do not depend on the number of threads. The threads are at most about as far ahead as the walk has come,
//! so a walk that ends at a limit has not done much more work than necessary.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::internal::locked;

/// The number of folders from which several threads read a folder. Fewer are read on one thread: that takes a few
/// milliseconds, and starting threads costs time too. Tests use small folders.
pub(super) const MIN_FOLDERS: usize = if cfg!(test) { 3 } else { 512 };
/// The number of folders that may be read ahead. It bounds the memory for results that the walk has not taken yet.
const MAX_AHEAD: usize = 4096;
/// The number of folders that a thread takes at a time.
const SHARE: usize = if cfg!(test) { 2 } else { 16 };

/// How long the walk waits for the other threads to start.
///
/// Linux puts a new thread on the processor of the thread that started it, although another one is idle, if that thread is
/// new too, and moves it after some milliseconds. A thread that is woken is put on an idle processor. So the walk sleeps
/// until the others have started, which takes less than a tenth of this, and no longer if the machine is busy.
const MAX_START: Duration = Duration::from_millis(1);

/// The number of threads that the machine runs at once, within a limit.
pub(super) fn available(limit: usize) -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).min(limit)
}

/// Reads each item on this thread and on others, and takes the results on this thread, in the order of the items. The
/// first error ends it. Each thread prepares once what it reads with. If the system cannot start a thread, the others do
/// its work.
pub(super) fn in_order<T: Sync, P, R: Send, E>(
    items: &[T],
    threads: usize,
    prepare: impl Fn() -> P + Sync,
    read: impl Fn(&T, &mut P) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
) -> Result<(), E> {
    let shares: Vec<&[T]> = items.chunks(SHARE).collect();
    let queue = Queue::new(shares.len());
    let read_share = |Share { at, mut results }: Share<R>, prepared: &mut P| {
        let items = shares.get(at).into_iter().copied().flatten();
        results.extend(items.map(|item| read(item, prepared)));
        queue.finish(Share { at, results });
    };
    let read_ahead = |starting: Sender<Infallible>| {
        drop(starting);
        let _end = EndOnPanic(&queue);
        let mut prepared = prepare();
        while let Some(share) = queue.next_share() {
            read_share(share, &mut prepared);
        }
    };
    thread::scope(|scope| {
        let _end = EndOnPanic(&queue);
        let (starting, started) = channel();
        let start = |_| {
            let (starting, read_ahead) = (starting.clone(), &read_ahead);
            thread::Builder::new().spawn_scoped(scope, move || read_ahead(starting)).ok()
        };
        let others: Vec<_> = (1..threads.min(shares.len())).filter_map(start).collect();
        drop(starting);
        // It ends when each thread has dropped its end.
        let _ = started.recv_timeout(MAX_START);
        let mut prepared = prepare();
        let take_share = |(at, items): (usize, &&[T])| {
            let mut results = loop {
                match queue.next_step(at) {
                    Step::Take(results) => break results,
                    Step::Read(share) => read_share(share, &mut prepared),
                }
            };
            items.iter().zip(results.drain(..)).try_for_each(|(item, result)| take(item, result))?;
            queue.taken(Share { at, results });
            Ok(())
        };
        let taken = shares.iter().enumerate().try_for_each(take_share);
        queue.end();
        for other in others {
            other.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        taken
    })
}

/// A part of the items, by its number, and the results of reading them.
struct Share<R> {
    at: usize,
    results: Vec<R>,
}

/// What the thread of the walk does next.
enum Step<R> {
    Take(Vec<R>),
    Read(Share<R>),
}

/// The shares of the items: which one is read next, and the results that were not taken yet.
struct Queue<R> {
    shares: usize,
    state: Mutex<State<R>>,
    changed: Condvar,
}

struct State<R> {
    /// The share that is read next.
    next: usize,
    /// The number of shares that were taken.
    taken: usize,
    /// The results of shares that were read and not taken.
    results: BTreeMap<usize, Vec<R>>,
    /// Empty lists of shares that were taken, to be filled again: a new one each time costs a tenth of the reading.
    spare: Vec<Vec<R>>,
    /// Everything was taken, an error ended the walk, or a thread panicked.
    ended: bool,
    /// The number of threads that wait for a change. Mostly it is 0, and waking none still costs a system call.
    waiting: usize,
}

impl<R> Queue<R> {
    fn new(shares: usize) -> Self {
        let (results, spare) = (BTreeMap::new(), Vec::new());
        let state = State { next: 0, taken: 0, results, spare, ended: false, waiting: 0 };
        Self { shares, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until there is an answer. Every change of the state asks again.
    fn wait_for<A>(&self, mut answer: impl FnMut(&mut State<R>) -> Option<A>) -> A {
        let mut state = locked(&self.state);
        loop {
            if let Some(answer) = answer(&mut state) {
                return answer;
            }
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State<R>)) {
        let mut state = locked(&self.state);
        change(&mut state);
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// The next share for a thread that reads ahead; none at the end.
    fn next_share(&self) -> Option<Share<R>> {
        self.wait_for(|state| {
            if state.ended || state.next >= self.shares {
                Some(None)
            } else {
                state.begin(self.shares).map(Some)
            }
        })
    }

    /// What the thread of the walk does when it is the turn of a share. While another thread reads that share, it reads
    /// one too. After a panic it reads what is missing: the panic is reported at the end.
    fn next_step(&self, at: usize) -> Step<R> {
        self.wait_for(|state| match state.results.remove(&at) {
            Some(results) => Some(Step::Take(results)),
            None if state.ended => Some(Step::Read(Share { at, results: Vec::new() })),
            None => state.begin(self.shares).map(Step::Read),
        })
    }

    fn finish(&self, Share { at, results }: Share<R>) {
        self.change(|state| _ = state.results.insert(at, results));
    }

    fn taken(&self, Share { at, results }: Share<R>) {
        self.change(|state| {
            state.taken = at + 1;
            state.spare.push(results);
        });
    }

    fn end(&self) {
        self.change(|state| state.ended = true);
    }
}

impl<R> State<R> {
    /// Begins the next share, unless it is too far ahead of the walk.
    fn begin(&mut self, shares: usize) -> Option<Share<R>> {
        let most = self.taken.clamp(MIN_FOLDERS.div_ceil(SHARE), MAX_AHEAD / SHARE);
        let at = self.next;
        if at >= shares || at >= self.taken + most {
            return None;
        }
        self.next += 1;
        Some(Share { at, results: self.spare.pop().unwrap_or_default() })
    }
}

/// Ends the reading if a thread panics, so that no other thread waits for it.
struct EndOnPanic<'q, R>(&'q Queue<R>);

impl<R> Drop for EndOnPanic<'_, R> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const THREADS: [usize; 5] = [0, 1, 2, 4, 80];

    /// Doubles numbers up to a count, and ends at a limit.
    fn doubled(
        count: usize,
        threads: usize,
        limit: usize,
        read: impl Fn(usize) + Sync,
    ) -> Result<Vec<usize>, usize> {
        let items: Vec<usize> = (0..count).collect();
        let mut taken = Vec::new();
        let double = |item: &usize, (): &mut ()| {
            read(*item);
            item * 2
        };
        in_order(
            &items,
            threads,
            || (),
            double,
            |item, result| {
                if *item == limit {
                    return Err(limit);
                }
                taken.push(result);
                Ok(())
            },
        )?;
        Ok(taken)
    }

    #[test]
    fn the_results_are_in_order_whatever_the_number_of_threads() {
        for count in [0, 1, SHARE, SHARE + 1, 1_000] {
            for threads in THREADS {
                let made = doubled(count, threads, usize::MAX, |_| ()).unwrap();
                assert!(made.into_iter().eq((0..count).map(|item| item * 2)), "{count} on {threads}");
            }
        }
    }

    #[test]
    fn an_error_ends_the_reading_not_far_after_it() {
        for threads in THREADS {
            let last = AtomicUsize::new(0);
            let ended = doubled(100_000, threads, 100, |item| _ = last.fetch_max(item, Ordering::Relaxed));
            assert_eq!(ended, Err(100));
            let last = last.into_inner();
            assert!((100..=200 + 2 * SHARE).contains(&last), "{last} was read on {threads}");
        }
    }

    #[test]
    fn a_panic_of_a_thread_reaches_the_caller_and_nobody_waits_for_it() {
        for threads in THREADS {
            let panics = |item| assert!(item != 500, "the item {item}");
            let caught = catch_unwind(AssertUnwindSafe(|| doubled(1_000, threads, usize::MAX, panics)));
            let panic = caught.unwrap_err();
            assert_eq!(
                panic.downcast_ref::<String>().map(String::as_str),
                Some("the item 500"),
                "on {threads}"
            );
        }
    }
}
