//! What lets pages of allowed origins use the server: the answer to a browser's preflight, and the headers without which it
//! keeps responses from a page. No cookies: a page sends its token itself.

use http::{HeaderValue, Method, Request, StatusCode, header};

use crate::http::response::{HttpResponse, plain};

/// The methods of the protocol.
const METHODS: &str = "GET, POST, DELETE";
/// The headers of the protocol that a page may send only when they are allowed.
const HEADERS: &str =
    "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
/// How long a browser may remember the answer, in seconds. Browsers remember it two hours at most.
const MAX_AGE: &str = "7200";

/// Whether a browser asks if a page may send a request.
pub(crate) fn is_preflight<B>(request: &Request<B>) -> bool {
    let asks = |name| request.headers().contains_key(name);
    request.method() == Method::OPTIONS && asks(header::ORIGIN) && asks(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight of an allowed origin.
pub(crate) fn allowed() -> HttpResponse {
    let mut response = plain(StatusCode::NO_CONTENT, "text/plain", "");
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    response
}

/// The response, which pages of this origin may read.
pub(crate) fn readable(mut response: HttpResponse, origin: HeaderValue) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    response
}
