//! Streamable HTTP at `/mcp`, and what operators ask beside it: authentication, limits and timeouts around rmcp's implementation.

pub(crate) mod access_log;
pub(crate) mod caller_limits;
pub(crate) mod callers;
pub(crate) mod cors;
pub(crate) mod head_check;
pub(crate) mod listener;
pub(crate) mod newcomers;
pub(crate) mod options;
pub(crate) mod origin_check;
pub(crate) mod permit_body;
pub(crate) mod probes;
pub(crate) mod queue;
pub(crate) mod response;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod write_timeout;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use prowess::internal::parse_json;
use rmcp::ErrorData;
use rmcp::model::{JsonRpcError, RequestId};
use serde::Deserialize;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::http::access_log::AccessEntry;
use crate::http::callers::{Caller, Callers};
use crate::http::newcomers::ConnectionSlot;
use crate::http::options::HttpOptions;
use crate::http::origin_check::OriginCheck;
use crate::http::permit_body::with_permit;
use crate::http::response::{
    ErrorResponse, HttpResponse, closing, invalid_request, plain, refused, rpc_error, unavailable,
};
use crate::http::sessions::{OpenAlready, OpenRequest, Sessions};
use crate::metrics::Gauges;
use crate::protocol::outgoing::OutgoingMessage;
use crate::protocol::{cursor, values};
use crate::server::Shared;
use crate::server::errors::make_readable;
use crate::server::prebuilt::{ResultSlot, SlotContent};
use crate::stdio::oversized::OversizedLine;

/// A body with more bytes is large. Usual ones have a few hundred.
const LARGE_BODY: usize = 64 * 1024;
/// The maximum number of requests with a large body that are handled at once: of all, and of one caller.
const MAX_LARGE: usize = 4;
pub(crate) const MAX_OWN_LARGE: usize = 2;
/// How many bodies of the maximum size may be in memory at once: of all callers, and of one. Usual bodies are not counted.
const MAX_BODIES: usize = 8;
pub(crate) const MAX_OWN_BODIES: usize = 4;

/// The headers of the protocol that decide what a request means. Of two, a proxy might read the other one.
const ONCE: [&str; 5] = ["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"];

/// The budget for this many large bodies, in bytes.
pub(crate) fn body_budget(bodies: usize, max_body: usize) -> Semaphore {
    Semaphore::new(bodies.saturating_mul(max_body).clamp(1, Semaphore::MAX_PERMITS))
}

/// Checks and limits requests, and passes them on to rmcp.
pub(crate) struct HttpServer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) callers: Arc<Callers>,
    origin_check: OriginCheck,
    sessions: Arc<Sessions>,
    /// Held by each connection that is served.
    pub(crate) served: Arc<()>,
    /// Held by each request from before its body is read until its response begins.
    in_progress: Arc<()>,
    requests: Semaphore,
    /// For requests with a large body, of which each takes many times its size while it is handled.
    large: Semaphore,
    /// For the bytes of large bodies, from before they are read.
    bodies: Semaphore,
    streams: Arc<Semaphore>,
    max_streams: usize,
    options: HttpOptions,
}

impl HttpServer {
    /// `end` ends the streams that do not end by themselves.
    pub(crate) fn new(
        shared: Arc<Shared>,
        sessions: Arc<Sessions>,
        options: HttpOptions,
        end: CancellationToken,
    ) -> Self {
        let max_streams = options.streams();
        let (own, all) = (Arc::clone(&shared), Arc::clone(&sessions));
        Self {
            callers: Callers::new(&options, own, all, end),
            shared,
            origin_check: OriginCheck::new(&options.hosts, &options.origins, options.tokens.is_some()),
            sessions,
            served: Arc::default(),
            in_progress: Arc::default(),
            requests: Semaphore::new(options.max_requests),
            large: Semaphore::new(MAX_LARGE),
            bodies: body_budget(MAX_BODIES, options.max_body),
            streams: Arc::new(Semaphore::new(max_streams)),
            max_streams,
            options,
        }
    }

