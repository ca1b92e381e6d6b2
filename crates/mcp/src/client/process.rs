//! A server that is a program: one message a line on its pipes, lines of bounded length, and noise that is passed over.

// The ids of rmcp have no order, and none is asked for.
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use prowess::process::{ChildProcess, ProcessError};
use prowess::text::json_values;
use rmcp::RoleClient;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use crate::client::error::{Failure, Record, too_many_values};
use crate::client::response::{Asked, Head, Raw};
use crate::lock::locked;
use crate::source::McpLimits;

/// The most messages that wait to be looked at; then reading waits too.
const WAITING: usize = 16;

/// The standard input of a program, until somebody hangs up.
pub(crate) type Input = Arc<Mutex<Option<ChildStdin>>>;

/// The pipes to a program.
pub(crate) struct Pipes {
    input: Input,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    state: Arc<State>,
    record: Arc<Record>,
}

/// What both ends of the pipes know.
#[derive(Default)]
struct State {
    /// What was asked and is not answered yet.
    asked: Mutex<HashMap<RequestId, Asked>>,
    /// How many bytes came since the last question or answer.
    unasked: AtomicU64,
    /// How often it was asked whether we are there, and not told yet.
    pings: AtomicUsize,
}

impl State {
    fn asked(&self) -> MutexGuard<'_, HashMap<RequestId, Asked>> {
        locked(&self.asked)
    }
}

/// Starts a program, and a thread that reads what it says, in lines of at most so many bytes.
pub(crate) fn start(
    argv: &[String],
    folder: Option<&Path>,
    limits: McpLimits,
    record: Arc<Record>,
) -> Result<(ChildProcess, Input, Pipes), Failure> {
    let (child, stdin, stdout) = ChildProcess::start(argv, folder).map_err(|error| not_started(&error))?;
    let input: Input = Arc::new(Mutex::new(Some(stdin)));
    let state = Arc::new(State::default());
    let (sender, messages) = mpsc::channel(WAITING);
    let (shared, noted) = (Arc::clone(&state), Arc::clone(&record));
    thread::spawn(move || {
        noted.broke(listen(stdout, limits, &shared, &noted, &sender));
    });
    Ok((child, Arc::clone(&input), Pipes { input, messages, state, record }))
}

fn not_started(error: &ProcessError) -> Failure {
    Failure::new(error.to_string(), "check the name of the program, and that it may be run")
}

/// Reads messages until there are no more; says why.
fn listen(
    stdout: ChildStdout,
    limits: McpLimits,
    state: &State,
    record: &Record,
    sender: &mpsc::Sender<ServerJsonRpcMessage>,
) -> Failure {
    let longest = limits.answer_bytes;
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(longest + 1).read_until(b'\n', &mut line);
        record.count(line.len() as u64);
        state.unasked.fetch_add(line.len() as u64, Ordering::Relaxed);
        if line.len() as u64 > longest {
            return Failure::new(
                format!("it wrote a line of more than {longest} bytes"),
                "tell whoever makes the program",
            );
        }
        if read.is_err() || line.is_empty() {
            return ended();
        }
        if json_values(&line) > limits.answer_values {
            return too_many_values(&limits);
        }
        let message = match heard(&line, state) {
            Heard::Answer(message) => {
                state.unasked.store(0, Ordering::Relaxed);
                Some(message)
            }
            Heard::Ping(message) => Some(message),
            Heard::ForNobody => None,
            Heard::Noise => {
                record.noise(&line);
                None
            }
        };
        if state.unasked.load(Ordering::Relaxed) > longest {
            return Failure::new(
                format!("it wrote more than {longest} bytes that answer nothing"),
                "tell whoever makes the program",
            );
        }
        if message.is_some_and(|message| sender.blocking_send(message).is_err()) {
            return Failure::new("the connection was closed", "try again");
        }
    }
}

fn ended() -> Failure {
    let hint = "run it by itself to see what is wrong; it must speak MCP on standard input and output";
    Failure::new("the program ended", hint)
}

/// What a line is to us.
enum Heard {
    Answer(ServerJsonRpcMessage),
    Ping(ServerJsonRpcMessage),
    /// A message that nobody waits for.
    ForNobody,
    /// No message at all.
    Noise,
}

/// What a line is to us. Only what somebody waits for becomes a value.
fn heard(line: &[u8], state: &State) -> Heard {
    if line.trim_ascii().is_empty() {
        return Heard::ForNobody;
    }
    let Ok(head) = serde_json::from_slice::<Head>(line) else { return Heard::Noise };
    if head.is_answer() {
        return answer(line, &head, state).map_or(Heard::ForNobody, Heard::Answer);
    }
    match head.ping() {
        // Who asks and does not read the answers is not answered any more.
        Some(_) if state.pings.load(Ordering::Relaxed) >= WAITING => Heard::ForNobody,
        Some(ping) => {
            state.pings.fetch_add(1, Ordering::Relaxed);
            Heard::Ping(ping)
        }
        None if head.is_own() => Heard::ForNobody,
        None => Heard::Noise,
    }
}

/// A line as the answer to an open question.
fn answer(line: &[u8], head: &Head, state: &State) -> Option<ServerJsonRpcMessage> {
    let asked = {
        let mut asked = state.asked();
        let id = match &head.id {
            Some(id) => id.clone(),
            // An error may have no id, when the server could not read ours; it is clear what is meant if one is open.
            None if asked.len() == 1 => asked.keys().next()?.clone(),
            None => return None,
        };
        asked.remove(&id)?
    };
    asked.answer(serde_json::from_slice::<Raw>(line).ok()?)
}

fn write(input: &Input, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut input = locked(input);
    let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    input.write_all(&line)?;
    input.flush()
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let asked = Asked::of(&item);
        let state = Arc::clone(&self.state);
        if let Some(id) = asked.id.clone() {
            state.unasked.store(0, Ordering::Relaxed);
            state.asked().insert(id, asked);
        }
        let pong = matches!(item, TxJsonRpcMessage::<RoleClient>::Response(_));
        let (input, record) = (Arc::clone(&self.input), Arc::clone(&self.record));
        // A program that does not read lets a writer wait.
        let written = move || {
            let written = write(&input, &item);
            if pong {
                // All that a server can ask for here.
                let _ = state
                    .pings
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1));
            }
            written.inspect_err(|_| record.broke(ended()))
        };
        async move { tokio::task::spawn_blocking(written).await? }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        hang_up(&self.input);
        Ok(())
    }
}

/// Closes the standard input of a program, unless somebody is stuck in writing to it.
pub(crate) fn hang_up(input: &Input) {
    if let Ok(mut input) = input.try_lock() {
        drop(input.take());
    }
}
