//! The HTTP transport of the client: the library's HTTP client behind rmcp's trait, without redirects.

use std::collections::HashMap;
use std::io::{BufReader, Read, Take};
use std::sync::Arc;

use http::response::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use prowess::internal::json_values;
use prowess::internal::{HttpAnswer, PublicHosts, body_failed, shown_address};
use prowess::net::{HttpError, UreqClient};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use crate::client::error::{ClientError, TransportLog, ambiguous, no_answer, shown, too_many_values};
use crate::client::response::{RawResponse, ResponseError, SentRequest, StreamOutcome, response_in_events};
use crate::source::McpLimits;

const SESSION: &str = "mcp-session-id";
const CHECK: &str = "check the address; the path of a server is often /mcp";
const REPORT: &str = "report this to the operator of the server";

/// The HTTP client of one server.
#[derive(Clone)]
pub(crate) struct McpHttpClient {
    client: UreqClient,
    limits: McpLimits,
    /// Once a host was at a public address, its name must not resolve to a private one.
    public: Arc<PublicHosts>,
    log: Arc<TransportLog>,
}

type Error = StreamableHttpError<ClientError>;

impl McpHttpClient {
    pub(crate) fn new(
        client: UreqClient,
        limits: McpLimits,
        public: Arc<PublicHosts>,
        log: Arc<TransportLog>,
    ) -> Self {
        Self { client, limits, public, log }
    }

    fn send(&self, request: Request<Vec<u8>>) -> Result<HttpAnswer, ClientError> {
        let url = request.uri().to_string();
        let private = self.public.may_be_private(&url);
        let answer =
            self.client.send(request, self.limits.time, private).map_err(|error| self.error(&error))?;
        self.public.note(&url, answer.private);
        Ok(answer)
    }

    fn error(&self, error: &HttpError) -> ClientError {
        match error {
            HttpError::TooSlow(_) => ClientError::timeout(self.limits.time),
            HttpError::TooLarge(limit) => {
                let reason = format!("its answer has more than {limit} bytes");
                ClientError::new(reason, REPORT)
            }
            other => ClientError::new(shown(&other.to_string()), "check the address and the network"),
        }
    }