    /// Responds to a request, and logs it. A connection on which no token was accepted is closed after the response.
    pub(crate) async fn respond(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        slot: &ConnectionSlot,
    ) -> HttpResponse {
        let mut entry = self.entry(&request, peer);
        let is_protocol = request.uri().path() == "/mcp";
        let reader = self.origin_check.reader(request.headers()).filter(|_| is_protocol).cloned();
        let response = match refused_coding(request.headers()) {
            Some((status, message)) => closing(refused("coding", invalid_request(status, message))),
            None => match self.operators(&request, &mut entry) {
                Some(response) => response,
                None if is_protocol && cors::is_preflight(&request) => self.preflight(&request),
                None if is_protocol => self.protocol(request, &mut entry, slot).await,
                None => plain(StatusCode::NOT_FOUND, "text/plain", "not found"),
            },
        };
        let response = match reader {
            Some(origin) => cors::readable(response, origin),
            None => response,
        };
        let is_closing = !slot.is_served() || response.status() == StatusCode::UNAUTHORIZED;
        let response = if is_closing { closing(response) } else { response };
        entry.finish(&response);
        response
    }

    fn entry(&self, request: &Request<Incoming>, peer: SocketAddr) -> AccessEntry {
        AccessEntry::new(request, peer, &self.shared.metrics, &self.shared.stop)
    }

    /// The response to a question of operators.
    fn operators(&self, request: &Request<Incoming>, entry: &mut AccessEntry) -> Option<HttpResponse> {
        let method = request.method();
        match request.uri().path() {
            "/healthz" => Some(probes::health(method)),
            "/readyz" => Some(probes::readiness(method, &self.shared)),
            "/metrics" => Some(match self.admit(request, entry) {
                Ok(caller) if caller.sees_metrics() => probes::metrics(method, || self.page()),
                Ok(_) => refused("metrics", invalid_request(StatusCode::FORBIDDEN, "not with this token")),
                Err(ErrorResponse(response)) => *response,
            }),
            _ => None,
        }
    }

    fn page(&self) -> String {
        let gauges = Gauges {
            // One of them is that of this server.
            connections: Arc::strong_count(&self.served).saturating_sub(1),
            requests: Arc::strong_count(&self.in_progress).saturating_sub(1),
            sessions: self.sessions.len(),
            streams: self.max_streams.saturating_sub(self.streams.available_permits()),
            kept: self.shared.kept_bytes(),
            tokens: self.callers.tokens(),
            tokens_read: self.callers.could_read(),
        };
        self.shared.metrics.page(&gauges, &self.shared.library.publication)
    }

    /// Tells a browser whether a page may send a request. It sends no token with this question.
    fn preflight(&self, request: &Request<Incoming>) -> HttpResponse {
        match self.origin_check.check(request.uri(), request.headers()) {
            Err((reason, status, message)) => refused(reason, invalid_request(status, message)),
            Ok(()) if self.origin_check.reader(request.headers()).is_some() => cors::allowed(),
            Ok(()) => {
                refused("origin", invalid_request(StatusCode::FORBIDDEN, "this origin may not ask here"))
            }
        }
    }

