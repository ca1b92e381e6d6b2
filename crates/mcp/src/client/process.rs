//! The stdio transport of the client: a child process with one message per line, of bounded length.

// The ids of rmcp have no order, and none is needed.
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use prowess::internal::json_values;
use prowess::internal::{ChildProcess, ProcessError};
use rmcp::model::{ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleClient};
use tokio::sync::mpsc;

use crate::client::error::{ClientError, TransportLog, ambiguous, no_answer, too_many_values};
use crate::client::response::{MessageHead, RawResponse, ResponseError, SentRequest};
use crate::protocol::ambiguity::{Outline, ambiguity};
use crate::source::McpLimits;
use prowess::internal::locked;

/// The maximum number of received messages in the queue; beyond that, reading waits.
const QUEUE: usize = 16;

/// The standard input of the process, until it is closed.
pub(crate) type Input = Arc<Mutex<Option<ChildStdin>>>;

/// The pipes to the process.
pub(crate) struct ProcessPipes {
    input: Input,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    state: Arc<PipeState>,
    log: Arc<TransportLog>,
}

/// The state that the reader and the writer share.
#[derive(Default)]
struct PipeState {
    /// The open requests.
    open: Mutex<HashMap<RequestId, SentRequest>>,
    /// The number of bytes received since the last request or response.
    unsolicited: AtomicU64,
    /// The number of pings of the server without a response yet.
    pings: AtomicUsize,
}

impl PipeState {
    fn open(&self) -> MutexGuard<'_, HashMap<RequestId, SentRequest>> {
        locked(&self.open)
    }

    /// The id of the open request that a response with this id answers. Without an id it is clear if only one is open.
    fn answered(&self, id: Option<RequestId>) -> Option<RequestId> {
        let open = self.open();
        match id {
            Some(id) => open.contains_key(&id).then_some(id),
            None if open.len() == 1 => open.keys().next().cloned(),
            None => None,
        }
    }
}

/// Starts a process, and a thread that reads its standard output.
pub(crate) fn start(
    argv: &[String],
    folder: Option<&Path>,
    limits: McpLimits,
    log: Arc<TransportLog>,
) -> Result<(ChildProcess, Input, ProcessPipes), ClientError> {
    let (child, stdin, stdout) = ChildProcess::start(argv, folder).map_err(|error| start_error(&error))?;
    let input: Input = Arc::new(Mutex::new(Some(stdin)));
    let state = Arc::new(PipeState::default());
    let (sender, messages) = mpsc::channel(QUEUE);
    let (shared, noted) = (Arc::clone(&state), Arc::clone(&log));
    thread::spawn(move || {
        noted.record_closed(read_messages(stdout, limits, &shared, &noted, &sender));
    });
    Ok((child, Arc::clone(&input), ProcessPipes { input, messages, state, log }))
}

fn start_error(error: &ProcessError) -> ClientError {
    ClientError::new(error.to_string(), "check the name of the program, and that it may be run")
}

/// Reads messages until the pipe closes or a limit is exceeded, and returns the reason.
fn read_messages(
    stdout: ChildStdout,
    limits: McpLimits,
    state: &PipeState,
    log: &TransportLog,
    sender: &mpsc::Sender<ServerJsonRpcMessage>,
) -> ClientError {
    let longest = limits.answer_bytes;
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(longest + 1).read_until(b'\n', &mut line);
        log.add_received(line.len() as u64);
        state.unsolicited.fetch_add(line.len() as u64, Ordering::Relaxed);
        if line.len() as u64 > longest {
            return ClientError::new(
                format!("it wrote a line of more than {longest} bytes"),
                "report this to the author of the program",
            );
        }
        if read.is_err() || line.is_empty() {
            return ended();
        }
        if json_values(&line) > limits.answer_values {
            return too_many_values(&limits);
        }
        let message = match classify(&line, state, log) {
            LineKind::Response(message) => {
                state.unsolicited.store(0, Ordering::Relaxed);
                Some(message)
            }
            LineKind::Ping(message) => Some(message),
            LineKind::Unsolicited => None,
            LineKind::Noise => {
                log.record_noise(&line);
                None
            }
            LineKind::Failed(error) => return error,
        };
        if state.unsolicited.load(Ordering::Relaxed) > longest {
            return ClientError::new(
                format!("it wrote more than {longest} bytes that answer nothing"),
                "report this to the author of the program",
            );
        }
        if message.is_some_and(|message| sender.blocking_send(message).is_err()) {
            return ClientError::closed();
        }
    }
}

