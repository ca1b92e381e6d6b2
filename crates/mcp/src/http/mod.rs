//! Streamable HTTP at `/mcp` and `/healthz`: who may ask, how much, how long; the protocol itself is rmcp's.

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
use crate::http::origin_check::Gatekeeper;
use crate::http::permit_body::held;
use crate::http::response::{Answer, Refusal, full, last, method_not_allowed, plain, problem, wrong};
use crate::http::sessions::Sessions;
use crate::protocol::outgoing::Outgoing;
use crate::protocol::values;
use crate::server::prebuilt::{Left, Slot};
use crate::server::{Server, Shared};

/// What stands before the protocol.
pub(crate) struct Front {
    service: StreamableHttpService<Server, Sessions>,
    gatekeeper: Gatekeeper,
    sessions: Arc<Sessions>,
    requests: Semaphore,
    streams: Arc<Semaphore>,
    max_streams: usize,
    options: HttpOptions,
}

impl Front {
    /// `end` is of the streams that do not end by themselves.
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
            // The gatekeeper reads names more exactly; a second list could only differ from the first.
            .disable_allowed_hosts();
        // One connection is always left for those who only ask.
        let max_streams = options.max_streams.min(options.max_connections.saturating_sub(1)).max(1);
        Self {
            service: StreamableHttpService::new(
                move || Ok(Server::new(Arc::clone(&shared))),
                Arc::clone(&sessions),
                config,
            ),
            gatekeeper: Gatekeeper::new(&options.hosts, &options.origins, options.token.is_some()),
            sessions,
            requests: Semaphore::new(options.max_requests),
            streams: Arc::new(Semaphore::new(max_streams)),
            max_streams,
            options,
        }
    }

    /// The answer to any request.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let started = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = self.route(request).await;
        log(&method, &path, &answer, started.elapsed());
        answer
    }

    /// The answer to a client for whom there is no place. It costs nothing, so whoever asks for our health is told.
    pub(crate) fn refusal(&self, request: &Request<Incoming>) -> Answer {
        let (method, path) = (request.method(), request.uri().path());
        let most = self.options.max_connections;
        let answer = last(match path {
            "/healthz" => health(method),
            _ => full(format_args!("there are as many connections as there may be: {most}")),
        });
        log(method, path, &answer, Duration::ZERO);
        answer
    }

    async fn route(&self, request: Request<Incoming>) -> Answer {
        match request.uri().path() {
            "/healthz" => health(request.method()),
            "/mcp" => self.protocol(request).await,
            _ => plain(StatusCode::NOT_FOUND, "text/plain", "not found"),
        }
    }

    async fn protocol(&self, request: Request<Incoming>) -> Answer {
        if let Some(token) = &self.options.token
            && !bearer(request.headers()).is_some_and(|given| token.is(given))
        {
            let mut answer = wrong(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return answer;
        }
        if let Err((status, message)) = self.gatekeeper.judge(request.uri(), request.headers()) {
            return wrong(status, message);
        }
        let (mut parts, body) = request.into_parts();
        let answer = if parts.method == Method::POST {
            if !is_json(&parts.headers) {
                return wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json");
            }
            // rmcp compares the beginning, letter by letter.
            parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            match self.read(body).await {
                Ok(message) => self.message(parts, message).await,
                // What is left of the body is not read.
                Err(Refusal(answer)) => Err(last(*answer).into()),
            }
        } else {
            self.other(parts).await
        };
        answer.unwrap_or_else(|Refusal(answer)| *answer)
    }

    /// The whole body, within its size and its time. It takes no place among the requests: who sends slowly keeps
    /// nobody else waiting. So bodies take at most their size times the number of connections.
    async fn read(&self, body: Incoming) -> Result<Bytes, Refusal> {
        let limit = self.options.max_body;
        let too_large =
            || wrong(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is too large: at most {limit} bytes"));
        // Before anything is read: hyper asks a client that waits for `100 Continue` only when a body is wanted.
        if usize::try_from(body.size_hint().lower()).map_or(true, |size| size > limit) {
            return Err(too_large().into());
        }
        match timeout(self.options.body_time, Limited::new(body, limit).collect()).await {
            Err(_elapsed) => Err(wrong(StatusCode::REQUEST_TIMEOUT, "the body did not come in time").into()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large().into()),
            // The client is gone: nobody reads this, and nothing was done.
            Ok(Err(_gone)) => Err(wrong(StatusCode::BAD_REQUEST, "the body ended early").into()),
            Ok(Ok(body)) => {
                let mut body = body.to_bytes();
                // Some writers put a mark before all text; it is taken on a pipe too.
                if body.starts_with(b"\xef\xbb\xbf") {
                    body.advance(3);
                }
                Ok(body)
            }
        }
    }

    /// Answers a POST.
    async fn message(&self, mut parts: Parts, body: Bytes) -> Result<Answer, Refusal> {
        if values::too_many(&body) {
            return Err(problem(StatusCode::BAD_REQUEST, None, values::complaint()).into());
        }
        let asked = Asked::read(&body)?;
        // The other half of the time is for the work.
        let slot = Slot::new(self.options.request_time / 2);
        parts.extensions.insert(slot.clone());
        let _place = self.place().await?;
        if asked.initialize()
            && let Some(reason) = self.sessions.full().await
        {
            return Err(full(reason).into());
        }
        let request = Request::from_parts(parts, Full::new(body.clone()));
        if asked.listens() {
            return self.streamed(request).await;
        }
        let (head, text) = self.whole(request, asked.id.clone()).await?;
        // This is what rmcp says to JSON that is no message, in plain text; the type of the body was looked at before.
        if head.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return Err(no_message(&body));
        }
        // Another may have taken the last place in between, which rmcp calls an error of the server.
        if asked.initialize()
            && head.status == StatusCode::INTERNAL_SERVER_ERROR
            && let Some(reason) = self.sessions.full().await
        {
            return Err(full(reason).into());
        }
        match (slot.left(), asked.id) {
            (Some(Left::NoRoom(reason)), _) => Err(full(reason).into()),
            (Some(Left::Result(result)), Some(id)) => Ok(response::message(Outgoing::answer(&id, result))),
            _ => Ok(Answer::from_parts(head, Full::new(text).boxed())),
        }
    }

    /// Answers a GET, which is a stream, a DELETE, or what there is not; none has a body.
    async fn other(&self, parts: Parts) -> Result<Answer, Refusal> {
        let _place = self.place().await?;
        let stream = parts.method == Method::GET;
        let request = Request::from_parts(parts, Full::new(Bytes::new()));
        if stream {
            return self.streamed(request).await;
        }
        let (head, text) = self.whole(request, None).await?;
        Ok(Answer::from_parts(head, Full::new(text).boxed()))
    }

    /// What rmcp answers where a stream is wanted that stays open for as long as the client likes. Streams have places
    /// of their own, fewer than connections: they never leave a client without an answer.
    async fn streamed(&self, request: Request<Full<Bytes>>) -> Result<Answer, Refusal> {
        let place = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            full(format_args!("there are as many streams as there may be: {}", self.max_streams))
        })?;
        let answer = timeout(self.options.request_time, self.service.handle(request)).await;
        let answer = answer.map_err(|_elapsed| too_long(None))?;
        Ok(if is_stream(&answer) { held(answer, place) } else { answer })
    }

    /// The whole of what rmcp answers, if it does in time. In the handshake eras this is a stream of one event, which
    /// rmcp begins before the request is worked on; read to its end, it has a time and a size like any answer.
    async fn whole(
        &self,
        request: Request<Full<Bytes>>,
        id: Option<RequestId>,
    ) -> Result<(http::response::Parts, Bytes), Refusal> {
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

    /// A place among the requests. It is held until the answer begins, not while it is read: a slow reader takes
    /// nobody's place.
    async fn place(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        match timeout(self.options.request_time, self.requests.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            _ => {
                let most = self.options.max_requests;
                Err(full(format_args!("there are as many requests as there may be: {most}")).into())
            }
        }
    }
}

