//! Reads responses as the responses to known requests.
//!
//! rmcp guesses the type of a result by its members, and takes any object with `_meta` for the result of a tool: a list
//! of skills from a server that adds `_meta`, as the protocol recommends, would be an empty one. Here the request decides
//! the type.

use std::io::BufRead;

use prowess::internal::{json_values, parse_json, without_depths, without_halves};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomResult, PingRequest, RequestId, ServerJsonRpcMessage,
    ServerRequest, ServerResult,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::protocol::ambiguity::{Outline, ambiguity};
use crate::source::McpLimits;

/// The depth from which on the lists and objects of a message are left out, if it cannot be read with them. The reader takes
/// 127.
const MAX_DEPTH: usize = 100;

/// A sent message, as far as it is needed to read the response.
#[derive(Clone, Debug)]
pub(crate) struct SentRequest {
    /// The id of a request; notifications have none.
    pub(crate) id: Option<RequestId>,
    kind: RequestKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Discover,
    Initialize,
    Other,
}

/// The kind of a message, without its content: a parsed value takes many times its bytes, and most unsolicited
/// messages are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct MessageHead {
    #[serde(default)]
    pub(crate) id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl MessageHead {
    /// Whether it is a response.
    pub(crate) fn is_response(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }

    /// Whether it is a request or a notification.
    pub(crate) fn has_method(&self) -> bool {
        self.method.is_some()
    }

    /// The ping request in it, if it is one.
    pub(crate) fn ping(&self) -> Option<ServerJsonRpcMessage> {
        let id = self.id.clone().filter(|_| self.method.as_deref() == Some("ping"))?;
        Some(ServerJsonRpcMessage::request(ServerRequest::PingRequest(PingRequest::default()), id))
    }
}

/// A response whose result is not interpreted yet.
#[derive(Debug, Deserialize)]
pub(crate) struct RawResponse {
    #[serde(default)]
    pub(crate) id: Option<RequestId>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    pub(crate) error: Option<ErrorData>,
}

/// Why a message is not read as a response.
pub(crate) enum ResponseError {
    /// It is a response with two members of one name.
    Ambiguous(serde_json::Error),
    NoMessage(serde_json::Error),
}

impl RawResponse {
    /// Reads a response. One that is ambiguous is refused, as the server refuses requests: an audit between the two could
    /// see another skill than the one that is trusted.
    pub(crate) fn read(text: &[u8]) -> Result<Self, ResponseError> {
        match Self::parsed(text) {
            Err(ResponseError::NoMessage(error)) => mended(text)
                .map_or(Err(ResponseError::NoMessage(error)), |text| Self::parsed(text.as_bytes())),
            read => read,
        }
    }

    fn parsed(text: &[u8]) -> Result<Self, ResponseError> {
        match parse_json(text) {
            Ok(value) => serde_json::from_value(value).map_err(ResponseError::NoMessage),
            Err(error) => Err(match ambiguity(text) {
                Some(ambiguity) => ResponseError::Ambiguous(ambiguity),
                None => ResponseError::NoMessage(error),
            }),
        }
    }
}

/// A message without what no reader of JSON takes, if it has any: one entry of a list that has it must not take the others
/// with it. Its files are compared with their digests, so nothing is read otherwise than it is.
fn mended(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let whole = without_halves(text, "\\ufffd");
    without_depths(whole.as_deref().unwrap_or(text), MAX_DEPTH).or(whole)
}

impl SentRequest {
    pub(crate) fn of(message: &ClientJsonRpcMessage) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else {
            return Self { id: None, kind: RequestKind::Other };
        };
        let kind = match &request.request {
            ClientRequest::DiscoverRequest(_) => RequestKind::Discover,
            ClientRequest::InitializeRequest(_) => RequestKind::Initialize,
            _ => RequestKind::Other,
        };
        Self { id: Some(request.id.clone()), kind }
    }

    /// Whether it is `server/discover`, which older servers do not know.
    pub(crate) fn is_discover(&self) -> bool {
        self.kind == RequestKind::Discover
    }

    /// Whether it begins the connection.
    pub(crate) fn is_handshake(&self) -> bool {
        matches!(self.kind, RequestKind::Discover | RequestKind::Initialize)
    }

    /// The response to this request; `None` when it is the response to another one.
    pub(crate) fn response(&self, raw: RawResponse) -> Option<ServerJsonRpcMessage> {
        let own = self.id.clone()?;
        // An error has no id when the server could not read that of the request.
        if raw.id.as_ref().is_some_and(|id| *id != own) || (raw.id.is_none() && raw.error.is_none()) {
            return None;
        }
        if let Some(error) = raw.error {
            return Some(ServerJsonRpcMessage::error(error, Some(own)));
        }
        let result = match self.kind {
            RequestKind::Discover => ServerResult::DiscoverResult(serde_json::from_value(raw.result?).ok()?),
            RequestKind::Initialize => {
                ServerResult::InitializeResult(serde_json::from_value(raw.result?).ok()?)
            }
            RequestKind::Other => ServerResult::CustomResult(CustomResult::new(raw.result?)),
        };
        Some(ServerJsonRpcMessage::response(result, own))
    }
}

