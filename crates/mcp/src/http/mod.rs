//! Streamable HTTP at `/mcp`, and `/healthz`: authentication, limits and timeouts around rmcp's implementation.

pub(crate) mod listener;
pub(crate) mod options;
pub(crate) mod origin_check;
pub(crate) mod permit_body;
pub(crate) mod response;
pub(crate) mod sessions;
pub(crate) mod write_timeout;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use rmcp::ErrorData;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::http::options::HttpOptions;
use crate::http::origin_check::OriginCheck;
use crate::http::permit_body::with_permit;
use crate::http::response::{
    ErrorResponse, HttpResponse, closing, invalid_request, method_not_allowed, plain, rpc_error, unavailable,
};
use crate::http::sessions::Sessions;
use crate::protocol::outgoing::OutgoingMessage;
use crate::protocol::values;
use crate::server::prebuilt::{ResultSlot, SlotContent};
use crate::server::{Server, Shared};

/// Checks and limits requests, and passes them on to rmcp.
pub(crate) struct HttpServer {
    service: StreamableHttpService<Server, Sessions>,
    origin_check: OriginCheck,
    sessions: Arc<Sessions>,
    requests: Semaphore,
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
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_legacy_session_mode(true)
            .with_max_request_body_bytes(options.max_body)
            .with_sse_keep_alive(Some(Duration::from_secs(15)))
            .with_sse_retry(None)
            .with_cancellation_token(end)
            // `OriginCheck` reads names more exactly; a second list could only differ from the first.
            .disable_allowed_hosts();
        // One connection is always left for plain requests.
        let max_streams = options.max_streams.min(options.max_connections.saturating_sub(1)).max(1);
        Self {
            service: StreamableHttpService::new(
                move || Ok(Server::new(Arc::clone(&shared))),
                Arc::clone(&sessions),
                config,
            ),
            origin_check: OriginCheck::new(&options.hosts, &options.origins, options.token.is_some()),
            sessions,
            requests: Semaphore::new(options.max_requests),
            streams: Arc::new(Semaphore::new(max_streams)),
            max_streams,
            options,
        }
    }

    /// Responds to a request, and logs it.
    pub(crate) async fn respond(&self, request: Request<Incoming>) -> HttpResponse {
        let started = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.route(request).await;
        log(&method, &path, &response, started.elapsed());
        response
    }

    /// Responds to a client beyond the connection limit. `/healthz` costs nothing, so it still works.
    pub(crate) fn refuse(&self, request: &Request<Incoming>) -> HttpResponse {
        let (method, path) = (request.method(), request.uri().path());
        let most = self.options.max_connections;
        let response = closing(match path {
            "/healthz" => health(method),
            _ => unavailable(format_args!("all connections are in use: {most}")),
        });
        log(method, path, &response, Duration::ZERO);
        response
    }

    async fn route(&self, request: Request<Incoming>) -> HttpResponse {
        match request.uri().path() {
            "/healthz" => health(request.method()),
            "/mcp" => self.protocol(request).await,
            _ => plain(StatusCode::NOT_FOUND, "text/plain", "not found"),
        }
    }

    async fn protocol(&self, request: Request<Incoming>) -> HttpResponse {
        if let Some(token) = &self.options.token
            && !bearer(request.headers()).is_some_and(|given| token.matches(given))
        {
            let mut response = invalid_request(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        if let Err((status, message)) = self.origin_check.check(request.uri(), request.headers()) {
            return invalid_request(status, message);
        }
        let (mut parts, body) = request.into_parts();
        let response = if parts.method == Method::POST {
            if !is_json(&parts.headers) {
                return invalid_request(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "the body must be application/json",
                );
            }
            // rmcp compares the beginning, letter by letter.
            parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            match self.read(body).await {
                Ok(message) => self.message(parts, message).await,
                // The rest of the body is not read.
                Err(ErrorResponse(response)) => Err(closing(*response).into()),
            }
        } else {
            self.other(parts).await
        };
        response.unwrap_or_else(|ErrorResponse(response)| *response)
    }

    /// Reads the whole body, within its size limit and timeout. It holds no request permit, so that a slow sender
    /// blocks no other client. Bodies in transit take at most their size limit times the number of connections.
    async fn read(&self, body: Incoming) -> Result<Bytes, ErrorResponse> {
        let limit = self.options.max_body;
        let too_large = || {
            invalid_request(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the body is too large: at most {limit} bytes"),
            )
        };
        // Before anything is read: hyper sends `100 Continue` only when the body is polled.
        if usize::try_from(body.size_hint().lower()).map_or(true, |size| size > limit) {
            return Err(too_large().into());
        }
        match timeout(self.options.body_time, Limited::new(body, limit).collect()).await {
            Err(_elapsed) => {
                Err(invalid_request(StatusCode::REQUEST_TIMEOUT, "the body did not come in time").into())
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large().into()),
            // The client has disconnected, so this response is never read.
            Ok(Err(_gone)) => Err(invalid_request(StatusCode::BAD_REQUEST, "the body ended early").into()),
            Ok(Ok(body)) => {
                let mut body = body.to_bytes();
                // Accept a byte order mark, as on stdio.
                if body.starts_with(b"\xef\xbb\xbf") {
                    body.advance(3);
                }
                Ok(body)
            }
        }
    }

    /// Responds to a POST.
    async fn message(&self, mut parts: Parts, body: Bytes) -> Result<HttpResponse, ErrorResponse> {
        if values::too_many(&body) {
            return Err(rpc_error(StatusCode::BAD_REQUEST, None, values::too_many_error()).into());
        }
        let head = MessageHead::read(&body)?;
        // The other half of the timeout is for the work.
        let slot = ResultSlot::new(self.options.request_time / 2);
        parts.extensions.insert(slot.clone());
        let _permit = self.permit().await?;
        if head.is_initialize()
            && let Some(reason) = self.sessions.full().await
        {
            return Err(unavailable(reason).into());
        }
        let request = Request::from_parts(parts, Full::new(body.clone()));
        if head.is_listen() {
            return self.streamed(request).await;
        }
        let (parts, text) = self.whole(request, head.id.clone()).await?;
        // rmcp responds like this to JSON that is not a message; the content type was checked before.
        if parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return Err(invalid_message(&body));
        }
        // Another client may have taken the last session in between, which rmcp reports as an internal error.
        if head.is_initialize()
            && parts.status == StatusCode::INTERNAL_SERVER_ERROR
            && let Some(reason) = self.sessions.full().await
        {
            return Err(unavailable(reason).into());
        }
        match (slot.content(), head.id) {
            (Some(SlotContent::BudgetExhausted(reason)), _) => Err(unavailable(reason).into()),
            (Some(SlotContent::Result(result)), Some(id)) => {
                Ok(response::message(OutgoingMessage::response(&id, result)))
            }
            _ => Ok(HttpResponse::from_parts(parts, Full::new(text).boxed())),
        }
    }

    /// Responds to a GET, which opens a stream, a DELETE, or an unknown method; none has a body.
    async fn other(&self, parts: Parts) -> Result<HttpResponse, ErrorResponse> {
        let _permit = self.permit().await?;
        let stream = parts.method == Method::GET;
        let request = Request::from_parts(parts, Full::new(Bytes::new()));
        if stream {
            return self.streamed(request).await;
        }
        let (parts, text) = self.whole(request, None).await?;
        Ok(HttpResponse::from_parts(parts, Full::new(text).boxed()))
    }

    /// Responds with a stream that stays open for as long as the client likes. Streams have their own limit, lower than
    /// that of connections, so that they never block other requests.
    async fn streamed(&self, request: Request<Full<Bytes>>) -> Result<HttpResponse, ErrorResponse> {
        let permit = Arc::clone(&self.streams)
            .try_acquire_owned()
            .map_err(|_| unavailable(format_args!("all streams are in use: {}", self.max_streams)))?;
        let response = timeout(self.options.request_time, self.service.handle(request)).await;
        let response = response.map_err(|_elapsed| too_long(None))?;
        Ok(if is_stream(&response) { with_permit(response, permit) } else { response })
    }

    /// The complete response of rmcp, within the timeout. With handshake versions it is a stream of one event, which
    /// rmcp begins before the request is handled; read to its end, it has a timeout and a length like any response.
    async fn whole(
        &self,
        request: Request<Full<Bytes>>,
        id: Option<RequestId>,
    ) -> Result<(http::response::Parts, Bytes), ErrorResponse> {
        let answering = async {
            let (head, body) = self.service.handle(request).await.into_parts();
            match body.collect().await {
                Ok(body) => (head, body.to_bytes()),
                Err(never) => match never {},
            }
        };
        // The handler is cancelled with the future.
        Ok(timeout(self.options.request_time, answering).await.map_err(|_elapsed| too_long(id))?)
    }

    /// A request permit. It is held until the response begins, not while it is sent, so that a slow reader blocks no
    /// other request.
    async fn permit(&self) -> Result<SemaphorePermit<'_>, ErrorResponse> {
        match timeout(self.options.request_time, self.requests.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                let most = self.options.max_requests;
                Err(unavailable(format_args!("too many requests at once: at most {most}")).into())
            }
        }
    }
}

