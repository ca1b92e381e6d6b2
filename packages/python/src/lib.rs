//! The extension module of the Python package: functions and handles that take and return JSON as text, and bytes beside it.
//!
//! `prowess/` has the interface for programs. The interpreter is released while an operation runs. Parts of the host are
//! Python objects with a narrow interface, which `prowess/_callbacks.py` makes of what users write.

mod callbacks;
mod calling;
mod errors;
mod waiting;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use prowess_native::{Cancel, Failure, Foreign};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use callbacks::{Embedder, Host, Selector, Source};
use errors::raised;
use waiting::{cancelled, waited};

/// The memory of very many skills, apart from that of Python: glibc gives it back to the system as soon as a list is freed,
/// and the next one has to get it again page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The operations that read no files and call no callbacks. Each other one may wait.
const QUICK: [&str; 7] = ["all", "embeddedTexts", "get", "has", "keys", "problems", "size"];
/// The operations of a chat that may wait.
const OF_CHAT: [&str; 8] =
    ["activate", "answer", "answerAll", "call", "preload", "prompt", "resumePending", "userMessage"];
/// The operations without state that read files.
const OF_FILES: [&str; 6] =
    ["activationOfPath", "checkPath", "discover", "filesOfFolder", "filesOfPath", "loadPath"];

/// Runs an operation without state.
#[pyfunction]
#[pyo3(signature = (operation, input, data = None))]
fn run(py: Python<'_>, operation: &str, input: &str, data: Option<&[u8]>) -> PyResult<String> {
    if OF_FILES.contains(&operation) {
        let (operation, input) = (operation.to_owned(), input.to_owned());
        return waited(py, move || prowess_native::run(&operation, &input, &[]));
    }
    let data = data.unwrap_or_default();
    py.detach(|| prowess_native::run(operation, input, data)).map_err(|failure| raised(py, failure))
}

/// Bytes of a file of the skill at a path, and the size of the whole file.
#[pyfunction]
fn read_path<'py>(
    py: Python<'py>,
    skill: PathBuf,
    path: &str,
    offset: u64,
    limit: usize,
) -> PyResult<(Bound<'py, PyBytes>, u64)> {
    let path = path.to_owned();
    let (bytes, size) = waited(py, move || prowess_native::files::read_path(&skill, &path, offset, limit))?;
    Ok((PyBytes::new(py, &bytes), size))
}

/// Something that can be closed while others use it.
struct Open<T>(Mutex<Option<Arc<T>>>);

impl<T> Open<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(Some(Arc::new(value))))
    }

    fn get(&self, py: Python<'_>, what: &str) -> PyResult<Arc<T>> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        value.ok_or_else(|| raised(py, Failure::new("closed", format!("{what} closed"))))
    }

    fn take(&self) -> Option<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The skills of some sources.
#[pyclass(frozen, module = "prowess._native")]
struct Skills(Open<prowess_native::Skills>);

