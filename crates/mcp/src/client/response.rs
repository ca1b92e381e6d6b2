//! Reading an answer as the answer to what was asked.
//!
//! rmcp guesses the kind of a result by its members, and takes any object with `_meta` for the result of a tool: a list
//! of skills from a server that adds `_meta`, as the protocol recommends, would be an empty one. Here the question
//! decides.

use std::io::BufRead;

use prowess::text::json_values;
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomResult, PingRequest, RequestId, ServerJsonRpcMessage,
    ServerRequest, ServerResult,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::source::McpLimits;

/// What was asked, as far as the reading of its answer goes.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The id of a request; none for what nobody answers.
    pub(crate) id: Option<RequestId>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Discover,
    Initialize,
    Other,
}

/// What a message is, with nothing kept of what it says: a value takes many times the bytes it is written in, and most
/// that come unasked are for nobody.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    #[serde(default)]
    pub(crate) id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Head {
    /// Whether it answers something.
    pub(crate) fn is_answer(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }

    /// Whether it asks for something, or tells something.
    pub(crate) fn is_own(&self) -> bool {
        self.method.is_some()
    }

    /// The question whether we are there, which is answered for as long as we are.
    pub(crate) fn ping(&self) -> Option<ServerJsonRpcMessage> {
        let id = self.id.clone().filter(|_| self.method.as_deref() == Some("ping"))?;
        Some(ServerJsonRpcMessage::request(ServerRequest::PingRequest(PingRequest::default()), id))
    }
}

/// A message, before anybody decides what its result is.
#[derive(Debug, Deserialize)]
pub(crate) struct Raw {
    #[serde(default)]
    pub(crate) id: Option<RequestId>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    pub(crate) error: Option<ErrorData>,
}

impl Asked {
    pub(crate) fn of(message: &ClientJsonRpcMessage) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else {
            return Self { id: None, kind: Kind::Other };
        };
        let kind = match &request.request {
            ClientRequest::DiscoverRequest(_) => Kind::Discover,
            ClientRequest::InitializeRequest(_) => Kind::Initialize,
            _ => Kind::Other,
        };
        Self { id: Some(request.id.clone()), kind }
    }

    /// Whether this is the question that older servers do not know.
    pub(crate) fn is_discover(&self) -> bool {
        self.kind == Kind::Discover
    }

    /// The message as the answer to this; nothing when it answers something else.
    pub(crate) fn answer(&self, raw: Raw) -> Option<ServerJsonRpcMessage> {
        let asked = self.id.clone()?;
        // An error may have no id, when the server could not read ours.
        if raw.id.as_ref().is_some_and(|id| *id != asked) || (raw.id.is_none() && raw.error.is_none()) {
            return None;
        }
        if let Some(error) = raw.error {
            return Some(ServerJsonRpcMessage::error(error, Some(asked)));
        }
        let result = match self.kind {
            Kind::Discover => ServerResult::DiscoverResult(serde_json::from_value(raw.result?).ok()?),
            Kind::Initialize => ServerResult::InitializeResult(serde_json::from_value(raw.result?).ok()?),
            Kind::Other => ServerResult::CustomResult(CustomResult::new(raw.result?)),
        };
        Some(ServerJsonRpcMessage::response(result, asked))
    }
}

/// How reading a stream of events ended.
#[derive(Debug)]
pub(crate) enum Streamed {
    /// With the answer.
    Answer(Box<ServerJsonRpcMessage>),
    /// Before the answer.
    Ended,
    /// With an event that has more values than the limits allow.
    TooManyValues,
}

/// The answer in a stream of events; what the server says or asks before it is passed over, since this client offers
/// nothing that could be asked for.
pub(crate) fn in_events(
    reader: &mut impl BufRead,
    asked: &Asked,
    limits: &McpLimits,
) -> std::io::Result<Streamed> {
    let mut data = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let ended = reader.read_until(b'\n', &mut line)? == 0;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if let Some(part) = text.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(part.strip_prefix(b" ").unwrap_or(part));
        } else if text.is_empty() && !data.is_empty() {
            if json_values(&data) > limits.answer_values {
                return Ok(Streamed::TooManyValues);
            }
            let for_us = |head: &Head| head.is_answer() && (head.id.is_none() || head.id == asked.id);
            let head = serde_json::from_slice::<Head>(&data).ok().filter(for_us);
            let raw = head.and_then(|_| serde_json::from_slice::<Raw>(&data).ok());
            if let Some(answer) = raw.and_then(|raw| asked.answer(raw)) {
                return Ok(Streamed::Answer(Box::new(answer)));
            }
            data.clear();
        }
        if ended {
            return Ok(Streamed::Ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kind: Kind) -> Asked {
        Asked { id: Some(RequestId::Number(7)), kind }
    }

    fn read(kind: Kind, text: &str) -> Option<ServerJsonRpcMessage> {
        asked(kind).answer(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_question_decides_what_an_answer_is() {
        let text = r#"{"jsonrpc":"2.0","id":7,"result":{"skills":[],"_meta":{"x":1}}}"#;
        let Some(ServerJsonRpcMessage::Response(response)) = read(Kind::Other, text) else { panic!() };
        let ServerResult::CustomResult(result) = response.result else { panic!() };
        assert!(result.0["skills"].is_array());
        assert!(read(Kind::Other, r#"{"id":8,"result":{}}"#).is_none(), "an answer to something else");
        assert!(read(Kind::Other, r#"{"result":{}}"#).is_none(), "an answer to nothing");
        assert!(read(Kind::Initialize, r#"{"id":7,"result":{}}"#).is_none(), "no handshake");
        assert!(read(Kind::Other, r#"{"error":{"code":-32700,"message":"?"}}"#).is_some());
    }

    #[test]
    fn the_answer_is_found_among_events() {
        let text =
            ": hello\r\ndata: {\"method\":\"x\"}\r\n\r\nid: 1\ndata: {\"id\":7,\ndata:\"result\":{}}\n\n";
        let answer = in_events(&mut text.as_bytes(), &asked(Kind::Other), &McpLimits::default()).unwrap();
        assert!(
            matches!(answer, Streamed::Answer(answer) if matches!(*answer, ServerJsonRpcMessage::Response(_)))
        );
        let cut = "data: {\"id\":7,\"result\":";
        let ended = in_events(&mut cut.as_bytes(), &asked(Kind::Other), &McpLimits::default()).unwrap();
        assert!(matches!(ended, Streamed::Ended));
    }
}
