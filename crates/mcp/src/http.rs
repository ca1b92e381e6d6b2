//! Streamable HTTP at `/mcp` and `/healthz`: who may ask, how much, how long; the protocol itself is rmcp's.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcError, RequestId};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::http_options::HttpOptions;
use crate::patient::Patient;
use crate::ready::Slot;
use crate::server::{Server, Shared};
use crate::sessions::Sessions;

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// How long those who are told of the end have before their streams are closed.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What stands before the protocol.
struct Front {
    service: StreamableHttpService<Server, Sessions>,
    sessions: Arc<Sessions>,
    requests: Arc<Semaphore>,
    options: HttpOptions,
}

/// Serves until `stop`; then lets what is under way end, for a while.
pub(crate) async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    options: HttpOptions,
    stop: CancellationToken,
) {
    let sessions = Arc::new(Sessions::new(options.max_sessions, options.session_time));
    // Ends what does not end by itself.
    let streams = CancellationToken::new();
    let sweeper = tokio::spawn(Arc::clone(&sessions).sweep(stop.clone()));
    let mut config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_legacy_session_mode(true)
        .with_max_request_body_bytes(options.max_body)
        .with_sse_keep_alive(Some(Duration::from_secs(15)))
        .with_sse_retry(None)
        .with_cancellation_token(streams.clone());
    // Host: loopback names by default; a token makes rebinding pointless, and then names are checked only if given.
    config = match (&options.token, options.hosts.is_empty()) {
        (Some(_), true) => config.disable_allowed_hosts(),
        _ => config.with_allowed_hosts(
            ["localhost", "127.0.0.1", "[::1]"]
                .into_iter()
                .map(str::to_owned)
                .chain(options.hosts.iter().cloned()),
        ),
    };
    // Origin: rmcp checks none unless it is told.
    let loopback = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*", "https://localhost:*"];
    config = config
        .enforce_origin_validation()
        .with_allowed_origins(loopback.into_iter().map(str::to_owned).chain(options.origins.iter().cloned()));
    let factory = Arc::clone(&shared);
    let ending_sessions = Arc::clone(&sessions);
    let front = Arc::new(Front {
        service: StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&factory))),
            Arc::clone(&sessions),
            config,
        ),
        sessions,
        requests: Arc::new(Semaphore::new(options.max_requests)),
        options: options.clone(),
    });
    let connections = Arc::new(Semaphore::new(options.max_connections));
    let graceful = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_time)
        .max_buf_size(64 * 1024)
        .keep_alive(true);
    loop {
        // No accept without a place: further clients wait in the kernel's queue.
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                // Out of descriptors, or the client is gone already: neither ends the server.
                tracing::warn!(%error, "could not accept");
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(Patient::new(stream, options.stall_time));
        let front = Arc::clone(&front);
        let service = service_fn(move |request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        });
        let connection = graceful.watch(builder.serve_connection(io, service));
        tokio::spawn(async move {
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    // Subscriptions end with their result; streams without one are closed when those had their time.
    let mut ending = std::pin::pin!(graceful.shutdown());
    if timeout(LAST_WORDS, ending.as_mut()).await.is_err() {
        streams.cancel();
        let _ = timeout(options.grace, ending).await;
    }
    let _ = timeout(options.grace, sweeper).await;
    ending_sessions.end_all().await;
}

impl Front {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let started = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = self.route(request).await;
        // Never a header value, a body or a query: they may hold secrets.
        tracing::info!(target: "prowess", method = %method, path = %path, status = answer.status().as_u16(),
            ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX), "request");
        answer
    }

    async fn route(&self, request: Request<Incoming>) -> Answer {
        match request.uri().path() {
            "/healthz" if matches!(*request.method(), Method::GET | Method::HEAD) => {
                // Says nothing about the library: it is open to everybody who reaches the port.
                plain(StatusCode::OK, "application/json", r#"{"status":"ok"}"#)
            }
            "/healthz" => method_not_allowed("GET"),
            "/mcp" => self.protocol(request).await,
            _ => plain(StatusCode::NOT_FOUND, "text/plain", "not found"),
        }
    }

    async fn protocol(&self, request: Request<Incoming>) -> Answer {
        if let Some(token) = &self.options.token
            && !bearer(request.headers()).is_some_and(|given| token.is(given))
        {
            let mut answer = problem(
                StatusCode::UNAUTHORIZED,
                None,
                ErrorData::invalid_request("a bearer token is needed", None),
            );
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
            return answer;
        }
        let busy = || {
            let mut answer = problem(
                StatusCode::SERVICE_UNAVAILABLE,
                None,
                ErrorData::internal_error("too many requests at once", None),
            );
            answer.headers_mut().insert(header::RETRY_AFTER, http::HeaderValue::from_static("1"));
            answer
        };
        // Held until the answer begins, not while it is read: a slow reader takes nobody's place.
        let Ok(Ok(_permit)) = timeout(self.options.request_time, self.requests.acquire()).await else {
            return busy();
        };
        if request.method() != Method::POST {
            // GET (a stream) and DELETE: rmcp's own checks, no body.
            return self.service.handle(request).await;
        }
        let (mut parts, body) = request.into_parts();
        let bytes = match timeout(self.options.body_time, Limited::new(body, self.options.max_body).collect())
            .await
        {
            Err(_elapsed) => {
                return problem(
                    StatusCode::REQUEST_TIMEOUT,
                    None,
                    ErrorData::invalid_request("the body did not come in time", None),
                );
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let limit = self.options.max_body;
                return problem(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    None,
                    ErrorData::invalid_request(format!("the body has more than {limit} bytes"), None),
                );
            }
            // The client is gone: nobody reads this, and nothing was done.
            Ok(Err(_gone)) => {
                return problem(
                    StatusCode::BAD_REQUEST,
                    None,
                    ErrorData::invalid_request("the body ended early", None),
                );
            }
            Ok(Ok(body)) => body.to_bytes(),
        };
        // rmcp would say 415 to all of these, in plain text.
        let request = match judge(&bytes) {
            Ok(request) => request,
            Err(wrong) => {
                let (id, error) = *wrong;
                return problem(StatusCode::BAD_REQUEST, id, error);
            }
        };
        if request.initialize && self.sessions.full().await.is_some() {
            return busy();
        }
        let slot = Slot::default();
        parts.extensions.insert(slot.clone());
        let whole = Request::from_parts(parts, Full::new(bytes));
        match timeout(self.options.request_time, self.service.handle(whole)).await {
            Ok(answer) => match request.id.and_then(|id| slot.answer(&id)) {
                Some(text) => plain(StatusCode::OK, "application/json", text),
                None => answer,
            },
            // The handler is cancelled with the future that is dropped here.
            Err(_elapsed) => problem(
                StatusCode::GATEWAY_TIMEOUT,
                None,
                ErrorData::internal_error("the request took too long", None),
            ),
        }
    }
}

/// What is to be known of a message before it is passed on.
#[derive(Default)]
struct Judged {
    /// Whose answer it wants.
    id: Option<RequestId>,
    /// Whether it asks for a session.
    initialize: bool,
}

/// Whether a body is one message, and which.
fn judge(body: &[u8]) -> Result<Judged, Box<(Option<RequestId>, ErrorData)>> {
    match serde_json::from_slice::<ClientJsonRpcMessage>(body) {
        Ok(ClientJsonRpcMessage::Request(message)) => {
            let initialize = matches!(message.request, rmcp::model::ClientRequest::InitializeRequest(_));
            Ok(Judged { id: Some(message.id), initialize })
        }
        Ok(_) => Ok(Judged::default()),
        Err(_) => Err(Box::new(crate::stdio::complaint(body))),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
}

fn problem(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Answer {
    let text = serde_json::to_string(&JsonRpcError::new(id, error)).unwrap_or_default();
    plain(status, "application/json", text)
}

fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    answer
}

fn method_not_allowed(allow: &'static str) -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "method not allowed");
    answer.headers_mut().insert(header::ALLOW, http::HeaderValue::from_static(allow));
    answer
}
