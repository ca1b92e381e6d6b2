//! The connection of a source: made when it is first needed, again when it broke, and not for a while after it hung.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use rmcp::model::ClientRequest;
use serde_json::Value;

use crate::client::{Connection, Failure, Reach};
use crate::lock::locked;
use crate::source::McpLimits;

/// What can be asked, whether or not there is a connection now.
pub(in crate::source) struct Link {
    reach: Reach,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    connection: Option<Arc<Connection>>,
    /// Until when it is left alone.
    resting: Option<Instant>,
}

/// Why there is no answer.
pub(in crate::source) struct Unanswered {
    /// Whether there was no connection to begin with.
    pub(in crate::source) connecting: bool,
    pub(in crate::source) failure: Failure,
}

impl Link {
    pub(in crate::source) fn new(reach: Reach) -> Self {
        Self { reach, held: Mutex::default() }
    }

    pub(in crate::source) fn ask(
        &self,
        request: ClientRequest,
        limits: McpLimits,
    ) -> Result<Value, Unanswered> {
        let connection = self.connection(limits)?;
        connection.ask(request, limits.time).map_err(|mut failure| {
            if failure.late {
                // First, so that nobody connects anew while a program takes its time to end.
                self.rest(limits, &connection);
                failure = connection.dying(failure);
            }
            Unanswered { connecting: false, failure }
        })
    }

    /// The connection, made when it is first needed and again when it broke.
    pub(in crate::source) fn connection(&self, limits: McpLimits) -> Result<Arc<Connection>, Unanswered> {
        let mut held = locked(&self.held);
        if held.resting.is_some_and(|until| Instant::now() < until) {
            let time = limits.rest.as_millis();
            let reason = format!("it did not answer a moment ago, and is left alone for {time} ms");
            let failure = Failure::new(reason, "see whether the server runs, and try again later");
            return Err(Unanswered { connecting: false, failure });
        }
        if let Some(open) = held.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(open));
        }
        // It ends here, or with the last who still asks it.
        held.connection = None;
        match Connection::open(&self.reach, limits) {
            Ok(made) => Ok(Arc::clone(held.connection.insert(Arc::new(made)))),
            Err(failure) => {
                if failure.late {
                    held.resting = Instant::now().checked_add(limits.rest);
                }
                Err(Unanswered { connecting: true, failure })
            }
        }
    }

    /// Leaves the server alone for a while: whoever waits for all sources must not wait for one that hangs again and
    /// again.
    fn rest(&self, limits: McpLimits, hung: &Arc<Connection>) {
        let mut held = locked(&self.held);
        // Somebody else may have noticed before, and there may be a new one by now.
        if held.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, hung)) {
            held.connection = None;
            held.resting = Instant::now().checked_add(limits.rest);
        }
    }
}