/// Logs a request. Header values, bodies and queries are never logged, since they may contain secrets.
fn log(method: &Method, path: &str, response: &HttpResponse, time: Duration) {
    tracing::info!(target: "prowess", method = %method, path = %path, status = response.status().as_u16(),
        ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX), "request");
}

fn too_long(id: Option<RequestId>) -> HttpResponse {
    let error = ErrorData::internal_error("the request took too long", None);
    rpc_error(StatusCode::GATEWAY_TIMEOUT, id, error)
}

fn is_stream(response: &HttpResponse) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream")
}

/// The response of `/healthz`. It says nothing about the library, since it needs no token.
fn health(method: &Method) -> HttpResponse {
    match *method {
        Method::GET | Method::HEAD => plain(StatusCode::OK, "application/json", r#"{"status":"ok"}"#),
        _ => method_not_allowed("GET"),
    }
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

    /// Whether it begins a session.
    fn is_initialize(&self) -> bool {
        self.method == "initialize"
    }

    /// Whether it opens a subscription, which is a stream without an end.
    fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

/// The response to a body that is not a message.
fn invalid_message(body: &[u8]) -> ErrorResponse {
    let (id, error) = crate::stdio::invalid_message(body);
    rpc_error(StatusCode::BAD_REQUEST, id, error).into()
}

/// Whether there is exactly one content type, and it is JSON. Parameters such as a charset are ignored.
fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
}
