//! What operators ask: whether the server runs, whether it is ready, and its metrics.

use http::{Method, StatusCode};

use crate::http::response::{HttpResponse, method_not_allowed, plain};
use crate::server::Shared;

/// The content type of the text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The response of `/healthz`. It says nothing about the library, since it needs no token.
pub(crate) fn health(method: &Method) -> HttpResponse {
    get(method, || json(StatusCode::OK, r#"{"status":"ok"}"#))
}

/// The response of `/readyz`: whether requests for skills are answered at once. It needs no token either.
pub(crate) fn readiness(method: &Method, shared: &Shared) -> HttpResponse {
    get(method, || match not_ready(shared) {
        None => json(StatusCode::OK, r#"{"status":"ready"}"#),
        Some(reason) => {
            let text = format!(r#"{{"status":"not ready","reason":"{reason}"}}"#);
            json(StatusCode::SERVICE_UNAVAILABLE, text)
        }
    })
}

/// Why the server is not ready.
fn not_ready(shared: &Shared) -> Option<&'static str> {
    let publication = &shared.library.publication;
    match publication.whole() {
        _ if shared.stop.is_cancelled() => Some("the server is stopping"),
        None => Some("the library is being read"),
        Some(_) if !publication.reading().asked => Some("a source has not answered yet"),
        Some(now) if now.catalog().all().next().is_none() && !publication.could_read() => {
            Some("no source could be read")
        }
        Some(_) => None,
    }
}

/// The page of metrics.
pub(crate) fn metrics(method: &Method, page: impl FnOnce() -> String) -> HttpResponse {
    get(method, || plain(StatusCode::OK, METRICS, page()))
}

fn json(status: StatusCode, text: impl Into<bytes::Bytes>) -> HttpResponse {
    plain(status, "application/json", text)
}

fn get(method: &Method, response: impl FnOnce() -> HttpResponse) -> HttpResponse {
    match *method {
        Method::GET | Method::HEAD => response(),
        _ => method_not_allowed("GET"),
    }
}
