//! The answers that the HTTP side gives by itself: plain ones, errors of JSON-RPC, and what is to come back or to close.

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, SizeHint};
use rmcp::ErrorData;
use rmcp::model::{JsonRpcError, RequestId};

use crate::protocol::outgoing::Outgoing;

/// What goes back to a client.
pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// An answer that says why there is no other; in a box, as those who get on should not carry its size around.
pub(crate) struct Refusal(pub(crate) Box<Answer>);

impl From<Answer> for Refusal {
    fn from(answer: Answer) -> Self {
        Self(Box::new(answer))
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

/// A message of the protocol.
pub(crate) fn message(message: Outgoing) -> Answer {
    let mut answer = Response::new(message.boxed());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// A text of some kind.
pub(crate) fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// An error that a client of the protocol can read.
pub(crate) fn problem(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Answer {
    let text = serde_json::to_string(&JsonRpcError::new(id, error)).unwrap_or_default();
    plain(status, "application/json", text)
}

/// A request that is not as it should be.
pub(crate) fn wrong(status: StatusCode, message: impl Into<String>) -> Answer {
    problem(status, None, ErrorData::invalid_request(message.into(), None))
}

/// Something is full, and will not be for ever.
pub(crate) fn full(what: impl Display) -> Answer {
    let error = ErrorData::internal_error(what.to_string(), None);
    let mut answer = problem(StatusCode::SERVICE_UNAVAILABLE, None, error);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

/// The last answer on its connection.
pub(crate) fn last(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

pub(crate) fn method_not_allowed(allow: &'static str) -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "method not allowed");
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    answer
}
