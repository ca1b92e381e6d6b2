//! Failures as exceptions of `prowess/_errors.py`, and exceptions of callbacks as failures.

use std::sync::Arc;

use prowess_native::{Cause, Failure, ForeignError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::ending::Inside;

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

/// The exception of a failure. What a callback threw is its cause.
pub(crate) fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    let Failure { code, message, hint, problems, cause } = failure;
    let thrown = cause.as_ref().and_then(|cause| cause.0.downcast_ref::<PyErr>());
    let thrown = thrown.map(|error| error.clone_ref(py).into_value(py));
    let problems = problems.map(|problems| problems.to_string());
    let make = || -> PyResult<PyErr> {
        let errors = PyModule::import(py, "prowess._errors")?;
        let error = errors.getattr("of_failure")?.call1((code, &message, hint, problems, thrown))?;
        Ok(PyErr::from_value(error))
    };
    // The interpreter may be ending, so that nothing can be imported.
    let error = Inside::enter().and_then(|_inside| make().ok());
    error.unwrap_or_else(|| PyRuntimeError::new_err(message.clone()))
}

/// The failure of a callback.
pub(crate) fn thrown(py: Python<'_>, error: PyErr) -> ForeignError {
    let value = error.value(py);
    let code = || -> PyResult<String> {
        let errors = PyModule::import(py, "prowess._errors")?;
        errors.getattr("code_of")?.call1((value,))?.extract()
    };
    let code = code().unwrap_or_default();
    let code = CODES.into_iter().find(|known| *known == code).unwrap_or("failed");
    let shown = value.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let message = if shown.is_empty() {
        value.get_type().name().map(|name| name.to_string()).unwrap_or_default()
    } else {
        shown
    };
    ForeignError::new(message).with_code(code).with_cause(Cause(Arc::new(error)))
}
