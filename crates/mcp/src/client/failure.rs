//! What goes wrong between us and another server: a reason and a hint, and the record that survives rmcp's own errors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess::harmless;

/// The most of a stranger's text that is shown.
const MAX_SHOWN: usize = 200;

/// Why a server could not be asked, or why its answer is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) hint: &'static str,
}

impl Failure {
    pub(crate) fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint }
    }

    /// It took too long.
    pub(crate) fn late(time: Duration) -> Self {
        let reason = format!("there was no answer within {} ms", time.as_millis());
        Self::new(reason, "see whether the server runs, and try again")
    }
}

/// A stranger's text as it may be shown: short, on one line, and with nothing that controls a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.trim().chars().take(MAX_SHOWN).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    harmless(&short)
}

/// What a transport noticed. rmcp turns errors into text of its own; what we know is kept here.
#[derive(Debug, Default)]
pub(crate) struct Record {
    failure: Mutex<Option<Failure>>,
    noise: Mutex<Option<String>>,
    received: AtomicU64,
}

impl Record {
    /// Notes why something failed; the first reason is the one.
    pub(crate) fn failed(&self, failure: Failure) -> Failure {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure.clone());
        failure
    }

    /// What failed since somebody last asked.
    pub(crate) fn take(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes something that came and is no message; the first is kept.
    pub(crate) fn noise(&self, text: &[u8]) {
        let text = || shown(&String::from_utf8_lossy(text.get(..1024).unwrap_or(text)));
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(text);
    }

    /// The first thing that came and is no message.
    pub(crate) fn heard(&self) -> Option<String> {
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts bytes that came.
    pub(crate) fn count(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many bytes have come.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}