    /// Checks the token of a request, then its names. Nothing else of it is read before.
    fn admit(
        &self,
        request: &Request<Incoming>,
        entry: &mut AccessEntry,
    ) -> Result<Arc<Caller>, ErrorResponse> {
        let Some(caller) = self.callers.find(request.headers()) else {
            let mut response = invalid_request(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Err(refused("token", response).into());
        };
        entry.set_token(caller.name());
        let checked = self.origin_check.check(request.uri(), request.headers());
        checked.map_err(|(reason, status, message)| refused(reason, invalid_request(status, message)))?;
        Ok(caller)
    }

    async fn protocol(
        &self,
        request: Request<Incoming>,
        entry: &mut AccessEntry,
        slot: &ConnectionSlot,
    ) -> HttpResponse {
        let caller = match self.admit(&request, entry) {
            Ok(caller) => caller,
            Err(ErrorResponse(response)) => return *response,
        };
        if !slot.serve(&caller.connections) {
            let most = self.options.max_connections;
            let own = caller.max_connections < most && caller.connections.available_permits() == 0;
            let what = if own {
                format!("all connections of this caller are in use: {}", caller.max_connections)
            } else {
                format!("all connections are in use: {most}")
            };
            return unavailable("connections", what);
        }
        let _in_progress = Arc::clone(&self.in_progress);
        let (mut parts, body) = request.into_parts();
        if let Some(name) = ONCE.into_iter().find(|name| parts.headers.get_all(*name).iter().count() > 1) {
            let message = format!("a request has this header at most once: {name}");
            return closing(refused("header", invalid_request(StatusCode::BAD_REQUEST, message)));
        }
        let response = if parts.method == Method::POST {
            if parts.headers.contains_key(header::CONTENT_ENCODING) {
                let message = "the body must have no content encoding";
                let refusal = invalid_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
                return closing(refused("content-encoding", refusal));
            }
            if !is_json(&parts.headers) {
                let message = "the body must be application/json";
                return refused("content-type", invalid_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
            }
            // rmcp compares the beginning, letter by letter.
            parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            match self.read(&caller, body).await {
                Ok((message, _reserved)) => self.message(&caller, parts, message, entry).await,
                // The rest of the body is not read.
                Err(ErrorResponse(response)) => Err(closing(*response).into()),
            }
        } else {
            self.other(&caller, parts, entry).await
        };
        response.unwrap_or_else(|ErrorResponse(response)| *response)
    }

    /// Reads the whole body, within its size limit and timeout. It holds no request permit, so that a slow sender
    /// blocks no other client. A large body waits for memory before it is read, and counts as long as its request; one
    /// that does not say its size counts as one of the largest once it is large.
    async fn read<'s>(
        &'s self,
        caller: &'s Caller,
        body: Incoming,
    ) -> Result<(Bytes, Option<[SemaphorePermit<'s>; 2]>), ErrorResponse> {
        let limit = self.options.max_body;
        let too_large = || {
            let message = format!("the body is too large: at most {limit} bytes");
            refused("body-size", invalid_request(StatusCode::PAYLOAD_TOO_LARGE, message))
        };
        // Before anything is read: hyper sends `100 Continue` only when the body is polled.
        if usize::try_from(body.size_hint().lower()).map_or(true, |size| size > limit) {
            return Err(too_large().into());
        }
        let size = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(limit));
        let mut reserved = self.reserve_body(caller, size.unwrap_or_default()).await?;
        let mut body = Limited::new(body, limit);
        let (mut read, mut left) =
            (BytesMut::with_capacity(size.unwrap_or_default()), self.options.body_time);
        loop {
            let begun = Instant::now();
            let frame = match timeout(left, body.frame()).await {
                Err(_elapsed) => {
                    let message = "the body did not come in time";
                    return Err(
                        refused("body-time", invalid_request(StatusCode::REQUEST_TIMEOUT, message)).into()
                    );
                }
                Ok(None) => break,
                Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_large().into()),
                // A client that has disconnected never reads this response.
                Ok(Some(Err(_))) => {
                    let message = "the body ended early, or its chunks cannot be read";
                    return Err(refused("body", invalid_request(StatusCode::BAD_REQUEST, message)).into());
                }
                Ok(Some(Ok(frame))) => frame,
            };
            // Waiting for memory is not the sender's time.
            left = left.saturating_sub(begun.elapsed());
            let Ok(data) = frame.into_data() else { continue };
            if size.is_none() && reserved.is_none() && read.len() + data.len() > LARGE_BODY {
                reserved = self.reserve_body(caller, limit).await?;
            }
            read.extend_from_slice(&data);
        }
        let mut body = read.freeze();
        // Accept a byte order mark, as on stdio.
        if body.starts_with(b"\xef\xbb\xbf") {
            body.advance(3);
        }
        Ok((body, reserved))
    }

