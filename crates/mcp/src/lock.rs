//! Locks that outlive a panic: what they guard is changed in one step, so nothing is ever left half done.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock of something that a panic elsewhere cannot have left half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
