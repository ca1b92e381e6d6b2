//! [`Work`]: something that is done off the main thread, as a promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName, Uint8Array};
use napi::{Env, Status, Task};
use napi_derive::napi;
use prowess_native::Failure;

/// Work that was not done yet.
pub struct Work<T>(Option<Box<dyn FnOnce() -> Result<T, Failure> + Send>>);

impl<T: ToNapiValue + TypeName + Send + 'static> Work<T> {
    /// Does work off the main thread.
    pub(crate) fn task(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> AsyncTask<Self> {
        AsyncTask::new(Self(Some(Box::new(work))))
    }
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let work = self.0.take().ok_or_else(|| thrown(Failure::new("failed", "this was done before")))?;
        done(work).map_err(thrown)
    }

    fn resolve(&mut self, _: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

/// Does work. A panic, which is a defect of Prowess, must not end the process.
pub(crate) fn done<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::new("failed", "Prowess has a defect; report what you did before this error"))
    })
}

/// A failure as the addon throws it.
pub(crate) fn thrown(failure: Failure) -> napi::Error {
    napi::Error::new(Status::GenericFailure, failure.to_json())
}

/// JSON, and the bytes of a file beside it.
#[napi(object, object_from_js = false)]
pub struct Contents {
    /// What is known about the bytes.
    pub json: String,
    /// The bytes.
    pub bytes: Uint8Array,
}

impl Contents {
    pub(crate) fn new(json: String, bytes: Vec<u8>) -> Self {
        Self { json, bytes: Uint8Array::new(bytes) }
    }
}