    /// Responds to a POST.
    async fn message(
        &self,
        caller: &Caller,
        mut parts: Parts,
        body: Bytes,
        entry: &mut AccessEntry,
    ) -> Result<HttpResponse, ErrorResponse> {
        if values::too_many(&body) {
            // As on a pipe: found without parsing the message.
            let mut scanned = OversizedLine::default();
            scanned.scan(&body);
            let response = rpc_error(StatusCode::BAD_REQUEST, scanned.id(), values::too_many_error());
            return Err(refused("values", response).into());
        }
        let head = MessageHead::read(&body)?;
        entry.set_method(&head.method);
        parts.extensions.insert(entry.record.clone());
        // Kept here until the response is complete, and in the request until its handler ends.
        let open = head.open(caller, &parts.headers)?;
        if let Some(open) = &open {
            parts.extensions.insert(open.clone());
        }
        if let Some(error) = values::too_large_to_keep(&head.method, &body) {
            return Err(refused("kept-size", rpc_error(StatusCode::PAYLOAD_TOO_LARGE, head.id, error)).into());
        }
        // The other half of the timeout is for the work.
        let slot = ResultSlot::new(self.options.request_time / 2);
        parts.extensions.insert(slot.clone());
        let _large = self.permits_if_large(caller, body.len()).await?;
        let _permit = self.permit(caller).await?;
        // rmcp takes the last of two members with one name, and a proxy may have judged the first.
        let Ok(mut message) = parse_json(&body) else { return Err(invalid_message(&body)) };
        let changed = if cursor::make_text(&mut message) { serde_json::to_vec(&message).ok() } else { None };
        drop(message);
        let body = changed.map_or(body, Bytes::from);
        if head.is_initialize()
            && let Some(reason) = caller.sessions.full().await
        {
            return Err(unavailable(reason.limit(), reason).into());
        }
        let request = Request::from_parts(parts, Full::new(body.clone()));
        if head.is_listen() {
            return self.streamed(caller, request).await;
        }
        let (parts, text) = self.whole(caller, request, head.id.clone()).await?;
        // rmcp responds like this to JSON that is not a message; the content type was checked before.
        if parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return Err(invalid_message(&body));
        }
        // Another client may have taken the last session in between, which rmcp reports as an internal error.
        if head.is_initialize()
            && parts.status == StatusCode::INTERNAL_SERVER_ERROR
            && let Some(reason) = caller.sessions.full().await
        {
            return Err(unavailable(reason.limit(), reason).into());
        }
        match (slot.content(), head.id) {
            (Some(SlotContent::BudgetExhausted(reason)), _) => Err(unavailable("memory", reason).into()),
            (Some(SlotContent::Result(result)), Some(id)) => {
                Ok(response::message(OutgoingMessage::response(&id, result)))
            }
            _ => {
                entry.look_for_error(&text);
                let text = if entry.has_error() { readable(text) } else { text };
                Ok(of_rmcp(HttpResponse::from_parts(parts, Full::new(text).boxed()), entry))
            }
        }
    }

    /// Responds to a GET, which opens a stream, a DELETE, or an unknown method; none has a body.
    async fn other(
        &self,
        caller: &Caller,
        parts: Parts,
        entry: &AccessEntry,
    ) -> Result<HttpResponse, ErrorResponse> {
        let _permit = self.permit(caller).await?;
        let stream = parts.method == Method::GET;
        // rmcp answers 202 whether the session exists or not.
        let is_unknown = parts.method == Method::DELETE && !caller.sessions.has(&parts.headers);
        let request = Request::from_parts(parts, Full::new(Bytes::new()));
        if stream {
            return self.streamed(caller, request).await.map(|response| of_rmcp(response, entry));
        }
        let (parts, text) = self.whole(caller, request, None).await?;
        let response = if is_unknown && parts.status == StatusCode::ACCEPTED {
            plain(StatusCode::NOT_FOUND, "text/plain", "Not Found: Session not found")
        } else {
            HttpResponse::from_parts(parts, Full::new(text).boxed())
        };
        Ok(of_rmcp(response, entry))
    }

    /// Responds with a stream that stays open for as long as the client likes. Streams have their own limit, lower than
    /// that of connections, so that they never block other requests.
    async fn streamed(
        &self,
        caller: &Caller,
        request: Request<Full<Bytes>>,
    ) -> Result<HttpResponse, ErrorResponse> {
        let most = self.max_streams;
        let own = Arc::clone(&caller.open_streams)
            .try_acquire_owned()
            .map_err(|_| unavailable("streams", "all streams of this caller are in use"))?;
        let permit = Arc::clone(&self.streams)
            .try_acquire_owned()
            .map_err(|_| unavailable("streams", format_args!("all streams are in use: {most}")))?;
        let response = timeout(self.options.request_time, caller.service.handle(request)).await;
        let response = response.map_err(|_elapsed| too_long(None))?;
        Ok(if is_stream(&response) { with_permit(with_permit(response, permit), own) } else { response })
    }

    /// The complete response of rmcp, within the timeout. With handshake versions it is a stream of one event, which
    /// rmcp begins before the request is handled; read to its end, it has a timeout and a length like any response.
    async fn whole(
        &self,
        caller: &Caller,
        request: Request<Full<Bytes>>,
        id: Option<RequestId>,
    ) -> Result<(http::response::Parts, Bytes), ErrorResponse> {
        let answering = async {
            let (head, body) = caller.service.handle(request).await.into_parts();
            match body.collect().await {
                Ok(body) => (head, body.to_bytes()),
                Err(never) => match never {},
            }
        };
        // The handler is cancelled with the future.
        Ok(timeout(self.options.request_time, answering).await.map_err(|_elapsed| too_long(id))?)
    }

    /// Memory for a large body.
    async fn reserve_body<'s>(
        &'s self,
        caller: &'s Caller,
        size: usize,
    ) -> Result<Option<[SemaphorePermit<'s>; 2]>, ErrorResponse> {
        let Some(permits) = u32::try_from(size).ok().filter(|_| size > LARGE_BODY) else { return Ok(None) };
        let most = (MAX_BODIES, MAX_OWN_BODIES);
        self.permits([&caller.bodies, &self.bodies], permits, ("bodies", "large bodies", most))
            .await
            .map(Some)
    }

    /// The permits of a request with a large body. They come before that of the request, so that large requests which wait
    /// block no others.
    async fn permits_if_large<'s>(
        &'s self,
        caller: &'s Caller,
        size: usize,
    ) -> Result<Option<[SemaphorePermit<'s>; 2]>, ErrorResponse> {
        if size <= LARGE_BODY {
            return Ok(None);
        }
        let most = (MAX_LARGE, MAX_OWN_LARGE);
        self.permits([&caller.large, &self.large], 1, ("large-requests", "large requests", most))
            .await
            .map(Some)
    }

    /// The permits of a request. They are held until the response begins, not while it is sent, so that a slow reader blocks
    /// no other request.
    async fn permit<'s>(&'s self, caller: &'s Caller) -> Result<[SemaphorePermit<'s>; 2], ErrorResponse> {
        let most = (self.options.max_requests, caller.max_requests);
        self.permits([&caller.requests, &self.requests], 1, ("requests", "requests", most)).await
    }

    /// Permits of a caller, then of all, within the timeout of a request. The limit has a name for the log, what it limits,
    /// and how much all and one caller have.
    async fn permits<'s>(
        &self,
        [own, all]: [&'s Semaphore; 2],
        permits: u32,
        (limit, what, (most, most_own)): (&'static str, &str, (usize, usize)),
    ) -> Result<[SemaphorePermit<'s>; 2], ErrorResponse> {
        let both = async {
            Ok::<_, AcquireError>([own.acquire_many(permits).await?, all.acquire_many(permits).await?])
        };
        match timeout(self.options.request_time, both).await {
            Ok(Ok(permits)) => Ok(permits),
            _ => {
                let what = format_args!("too many {what} at once: at most {most}, of one caller {most_own}");
                Err(unavailable(limit, what).into())
            }
        }
    }
}

