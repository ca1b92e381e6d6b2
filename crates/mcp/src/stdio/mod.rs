//! The pipe: one message a line, of bounded length, at most so many under way; what is no message gets its error.
//!
//! rmcp's own transport says nothing to malformed JSON and to a line that is too long, drops a last line without its
//! end, and reads on without limit while answers pile up behind a reader that does not read.

pub(crate) mod oversized;
pub(crate) mod writer;

// The ids of rmcp have no order; the map is never walked.
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
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::ServeError;
use crate::lock::locked;
use crate::protocol::outgoing::Outgoing;
use crate::protocol::values;
use crate::server::prebuilt::{Left, Slot};
use crate::server::{Server, Shared};
use crate::stdio::oversized::{LongLine, MAX_ID};
use crate::stdio::writer::PipeWriter;

/// The longest line that is read: as large as a request over HTTP may be.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// The most requests of one pipe under way; beyond, reading waits until an answer has been taken.
pub(crate) const MAX_OPEN: usize = 16;
/// The most subscriptions of one pipe that are open at once.
const MAX_LISTENING: usize = 64;
/// How long an answer may wait for room; a client that reads makes some sooner.
const PATIENCE: Duration = Duration::from_secs(15);

/// One client on a pipe.
pub(crate) struct Pipe<R> {
    reader: BufReader<R>,
    /// The line so far: `receive` is dropped and called again in the middle of one.
    line: Vec<u8>,
    /// What is known of a line that is too long.
    too_long: Option<LongLine>,
    ended: bool,
    begun: bool,
    writer: PipeWriter,
    room: Arc<Semaphore>,
    listening: Arc<Semaphore>,
    open: Mutex<HashMap<RequestId, Open>>,
}

/// A request under way: its place, and where its result is left.
struct Open {
    place: OwnedSemaphorePermit,
    slot: Slot,
}

impl<R: AsyncRead + Send + Unpin> Pipe<R> {
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            too_long: None,
            ended: false,
            begun: false,
            writer: PipeWriter::new(writer),
            room: Arc::new(Semaphore::new(MAX_OPEN)),
            listening: Arc::new(Semaphore::new(MAX_LISTENING)),
            open: Mutex::default(),
        }
    }

    /// The next whole line in `self.line`; false at the end. Nothing is lost when the future is dropped.
    async fn next_line(&mut self) -> io::Result<bool> {
        loop {
            let (taken, whole) = {
                let bytes = self.reader.fill_buf().await?;
                if bytes.is_empty() {
                    self.ended = true;
                    return Ok(!self.line.is_empty() || self.too_long.is_some());
                }
                let newline = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..newline.unwrap_or(bytes.len())).unwrap_or(&[]);
                match &mut self.too_long {
                    Some(long) => long.follow(part),
                    None if self.line.len() + part.len() > MAX_LINE => {
                        let mut long = LongLine::default();
                        long.follow(&std::mem::take(&mut self.line));
                        long.follow(part);
                        self.too_long = Some(long);
                    }
                    None => self.line.extend_from_slice(part),
                }
                (part.len() + usize::from(newline.is_some()), newline.is_some())
            };
            self.reader.consume(taken);
            if whole {
                return Ok(true);
            }
        }
    }

    /// Says what is wrong with a line. The complaint holds the place of the line until it is taken.
    fn complain(&self, id: Option<RequestId>, error: ErrorData, place: OwnedSemaphorePermit) {
        let message = ServerJsonRpcMessage::Error(JsonRpcError::new(id, error));
        if let Ok(line) = serde_json::to_vec(&message) {
            drop(self.writer.send(Outgoing::written(line), Some(place)));
        }
    }

    /// Takes back a request that is over.
    fn over(&self, id: &RequestId) -> Option<Open> {
        locked(&self.open).remove(id)
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &item {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let open = id.and_then(|id| Some((id, self.over(id)?)));
        let left = open.as_ref().and_then(|(id, open)| match open.slot.left() {
            Some(Left::Result(result)) => Some(Outgoing::answer(id, result)),
            _ => None,
        });
        let place = open.map(|(_, open)| open.place);
        let line = match left {
            Some(answer) => Ok(answer),
            None => serde_json::to_vec(&item).map(Outgoing::written),
        };
        let written = line.map(|line| self.writer.send(line, place));
        async move { written?.await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.ended {
                return None;
            }
            // A place first, then a line: whenever this is dropped, nothing is lost. Behind the line nothing waits.
            let place = Arc::clone(&self.room).acquire_owned().await.ok()?;
            let gone = self.writer.gone();
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
                    self.complain(long.id(), error, place);
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
                let mut long = LongLine::default();
                long.follow(text);
                if !long.is_notification() {
                    self.complain(long.id(), values::complaint(), place);
                }
                continue;
            }
            match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
                Ok(ClientJsonRpcMessage::Request(mut request)) => {
                    self.begun = true;
                    // Two answers could not be told apart, and each request has a place of its own.
                    if locked(&self.open).contains_key(&request.id) {
                        let error =
                            ErrorData::invalid_request("a request with this id is not answered yet", None);
                        self.complain(Some(request.id), error, place);
                        continue;
                    }
                    // A subscription is open for as long as it likes, so it takes a place among its own kind.
                    let place = if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                        match Arc::clone(&self.listening).try_acquire_owned() {
                            Ok(listening) => listening,
                            Err(_) => {
                                let text = format!("a pipe has at most {MAX_LISTENING} subscriptions");
                                self.complain(
                                    Some(request.id),
                                    ErrorData::invalid_request(text, None),
                                    place,
                                );
                                continue;
                            }
                        }
                    } else {
                        place
                    };
                    let slot = Slot::new(PATIENCE);
                    request.request.extensions_mut().insert(slot.clone());
                    locked(&self.open).insert(request.id.clone(), Open { place, slot });
                    return Some(ClientJsonRpcMessage::Request(request));
                }
                Ok(ClientJsonRpcMessage::Notification(note)) => {
                    // What is cancelled is never answered, so its place comes back here.
                    if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.over(id);
                    }
                    if self.begun {
                        return Some(ClientJsonRpcMessage::Notification(note));
                    }
                }
                Ok(other) if self.begun => return Some(other),
                Ok(_) => {}
                Err(_) => {
                    let (id, error) = complaint(text);
                    self.complain(id, error, place);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await;
        Ok(())
    }
}

/// What to say to text that is no message: -32700 when it is no JSON, -32600 when it is; with the id if there is one.
pub(crate) fn complaint(text: &[u8]) -> (Option<RequestId>, ErrorData) {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => (None, ErrorData::parse_error(format!("this is not JSON: {error}"), None)),
        Ok(Value::Array(_)) => (None, ErrorData::invalid_request("batches are not taken", None)),
        Ok(value) => {
            let id = value.get("id").filter(|id| id.as_str().is_none_or(|text| text.len() <= MAX_ID));
            let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
            (id, ErrorData::invalid_request("this is no JSON-RPC 2.0 message", None))
        }
    }
}

/// Serves one client until it hangs up, or until `stop`.
pub(crate) async fn serve<R, W>(
    shared: Arc<Shared>,
    reader: R,
    writer: W,
    stop: CancellationToken,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let server = Server::new(shared);
    let running = match serve_server_with_ct(server, Pipe::new(reader, writer), stop).await {
        Ok(running) => running,
        // Whoever hangs up before saying anything is no error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Handshake(error.to_string())),
    };
    let _ = running.waiting().await;
    Ok(())
}
