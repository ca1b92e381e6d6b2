//! The stdio transport: one message per line, with limits on the length of lines and the number of open requests.
//!
//! rmcp's own transport sends no error for malformed JSON or an oversized line, drops a last line without a newline, and
//! reads without limit while responses pile up for a client that does not read.

pub(crate) mod input;
pub(crate) mod oversized;
pub(crate) mod writer;

// The ids of rmcp have no order; the map is never iterated.
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, JsonRpcError, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::ServeError;
use crate::protocol::ambiguity::{Outline, ambiguity};
use crate::protocol::outgoing::OutgoingMessage;
use crate::protocol::{cursor, values};
use crate::server::errors::{excerpt, make_readable};
use crate::server::prebuilt::{ResultSlot, SlotContent};
use crate::server::{Server, Shared};
use crate::stdio::input::PipeInput;
use crate::stdio::oversized::{MAX_ID, OversizedLine};
use crate::stdio::writer::PipeWriter;
use prowess::internal::{locked, parse_json};

/// The maximum length of a line: the same as of a request over HTTP.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// The maximum number of open requests per pipe; beyond that, reading waits until a response has been sent.
pub(crate) const MAX_OPEN: usize = 16;
/// The maximum number of open subscriptions per pipe.
const MAX_SUBSCRIPTIONS: usize = 64;
/// How long a response may wait for the response budget.
const BUDGET_TIMEOUT: Duration = Duration::from_secs(15);

/// One client on a pipe.
pub(crate) struct Pipe<R> {
    input: PipeInput<R>,
    /// The line so far: `receive` is dropped and called again in the middle of one.
    line: Vec<u8>,
    /// The state of a line that is too long.
    too_long: Option<OversizedLine>,
    ended: bool,
    begun: bool,
    writer: PipeWriter,
    requests: Arc<Semaphore>,
    subscriptions: Arc<Semaphore>,
    open: Mutex<HashMap<RequestId, OpenRequest>>,
}

/// An open request: its permit, and the slot for its result.
struct OpenRequest {
    permit: OwnedSemaphorePermit,
    slot: ResultSlot,
}