fn ended() -> ClientError {
    let hint = "run it by itself to see what is wrong; it must speak MCP on standard input and output";
    ClientError::new("the program ended", hint)
}

/// The kind of a received line.
enum LineKind {
    Response(ServerJsonRpcMessage),
    Ping(ServerJsonRpcMessage),
    /// A message that is ignored.
    Unsolicited,
    /// Not a message.
    Noise,
    /// The handshake failed.
    Failed(ClientError),
}

/// Classifies a line. Only responses to open requests and pings are parsed completely.
fn classify(line: &[u8], state: &PipeState, log: &TransportLog) -> LineKind {
    if line.trim_ascii().is_empty() {
        return LineKind::Unsolicited;
    }
    let Ok(head) = serde_json::from_slice::<MessageHead>(line) else {
        // Two results or two ids have no head.
        return ambiguous_response(line, state, log).unwrap_or(LineKind::Noise);
    };
    if head.is_response() {
        return response(line, &head, state, log).unwrap_or(LineKind::Unsolicited);
    }
    match head.ping().filter(|_| ambiguity(line).is_none()) {
        // A server that does not read the responses gets no more of them.
        Some(_) if state.pings.load(Ordering::Relaxed) >= QUEUE => LineKind::Unsolicited,
        Some(ping) => {
            state.pings.fetch_add(1, Ordering::Relaxed);
            LineKind::Ping(ping)
        }
        None if head.has_method() => LineKind::Unsolicited,
        None => LineKind::Noise,
    }
}

/// A line as the response to an open request.
fn response(line: &[u8], head: &MessageHead, state: &PipeState, log: &TransportLog) -> Option<LineKind> {
    // An error has no id when the server could not read that of the request.
    let id = state.answered(head.id.clone())?;
    let sent = state.open().remove(&id)?;
    let error = match RawResponse::read(line) {
        Ok(raw) => match sent.response(raw) {
            Some(response) => return Some(LineKind::Response(response)),
            None => no_answer(),
        },
        Err(ResponseError::Ambiguous(error)) => ambiguous(&error),
        Err(ResponseError::NoMessage(_)) => no_answer(),
    };
    Some(failure(id, &sent, error, log))
}

/// A line without a head as the ambiguous response to an open request.
fn ambiguous_response(line: &[u8], state: &PipeState, log: &TransportLog) -> Option<LineKind> {
    let outline = Outline::of(line).filter(Outline::is_response)?;
    let id = state.answered(outline.only_id())?;
    let error = ambiguity(line)?;
    let sent = state.open().remove(&id)?;
    Some(failure(id, &sent, ambiguous(&error), log))
}

/// Ends a request whose response is not accepted. rmcp gets an error in its place, and the caller the one of the log. After
/// an error in the handshake rmcp would try an older one, and wait for its answer.
fn failure(id: RequestId, sent: &SentRequest, error: ClientError, log: &TransportLog) -> LineKind {
    if sent.is_handshake() {
        return LineKind::Failed(error);
    }
    let failed = ErrorData::internal_error(error.reason.clone(), None);
    log.record_error(Some(id.clone()), error);
    LineKind::Response(ServerJsonRpcMessage::error(failed, Some(id)))
}

fn write(input: &Input, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut input = locked(input);
    let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    input.write_all(&line)?;
    input.flush()
}

impl Transport<RoleClient> for ProcessPipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sent = SentRequest::of(&item);
        let state = Arc::clone(&self.state);
        if let Some(id) = sent.id.clone() {
            state.unsolicited.store(0, Ordering::Relaxed);
            state.open().insert(id, sent);
        } else if let TxJsonRpcMessage::<RoleClient>::Notification(note) = &item
            && let ClientNotification::CancelledNotification(cancelled) = &note.notification
            && let Some(id) = &cancelled.params.request_id
        {
            // After its timeout.
            state.open().remove(id);
        }
        let pong = matches!(item, TxJsonRpcMessage::<RoleClient>::Response(_));
        let (input, log) = (Arc::clone(&self.input), Arc::clone(&self.log));
        // Writing blocks if the process does not read.
        let written = move || {
            let written = write(&input, &item);
            if pong {
                // Pings are the only requests of a server that get a response.
                let _ = state
                    .pings
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1));
            }
            written.inspect_err(|_| log.record_closed(ended()))
        };
        async move { tokio::task::spawn_blocking(written).await? }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        close_input(&self.input);
        Ok(())
    }
}

/// Closes the standard input of the process, unless a write to it is blocked.
pub(crate) fn close_input(input: &Input) {
    if let Ok(mut input) = input.try_lock() {
        drop(input.take());
    }
}
