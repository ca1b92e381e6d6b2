//! The access log: one line for each request, and the counters that go with it.
//!
//! Header values, bodies and queries are never logged, since they may contain secrets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{Method, Request, StatusCode};
use hyper::body::Body as _;
use prowess::text::cut;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::http::response::{HttpResponse, Refusal};
use crate::metrics::Metrics;
use crate::server::record::CallRecord;

/// The maximum length of a text of a client in the log, in characters. One that is cut ends with `…`.
const MAX_TEXT: usize = 100;

/// What is known about a request before its response.
pub(crate) struct AccessEntry {
    started: Instant,
    peer: SocketAddr,
    verb: Method,
    path: String,
    /// The name of the token.
    token: Option<String>,
    /// The method of the message.
    method: Option<String>,
    /// The code of a JSON-RPC error.
    error: Option<i64>,
    pub(crate) record: CallRecord,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
    finished: bool,
}

/// The status of a request whose client disconnected before the response, which nginx logs too.
const GONE: u16 = 499;

/// Logs and counts a request whose head was refused, so that no request was made of it. A connection that ends or stays
/// silent is none.
pub(crate) fn refused_head(error: &hyper::Error, peer: SocketAddr, metrics: &Metrics) {
    let (reason, status) = match error {
        error if error.is_parse_too_large() => ("head-size", 431_u16),
        error if error.is_parse() => ("head", 400),
        _ => return,
    };
    metrics.count_refusal(reason);
    tracing::info!(target: "prowess", reason, peer = %peer, status, "request");
}

impl AccessEntry {
    /// `stop` is cancelled when the server stops.
    pub(crate) fn new<B>(
        request: &Request<B>,
        peer: SocketAddr,
        metrics: &Arc<Metrics>,
        stop: &CancellationToken,
    ) -> Self {
        Self {
            started: Instant::now(),
            peer,
            verb: request.method().clone(),
            path: cut(request.uri().path(), Some(MAX_TEXT)).into_owned(),
            token: None,
            method: None,
            error: None,
            record: CallRecord::default(),
            metrics: Arc::clone(metrics),
            stop: stop.clone(),
            finished: false,
        }
    }

    pub(crate) fn set_token(&mut self, name: Option<&str>) {
        self.token = name.map(str::to_owned);
    }

    pub(crate) fn set_method(&mut self, method: &str) {
        self.method = Some(cut(method, Some(MAX_TEXT)).into_owned());
    }

    /// Looks for an error in a response of rmcp, which is JSON or a stream of one event.
    pub(crate) fn look_for_error(&mut self, response: &[u8]) {
        #[derive(Deserialize)]
        struct Failed {
            error: Code,
        }
        #[derive(Deserialize)]
        struct Code {
            code: i64,
        }
        let event = response.split(|byte| *byte == b'\n').rev().find_map(|line| line.strip_prefix(b"data: "));
        let failed = serde_json::from_slice::<Failed>(event.unwrap_or(response));
        self.error = failed.ok().map(|failed| failed.error.code);
    }

    /// Whether an error was found in the response.
    pub(crate) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Logs and counts the request.
    pub(crate) fn finish(mut self, response: &HttpResponse) {
        self.finished = true;
        let refusal = response.extensions().get::<Refusal>().map(|refusal| refusal.0);
        if let Some(refusal) = refusal {
            self.metrics.count_refusal(refusal);
        }
        // A stream has no size yet.
        self.log(response.status().as_u16(), refusal, response.body().size_hint().exact());
    }

    fn log(&self, status: u16, reason: Option<&str>, bytes: Option<u64>) {
        let (time, recorded) = (self.started.elapsed(), self.record.recorded());
        if self.path == "/mcp" {
            let method = self.method.as_deref().filter(|_| self.verb == Method::POST);
            self.metrics.count_request(method.unwrap_or(self.verb.as_str()), status, time);
        }
        let error = self.error.map(|code| format!("error {code}"));
        let reason = reason.or(recorded.reason).or(error.as_deref());
        tracing::info!(
            target: "prowess",
            reason,
            peer = %self.peer,
            token = self.token.as_deref(),
            verb = self.verb.as_str(),
            path = self.path.as_str(),
            method = self.method.as_deref(),
            tool = recorded.tool.as_deref(),
            skill = recorded.skill.as_deref(),
            status,
            ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            bytes,
            "request"
        );
    }
}

/// A request that is dropped before its response: its handler failed, the server stopped, or the client disconnected.
impl Drop for AccessEntry {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (status, reason) = if std::thread::panicking() {
            (StatusCode::INTERNAL_SERVER_ERROR.as_u16(), "failed")
        } else if self.stop.is_cancelled() {
            (StatusCode::SERVICE_UNAVAILABLE.as_u16(), "stopped")
        } else {
            (GONE, "gone")
        };
        self.log(status, Some(reason), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::publication::Publication;
    use crate::metrics::Gauges;

    #[test]
    fn a_text_of_a_client_that_is_cut_says_so() {
        let request = Request::builder().uri(format!("/{}", "x".repeat(200))).body(()).unwrap();
        let (peer, metrics) = (SocketAddr::from(([127, 0, 0, 1], 1)), Arc::default());
        let mut entry = AccessEntry::new(&request, peer, &metrics, &CancellationToken::new());
        entry.set_method(&"y".repeat(101));
        assert_eq!(entry.path, format!("/{}…", "x".repeat(98)));
        assert_eq!(entry.method, Some(format!("{}…", "y".repeat(99))));
        entry.set_method(&"y".repeat(100));
        assert_eq!(entry.method, Some("y".repeat(100)));
    }

    #[test]
    fn a_request_without_a_response_is_counted_by_why_it_has_none() {
        let (metrics, stop) = (Arc::default(), CancellationToken::new());
        let entry = || {
            let request = Request::builder().uri("/mcp").body(()).unwrap();
            AccessEntry::new(&request, SocketAddr::from(([127, 0, 0, 1], 1)), &metrics, &stop)
        };
        drop(entry());
        let failing = std::panic::AssertUnwindSafe(|| {
            let _entry = entry();
            panic!("a handler fails");
        });
        assert!(std::panic::catch_unwind(failing).is_err());
        stop.cancel();
        drop(entry());
        let gauges = Gauges {
            connections: 0,
            requests: 0,
            sessions: 0,
            streams: 0,
            kept: 0,
            tokens: 0,
            tokens_read: None,
        };
        let page = metrics.page(&gauges, &Publication::new(true));
        for status in [499, 500, 503] {
            let line = format!(r#"prowess_requests_total{{method="GET",status="{status}"}} 1"#);
            assert!(page.contains(&line), "{line}: {page}");
        }
    }
}
