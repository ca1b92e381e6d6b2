//! An answer that is written once and sent to many: past the protocol's own writing, which copies and writes each anew.
//!
//! A page of a hundred skills is some two thousand strings. rmcp takes a result as a tree of values of its own, so each
//! asker would pay for a copy of the tree, its writing and its end. The HTTP side therefore hands a [`Slot`] down with a
//! request; a handler that has the text of its result at hand puts it there and gives rmcp an empty result, and the
//! HTTP side sends the text. All checks of the protocol come before, as for every request.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rmcp::model::{Extensions, RequestId};
use serde_json::Value;

/// Where a handler puts the text of its result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<OnceLock<Bytes>>);

impl Slot {
    /// The slot that came with a request, if the way back takes a text.
    pub(crate) fn of(request: &Extensions) -> Option<&Self> {
        request.get::<http::request::Parts>()?.extensions.get()
    }

    /// Leaves the text of the result.
    pub(crate) fn fill(&self, result: Bytes) {
        let _ = self.0.set(result);
    }

    /// The whole answer to a request, if a result was left here.
    pub(crate) fn answer(&self, id: &RequestId) -> Option<Bytes> {
        let result = self.0.get()?;
        let id = serde_json::to_string(id).ok()?;
        let parts: [&[u8]; 5] = [br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), br#","result":"#, result, b"}"];
        Some(parts.concat().into())
    }
}

/// The result of a request that many make: its value, and its text once somebody could take it.
pub(crate) struct Page {
    value: Value,
    text: OnceLock<Option<Bytes>>,
}

impl Page {
    pub(crate) fn new(value: Value) -> Self {
        Self { value, text: OnceLock::new() }
    }

    /// The result for rmcp: nothing when its text went into the slot.
    pub(crate) fn result(&self, slot: Option<&Slot>) -> Value {
        let text = || self.text.get_or_init(|| serde_json::to_vec(&self.value).ok().map(Bytes::from)).clone();
        match slot.and_then(|slot| Some((slot, text()?))) {
            Some((slot, text)) => {
                slot.fill(text);
                Value::Null
            }
            None => self.value.clone(),
        }
    }
}
