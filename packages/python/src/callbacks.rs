//! Parts of the host in Python: objects with the narrow interface of `prowess/_callbacks.py`.

use prowess_native::{ForeignEmbedder, ForeignError, ForeignHost, ForeignSelector, ForeignSource, Listed};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::calling::call_method;
use crate::errors::thrown;

/// Calls into Python, and makes a failure of what it raises. An interpreter that ended takes no calls.
fn called<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ForeignError> {
    Python::try_attach(|py| work(py).map_err(|error| thrown(py, error)))
        .unwrap_or_else(|| Err(ForeignError::new("the program exits").with_code("closed")))
}

/// JSON that Python wrote.
fn parsed(text: &str) -> Result<Vec<Value>, ForeignError> {
    serde_json::from_str(text).map_err(|error| ForeignError::new(error.to_string()))
}

pub(crate) struct Source(pub(crate) Py<PyAny>);

impl ForeignSource for Source {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        called(|py| {
            let listed = call_method(self.0.bind(py), "list", ())?;
            let listed: Vec<(String, Option<String>, Option<Bound<'_, PyBytes>>)> = listed.extract()?;
            let skill = |(id, location, text): (String, _, Option<Bound<'_, PyBytes>>)| Listed {
                id,
                location,
                text: text.map(|text| text.as_bytes().to_vec()),
            };
            Ok(listed.into_iter().map(skill).collect())
        })
    }

    fn files(&self, id: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        let files: Option<String> = called(|py| call_method(self.0.bind(py), "files", (id,))?.extract())?;
        files.as_deref().map(parsed).transpose()
    }

    fn read(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        called(|py| {
            let bytes = call_method(self.0.bind(py), "read", (id, path))?;
            let bytes: Option<Bound<'_, PyBytes>> = bytes.extract()?;
            Ok(bytes.map(|bytes| bytes.as_bytes().to_vec()))
        })
    }
}

pub(crate) struct Selector(pub(crate) Py<PyAny>);

impl ForeignSelector for Selector {
    fn select(&self, asked: Value, skills: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        let (asked, skills) = (asked.to_string(), Value::from(skills).to_string());
        let hits: String = called(|py| call_method(self.0.bind(py), "select", (asked, skills))?.extract())?;
        parsed(&hits)
    }
}

pub(crate) struct Embedder(pub(crate) Py<PyAny>);

impl ForeignEmbedder for Embedder {
    fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ForeignError> {
        called(|py| call_method(self.0.bind(py), "embed", (texts,))?.extract())
    }
}

pub(crate) struct Host(pub(crate) Py<PyAny>);

impl ForeignHost for Host {
    fn approve(&self, skill: Value, digest: String) -> Result<bool, ForeignError> {
        called(|py| call_method(self.0.bind(py), "approve", (skill.to_string(), digest))?.extract())
    }

    fn run(&self, skill: Value, asked: Value) -> Result<(Option<i32>, String), ForeignError> {
        let given = (skill.to_string(), asked.to_string());
        called(|py| call_method(self.0.bind(py), "run", given)?.extract())
    }

    fn report(&self, error: &ForeignError, effect: Value) -> Result<(), ForeignError> {
        let cause = error.cause.as_ref().and_then(|cause| cause.0.downcast_ref::<PyErr>());
        called(|py| {
            let cause = cause.map(|error| error.clone_ref(py).into_value(py));
            let given = (error.code, &error.message, cause, effect.to_string());
            call_method(self.0.bind(py), "report", given).map(drop)
        })
    }
}
