//! [`Inside`]: which operations of a registry a thread is inside of, so that a source that uses the skills it is read
//! for gets an error, and does not wait for itself.

use std::cell::RefCell;

/// An operation that calls sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Listing the sources.
    Refresh,
    /// Reading skills for a search.
    Index,
}

thread_local! {
    /// The operations that this thread is inside of, each with the id of its registry.
    static INSIDE: RefCell<Vec<(u64, Operation)>> = const { RefCell::new(Vec::new()) };
}

/// The time that a thread is inside an operation of a registry.
#[derive(Debug)]
pub(crate) struct Inside((u64, Operation));

impl Inside {
    /// Enters an operation.
    pub(crate) fn enter(registry: u64, operation: Operation) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push((registry, operation)));
        Self((registry, operation))
    }

    /// How often this thread is inside an operation.
    pub(crate) fn depth(registry: u64, operation: Operation) -> usize {
        INSIDE.with_borrow(|inside| inside.iter().filter(|other| **other == (registry, operation)).count())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(|inside| {
            if let Some(at) = inside.iter().rposition(|other| *other == self.0) {
                inside.remove(at);
            }
        });
    }
}
