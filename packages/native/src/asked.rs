//! Calls of the parts of a host: limited in time, cancelled with their operation, ended when the skills are closed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use prowess::Location;
use prowess_engine::Failure;

use crate::apart::on_caller;
use crate::foreign::ForeignError;

/// How often a caller that waits looks whether it should stop.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

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

/// What a callback threw, and where, if a source did.
type Thrown = (ForeignError, Option<Location>);

thread_local! {
    /// The operation of this thread.
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
    /// The skills whose callbacks this thread runs, by [`Rules::identity`].
    static SERVED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// What the last callback of this thread's operation threw, for errors that cannot carry it.
    static THROWN: RefCell<Option<Thrown>> = const { RefCell::new(None) };
}

/// Runs an operation that can be cancelled. What its callbacks threw is known until it ends.
pub(crate) fn within<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there before, also after a panic.
    struct Before(Option<Cancel>, Option<Thrown>);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
            THROWN.set(self.1.take());
        }
    }
    let _before = Before(CURRENT.replace(Some(cancel.clone())), THROWN.take());
    work()
}

/// What the last callback of this operation threw.
pub(crate) fn thrown() -> Option<ForeignError> {
    THROWN.take().map(|(error, _)| error)
}

/// What the last callback of this operation threw, if that was at this place: others may have failed before it.
pub(crate) fn thrown_at(place: &Location) -> Option<ForeignError> {
    THROWN.take().filter(|(_, at)| at.as_ref() == Some(place)).map(|(error, _)| error)
}

/// Notes where the last callback threw.
pub(crate) fn threw_at(error: ForeignError, place: &Location) {
    THROWN.set(Some((error, Some(place.clone()))));
}

/// Forgets what an earlier callback of this operation threw.
pub(crate) fn forget_thrown() {
    THROWN.set(None);
}

/// How the callbacks of some skills are called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) timeout: Option<Duration>,
    pub(crate) closed: Arc<AtomicBool>,
}

impl Rules {
    /// A number that no other skills have.
    fn identity(&self) -> usize {
        Arc::as_ptr(&self.closed).addr()
    }

    /// A failure if this is called by a callback of the same skills.
    pub(crate) fn not_in_callback(&self, what: &str) -> Result<(), Failure> {
        if SERVED.with_borrow(|served| served.contains(&self.identity())) {
            return Err(Failure::new("busy", format!("a callback cannot {what} the skills that it serves")));
        }
        Ok(())
    }

    /// Calls a part of the host. `what` names it, for messages.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<T, ForeignError> + Send + 'static,
    ) -> Result<T, ForeignError> {
        let answered = match self.timeout {
            None => {
                let identity = self.identity();
                on_caller(move || marked(identity, work))
            }
            Some(limit) => self.ask_apart(what, limit, work),
        };
        if let Err(error) = &answered {
            THROWN.set(Some((error.clone(), None)));
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
        let identity = self.identity();
        let call = move || drop(sender.send(marked(identity, work)));
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

/// Runs a callback, marked as one of these skills.
fn marked<T>(identity: usize, work: impl FnOnce() -> T) -> T {
    /// Takes the mark away, also after a panic.
    struct Mark;
    impl Drop for Mark {
        fn drop(&mut self) {
            SERVED.with_borrow_mut(Vec::pop);
        }
    }
    SERVED.with_borrow_mut(|served| served.push(identity));
    let _mark = Mark;
    work()
}