    /// Reads a whole body, up to the limit.
    fn body(&self, reader: &mut impl Read) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        let read = reader.read_to_end(&mut bytes);
        self.log.add_received(bytes.len() as u64);
        if bytes.len() as u64 > self.limits.answer_bytes {
            return Err(self.error(&HttpError::TooLarge(self.limits.answer_bytes)));
        }
        read.map_err(|error| self.error(&body_failed(&error, self.limits.time)))?;
        Ok(bytes)
    }

    /// Reads the response in a body that is an event stream, up to the limit.
    fn response_in_stream(
        &self,
        mut reader: BufReader<Take<impl Read>>,
        sent: &SentRequest,
    ) -> Result<ServerJsonRpcMessage, ClientError> {
        let answer = response_in_events(&mut reader, sent, &self.limits);
        let rest = reader.into_inner().limit();
        self.log.add_received((self.limits.answer_bytes + 1).saturating_sub(rest));
        match answer {
            Ok(StreamOutcome::Response(response)) => Ok(*response),
            Ok(StreamOutcome::TooManyValues) => Err(too_many_values(&self.limits)),
            Ok(StreamOutcome::Ambiguous(error)) => Err(ambiguous(&error)),
            Ok(StreamOutcome::Ended) if rest == 0 => {
                Err(self.error(&HttpError::TooLarge(self.limits.answer_bytes)))
            }
            Ok(StreamOutcome::Ended) => Err(ClientError::new("its stream ended before the answer", REPORT)),
            Err(error) => Err(self.error(&body_failed(&error, self.limits.time))),
        }
    }

    fn post(
        &self,
        request: Request<Vec<u8>>,
        sent: &SentRequest,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let in_session = request.headers().contains_key(SESSION);
        let with_token = request.headers().contains_key(header::AUTHORIZATION);
        let HttpAnswer { head, body, .. } = self.send(request)?;
        let status = head.status;
        let Some(id) = sent.id.clone() else { return Ok(StreamableHttpPostResponse::Accepted) };
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            let reason = format!("it answers with nothing: status {}", status.as_u16());
            return Err(ClientError::new(reason, CHECK).into());
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
            return Ok(StreamableHttpPostResponse::Json(self.response_in_stream(reader, sent)?, session));
        }
        let bytes = self.body(&mut reader)?;
        if json_values(&bytes) > self.limits.answer_values {
            return Err(too_many_values(&self.limits).into());
        }
        let raw = RawResponse::read(&bytes);
        let answer = if status.is_success() {
            let unread = |error: ResponseError| match error {
                ResponseError::Ambiguous(error) => ambiguous(&error),
                ResponseError::NoMessage(error) => {
                    let head = shown(&String::from_utf8_lossy(bytes.get(..64).unwrap_or(&bytes)));
                    let error = shown(&error.to_string());
                    let reason = format!("its response is not a JSON-RPC message: {error}: {head}");
                    ClientError::new(reason, CHECK)
                }
            };
            sent.response(raw.map_err(unread)?).ok_or_else(no_answer)?
        } else {
            // An older server does not know the first request; rmcp expects that as a JSON-RPC error.
            let unknown = || ErrorData::invalid_request(format!("status {}", status.as_u16()), None);
            let busy = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            let older = sent.is_discover() && status.is_client_error() && !busy;
            let error = raw.ok().and_then(|raw| raw.error).or_else(|| older.then(unknown));
            let hint = if busy { "the server has trouble; try again later" } else { CHECK };
            let is_final = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
            let failed = || {
                let reason = format!("it answers with status {}", status.as_u16());
                ClientError { is_final, ..ClientError::new(reason, hint) }
            };
            ServerJsonRpcMessage::error(error.ok_or_else(failed)?, Some(id))
        };
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    /// A request with the headers of rmcp.
    fn request(
        method: Method,
        uri: &str,
        session: Option<&str>,
        token: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, ClientError> {
        let bad = |_| ClientError::new("a header or the address has characters that cannot be sent", CHECK);
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

/// The error for a redirect or a refusal.
fn refusal(head: &Parts, with_token: bool) -> Option<ClientError> {
    if head.status.is_redirection() {
        let to = shown(&shown_address(text(head, "location").unwrap_or_default()));
        let reason = format!("it answers with a redirect, which is not followed: {to}");
        return Some(ClientError::new(reason, "name the address that it leads to, if you trust it"));
    }
    let refused = matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    refused.then(|| {
        let status = head.status.as_u16();
        let error = match (head.status, with_token) {
            (_, false) => {
                let reason = format!("it refuses with status {status}");
                ClientError::new(reason, "name a file with the token it wants: token_file")
            }
            (StatusCode::UNAUTHORIZED, true) => {
                let reason = format!("it does not accept the token: status {status}");
                ClientError::new(reason, "see whether the token in the token_file is still the right one")
            }
            (_, true) => {
                let reason = format!("it does not allow this with the token: status {status}");
                ClientError::new(reason, "ask the operator of the server what the token allows")
            }
        };
        ClientError { is_final: true, ..error }
    })
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl StreamableHttpClient for McpHttpClient {
    type Error = ClientError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let client = self.clone();
        let (log, id) = (Arc::clone(&self.log), SentRequest::of(&message).id);
        // Ends after its timeout, also when the future is dropped.
        let done = tokio::task::spawn_blocking(move || {
            let sent = SentRequest::of(&message);
            let body = serde_json::to_vec(&message)?;
            let request =
                Self::request(Method::POST, &uri, session.as_deref(), token.as_deref(), headers, body)?;
            client.post(request, &sent)
        });
        done.await?.inspect_err(|error| {
            if let StreamableHttpError::Client(error) = error {
                log.record_error(id, error.clone());
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
        let client = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let request =
                Self::request(Method::DELETE, &uri, Some(&session), token.as_deref(), headers, Vec::new())?;
            // A courtesy; the session would expire on the server anyway.
            client.send(request).map(drop)
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
        // A source needs responses only, and no notifications.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
