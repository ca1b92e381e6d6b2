//! Operations that may wait: for files, for a site, for callbacks. A signal such as Ctrl-C ends them.

use std::sync::{Arc, Mutex, PoisonError};

use prowess_native::{Cancel, Failure};
use pyo3::prelude::*;

use crate::calling::call_method;
use crate::errors::raised;

/// What a signal raised while an operation ran.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Option<PyErr>>>);

impl Heard {
    fn cancel(&self) -> Cancel {
        let Self(slot) = self.clone();
        Cancel::checking(move || {
            // An interpreter that is ending cannot be asked, and ends the wait too.
            let Some(signal) = Python::try_attach(|py| py.check_signals().err()) else { return true };
            let heard = signal.is_some();
            if heard {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = signal;
            }
            heard
        })
    }

    /// What the operation returned, unless a signal raised.
    fn or<T>(&self, py: Python<'_>, done: Result<T, Failure>) -> PyResult<T> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(signal) => Err(signal),
            None => done.map_err(|failure| raised(py, failure)),
        }
    }
}

/// Runs an operation that looks itself whether it is cancelled.
pub(crate) fn cancelled<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let heard = Heard::default();
    let cancel = heard.cancel();
    let done = py.detach(|| work(&cancel));
    heard.or(py, done)
}

/// Runs an operation that may wait. On the main thread, which alone handles signals, it runs on a thread of its own, while
/// this one runs its callbacks and handles signals.
pub(crate) fn waited<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread(py)? {
        return py.detach(work).map_err(|failure| raised(py, failure));
    }
    cancelled(py, |cancel| prowess_native::apart(cancel, work))
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = PyModule::import(py, "threading")?;
    let main = call_method(&threading, "main_thread", ())?.getattr("ident")?;
    call_method(&threading, "get_ident", ())?.eq(main)
}
