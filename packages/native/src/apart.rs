//! Operations on a thread of their own. The thread of the caller waits: it runs the callbacks, and looks whether it should
//! stop.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;

use prowess_engine::Failure;

use crate::asked::{Cancel, PATIENCE};
use crate::foreign::ForeignError;

/// A callback, for the thread of the caller.
type Callback = Box<dyn FnOnce() + Send>;

thread_local! {
    /// To the thread that runs the callbacks of this thread's operation, if it is another one.
    static CALLER: RefCell<Option<Sender<Callback>>> = const { RefCell::new(None) };
}

/// Runs an operation on a thread of its own, and its callbacks that have no limit on this one. If it is cancelled, it is
/// abandoned: it ends by itself, and its next callback fails.
pub fn apart<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    cancel.check()?;
    let (caller, callbacks) = channel();
    let operation = move || {
        CALLER.set(Some(caller));
        let done = work();
        // The caller waits until nothing more can come.
        CALLER.set(None);
        done
    };
    let thread = thread::Builder::new().name("prowess-operation".to_owned());
    let thread = thread
        .spawn(operation)
        .map_err(|error| Failure::new("failed", format!("there is no thread for this: {error}")))?;
    loop {
        match callbacks.recv_timeout(PATIENCE) {
            Ok(callback) => callback(),
            Err(RecvTimeoutError::Timeout) => cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs a callback where the caller of this thread's operation waits for it; here, if that is this thread.
pub(crate) fn on_caller<T: Send + 'static>(
    callback: impl FnOnce() -> Result<T, ForeignError> + Send + 'static,
) -> Result<T, ForeignError> {
    let Some(caller) = CALLER.with_borrow(Clone::clone) else { return callback() };
    let (answer, answered) = channel();
    let sent = caller.send(Box::new(move || drop(answer.send(callback()))));
    let gone = || Err(ForeignError::new("this was cancelled").with_code("cancelled"));
    sent.ok().and_then(|()| answered.recv().ok()).unwrap_or_else(gone)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn callbacks_run_on_the_thread_of_the_caller() {
        let here = thread::current().id();
        let done = apart(&Cancel::new(), move || {
            assert_ne!(thread::current().id(), here);
            let asked = || on_caller(|| Ok(thread::current().id()));
            Ok((asked().unwrap(), asked().unwrap()))
        });
        assert_eq!(done, Ok((here, here)));
        assert_eq!(on_caller(|| Ok(thread::current().id())).unwrap(), here);
    }

    #[test]
    fn an_operation_that_is_cancelled_is_abandoned() {
        let (waits, ended) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let refused = Arc::new(AtomicBool::new(false));
        let asked = AtomicBool::new(false);
        // Not before the operation runs.
        let cancel = Cancel::checking(move || asked.swap(true, Ordering::Relaxed));
        let (there, end, seen) = (Arc::clone(&waits), Arc::clone(&ended), Arc::clone(&refused));
        let done = apart(&cancel, move || {
            there.wait();
            let late = on_caller(|| Ok(()));
            seen.store(late.is_err_and(|error| error.code == "cancelled"), Ordering::Relaxed);
            end.wait();
            Ok(())
        });
        assert_eq!(done.unwrap_err().code, "cancelled");
        waits.wait();
        ended.wait();
        assert!(refused.load(Ordering::Relaxed));
    }
}