/// How reading a stream of events ended.
#[derive(Debug)]
pub(crate) enum StreamOutcome {
    /// With the response.
    Response(Box<ServerJsonRpcMessage>),
    /// Before the response.
    Ended,
    /// With an event that has more values than the limits allow.
    TooManyValues,
    /// With a response that is ambiguous.
    Ambiguous(serde_json::Error),
}

/// Reads the response in an event stream. Other messages before it are ignored, since this client has no capabilities
/// that a server could use.
pub(crate) fn response_in_events(
    reader: &mut impl BufRead,
    sent: &SentRequest,
    limits: &McpLimits,
) -> std::io::Result<StreamOutcome> {
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
                return Ok(StreamOutcome::TooManyValues);
            }
            let for_us = |head: &MessageHead| head.is_response() && (head.id.is_none() || head.id == sent.id);
            let head = serde_json::from_slice::<MessageHead>(&data).ok();
            // Two results or two ids have no head. The stream is that of one request.
            let is_ours = |outline: &Outline| {
                outline.is_response() && outline.only_id().is_none_or(|id| Some(id) == sent.id)
            };
            if head.is_none()
                && Outline::of(&data).is_some_and(|outline| is_ours(&outline))
                && let Some(error) = ambiguity(&data)
            {
                return Ok(StreamOutcome::Ambiguous(error));
            }
            match head.filter(for_us).map(|_| RawResponse::read(&data)) {
                Some(Ok(raw)) => {
                    if let Some(response) = sent.response(raw) {
                        return Ok(StreamOutcome::Response(Box::new(response)));
                    }
                }
                Some(Err(ResponseError::Ambiguous(error))) => return Ok(StreamOutcome::Ambiguous(error)),
                Some(Err(ResponseError::NoMessage(_))) | None => {}
            }
            data.clear();
        }
        if ended {
            return Ok(StreamOutcome::Ended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(kind: RequestKind) -> SentRequest {
        SentRequest { id: Some(RequestId::Number(7)), kind }
    }

    fn read(kind: RequestKind, text: &str) -> Option<ServerJsonRpcMessage> {
        sent(kind).response(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_request_decides_the_type_of_the_result() {
        let text = r#"{"jsonrpc":"2.0","id":7,"result":{"skills":[],"_meta":{"x":1}}}"#;
        let Some(ServerJsonRpcMessage::Response(response)) = read(RequestKind::Other, text) else { panic!() };
        let ServerResult::CustomResult(result) = response.result else { panic!() };
        assert!(result.0["skills"].is_array());
        assert!(
            read(RequestKind::Other, r#"{"id":8,"result":{}}"#).is_none(),
            "a response to another request"
        );
        assert!(read(RequestKind::Other, r#"{"result":{}}"#).is_none(), "a response without an id");
        assert!(read(RequestKind::Initialize, r#"{"id":7,"result":{}}"#).is_none(), "not a handshake");
        assert!(read(RequestKind::Other, r#"{"error":{"code":-32700,"message":"?"}}"#).is_some());
    }

    #[test]
    fn the_response_is_found_among_events() {
        let text =
            ": hello\r\ndata: {\"method\":\"x\"}\r\n\r\nid: 1\ndata: {\"id\":7,\ndata:\"result\":{}}\n\n";
        let read = |text: &str| {
            response_in_events(&mut text.as_bytes(), &sent(RequestKind::Other), &McpLimits::default())
                .unwrap()
        };
        let StreamOutcome::Response(response) = read(text) else { panic!() };
        assert!(matches!(*response, ServerJsonRpcMessage::Response(_)));
        let cut = "data: {\"id\":7,\"result\":";
        assert!(matches!(read(cut), StreamOutcome::Ended));
    }
}
