//! [`Work`]: something that is done off the main thread, as a promise. [`NodeCancel`] ends it.
//!
//! Work is done on the few threads that Node has for such work, which also serve its file system. Work that can be
//! cancelled has a thread of its own, for which one of these waits: after a cancellation it waits no longer, and neither
//! does the end of the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName, Uint8Array};
use napi::{Env, Status, Task};
use napi_derive::napi;
use prowess_native::{Cancel, Failure};
use serde_json::json;

/// How often work that can be cancelled is asked whether it was.
const PATIENCE: Duration = Duration::from_millis(20);

/// Ends work that JavaScript no longer waits for.
#[napi(js_name = "Cancel")]
pub struct NodeCancel(Option<Cancel>);

#[napi]
impl NodeCancel {
    /// For work that can be cancelled, or for work that cannot.
    #[napi(constructor)]
    pub fn new(can: bool) -> Self {
        Self(can.then(Cancel::new))
    }

    /// Cancels the work.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}

/// Work that was not done yet.
pub struct Work<T> {
    work: Option<Box<dyn FnOnce() -> Result<T, Failure> + Send>>,
    cancel: Option<Cancel>,
}

impl<T: ToNapiValue + TypeName + Send + 'static> Work<T> {
    /// Does work off the main thread.
    pub(crate) fn task(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> AsyncTask<Self> {
        AsyncTask::new(Self { work: Some(Box::new(work)), cancel: None })
    }

    /// Does work off the main thread until it is cancelled.
    pub(crate) fn cancellable(
        cancel: &NodeCancel,
        work: impl FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    ) -> AsyncTask<Self> {
        let own = cancel.0.clone().unwrap_or_default();
        AsyncTask::new(Self { work: Some(Box::new(move || work(&own))), cancel: cancel.0.clone() })
    }
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Work<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let work = self.work.take().ok_or_else(|| thrown(Failure::new("failed", "this was done before")))?;
        match self.cancel.take() {
            None => done(work),
            Some(cancel) => until_cancelled(&cancel, work),
        }
        .map_err(thrown)
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

/// Does work on a thread of its own, and waits for it unless it is cancelled.
fn until_cancelled<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let cancelled = || Failure::new("cancelled", "this was cancelled");
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name("prowess-work".to_owned());
    thread
        .spawn(move || drop(sender.send(done(work))))
        .map_err(|error| Failure::new("failed", format!("there is no thread for this: {error}")))?;
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(made) => return made,
            Err(RecvTimeoutError::Timeout) if !cancel.is_cancelled() => {}
            Err(_) => return Err(cancelled()),
        }
    }
}

/// The cause of a failure of a source in JavaScript: its number.
pub(crate) struct Host(pub(crate) u32);

/// A failure as JSON, with the number of the source in JavaScript that failed.
pub(crate) fn to_json(failure: &Failure) -> String {
    let Failure { code, message, hint, problems, cause } = failure;
    let host = cause.as_ref().and_then(|cause| cause.0.downcast_ref::<Host>()).map(|host| host.0);
    json!({"code": code, "message": message, "hint": hint, "problems": problems, "host": host}).to_string()
}

/// A failure as the addon throws it.
pub(crate) fn thrown(failure: Failure) -> napi::Error {
    napi::Error::new(Status::GenericFailure, to_json(&failure))
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
