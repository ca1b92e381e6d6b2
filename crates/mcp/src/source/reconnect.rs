//! The connection of a source: opened on first use, reopened after it closed, and paused after a timeout.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use rmcp::model::ClientRequest;
use serde_json::Value;

use crate::client::{ClientError, Connection, Endpoint};
use crate::source::McpLimits;
use prowess::internal::locked;

/// A connection that is opened on demand.
pub(in crate::source) struct Reconnecting {
    endpoint: Endpoint,
    state: Mutex<ConnectionState>,
}

#[derive(Default)]
struct ConnectionState {
    connection: Option<Arc<Connection>>,
    /// Until when the server gets no requests.
    paused_until: Option<Instant>,
}

/// Why a request failed.
pub(in crate::source) struct RequestError {
    /// Whether the connection could not be opened.
    pub(in crate::source) connecting: bool,
    pub(in crate::source) error: ClientError,
}

impl Reconnecting {
    pub(in crate::source) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, state: Mutex::default() }
    }

    pub(in crate::source) fn request(
        &self,
        request: ClientRequest,
        limits: McpLimits,
    ) -> Result<Value, RequestError> {
        let connection = self.connection(limits)?;
        let received = connection.received();
        connection.request(request, limits.time).map_err(|mut error| {
            // A server that sends anything meanwhile does not hang: one slow file must not keep the others away.
            if error.timed_out && connection.received() == received {
                // Pause first, so that no other request reconnects while the process ends.
                self.pause(limits, &connection);
                error = connection.close(error);
            }
            RequestError { connecting: false, error }
        })
    }

    /// The open connection, or a new one.
    pub(in crate::source) fn connection(&self, limits: McpLimits) -> Result<Arc<Connection>, RequestError> {
        let mut state = locked(&self.state);
        if state.paused_until.is_some_and(|until| Instant::now() < until) {
            let time = limits.rest.as_millis();
            let reason = format!("it did not answer a moment ago, and is left alone for {time} ms");
            let error = ClientError::new(reason, "see whether the server runs, and try again later");
            return Err(RequestError { connecting: false, error });
        }
        if let Some(open) = state.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(open));
        }
        // The old connection ends here, or with the last request that uses it.
        state.connection = None;
        match Connection::open(&self.endpoint, limits) {
            Ok(made) => Ok(Arc::clone(state.connection.insert(Arc::new(made)))),
            Err(error) => {
                if error.timed_out {
                    state.paused_until = Instant::now().checked_add(limits.rest);
                }
                Err(RequestError { connecting: true, error })
            }
        }
    }

    /// Pauses requests to the server, so that a refresh of all sources does not wait for the same timeout each time.
    fn pause(&self, limits: McpLimits, hung: &Arc<Connection>) {
        let mut state = locked(&self.state);
        // Another request may have paused it before, and there may be a new connection.
        if state.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, hung)) {
            state.connection = None;
            state.paused_until = Instant::now().checked_add(limits.rest);
        }
    }
}
