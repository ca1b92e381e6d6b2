//! Errors of the MCP client, and a log of transport errors that rmcp would replace by its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess::internal::escape_control;
use prowess::text::cut;
use rmcp::model::RequestId;

use crate::source::McpLimits;
use prowess::internal::locked;

/// The maximum number of characters of a server's text in a message.
const MAX_SHOWN: usize = 200;

/// The maximum number of errors of single messages that are kept.
const MAX_ERRORS: usize = 16;

/// Why a request failed, or why its response is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct ClientError {
    pub(crate) reason: String,
    pub(crate) hint: &'static str,
    /// Whether it is a timeout.
    pub(crate) timed_out: bool,
    /// Whether the server refuses for good, as far as it says.
    pub(crate) is_final: bool,
}

impl ClientError {
    pub(crate) fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self { reason: reason.into(), hint, timed_out: false, is_final: false }
    }

    /// The error after the connection was closed.
    pub(crate) fn closed() -> Self {
        Self::new("the connection was closed", "try again")
    }

    /// The error after a timeout.
    pub(crate) fn timeout(time: Duration) -> Self {
        let reason = format!("there was no answer within {} ms", time.as_millis());
        Self { timed_out: true, ..Self::new(reason, "see whether the server runs, and try again") }
    }
}

/// The error for a response in which an object has two members of one name.
pub(crate) fn ambiguous(error: &serde_json::Error) -> ClientError {
    let reason = format!("its answer is ambiguous: {}", shown(&error.to_string()));
    ClientError::new(reason, "report this to the author of the server")
}

/// The error for the response to another request, or one of another shape.
pub(crate) fn no_answer() -> ClientError {
    ClientError::new("it does not answer what was asked", "report this to the author of the server")
}

/// The error for a response with too many JSON values.
pub(crate) fn too_many_values(limits: &McpLimits) -> ClientError {
    let reason = format!("its answer has more than {} values", limits.answer_values);
    ClientError::new(reason, "report this to the author of the server")
}

/// A server's text for a message: shortened, on one line, and with control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    escape_control(&cut(text.trim(), Some(MAX_SHOWN)))
}

/// What a transport observed: errors, output that is not a message, and the number of received bytes.
#[derive(Debug, Default)]
pub(crate) struct TransportLog {
    /// Why the connection is closed.
    closed: Mutex<Option<ClientError>>,
    /// The latest errors of single messages, by the id of the request.
    errors: Mutex<Vec<(Option<RequestId>, ClientError)>>,
    /// The first output that is not a message.
    noise: Mutex<Option<String>>,
    received: AtomicU64,
}

impl TransportLog {
    /// Records why the connection is closed. Only the first error counts.
    pub(crate) fn record_closed(&self, error: ClientError) {
        locked(&self.closed).get_or_insert(error);
    }

    /// Records why a message failed.
    pub(crate) fn record_error(&self, id: Option<RequestId>, error: ClientError) {
        let mut errors = locked(&self.errors);
        // Errors of notifications are never taken out.
        if errors.len() >= MAX_ERRORS {
            errors.remove(0);
        }
        errors.push((id, error));
    }

    /// Takes the error of a request, or the error that closed the connection.
    pub(crate) fn take_error(&self, id: &RequestId) -> Option<ClientError> {
        self.take_own_error(id).or_else(|| self.closed())
    }

    /// Takes the error of a request.
    pub(crate) fn take_own_error(&self, id: &RequestId) -> Option<ClientError> {
        let mut errors = locked(&self.errors);
        let at = errors.iter().position(|(failed, _)| failed.as_ref() == Some(id));
        at.map(|at| errors.remove(at).1)
    }

    /// Why the connection is closed, if it is.
    pub(crate) fn closed(&self) -> Option<ClientError> {
        locked(&self.closed).clone()
    }

    /// The first error, for a handshake that failed.
    pub(crate) fn first_error(&self) -> Option<ClientError> {
        let errors = locked(&self.errors);
        errors.first().map(|(_, error)| error.clone()).or_else(|| self.closed())
    }

    /// Records output that is not a message. Only the first is kept.
    pub(crate) fn record_noise(&self, text: &[u8]) {
        let text = || shown(&String::from_utf8_lossy(text.get(..1024).unwrap_or(text)));
        locked(&self.noise).get_or_insert_with(text);
    }

    /// The first output that is not a message.
    pub(crate) fn noise(&self) -> Option<String> {
        locked(&self.noise).clone()
    }

    /// Counts received bytes.
    pub(crate) fn add_received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The number of received bytes.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_belongs_to_its_own_request_and_a_closed_connection_to_all() {
        let (log, error) = (TransportLog::default(), |reason| ClientError::new(reason, "hint"));
        let id = RequestId::Number;
        log.record_error(Some(id(1)), error("one"));
        log.record_error(None, error("a notification"));
        assert_eq!(log.take_error(&id(2)), None);
        assert_eq!(log.take_error(&id(1)), Some(error("one")));
        assert_eq!(log.take_error(&id(1)), None);
        (0..100).for_each(|at| log.record_error(Some(id(at)), error("more")));
        assert_eq!((log.take_error(&id(0)), log.take_error(&id(99))), (None, Some(error("more"))));
        log.record_closed(error("ended"));
        log.record_closed(error("later"));
        assert_eq!(log.take_error(&id(2)), Some(error("ended")));
    }
}
