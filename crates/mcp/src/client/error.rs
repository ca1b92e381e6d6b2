//! What goes wrong between us and another server: a reason and a hint, and the record that survives rmcp's own errors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess::escape_control;
use rmcp::model::RequestId;

use crate::lock::locked;
use crate::source::McpLimits;

/// The most of a stranger's text that is shown.
const MAX_SHOWN: usize = 200;

/// The most failures of single messages that are remembered.
const MAX_FAILURES: usize = 16;

/// Why a server could not be asked, or why its answer is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) hint: &'static str,
    /// Whether nothing came in time.
    pub(crate) late: bool,
}

impl Failure {
    pub(crate) fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint, late: false }
    }

    /// It took too long.
    pub(crate) fn late(time: Duration) -> Self {
        let reason = format!("there was no answer within {} ms", time.as_millis());
        Self { late: true, ..Self::new(reason, "see whether the server runs, and try again") }
    }
}

/// An answer has more values than are read.
pub(crate) fn too_many_values(limits: &McpLimits) -> Failure {
    let reason = format!("its answer has more than {} values", limits.answer_values);
    Failure::new(reason, "report this to the author of the server")
}

/// A stranger's text as it may be shown: short, on one line, and with nothing that controls a terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.trim().chars().take(MAX_SHOWN).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    escape_control(&short)
}

/// What a transport noticed. rmcp turns errors into text of its own; what we know is kept here.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Why nothing can be asked any more.
    broken: Mutex<Option<Failure>>,
    /// Why single messages failed, the last ones, by the id of a request.
    failures: Mutex<Vec<(Option<RequestId>, Failure)>>,
    noise: Mutex<Option<String>>,
    received: AtomicU64,
}

impl Record {
    /// Notes why nothing can be asked any more; the first reason is the one.
    pub(crate) fn broke(&self, failure: Failure) {
        locked(&self.broken).get_or_insert(failure);
    }

    /// Notes why a message failed.
    pub(crate) fn failed(&self, id: Option<RequestId>, failure: Failure) {
        let mut failures = locked(&self.failures);
        // Nobody asks why a message failed that nobody waits for.
        if failures.len() >= MAX_FAILURES {
            failures.remove(0);
        }
        failures.push((id, failure));
    }

    /// Why this request failed; another's failure is not its own.
    pub(crate) fn why(&self, id: &RequestId) -> Option<Failure> {
        let mut failures = locked(&self.failures);
        let at = failures.iter().position(|(failed, _)| failed.as_ref() == Some(id));
        at.map(|at| failures.remove(at).1).or_else(|| self.why_broken())
    }

    /// Why nothing can be asked any more.
    pub(crate) fn why_broken(&self) -> Option<Failure> {
        locked(&self.broken).clone()
    }

    /// What failed first, for a beginning that did not come about.
    pub(crate) fn first(&self) -> Option<Failure> {
        let failures = locked(&self.failures);
        failures.first().map(|(_, failure)| failure.clone()).or_else(|| self.why_broken())
    }

    /// Notes something that came and is no message; the first is kept.
    pub(crate) fn noise(&self, text: &[u8]) {
        let text = || shown(&String::from_utf8_lossy(text.get(..1024).unwrap_or(text)));
        locked(&self.noise).get_or_insert_with(text);
    }

    /// The first thing that came and is no message.
    pub(crate) fn heard(&self) -> Option<String> {
        locked(&self.noise).clone()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_blamed_on_its_own_request_and_a_broken_connection_on_all() {
        let (record, failure) = (Record::default(), |reason| Failure::new(reason, "hint"));
        let id = RequestId::Number;
        record.failed(Some(id(1)), failure("one"));
        record.failed(None, failure("a notification"));
        assert_eq!(record.why(&id(2)), None);
        assert_eq!(record.why(&id(1)), Some(failure("one")));
        assert_eq!(record.why(&id(1)), None);
        (0..100).for_each(|at| record.failed(Some(id(at)), failure("more")));
        assert_eq!((record.why(&id(0)), record.why(&id(99))), (None, Some(failure("more"))));
        record.broke(failure("ended"));
        record.broke(failure("later"));
        assert_eq!(record.why(&id(2)), Some(failure("ended")));
    }
}
