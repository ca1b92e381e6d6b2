//! The pipe: one message a line, of bounded length, at most so many under way; what is no message gets its error.
//!
//! rmcp's own transport says nothing to malformed JSON and to a line that is too long, drops a last line without its
//! end, and reads on without limit while answers pile up behind a reader that does not read.

// The ids of rmcp have no order; the map is never walked.
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcError, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::ServeError;
use crate::server::{Server, Shared};

/// The longest line that is read: as large as a request over HTTP may be.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// The most requests of one pipe under way; beyond, reading waits until an answer has been taken.
const MAX_OPEN: usize = 64;

/// One client on a pipe.
pub(crate) struct Pipe<R, W> {
    reader: BufReader<R>,
    /// The line so far: `receive` is dropped and called again in the middle of one.
    line: Vec<u8>,
    too_long: bool,
    ended: bool,
    begun: bool,
    writer: Arc<AsyncMutex<Option<W>>>,
    room: Arc<Semaphore>,
    open: Arc<Mutex<HashMap<RequestId, OwnedSemaphorePermit>>>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Pipe<R, W> {
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            too_long: false,
            ended: false,
            begun: false,
            writer: Arc::new(AsyncMutex::new(Some(writer))),
            room: Arc::new(Semaphore::new(MAX_OPEN)),
            open: Arc::default(),
        }
    }

    /// The next whole line in `self.line`; false at the end. Nothing is lost when the future is dropped.
    async fn next_line(&mut self) -> io::Result<bool> {
        loop {
            let (taken, whole) = {
                let bytes = self.reader.fill_buf().await?;
                if bytes.is_empty() {
                    self.ended = true;
                    return Ok(!self.line.is_empty() || self.too_long);
                }
                let newline = bytes.iter().position(|byte| *byte == b'\n');
                let part = bytes.get(..newline.unwrap_or(bytes.len())).unwrap_or(&[]);
                if self.line.len() + part.len() > MAX_LINE {
                    self.too_long = true;
                    // Enough is kept to look for the id of what was too long.
                    let room = 4096usize.saturating_sub(self.line.len()).min(part.len());
                    self.line.extend_from_slice(part.get(..room).unwrap_or(&[]));
                    self.line.truncate(4096);
                } else if !self.too_long {
                    self.line.extend_from_slice(part);
                }
                (part.len() + usize::from(newline.is_some()), newline.is_some())
            };
            self.reader.consume(taken);
            if whole {
                return Ok(true);
            }
        }
    }

    async fn complain(&mut self, id: Option<RequestId>, error: ErrorData) {
        let message = ServerJsonRpcMessage::Error(JsonRpcError::new(id, error));
        let _ = write(&self.writer, &message).await;
    }
}

async fn write<W: AsyncWrite + Unpin>(
    writer: &AsyncMutex<Option<W>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    writer.write_all(&line).await?;
    writer.flush().await
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer>
    for Pipe<R, W>
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, open) = (Arc::clone(&self.writer), Arc::clone(&self.open));
        async move {
            let written = write(&writer, &item).await;
            let id = match &item {
                ServerJsonRpcMessage::Response(response) => Some(&response.id),
                ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = id {
                open.lock().unwrap_or_else(PoisonError::into_inner).remove(id); // gives its place back
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.ended {
                return None;
            }
            // A place first, then a line: cancel-safe in this order.
            let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
            match self.next_line().await {
                Ok(true) => {}
                Ok(false) | Err(_) => return None,
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.too_long) {
                let error =
                    ErrorData::invalid_request(format!("a message has more than {MAX_LINE} bytes"), None);
                self.complain(id_in(&line), error).await;
                continue;
            }
            let text = line.strip_suffix(b"\r").unwrap_or(&line);
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            if text.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
                Ok(ClientJsonRpcMessage::Request(request)) => {
                    self.begun = true;
                    // A subscription is open for as long as it likes and takes no place.
                    if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) {
                        self.open
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .insert(request.id.clone(), permit);
                    }
                    return Some(ClientJsonRpcMessage::Request(request));
                }
                // What is cancelled is never answered, so its place comes back here.
                Ok(ClientJsonRpcMessage::Notification(note)) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                    }
                    if self.begun {
                        return Some(ClientJsonRpcMessage::Notification(note));
                    }
                }
                Ok(other) if self.begun => return Some(other),
                Ok(_) => {}
                Err(_) => {
                    let (id, error) = complaint(text);
                    self.complain(id, error).await;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        if let Some(mut writer) = self.writer.lock().await.take() {
            let _ = writer.shutdown().await;
        }
        Ok(())
    }
}

/// What to say to text that is no message: -32700 when it is no JSON, -32600 when it is; with the id if there is one.
pub(crate) fn complaint(text: &[u8]) -> (Option<RequestId>, ErrorData) {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => (None, ErrorData::parse_error(format!("this is not JSON: {error}"), None)),
        Ok(Value::Array(_)) => (None, ErrorData::invalid_request("batches are not taken", None)),
        Ok(value) => {
            let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            (id, ErrorData::invalid_request("this is no JSON-RPC 2.0 message", None))
        }
    }
}

/// The id at the head of a message that was cut, if it stands there.
fn id_in(head: &[u8]) -> Option<RequestId> {
    let text = std::str::from_utf8(head).ok().or_else(|| std::str::from_utf8(head.get(..4000)?).ok())?;
    let after = text.split_once("\"id\":")?.1.trim_start();
    let end = after.find([',', '}'])?;
    serde_json::from_str(after.get(..end)?.trim()).ok()
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
