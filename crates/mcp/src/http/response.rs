//! The responses that the HTTP transport builds itself: plain text, JSON-RPC errors, 503 and 405.

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

use crate::protocol::outgoing::OutgoingMessage;

/// A response to a client.
pub(crate) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The next frame of a body that cannot fail.
pub(crate) type FramePoll = Poll<Option<Result<Frame<Bytes>, Infallible>>>;

/// An error response, boxed to keep `Result` small.
pub(crate) struct ErrorResponse(pub(crate) Box<HttpResponse>);

/// Why a request was refused: a word for the log and the metrics, in the extensions of the response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal(pub(crate) &'static str);

/// The response, marked as a refusal.
pub(crate) fn refused(reason: &'static str, mut response: HttpResponse) -> HttpResponse {
    response.extensions_mut().insert(Refusal(reason));
    response
}

impl From<HttpResponse> for ErrorResponse {
    fn from(response: HttpResponse) -> Self {
        Self(Box::new(response))
    }
}

impl Body for OutgoingMessage {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> FramePoll {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining())
    }
}

/// A response with one JSON-RPC message.
pub(crate) fn message(message: OutgoingMessage) -> HttpResponse {
    let mut response = Response::new(message.boxed());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response with a short body of the given content type.
pub(crate) fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> HttpResponse {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A response with a JSON-RPC error.
pub(crate) fn rpc_error(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> HttpResponse {
    let text = serde_json::to_string(&JsonRpcError::new(id, error)).unwrap_or_default();
    plain(status, "application/json", text)
}

/// A response that rejects an invalid request.
pub(crate) fn invalid_request(status: StatusCode, message: impl Into<String>) -> HttpResponse {
    rpc_error(status, None, ErrorData::invalid_request(message.into(), None))
}

/// A 503 response with `Retry-After`: a limit is exhausted for now. `limit` is its word for the log and the metrics.
pub(crate) fn unavailable(limit: &'static str, what: impl Display) -> HttpResponse {
    let error = ErrorData::internal_error(what.to_string(), None);
    let mut response = rpc_error(StatusCode::SERVICE_UNAVAILABLE, None, error);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    refused(limit, response)
}

/// The response, after which the connection is closed.
pub(crate) fn closing(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A 405 response with the allowed method.
pub(crate) fn method_not_allowed(allow: &'static str) -> HttpResponse {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "method not allowed");
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}