#[pymethods]
impl Skills {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        input: &str,
        sources: Vec<Py<PyAny>>,
        selector: Option<Py<PyAny>>,
        embedder: Option<Py<PyAny>>,
        host: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let foreign = Foreign {
            sources: sources.into_iter().map(|source| Arc::new(Source(source)) as _).collect(),
            selector: selector.map(|selector| Arc::new(Selector(selector)) as _),
            embedder: embedder.map(|embedder| Arc::new(Embedder(embedder)) as _),
            host: host.map(|host| Arc::new(Host(host)) as _),
            // Python limits its callbacks itself: see `prowess/_callbacks.py`.
            timeout: None,
        };
        let input = input.to_owned();
        let skills = waited(py, move || prowess_native::Skills::open(&input, foreign, &Cancel::new()))?;
        Ok(Self(Open::new(skills)))
    }

    fn run(&self, py: Python<'_>, operation: &str, input: &str) -> PyResult<String> {
        let skills = self.0.get(py, "these skills are")?;
        if QUICK.contains(&operation) {
            let done = py.detach(|| skills.run(operation, input, &Cancel::new()));
            return done.map_err(|failure| raised(py, failure));
        }
        let (operation, input) = (operation.to_owned(), input.to_owned());
        waited(py, move || skills.run(&operation, &input, &Cancel::new()))
    }

    /// The exceptions of the sources that could not be listed at the last refresh.
    fn unlisted(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let skills = self.0.get(py, "these skills are")?;
        let failures = skills.unlisted().map_err(|failure| raised(py, failure))?;
        Ok(failures.into_iter().map(|failure| raised(py, failure).into_value(py).into_any()).collect())
    }

    fn offered(&self, py: Python<'_>) -> PyResult<Offered> {
        let skills = self.0.get(py, "these skills are")?;
        py.detach(|| skills.offered()).map(Offered).map_err(|failure| raised(py, failure))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, u64)> {
        let skills = self.0.get(py, "these skills are")?;
        let (key, path) = (key.to_owned(), path.to_owned());
        let (bytes, size) = waited(py, move || skills.read(&key, &path, offset, limit, &Cancel::new()))?;
        Ok((PyBytes::new(py, &bytes), size))
    }

    fn chat(&self, py: Python<'_>, id: &str, settings: &str) -> PyResult<Chat> {
        let skills = self.0.get(py, "these skills are")?;
        let chat = py.detach(|| skills.chat(id, settings));
        chat.map(|chat| Chat(Open::new(chat))).map_err(|failure| raised(py, failure))
    }

    fn restore(&self, py: Python<'_>, state: &str, settings: &str) -> PyResult<Chat> {
        let skills = self.0.get(py, "these skills are")?;
        let chat = py.detach(|| skills.restore(state, settings));
        chat.map(|chat| Chat(Open::new(chat))).map_err(|failure| raised(py, failure))
    }

    fn watch(&self, py: Python<'_>, options: &str) -> PyResult<Watch> {
        let skills = self.0.get(py, "these skills are")?;
        let options = options.to_owned();
        waited(py, move || skills.watch(&options)).map(|watch| Watch(Open::new(watch)))
    }

    fn close(&self, py: Python<'_>) {
        if let Some(skills) = self.0.take() {
            skills.close();
            py.detach(|| drop(skills));
        }
    }
}

/// The skills that were offered at one moment, each read out when it is needed.
#[pyclass(frozen, module = "prowess._native")]
struct Offered(prowess_native::Offered);

fn at<T>(value: Option<T>) -> PyResult<T> {
    value.ok_or_else(|| PyIndexError::new_err("there is no skill at this place of the list"))
}

#[pymethods]
impl Offered {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn key(&self, at: usize) -> PyResult<&str> {
        self::at(self.0.key(at))
    }

    fn name(&self, at: usize) -> PyResult<&str> {
        self::at(self.0.name(at))
    }

    fn description(&self, at: usize) -> PyResult<&str> {
        self::at(self.0.description(at))
    }

    fn whole(&self, at: usize) -> PyResult<String> {
        self::at(self.0.whole(at))
    }
}

/// One conversation with a model.
#[pyclass(frozen, module = "prowess._native")]
struct Chat(Open<prowess_native::Chat>);

#[pymethods]
impl Chat {
    fn run(&self, py: Python<'_>, operation: &str, input: &str) -> PyResult<String> {
        let chat = self.0.get(py, "this chat is")?;
        if !OF_CHAT.contains(&operation) {
            let done = py.detach(|| chat.run(operation, input, &Cancel::new()));
            return done.map_err(|failure| raised(py, failure));
        }
        let (operation, input) = (operation.to_owned(), input.to_owned());
        waited(py, move || chat.run(&operation, &input, &Cancel::new()))
    }

    #[pyo3(signature = (operation, input, data = None))]
    fn step(&self, py: Python<'_>, operation: &str, input: &str, data: Option<&[u8]>) -> PyResult<String> {
        let chat = self.0.get(py, "this chat is")?;
        let data = data.unwrap_or_default();
        py.detach(|| chat.step(operation, input, data)).map_err(|failure| raised(py, failure))
    }

    fn close(&self, py: Python<'_>) {
        if let Some(chat) = self.0.take() {
            py.detach(|| {
                chat.close();
                drop(chat);
            });
        }
    }
}

/// The changes of some skills.
#[pyclass(frozen, module = "prowess._native")]
struct Watch(Open<prowess_native::Watch>);

#[pymethods]
impl Watch {
    /// The next changes, or none after this many seconds. A signal such as Ctrl-C ends it.
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<String>> {
        let watch = self.0.get(py, "this watch is")?;
        cancelled(py, |cancel| watch.next(timeout, cancel))
    }

    fn close(&self) {
        self.0.take();
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(read_path, module)?)?;
    module.add_class::<Skills>()?;
    module.add_class::<Offered>()?;
    module.add_class::<Chat>()?;
    module.add_class::<Watch>()
}
