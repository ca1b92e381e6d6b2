//! Results that bypass rmcp's serialization: encoded once, and counted until they are sent.
//!
//! rmcp takes a result as a tree of values and copies it several times before it is sent, where no limit applies. So each
//! transport attaches a [`ResultSlot`] to a request. The handler puts the encoded result into the slot and returns an
//! empty result to rmcp, and the transport sends the text in the slot. rmcp checks the request before, as always.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use rmcp::ErrorData;
use rmcp::model::{Extensions, ServerResult};
use serde::Serialize;

use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::BudgetExhausted;
use crate::protocol::wire::Era;
use crate::server::errors::internal;

/// The place for the encoded result of a request, shared by its handler and its transport.
#[derive(Clone, Debug)]
pub(crate) struct ResultSlot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// How long the result may wait for the response budget.
    timeout: Duration,
    content: OnceLock<SlotContent>,
}

/// What a handler put into a slot.
#[derive(Clone, Debug)]
pub(crate) enum SlotContent {
    /// The encoded result, in parts.
    Result(Vec<Part>),
    /// Why there is no result.
    BudgetExhausted(String),
}

impl ResultSlot {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self(Arc::new(Inner { timeout, content: OnceLock::new() }))
    }

    /// The slot of a request: in the extensions on a pipe, in those of the HTTP request over HTTP.
    pub(crate) fn of(request: &Extensions) -> Result<Self, ErrorData> {
        let over_http = || request.get::<http::request::Parts>()?.extensions.get();
        let slot = request.get().or_else(over_http).cloned();
        slot.ok_or_else(|| ErrorData::internal_error("there is no slot for the result", None))
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// Puts in the encoded result, or the error when the budget is exhausted.
    pub(crate) fn fill(&self, result: Result<Vec<Part>, BudgetExhausted>) -> Result<(), ErrorData> {
        let (content, outcome) = match result {
            Ok(parts) => (SlotContent::Result(parts), Ok(())),
            Err(exhausted) => {
                let reason = exhausted.to_string();
                (SlotContent::BudgetExhausted(reason.clone()), Err(ErrorData::internal_error(reason, None)))
            }
        };
        let _ = self.0.content.set(content);
        outcome
    }

    /// The content, if the slot is filled.
    pub(crate) fn content(&self) -> Option<&SlotContent> {
        self.0.content.get()
    }
}

/// The text of a result of rmcp, with the members that rmcp would add or remove in an era.
pub(crate) fn text_of(result: impl Into<ServerResult>, era: Era) -> Result<Bytes, ErrorData> {
    let mut result = result.into();
    match era {
        Era::Sessionless => result.fill_missing_cache_hints(),
        Era::Handshake => result.strip_result_type_for_legacy_peer(),
    }
    text(&result)
}

/// A value as JSON text, in a buffer of exactly its length: a growing buffer could take twice as much.
pub(crate) fn text(value: &impl Serialize) -> Result<Bytes, ErrorData> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value).map_err(internal)?;
    let mut text = Vec::with_capacity(length.0);
    serde_json::to_writer(&mut text, value).map_err(internal)?;
    Ok(text.into())
}

/// Counts the bytes that are written.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
