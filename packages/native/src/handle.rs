//! [`Handle`]: whether some skills may still be used: not after they were closed, nor in a process that was forked while
//! another thread used them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use prowess_engine::Failure;

/// The use of some skills.
#[derive(Debug)]
pub(crate) struct Handle {
    process: AtomicU32,
    in_use: AtomicUsize,
    forked: AtomicBool,
    closed: Arc<AtomicBool>,
}

/// One use. It ends when this is dropped.
pub(crate) struct InUse<'h>(&'h Handle);

impl Handle {
    pub(crate) fn new(closed: Arc<AtomicBool>) -> Self {
        Self {
            process: AtomicU32::new(std::process::id()),
            in_use: AtomicUsize::new(0),
            forked: AtomicBool::new(false),
            closed,
        }
    }

    /// Begins a use.
    pub(crate) fn enter(&self) -> Result<InUse<'_>, Failure> {
        let now = std::process::id();
        if self.process.swap(now, Ordering::Relaxed) != now && self.in_use.swap(0, Ordering::Relaxed) > 0 {
            // A thread that does not exist here may hold a lock.
            self.forked.store(true, Ordering::Relaxed);
        }
        if self.forked.load(Ordering::Relaxed) {
            return Err(Failure::new(
                "forked",
                "these skills were in use by another thread when this process was forked; open them again here",
            ));
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(Failure::new("closed", "these skills are closed"));
        }
        self.in_use.fetch_add(1, Ordering::Relaxed);
        Ok(InUse(self))
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        // In a forked child the count may have been reset meanwhile.
        let less = |count: usize| count.checked_sub(1);
        let _ = self.0.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}
