//! The end of the interpreter, which other threads must not meet inside Python code that Rust called.
//!
//! Before Python 3.14, an interpreter that ends stops its daemon threads by unwinding them where they next need it. Frames of
//! Rust on that stack end the whole program. So once the program exits, no thread but the exiting one gets into Python
//! through Rust any more, and those that are inside get a moment to leave.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long threads that are inside may take. A callback that never returns must not keep the program from ending.
const MOMENT: Duration = Duration::from_secs(1);

/// The thread that exits, once it does.
static EXITING: OnceLock<ThreadId> = OnceLock::new();
/// How many threads are inside Python code that Rust called.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// A thread that is inside Python code.
pub(crate) struct Inside;

impl Inside {
    /// `None` if the program exits on another thread.
    pub(crate) fn enter() -> Option<Self> {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // Counted first: either the exiting thread sees this one, or this one sees that it exits.
        let inside = Self;
        EXITING.get().is_none_or(|exiting| *exiting == thread::current().id()).then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs when the program exits, before the interpreter ends.
#[pyfunction]
fn exit(py: Python<'_>) {
    let _ = EXITING.set(thread::current().id());
    py.detach(|| {
        let until = Instant::now() + MOMENT;
        while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Lets [`exit`] run when the program exits.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let exit = wrap_pyfunction!(exit, module)?;
    PyModule::import(module.py(), "atexit")?.call_method1("register", (exit,)).map(drop)
}
