//! A host with an async runtime: calls wait for effects that threads perform, and several are open at once.
//!
//! `cargo run -p prowess --example async_host`. The runtime here is a few lines, so that nothing needs to be added; with
//! tokio, `blocking` is `tokio::task::spawn_blocking`.

#![allow(clippy::print_stdout, reason = "an example that shows what happens")]

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use prowess::drive::{Performer, drive_async};
use prowess::select::Keyword;
use prowess::session::{Effect, Failure, Options, Outcome, Policy, Session, Step, ToolCall};
use prowess::{MemorySource, Registry, Scope};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = MemorySource::new("example");
    for name in ["one", "two", "three"] {
        let text = format!("---\nname: {name}\ndescription: Counts to {name}.\n---\nCount to {name}.\n");
        skills.insert(name, text, Scope::Explicit);
    }
    let mut registry = Registry::new();
    registry.add(skills);
    registry.refresh()?;
    let registry = Arc::new(registry);

    let mut session = Session::new("chat-1", registry.catalog(), Policy::default(), Options::default());
    let perform = |effect: Effect| {
        let registry = Arc::clone(&registry);
        blocking(move || Performer::new(&registry, &Keyword::default()).perform(&effect))
    };

    // One call after the other.
    let call = ToolCall::new("search_skills", json!({"query": "count to two"}));
    let found = block_on(drive_async(&mut session, call, perform));
    println!("{}", found.text);
    assert!(found.is_ok() && found.text.contains("two"));

    // Several at once: each step that needs something waits by itself, and they end in any order.
    let mut waiting: Vec<(String, Step)> = ["one", "two", "three"]
        .map(|name| (name.to_owned(), session.call(ToolCall::new("load_skill", json!({"name": name})))))
        .into();
    while let Some((name, step)) = waiting.pop() {
        match step {
            Step::Done(result) => println!("{name}: {}", result.is_ok()),
            Step::Need(ticket, effect) => {
                let outcome = block_on(perform(effect));
                let next = session.resume(ticket, outcome);
                waiting.insert(0, (name, next));
            }
        }
    }
    assert_eq!(session.active_skills().len(), 3);
    Ok(())
}

/// Runs something on a thread, and waits for it without blocking the caller.
fn blocking(work: impl FnOnce() -> Outcome + Send + 'static) -> impl Future<Output = Outcome> {
    let (sender, receiver) = mpsc::channel();
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let wake = Arc::clone(&waker);
    thread::spawn(move || {
        // This fails when the receiver is gone.
        let _ = sender.send(work());
        if let Some(waker) = wake.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    });
    std::future::poll_fn(move |context| {
        // The waker first: what ends between the two looks is then heard of.
        *waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        match receiver.try_recv() {
            Ok(outcome) => Poll::Ready(outcome),
            Err(mpsc::TryRecvError::Empty) => Poll::Pending,
            Err(mpsc::TryRecvError::Disconnected) => Poll::Ready(Outcome::Failed { why: Failure::Failed }),
        }
    })
}

/// The smallest runtime: polls one future, and sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
