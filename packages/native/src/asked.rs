//! Calls of the parts of a host: limited in time, cancelled with their operation, ended when the skills are closed.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use prowess_engine::Failure;

use crate::foreign::ForeignError;

/// How often a caller that waits looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(50);

type Check = dyn Fn() -> bool + Send + Sync;

/// Ends an operation that waits for a callback or a change. Clones share it.
#[derive(Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    check: Option<Arc<Check>>,
}

impl fmt::Debug for Cancel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cancel").field(&self.flag).finish()
    }
}

impl Cancel {
    /// One that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that is also cancelled as soon as `check` returns true. It is asked a few times per second while the operation
    /// waits, on its thread.
    pub fn checking(check: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { flag: Arc::default(), check: Some(Arc::new(check)) }
    }

    /// Cancels the operation.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        if self.flag.load(Ordering::Relaxed) {
            return true;
        }
        let cancelled = self.check.as_ref().is_some_and(|check| check());
        if cancelled {
            self.cancel();
        }
        cancelled
    }

    /// A failure if it is cancelled.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_cancelled() { Err(Failure::new("cancelled", "this was cancelled")) } else { Ok(()) }
    }
}

thread_local! {
    /// The operation of this thread.
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
    /// Whether this thread runs a callback.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    /// What the last callback of this thread's operation threw, for errors that cannot carry it.
    static THROWN: RefCell<Option<ForeignError>> = const { RefCell::new(None) };
}

/// Runs an operation that can be cancelled. What its callbacks threw is known until it ends.
pub(crate) fn within<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    let before = CURRENT.replace(Some(cancel.clone()));
    let thrown = THROWN.take();
    let made = work();
    CURRENT.set(before);
    THROWN.set(thrown);
    made
}

/// What the last callback of this operation threw.
pub(crate) fn thrown() -> Option<ForeignError> {
    THROWN.take()
}

/// Forgets what an earlier callback of this operation threw.
pub(crate) fn forget_thrown() {
    THROWN.set(None);
}

/// A failure if this is called by a callback.
pub(crate) fn not_in_callback(what: &str) -> Result<(), Failure> {
    if IN_CALLBACK.get() {
        return Err(Failure::new("busy", format!("a callback cannot {what} the skills that it serves")));
    }
    Ok(())
}

/// How the callbacks of some skills are called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) timeout: Option<Duration>,
    pub(crate) closed: Arc<AtomicBool>,
}

impl Rules {
    /// Calls a part of the host. `what` names it, for messages.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<T, ForeignError> + Send + 'static,
    ) -> Result<T, ForeignError> {
        let answered = match self.timeout {
            None => marked(work),
            Some(limit) => self.ask_apart(what, limit, work),
        };
        if let Err(error) = &answered {
            THROWN.set(Some(error.clone()));
        }
        answered
    }

    /// Calls a part of the host on a thread of its own, and waits for it.
    fn ask_apart<T: Send + 'static>(
        &self,
        what: &str,
        limit: Duration,
        work: impl FnOnce() -> Result<T, ForeignError> + Send + 'static,
    ) -> Result<T, ForeignError> {
        let (sender, receiver) = channel();
        let call = move || drop(sender.send(marked(work)));
        let thread = thread::Builder::new().name("prowess-callback".to_owned());
        thread.spawn(call).map_err(|error| ForeignError::new(format!("no thread for {what}: {error}")))?;
        let cancel = CURRENT.with_borrow(Clone::clone).unwrap_or_default();
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            match receiver.recv_timeout(PATIENCE.min(left)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ForeignError::new(format!("{what} ended without an answer")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if cancel.is_cancelled() {
                return Err(ForeignError::new("this was cancelled").with_code("cancelled"));
            }
            if self.closed.load(Ordering::Relaxed) {
                return Err(ForeignError::new("these skills are closed").with_code("closed"));
            }
            if began.elapsed() >= limit {
                let seconds = limit.as_secs_f64();
                let message = format!("{what} did not return within {seconds} seconds");
                return Err(ForeignError::new(message).with_code("timeout"));
            }
        }
    }
}

/// Runs a callback, marked as one.
fn marked<T>(work: impl FnOnce() -> T) -> T {
    let before = IN_CALLBACK.replace(true);
    let made = work();
    IN_CALLBACK.set(before);
    made
}
