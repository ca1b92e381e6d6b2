//! [`Handle`]: whether some skills may still be used: not after they were closed, nor in a process that was forked while
//! another thread used them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use prowess_engine::Failure;

/// The use of some skills.
#[derive(Debug)]
pub(crate) struct Handle {
    /// The process in the upper half, the number of uses in the lower one. They are one number, so that two threads of a
    /// forked process see both change at once.
    uses: AtomicU64,
    closed: Arc<AtomicBool>,
}

/// In place of the number of uses: another thread used the skills when this process was forked.
const FORKED: u32 = u32::MAX;

fn join(process: u32, uses: u32) -> u64 {
    (u64::from(process) << 32) | u64::from(uses)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn split(state: u64) -> (u32, u32) {
    ((state >> 32) as u32, state as u32)
}

/// One use. It ends when this is dropped.
pub(crate) struct InUse<'h>(&'h Handle);

impl Handle {
    pub(crate) fn new(closed: Arc<AtomicBool>) -> Self {
        Self { uses: AtomicU64::new(join(std::process::id(), 0)), closed }
    }

    /// Begins a use.
    pub(crate) fn enter(&self) -> Result<InUse<'_>, Failure> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Failure::new("closed", "these skills are closed"));
        }
        let now = std::process::id();
        let entered = self.uses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            Some(match split(state) {
                (process, FORKED) => join(process, FORKED),
                // A thread that does not exist here may hold a lock.
                (process, uses) if process != now && uses > 0 => join(now, FORKED),
                (process, _) if process != now => join(now, 1),
                (process, uses) => join(process, uses + 1),
            })
        });
        let (process, uses) = split(entered.unwrap_or_else(|state| state));
        if uses == FORKED || (process != now && uses > 0) {
            return Err(Failure::new(
                "forked",
                "these skills were in use by another thread when this process was forked; open them again here",
            ));
        }
        Ok(InUse(self))
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let _ = self.0.uses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            let (process, uses) = split(state);
            // In a forked child the uses may have been counted anew meanwhile.
            (uses != FORKED && uses > 0).then(|| join(process, uses - 1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(process: u32, uses: u32) -> Handle {
        Handle { uses: AtomicU64::new(join(process, uses)), closed: Arc::default() }
    }

    fn refused(handle: &Handle) -> Option<&'static str> {
        handle.enter().err().map(|failure| failure.code)
    }

    #[test]
    fn a_child_uses_what_no_other_thread_used_when_it_was_forked() {
        let parent = std::process::id().wrapping_add(1);
        let child = handle(parent, 0);
        assert_eq!(refused(&child), None);
        assert_eq!(split(child.uses.load(Ordering::Relaxed)), (std::process::id(), 0));
        let child = handle(parent, 1);
        // Every thread of the child is refused, not only the first one.
        assert_eq!((refused(&child), refused(&child)), (Some("forked"), Some("forked")));
        child.close();
        assert_eq!(refused(&child), Some("closed"));
    }

    #[test]
    fn uses_are_counted_until_they_end() {
        let own = handle(std::process::id(), 0);
        let (one, two) = (own.enter().unwrap(), own.enter().unwrap());
        drop(one);
        assert_eq!(split(own.uses.load(Ordering::Relaxed)).1, 1);
        drop(two);
        assert_eq!(split(own.uses.load(Ordering::Relaxed)).1, 0);
    }
}
