//! [`Counting`], an allocator that counts what each thread allocates, so that tests can bound the memory of a piece of code. Unlike
//! resident pages, these counts depend only on the code, not on the state of the machine.
//!
//! A test binary that uses it says so once:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: prowess_testing::Counting = prowess_testing::Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Neither begins by allocating nor needs to be dropped, so the allocator may use it at any time.
    static OF_THREAD: Cell<Counts> = const { Cell::new(Counts { live: 0, peak: 0, total: 0 }) };
}

#[derive(Clone, Copy)]
struct Counts {
    /// Negative where the thread has freed what others allocated.
    live: isize,
    peak: isize,
    total: usize,
}

/// The allocator of the system, with counts.
#[derive(Debug)]
pub struct Counting;

/// What a piece of code allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// The most bytes that it held at once.
    pub peak: usize,
    /// All bytes that it allocated, those that it freed again included.
    pub total: usize,
    /// The bytes that it still holds in its result, or leaked.
    pub kept: isize,
}

/// Runs `code` and counts what it allocates on this thread. Other threads are not counted.
///
/// # Panics
///
/// If [`Counting`] is not the allocator of this program.
pub fn allocated<T>(code: impl FnOnce() -> T) -> (T, Allocated) {
    let before = OF_THREAD.get();
    drop(std::hint::black_box(Box::new(1_u8)));
    assert!(OF_THREAD.get().total > before.total, "`Counting` is not the `global_allocator` of this program");
    OF_THREAD.set(Counts { peak: before.live, total: 0, ..before });
    let result = code();
    let after = OF_THREAD.get();
    let peak = (after.peak - before.live).unsigned_abs();
    (result, Allocated { peak, total: after.total, kept: after.live - before.live })
}

fn count(allocated: usize, freed: usize) {
    let add = |mut counts: Counts| {
        counts.live = counts.live.wrapping_add_unsigned(allocated);
        counts.peak = counts.peak.max(counts.live);
        counts.live = counts.live.wrapping_sub_unsigned(freed);
        counts.total = counts.total.wrapping_add(allocated);
        counts
    };
    // A thread that is ending may have none.
    let _ = OF_THREAD.try_with(|counts| counts.set(add(counts.get())));
}

#[allow(unsafe_code, reason = "the trait is unsafe, and every call goes to the system's allocator unchanged")]
// SAFETY: what `System` promises holds, because each call is passed on to it with the caller's own arguments. Counting
// neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise about `layout` is what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: `pointer` came from `System` with this `layout`, because everything here does.
        unsafe { System.dealloc(pointer, layout) }
    }

    /// Counts the old and the new block as if both were held for a moment, which the system may or may not need.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as in `dealloc`, and the caller promises what `System` asks of `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn what_is_held_and_what_was_allocated_are_counted_apart() {
        let (kept, counted) = allocated(|| {
            for _ in 0..3 {
                drop(std::hint::black_box(vec![1_u8; 1000]));
            }
            std::hint::black_box(vec![0_u8; 10])
        });
        assert_eq!(counted, Allocated { peak: 1000, total: 3010, kept: 10 });
        let ((), counted) = allocated(|| drop(kept));
        assert_eq!(counted, Allocated { peak: 0, total: 0, kept: -10 });
    }

    #[test]
    fn growing_counts_the_old_and_the_new_block() {
        let mut bytes = Vec::<u8>::with_capacity(100);
        let ((), counted) = allocated(|| bytes.reserve_exact(300));
        assert_eq!(counted, Allocated { peak: 300, total: 300, kept: 200 });
    }

    #[test]
    fn other_threads_are_not_counted() {
        let other = std::thread::spawn(|| drop(std::hint::black_box(vec![1_u8; 1 << 20])));
        let (result, counted) = allocated(|| other.join());
        result.unwrap();
        assert!(counted.peak < 1 << 20, "{counted:?}");
    }
}