/// Never a header value, a body or a query: they may hold secrets.
fn log(method: &Method, path: &str, answer: &Answer, time: Duration) {
    tracing::info!(target: "prowess", method = %method, path = %path, status = answer.status().as_u16(),
        ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX), "request");
}

fn too_long(id: Option<RequestId>) -> Answer {
    let error = ErrorData::internal_error("the request took too long", None);
    problem(StatusCode::GATEWAY_TIMEOUT, id, error)
}

fn is_stream(answer: &Answer) -> bool {
    answer.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream")
}

/// Says nothing about the library: it is open to everybody who reaches the port.
fn health(method: &Method) -> Answer {
    match *method {
        Method::GET | Method::HEAD => plain(StatusCode::OK, "application/json", r#"{"status":"ok"}"#),
        _ => method_not_allowed("GET"),
    }
}

/// What is to be known of a message before it is passed on: no more, since rmcp reads it again.
#[derive(Deserialize)]
struct Asked {
    /// Whose answer it wants.
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: String,
}

impl Asked {
    /// Of a body that is one message.
    fn read(body: &[u8]) -> Result<Self, Refusal> {
        serde_json::from_slice(body).map_err(|_| no_message(body))
    }

    /// Whether it asks for a session.
    fn initialize(&self) -> bool {
        self.method == "initialize"
    }

    /// Whether it asks for a stream without an end.
    fn listens(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

/// What is said to a body that is no message.
fn no_message(body: &[u8]) -> Refusal {
    let (id, error) = crate::stdio::complaint(body);
    problem(StatusCode::BAD_REQUEST, id, error).into()
}

/// Whether a body is JSON by its one declared type; parameters such as a charset change nothing.
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
