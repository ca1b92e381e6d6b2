//! A server at an address: the library's own HTTP behind rmcp's trait, one request a message, no redirects.

use std::collections::HashMap;
use std::io::{BufReader, Read, Take};
use std::sync::Arc;

use http::response::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use prowess::net::{HttpAnswer, HttpError, PublicHosts, UreqClient, body_failed};
use prowess::text::json_values;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use crate::client::error::{Failure, Record, shown, too_many_values};
use crate::client::response::{Asked, Raw, Streamed, in_events};
use crate::source::McpLimits;

const SESSION: &str = "mcp-session-id";
const CHECK: &str = "check the address; the path of a server is often /mcp";
const TELL: &str = "tell whoever runs the server";

/// A server at an address.
#[derive(Clone)]
pub(crate) struct Web {
    client: UreqClient,
    limits: McpLimits,
    /// Once an answer came from a public address, the name leads to no private one any more.
    public: Arc<PublicHosts>,
    record: Arc<Record>,
}

type Error = StreamableHttpError<Failure>;

impl Web {
    pub(crate) fn new(
        client: UreqClient,
        limits: McpLimits,
        public: Arc<PublicHosts>,
        record: Arc<Record>,
    ) -> Self {
        Self { client, limits, public, record }
    }

    fn send(&self, request: Request<Vec<u8>>) -> Result<HttpAnswer, Failure> {
        let url = request.uri().to_string();
        let private = self.public.may_be_private(&url);
        let answer =
            self.client.send(request, self.limits.time, private).map_err(|error| self.failure(&error))?;
        self.public.note(&url, answer.private);
        Ok(answer)
    }

    fn failure(&self, error: &HttpError) -> Failure {
        match error {
            HttpError::TooSlow(_) => Failure::late(self.limits.time),
            HttpError::TooLarge(limit) => {
                let reason = format!("its answer has more than {limit} bytes");
                Failure::new(reason, TELL)
            }
            other => Failure::new(shown(&other.to_string()), "check the address and the network"),
        }
    }

    /// All of a body, up to the limit of an answer.
    fn body(&self, reader: &mut impl Read) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = reader.read_to_end(&mut bytes);
        self.record.count(bytes.len() as u64);
        if bytes.len() as u64 > self.limits.answer_bytes {
            return Err(self.failure(&HttpError::TooLarge(self.limits.answer_bytes)));
        }
        read.map_err(|error| self.failure(&body_failed(&error, self.limits.time)))?;
        Ok(bytes)
    }

    /// The answer in a body that is a stream of events, up to the limit of an answer.
    fn in_stream(
        &self,
        mut reader: BufReader<Take<impl Read>>,
        asked: &Asked,
    ) -> Result<ServerJsonRpcMessage, Failure> {
        let answer = in_events(&mut reader, asked, &self.limits);
        let rest = reader.into_inner().limit();
        self.record.count((self.limits.answer_bytes + 1).saturating_sub(rest));
        match answer {
            Ok(Streamed::Answer(answer)) => Ok(*answer),
            Ok(Streamed::TooManyValues) => Err(too_many_values(&self.limits)),
            Ok(Streamed::Ended) if rest == 0 => {
                Err(self.failure(&HttpError::TooLarge(self.limits.answer_bytes)))
            }
            Ok(Streamed::Ended) => Err(Failure::new("its stream ended before the answer", TELL)),
            Err(error) => Err(self.failure(&body_failed(&error, self.limits.time))),
        }
    }

    fn post(&self, request: Request<Vec<u8>>, asked: &Asked) -> Result<StreamableHttpPostResponse, Error> {
        let in_session = request.headers().contains_key(SESSION);
        let with_token = request.headers().contains_key(header::AUTHORIZATION);
        let HttpAnswer { head, body, .. } = self.send(request)?;
        let status = head.status;
        let Some(id) = asked.id.clone() else { return Ok(StreamableHttpPostResponse::Accepted) };
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let reason = format!("it answers with nothing: status {}", status.as_u16());
            return Err(Failure::new(reason, CHECK).into());
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if let Some(refusal) = refusal(&head, with_token) {
            return Err(refusal.into());
        }
        let session = text(&head, SESSION).map(str::to_owned);
        let mut reader = BufReader::new(body.take(self.limits.answer_bytes + 1));
        let kind = text(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        if status.is_success() && kind.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Json(self.in_stream(reader, asked)?, session));
        }
        let bytes = self.body(&mut reader)?;
        if json_values(&bytes) > self.limits.answer_values {
            return Err(too_many_values(&self.limits).into());
        }
        let raw = serde_json::from_slice::<Raw>(&bytes);
        let answer = if status.is_success() {
            let no_message = |error: serde_json::Error| {
                let head = shown(&String::from_utf8_lossy(bytes.get(..64).unwrap_or(&bytes)));
                let error = shown(&error.to_string());
                Failure::new(format!("its answer is no JSON-RPC message: {error}: {head}"), CHECK)
            };
            let answer = asked.answer(raw.map_err(no_message)?);
            answer.ok_or_else(|| Failure::new("it does not answer what was asked", TELL))?
        } else {
            // An older server does not know the first question; the lifecycle wants to hear that as an error of ours.
            let unknown = || ErrorData::invalid_request(format!("status {}", status.as_u16()), None);
            let busy = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            let older = asked.is_discover() && status.is_client_error() && !busy;
            let error = raw.ok().and_then(|raw| raw.error).or_else(|| older.then(unknown));
            let hint = if busy { "the server has trouble; try again later" } else { CHECK };
            let failed = || Failure::new(format!("it answers with status {}", status.as_u16()), hint);
            ServerJsonRpcMessage::error(error.ok_or_else(failed)?, Some(id))
        };
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    /// A request with the headers that rmcp wants on it.
    fn request(
        method: Method,
        uri: &str,
        session: Option<&str>,
        token: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, Failure> {
        let bad = |_| Failure::new("a header or the address has characters that cannot be sent", CHECK);
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let mut request = request.body(body).map_err(bad)?;
        request.headers_mut().extend(headers);
        Ok(request)
    }
}

