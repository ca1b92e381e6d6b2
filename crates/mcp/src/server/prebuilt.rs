//! Results as text: written once, counted while they wait for a reader, and sent past the protocol's own writing.
//!
//! rmcp takes a result as a tree of values and copies it several times on its way out, where no limit reaches it. So
//! each transport hands a [`Slot`] down with a request. A handler leaves the text of its result there and gives rmcp an
//! empty one, and the transport sends the text. All checks of the protocol come before, as for every request.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use rmcp::ErrorData;
use rmcp::model::{Extensions, ServerResult};
use serde::Serialize;

use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::NoRoom;
use crate::protocol::wire::Era;
use crate::server::skills::internal;

/// Where a handler leaves the text of its result.
#[derive(Clone, Debug)]
pub(crate) struct Slot(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// How long the result may wait for room.
    patience: Duration,
    left: OnceLock<Left>,
}

/// What a handler left.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// The text of the result, in parts.
    Result(Vec<Part>),
    /// Why there is none.
    NoRoom(String),
}

impl Slot {
    pub(crate) fn new(patience: Duration) -> Self {
        Self(Arc::new(Inner { patience, left: OnceLock::new() }))
    }

    /// The slot that came with a request: by itself on a pipe, with the head of the request over HTTP.
    pub(crate) fn of(request: &Extensions) -> Result<Self, ErrorData> {
        let over_http = || request.get::<http::request::Parts>()?.extensions.get();
        let slot = request.get().or_else(over_http).cloned();
        slot.ok_or_else(|| ErrorData::internal_error("there is no way back for a result", None))
    }

    pub(crate) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Leaves the text of the result, or why there is no room for one.
    pub(crate) fn fill(&self, result: Result<Vec<Part>, NoRoom>) -> Result<(), ErrorData> {
        let (left, said) = match result {
            Ok(parts) => (Left::Result(parts), Ok(())),
            Err(full) => {
                let reason = full.to_string();
                (Left::NoRoom(reason.clone()), Err(ErrorData::internal_error(reason, None)))
            }
        };
        let _ = self.0.left.set(left);
        said
    }

    /// What was left here.
    pub(crate) fn left(&self) -> Option<&Left> {
        self.0.left.get()
    }
}

/// The text of a result of rmcp, with the members that rmcp would add or strip in an era.
pub(crate) fn text_of(result: impl Into<ServerResult>, era: Era) -> Result<Bytes, ErrorData> {
    let mut result = result.into();
    match era {
        Era::Sessionless => result.fill_missing_cache_hints(),
        Era::Handshake => result.strip_result_type_for_legacy_peer(),
    }
    text(&result)
}

/// A value as text that takes no more memory than its length: growing it would take twice as much.
pub(crate) fn text(value: &impl Serialize) -> Result<Bytes, ErrorData> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value).map_err(internal)?;
    let mut text = Vec::with_capacity(length.0);
    serde_json::to_writer(&mut text, value).map_err(internal)?;
    Ok(text.into())
}

/// Counts what is written.
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
