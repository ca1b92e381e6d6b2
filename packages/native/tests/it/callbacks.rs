//! Callbacks that never return, that end an operation, and that use the skills that they serve.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use prowess_native::{Cancel, Foreign, ForeignError, ForeignSelector, ForeignSource, Listed, Skills};
use serde_json::{Value, json};

use super::{of_names, over_names, parsed, skill};

/// A source whose reads wait for ever after the first ones, and its doorbell.
#[derive(Default)]
struct Stuck {
    waiting: Mutex<bool>,
    began: Condvar,
}

impl ForeignSource for Stuck {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        let text = Some(skill("bread", "Bakes bread.").into_bytes());
        Ok(vec![Listed { id: "bread".to_owned(), location: None, text }])
    }

    fn files(&self, _: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        Ok(None)
    }

    fn read(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        *self.waiting.lock().unwrap() = true;
        self.began.notify_all();
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_callback_that_never_returns_is_an_error() {
    let stuck = Arc::new(Stuck::default());
    // A short limit may also end the listing on a busy machine: that is tried again.
    let opened = |timeout| loop {
        let foreign = Foreign { sources: vec![stuck.clone()], timeout: Some(timeout), ..Foreign::default() };
        let input = json!({"sources": [{"host": 0}]}).to_string();
        match Skills::open(&input, foreign, &Cancel::new()) {
            Ok(skills) => break skills,
            Err(failure) => assert_eq!(failure.code, "timeout"),
        }
    };
    let read =
        |skills: &Skills, cancel: &Cancel| skills.read("bread", "x.md", 0, 9, cancel).unwrap_err().code;
    assert_eq!(read(&opened(Duration::from_millis(20)), &Cancel::new()), "timeout");

    let wait = || {
        let mut waiting = stuck.waiting.lock().unwrap();
        while !std::mem::take(&mut *waiting) {
            waiting = stuck.began.wait(waiting).unwrap();
        }
    };
    wait();
    for close in [true, false] {
        let (skills, cancel) = (opened(Duration::from_secs(3600)), Cancel::new());
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| read(&skills, &cancel));
            wait();
            if close {
                skills.close();
            } else {
                cancel.cancel();
            }
            assert_eq!(reading.join().unwrap(), if close { "closed" } else { "cancelled" });
        });
    }
}

/// A source whose SKILL.md are read; the reads after the list do what they are told, and note their threads.
#[derive(Default)]
struct Later {
    listed: AtomicBool,
    reads: AtomicUsize,
    threads: Mutex<Vec<ThreadId>>,
    waits: bool,
    began: Condvar,
    waiting: Mutex<bool>,
}

impl ForeignSource for Later {
    fn list(&self) -> Result<Vec<Listed>, ForeignError> {
        Ok((0..8).map(|at| Listed { id: format!("s{at}"), ..Listed::default() }).collect())
    }

    fn files(&self, _: &str) -> Result<Option<Vec<Value>>, ForeignError> {
        Ok(None)
    }

    fn read(&self, id: &str, _: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        if self.listed.load(Ordering::Relaxed) {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.threads.lock().unwrap().push(std::thread::current().id());
            if self.waits {
                *self.waiting.lock().unwrap() = true;
                self.began.notify_all();
                loop {
                    std::thread::park();
                }
            }
        }
        Ok(Some(skill(id, "Does it.").into_bytes()))
    }
}

fn later(waits: bool, timeout: Option<Duration>) -> (Arc<Later>, Skills) {
    let source = Arc::new(Later { waits, ..Later::default() });
    let skills = over_names(Foreign { sources: vec![source.clone()], timeout, ..Foreign::default() });
    source.listed.store(true, Ordering::Relaxed);
    (source, skills)
}

#[test]
fn a_search_without_a_limit_reads_on_the_thread_of_the_caller() {
    let (source, skills) = later(false, None);
    let asked = json!({"query": "body", "narrowing": {"topK": 20}}).to_string();
    let hits = parsed(skills.run("search", &asked, &Cancel::new()));
    assert_eq!(hits.as_array().unwrap().len(), 8);
    assert_eq!(*source.threads.lock().unwrap(), vec![std::thread::current().id(); 8]);
}

#[test]
fn a_callback_that_ends_ends_the_search_that_reads_it() {
    let asked = json!({"query": "body"}).to_string();
    // Long enough for the list on a busy machine; the search waits for it once.
    let (source, skills) = later(true, Some(Duration::from_secs(2)));
    assert_eq!(skills.run("search", &asked, &Cancel::new()).unwrap_err().code, "timeout");
    assert_eq!(source.reads.load(Ordering::Relaxed), 1);
    for close in [true, false] {
        let ((source, skills), cancel) = (later(true, Some(Duration::from_secs(3600))), Cancel::new());
        std::thread::scope(|scope| {
            let searching = scope.spawn(|| skills.run("search", &asked, &cancel).unwrap_err().code);
            let mut waiting = source.waiting.lock().unwrap();
            while !*waiting {
                waiting = source.began.wait(waiting).unwrap();
            }
            if close {
                skills.close();
            } else {
                cancel.cancel();
            }
            assert_eq!(searching.join().unwrap(), if close { "closed" } else { "cancelled" });
        });
        assert_eq!(source.reads.load(Ordering::Relaxed), 1);
    }
}

/// A selector that refreshes some skills.
struct Refreshing(Arc<OnceLock<Skills>>, Mutex<Vec<&'static str>>);

impl ForeignSelector for Refreshing {
    fn select(&self, _: Value, _: Vec<Value>) -> Result<Vec<Value>, ForeignError> {
        let refreshed = self.0.get().unwrap().run("refresh", "null", &Cancel::new());
        self.1.lock().unwrap().push(refreshed.map_or_else(|failure| failure.code, |_| "refreshed"));
        Ok(Vec::new())
    }
}

#[test]
fn a_callback_may_refresh_other_skills_but_not_those_that_it_serves() {
    for timeout in [None, Some(Duration::from_secs(30))] {
        let others = over_names(of_names());
        for (own, expected) in [(false, "refreshed"), (true, "busy")] {
            let slot: Arc<OnceLock<Skills>> = Arc::default();
            let selector = Arc::new(Refreshing(Arc::clone(&slot), Mutex::default()));
            let skills = over_names(Foreign { selector: Some(selector.clone()), timeout, ..of_names() });
            slot.set(if own { skills.clone() } else { others.clone() }).unwrap();
            skills.run("search", &json!({"query": "x"}).to_string(), &Cancel::new()).unwrap();
            assert_eq!(*selector.1.lock().unwrap(), [expected]);
        }
    }
}