fn text<'h>(head: &'h Parts, name: &str) -> Option<&'h str> {
    head.headers.get(name).and_then(|value| value.to_str().ok())
}

/// Why an answer is not looked at any further.
fn refusal(head: &Parts, with_token: bool) -> Option<Failure> {
    if head.status.is_redirection() {
        let to = shown(text(head, "location").unwrap_or_default());
        let reason = format!("it answers with a redirect, which is not followed: {to}");
        return Some(Failure::new(reason, "name the address that it leads to, if you trust it"));
    }
    let refused = matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    refused.then(|| {
        let status = head.status.as_u16();
        match (head.status, with_token) {
            (_, false) => {
                let reason = format!("it refuses with status {status}");
                Failure::new(reason, "name a file with the token it wants: token_file")
            }
            (StatusCode::UNAUTHORIZED, true) => {
                let reason = format!("it does not accept the token: status {status}");
                Failure::new(reason, "see whether the token in the token_file is still the right one")
            }
            (_, true) => {
                let reason = format!("it does not allow this with the token: status {status}");
                Failure::new(reason, "ask whoever runs the server what the token is good for")
            }
        }
    })
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Client(failure)
    }
}

impl StreamableHttpClient for Web {
    type Error = Failure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let web = self.clone();
        let (record, id) = (Arc::clone(&self.record), Asked::of(&message).id);
        // Ends by itself when its time is up, also when nobody waits for it any more.
        let done = tokio::task::spawn_blocking(move || {
            let asked = Asked::of(&message);
            let body = serde_json::to_vec(&message)?;
            let request =
                Self::request(Method::POST, &uri, session.as_deref(), token.as_deref(), headers, body)?;
            web.post(request, &asked)
        });
        done.await?.inspect_err(|error| {
            if let StreamableHttpError::Client(failure) = error {
                record.failed(id, failure.clone());
            }
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        let web = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let request =
                Self::request(Method::DELETE, &uri, Some(&session), token.as_deref(), headers, Vec::new())?;
            // Good manners; the server's own clock does the rest.
            web.send(request).map(drop)
        });
        Ok(done.await??)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session: Option<Arc<str>>,
        _last_event: Option<String>,
        _token: Option<String>,
        _headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, Error> {
        // A source asks and is answered; what a server would tell by itself, nobody here waits for.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
