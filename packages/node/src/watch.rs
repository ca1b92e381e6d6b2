//! A watch of folders, as a handle of JavaScript. It waits on a thread of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use prowess_native::{Cancel, Failure, Watch};

use crate::work::{done, thrown};

type Answer = Box<dyn FnOnce(Env) -> napi::Result<Option<String>> + Send>;

/// A watch of the folders of some skills.
#[napi(js_name = "Watch")]
pub struct NodeWatch {
    /// None after `stop`: the system limits how many folders are watched, and a collection of garbage may be far away.
    watch: Mutex<Option<Arc<Watch>>>,
    stopped: Cancel,
}

impl NodeWatch {
    pub(crate) fn of(watch: Watch) -> Self {
        Self { watch: Mutex::new(Some(Arc::new(watch))), stopped: Cancel::new() }
    }
}

#[napi]
impl NodeWatch {
    /// The next changes, as a promise; null after `stop`.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<Option<String>, Answer>()?;
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(watch) = watch else {
            deferred.resolve(Box::new(|_| Ok(None)));
            return Ok(promise);
        };
        let stopped = self.stopped.clone();
        let wait = move || {
            let next = done(|| watch.next(None, &stopped));
            drop(watch);
            match next {
                Ok(delta) => deferred.resolve(Box::new(move |_| Ok(delta))),
                Err(_) if stopped.is_cancelled() => deferred.resolve(Box::new(|_| Ok(None))),
                Err(failure) => deferred.reject(thrown(failure)),
            }
        };
        let spawned = thread::Builder::new().name("prowess-watch".to_owned()).spawn(wait);
        spawned.map_err(|error| {
            thrown(Failure::new("watch", format!("there is no thread to watch folders: {error}")))
        })?;
        Ok(promise)
    }

    /// Ends the watch, also while it waits.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.stopped.cancel();
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
