//! A server that is a program: one message a line on its pipes, lines of bounded length, and noise that is passed over.

// The ids of rmcp have no order, and none is asked for.
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use prowess::process::{Companion, ProcessError};
use rmcp::RoleClient;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::answer::{Asked, Raw};
use super::failure::{Failure, Record, shown};

/// The most messages that wait to be looked at; then reading waits too.
const WAITING: usize = 16;

/// The standard input of a program, until somebody hangs up.
pub(crate) type Input = Arc<Mutex<Option<ChildStdin>>>;

/// The pipes to a program.
pub(crate) struct Pipes {
    input: Input,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    asked: Open,
    record: Arc<Record>,
}

/// What was asked and is not answered yet.
type Open = Arc<Mutex<HashMap<RequestId, Asked>>>;

/// Starts a program, and a thread that reads what it says, in lines of at most so many bytes.
pub(crate) fn start(
    argv: &[String],
    folder: Option<&Path>,
    longest: u64,
    record: Arc<Record>,
) -> Result<(Companion, Input, Pipes), Failure> {
    let (companion, stdin, stdout) =
        Companion::start(argv, folder).map_err(|error| not_started(argv, &error))?;
    let input: Input = Arc::new(Mutex::new(Some(stdin)));
    let asked = Open::default();
    let (sender, messages) = mpsc::channel(WAITING);
    let (open, noted) = (Arc::clone(&asked), Arc::clone(&record));
    thread::spawn(move || {
        noted.failed(listen(stdout, longest, &open, &noted, &sender));
    });
    Ok((companion, Arc::clone(&input), Pipes { input, messages, asked, record }))
}

fn not_started(argv: &[String], error: &ProcessError) -> Failure {
    let program = argv.first().map(|program| shown(program)).unwrap_or_default();
    Failure::new(format!("{program}: {error}"), "check the name of the program, and that it may be run")
}

/// Reads messages until there are no more; says why.
fn listen(
    stdout: ChildStdout,
    longest: u64,
    asked: &Open,
    record: &Record,
    sender: &mpsc::Sender<ServerJsonRpcMessage>,
) -> Failure {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(longest + 1).read_until(b'\n', &mut line);
        record.count(line.len() as u64);
        if line.len() as u64 > longest {
            return Failure::new(
                format!("it wrote a line of more than {longest} bytes"),
                "tell whoever makes the program",
            );
        }
        if read.is_err() || line.is_empty() {
            return ended();
        }
        match message(&line, asked) {
            Some(message) => {
                if sender.blocking_send(message).is_err() {
                    return Failure::new("the connection was closed", "try again");
                }
            }
            None if line.trim_ascii().is_empty() => {}
            None => record.noise(&line),
        }
    }
}

fn ended() -> Failure {
    let hint = "run it by itself to see what is wrong; it must speak MCP on standard input and output";
    Failure::new("the program ended", hint)
}

/// What a line says: the answer to a question, or a message of the server's own.
fn message(line: &[u8], asked: &Open) -> Option<ServerJsonRpcMessage> {
    let raw: Raw = serde_json::from_slice(line).ok()?;
    if !raw.is_answer() {
        return serde_json::from_slice(line).ok();
    }
    let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    let id = match &raw.id {
        Some(id) => id.clone(),
        // An error may have no id, when the server could not read ours; it is clear what is meant if one is open.
        None if asked.len() == 1 => asked.keys().next()?.clone(),
        None => return None,
    };
    asked.remove(&id)?.answer(raw)
}

fn write(input: &Input, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
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
        if let Some(id) = asked.id.clone() {
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id, asked);
        }
        let (input, record) = (Arc::clone(&self.input), Arc::clone(&self.record));
        // A program that does not read lets a writer wait.
        let written = move || {
            write(&input, &item).inspect_err(|_| {
                record.failed(ended());
            })
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
