//! Failures as exceptions of `prowess/_errors.py`, and exceptions of callbacks as failures.

use std::sync::Arc;

use prowess_native::{Cause, Failure, ForeignError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

use crate::calling::call;

/// The codes that a callback may have.
const CODES: [&str; 10] = [
    "missing",
    "outside",
    "not-a-file",
    "too-large",
    "broken",
    "not-as-listed",
    "timeout",
    "cancelled",
    "closed",
    "busy",
];

/// A function of `prowess/_errors.py`. It is looked up once: an interpreter that is ending cannot import it.
fn function<'py>(
    py: Python<'py>,
    name: &str,
    known: &'py PyOnceLock<Py<PyAny>>,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = || PyModule::import(py, "prowess._errors")?.getattr(name).map(Bound::unbind);
    Ok(known.get_or_try_init(py, found)?.bind(py))
}

/// The exception of a failure. What a callback threw is its cause.
pub(crate) fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    static OF_FAILURE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let Failure { code, message, hint, problems, cause } = failure;
    let thrown = cause.as_ref().and_then(|cause| cause.0.downcast_ref::<PyErr>());
    let thrown = thrown.map(|error| error.clone_ref(py).into_value(py));
    let problems = problems.map(|problems| problems.to_string());
    let make = || -> PyResult<PyErr> {
        let of_failure = function(py, "of_failure", &OF_FAILURE)?;
        let error = call(of_failure, (code, message, hint, problems, thrown))?;
        Ok(PyErr::from_value(error))
    };
    // A signal may raise in there, and must not be lost.
    make().unwrap_or_else(|error| error)
}

/// The failure of a callback.
pub(crate) fn thrown(py: Python<'_>, error: PyErr) -> ForeignError {
    static DESCRIBED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let described = || -> PyResult<(String, String)> {
        call(function(py, "described", &DESCRIBED)?, (error.value(py),))?.extract()
    };
    match described() {
        Ok((code, message)) => {
            let code = CODES.into_iter().find(|known| *known == code).unwrap_or("failed");
            ForeignError::new(message).with_code(code).with_cause(Cause(Arc::new(error)))
        }
        // What a signal raises ends the operation.
        Err(signal) => {
            ForeignError::new("this was cancelled").with_code("cancelled").with_cause(Cause(Arc::new(signal)))
        }
    }
}
