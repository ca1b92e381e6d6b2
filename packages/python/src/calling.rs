//! Calls of Python code, in which a thread that the interpreter ends sleeps forever instead.
//!
//! Before Python 3.14, an interpreter that ends stops its daemon threads where they next need it. On Linux with glibc that
//! unwinds their stacks, and frames of Rust there would abort the whole program. `PyO3` lets a thread sleep where it attaches
//! to the interpreter; this does the same where a thread that is attached runs Python code. Later interpreters do it
//! themselves.

use std::hint::black_box;
use std::mem;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{BoundObject, ffi};

type Declared = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
type Unwinding = unsafe extern "C-unwind" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

/// Sleeps when it is dropped, which only a stack that is unwound does.
struct Asleep;

impl Drop for Asleep {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

/// Calls a function of Python with a tuple of arguments.
pub(crate) fn call<'py, A>(function: &Bound<'py, PyAny>, given: A) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple>,
    A::Error: Into<PyErr>,
{
    let given = given.into_pyobject(function.py()).map_err(Into::into)?.into_bound();
    called(function, &given)
}

/// Calls a method of a Python object.
pub(crate) fn call_method<'py, A>(
    object: &Bound<'py, PyAny>,
    name: &str,
    given: A,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple>,
    A::Error: Into<PyErr>,
{
    call(&object.getattr(name)?, given)
}

fn called<'py>(function: &Bound<'py, PyAny>, given: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the types differ only in whether a stack may be unwound through the function, which the declaration denies.
    // Hidden from the compiler, which would otherwise believe the declaration.
    let call = black_box(unsafe { mem::transmute::<Declared, Unwinding>(ffi::PyObject_CallObject) });
    let asleep = Asleep;
    // SAFETY: this thread is attached, and both are objects that live.
    let result = unsafe { call(function.as_ptr(), given.as_ptr()) };
    mem::forget(asleep);
    // SAFETY: the result is a reference of ours, or null after an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}