/// An error of rmcp, alone or as an event, with texts that can be shown.
fn readable(response: Bytes) -> Bytes {
    let event = response.split(|byte| *byte == b'\n').rev().find(|line| line.starts_with(b"data: "));
    let message = event.map_or(&response[..], |line| line.strip_prefix(b"data: ").unwrap_or(line));
    let Ok(mut failed) = serde_json::from_slice::<JsonRpcError>(message) else { return response };
    make_readable(&mut failed.error);
    let Ok(text) = serde_json::to_vec(&failed) else { return response };
    match event {
        None => text.into(),
        Some(_) => [b"data: ", &*text, b"\n\n"].concat().into(),
    }
}

/// A response of rmcp, marked as a refusal if it is one without a message of the protocol.
fn of_rmcp(response: HttpResponse, entry: &AccessEntry) -> HttpResponse {
    match response.status() {
        _ if entry.has_error() => response,
        StatusCode::NOT_FOUND => refused("session", response),
        StatusCode::NOT_ACCEPTABLE => refused("accept", response),
        StatusCode::METHOD_NOT_ALLOWED => refused("verb", response),
        status if status.is_client_error() => refused("request", response),
        _ => response,
    }
}

fn too_long(id: Option<RequestId>) -> HttpResponse {
    let error = ErrorData::internal_error("the request took too long", None);
    refused("time", rpc_error(StatusCode::GATEWAY_TIMEOUT, id, error))
}