impl<R: AsyncRead + Send + Unpin> Pipe<R> {
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(reader: R, writer: W) -> Self {
        let end_of_input = CancellationToken::new();
        Self {
            input: PipeInput::new(reader, end_of_input.clone()),
            line: Vec::new(),
            too_long: None,
            ended: false,
            begun: false,
            writer: PipeWriter::new(writer, end_of_input),
            requests: Arc::new(Semaphore::new(MAX_OPEN)),
            subscriptions: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)),
            open: Mutex::default(),
        }
    }

    /// Reads the next whole line into `self.line`; false at the end. Nothing is lost when the future is dropped.
    async fn next_line(&mut self) -> io::Result<bool> {
        loop {
            let (taken, whole) = {
                let bytes = self.input.fill().await?;
                if bytes.is_empty() {
                    self.ended = true;
                    return Ok(!self.line.is_empty() || self.too_long.is_some());
                }
                let newline = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..newline.unwrap_or(bytes.len())).unwrap_or(&[]);
                match &mut self.too_long {
                    Some(long) => long.scan(part),
                    None if self.line.len() + part.len() > MAX_LINE => {
                        let mut long = OversizedLine::default();
                        long.scan(&std::mem::take(&mut self.line));
                        long.scan(part);
                        self.too_long = Some(long);
                    }
                    None => self.line.extend_from_slice(part),
                }
                (part.len() + usize::from(newline.is_some()), newline.is_some())
            };
            self.input.consume(taken);
            if whole {
                return Ok(true);
            }
        }
    }

    /// Resolves at the end of the input, if nothing is left to be handled.
    async fn end_of_input(&mut self) {
        self.input.end().await;
        // A last line without a newline waits for its permit.
        if !self.line.is_empty() || self.too_long.is_some() {
            std::future::pending::<()>().await;
        }
    }

    /// Sends an error response to a line. It holds the permit of the line until it is sent.
    fn send_error(&self, id: Option<RequestId>, error: ErrorData, permit: OwnedSemaphorePermit) {
        let message = ServerJsonRpcMessage::Error(JsonRpcError::new(id, error));
        if let Ok(line) = serde_json::to_vec(&message) {
            drop(self.writer.send(OutgoingMessage::encoded(line), Some(permit)));
        }
    }

    /// Removes a request that has ended.
    fn close_request(&self, id: &RequestId) -> Option<OpenRequest> {
        locked(&self.open).remove(id)
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let ServerJsonRpcMessage::Error(error) = &mut item {
            make_readable(&mut error.error);
        }
        let id = match &item {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let open = id.and_then(|id| Some((id, self.close_request(id)?)));
        let left = open.as_ref().and_then(|(id, open)| match open.slot.content() {
            Some(SlotContent::Result(result)) => Some(OutgoingMessage::response(id, result)),
            _ => None,
        });
        let permit = open.map(|(_, open)| open.permit);
        let line = match left {
            Some(answer) => Ok(answer),
            None => serde_json::to_vec(&item).map(OutgoingMessage::encoded),
        };
        let written = line.map(|line| self.writer.send(line, permit));
        async move { written?.await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.ended {
                return None;
            }
            // The permit first, then the line: there is no await after the line, so nothing is lost when this is dropped.
            let (requests, gone) = (Arc::clone(&self.requests), self.writer.gone());
            let permit = tokio::select! {
                biased;
                permit = requests.acquire_owned() => permit.ok()?,
                () = self.end_of_input() => return None,
                () = gone.cancelled() => return None,
            };
            let read = tokio::select! {
                read = self.next_line() => read,
                () = gone.cancelled() => return None,
            };
            match read {
                Ok(true) => {}
                Ok(false) | Err(_) => return None,
            }
            if let Some(long) = self.too_long.take() {
                let error =
                    ErrorData::invalid_request(format!("a message has more than {MAX_LINE} bytes"), None);
                if !long.is_notification() {
                    self.send_error(long.id(), error, permit);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let text = line.strip_suffix(b"\r").unwrap_or(&line);
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            if text.trim_ascii().is_empty() {
                continue;
            }
            if values::too_many(text) {
                let mut long = OversizedLine::default();
                long.scan(text);
                if !long.is_notification() {
                    self.send_error(long.id(), values::too_many_error(), permit);
                }
                continue;
            }
            let message = parse_json(text).and_then(|mut message| {
                cursor::make_text(&mut message);
                serde_json::from_value::<ClientJsonRpcMessage>(message)
            });
            match message {
                Ok(ClientJsonRpcMessage::Request(mut request)) => {
                    self.begun = true;
                    // Two responses could not be distinguished.
                    if locked(&self.open).contains_key(&request.id) {
                        self.send_error(Some(request.id), open_already(), permit);
                        continue;
                    }
                    // A subscription may stay open forever, so it takes one of the permits for subscriptions.
                    let permit = if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                        match Arc::clone(&self.subscriptions).try_acquire_owned() {
                            Ok(permit) => permit,
                            Err(_) => {
                                let text = format!("a pipe has at most {MAX_SUBSCRIPTIONS} subscriptions");
                                self.send_error(
                                    Some(request.id),
                                    ErrorData::invalid_request(text, None),
                                    permit,
                                );
                                continue;
                            }
                        }
                    } else {
                        permit
                    };
                    let slot = ResultSlot::new(BUDGET_TIMEOUT);
                    request.request.extensions_mut().insert(slot.clone());
                    locked(&self.open).insert(request.id.clone(), OpenRequest { permit, slot });
                    return Some(ClientJsonRpcMessage::Request(request));
                }
                Ok(ClientJsonRpcMessage::Notification(note)) => {
                    // A cancelled request gets no response, so its permit is released here.
                    if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.close_request(id);
                    }
                    if self.begun {
                        return Some(ClientJsonRpcMessage::Notification(note));
                    }
                }
                Ok(other) if self.begun => return Some(other),
                Ok(_) => {}
                Err(_) => {
                    let (id, error) = invalid_message(text);
                    self.send_error(id, error, permit);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await;
        Ok(())
    }
}

/// The error for a request with the id of an open one.
pub(crate) fn open_already() -> ErrorData {
    ErrorData::invalid_request("a request with this id is not answered yet", None)
}

/// The error for text that is not a message, or an ambiguous one: -32700 when it is not JSON, else -32600, with the id if
/// there is one. The id of a response is one of ours: with it, the error could be taken for the answer to a request of the
/// client.
pub(crate) fn invalid_message(text: &[u8]) -> (Option<RequestId>, ErrorData) {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => match Outline::of(text) {
            // It is JSON with a text or a depth that cannot be read.
            Some(outline) => {
                let id = outline.only_id().filter(|id| !outline.is_response() && is_short(id));
                (id, ErrorData::invalid_request(format!("this message cannot be read: {error}"), None))
            }
            None => (None, ErrorData::parse_error(format!("this is not JSON: {error}"), None)),
        },
        Ok(Value::Array(_)) => (None, ErrorData::invalid_request("batches are not taken", None)),
        Ok(value) => {
            let is_response = value.get("result").is_some() || value.get("error").is_some();
            // Of two ids, neither is that of the message.
            let id = Outline::of(text).and_then(|outline| outline.only_id());
            let why = match ambiguity(text) {
                Some(error) => format!("this message is ambiguous: {}", excerpt(&error.to_string())),
                None => "this is not a JSON-RPC 2.0 message".to_owned(),
            };
            let id = id.filter(|id| !is_response && is_short(id));
            (id, ErrorData::invalid_request(why, None))
        }
    }
}

/// Whether an id may be sent back.
fn is_short(id: &RequestId) -> bool {
    match id {
        RequestId::Number(_) => true,
        RequestId::String(text) => text.len() <= MAX_ID,
    }
}

/// Why the first answer could not be written.
fn unwritten(error: Box<dyn std::error::Error + Send + Sync>) -> ServeError {
    match error.downcast::<io::Error>() {
        Ok(error) if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected) => {
            ServeError::System(*error)
        }
        _ => ServeError::Closed,
    }
}

/// Serves one client until it disconnects or `stop` is cancelled.
pub(crate) async fn serve<R: AsyncRead + Send + Unpin + 'static>(
    shared: Arc<Shared>,
    pipe: Pipe<R>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let server = Server::new(shared);
    let running = match serve_server_with_ct(server, pipe, stop).await {
        Ok(running) => running,
        // A client that disconnects before its first message is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(ServerInitializeError::TransportError { error, .. }) => return Err(unwritten(error.error)),
        Err(error) => return Err(ServeError::Handshake(error.to_string())),
    };
    let _ = running.waiting().await;
    Ok(())
}