fn is_stream(response: &HttpResponse) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream")
}

/// The members of a message that are needed before rmcp reads it again.
#[derive(Deserialize)]
struct MessageHead {
    /// The id of a request; notifications have none.
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: String,
}

impl MessageHead {
    /// Reads a body that is one message.
    fn read(body: &[u8]) -> Result<Self, ErrorResponse> {
        serde_json::from_slice(body).map_err(|_| invalid_message(body))
    }

    /// Marks its id as open, if it is a request of a session.
    fn open(&self, caller: &Caller, headers: &HeaderMap) -> Result<Option<OpenRequest>, ErrorResponse> {
        let Some(id) = self.id.as_ref().filter(|_| !self.method.is_empty()) else { return Ok(None) };
        caller.sessions.open_request(headers, id).map_err(|OpenAlready| {
            let response = rpc_error(StatusCode::BAD_REQUEST, self.id.clone(), crate::stdio::open_already());
            refused("id", response).into()
        })
    }

    /// Whether it begins a session.
    fn is_initialize(&self) -> bool {
        self.method == "initialize"
    }

    /// Whether it opens a subscription, which is a stream without an end.
    fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

/// The response to a body that is not a message, or an ambiguous one.
fn invalid_message(body: &[u8]) -> ErrorResponse {
    let (id, error) = crate::stdio::invalid_message(body);
    refused("request", rpc_error(StatusCode::BAD_REQUEST, id, error)).into()
}

/// The refusal of transfer codings other than `chunked` alone. hyper has refused those that do not end with `chunked`, and
/// looks at no others.
fn refused_coding(headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut codings: Vec<&[u8]> = codings.collect();
    codings.pop();
    let is_malformed = |coding: &&[u8]| coding.is_empty() || coding.eq_ignore_ascii_case(b"chunked");
    match codings.iter().find(|coding| is_malformed(coding)) {
        Some(_) => Some((StatusCode::BAD_REQUEST, "chunked must be the last transfer coding, once")),
        None if codings.is_empty() => None,
        None => Some((StatusCode::NOT_IMPLEMENTED, "the only transfer coding of a request is chunked")),
    }
}

/// Whether there is exactly one content type, and it is JSON. Parameters such as a charset are ignored.
fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}
