//! The writer of a pipe: whole lines in order, on its own task.
//!
//! The future that sends a line may be dropped before the line is written, for example by `select!`. The line is written
//! completely in any case, since half a line would corrupt the next one.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::protocol::outgoing::OutgoingMessage;
use crate::protocol::response_budget::SMALL_RESPONSE;

/// How long the last lines may take when the pipe is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a write may make no progress: as long as over HTTP.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The same once the input has ended: a host that has closed it waits for the end of the server.
const STALL_TIMEOUT_AT_END: Duration = Duration::from_secs(5);

/// A line in the queue.
struct Line {
    message: OutgoingMessage,
    /// The permit of the request that it responds to, released when it is written.
    _permit: Option<OwnedSemaphorePermit>,
    written: oneshot::Sender<io::Result<()>>,
}

/// The writing end of a pipe.
pub(crate) struct PipeWriter {
    /// Unbounded, since every response and every error holds the permit of a request.
    lines: Option<mpsc::UnboundedSender<Line>>,
    task: JoinHandle<()>,
    /// Cancelled when a write fails because the client has disconnected or does not read.
    gone: CancellationToken,
}

/// Writes to a client that may not read.
struct LimitedWriter<W> {
    writer: W,
    end_of_input: CancellationToken,
}

impl<W: AsyncWrite + Unpin> LimitedWriter<W> {
    async fn write_message(&mut self, mut message: OutgoingMessage) -> io::Result<()> {
        // One write for most lines.
        let mut line = Vec::new();
        for piece in message.by_ref() {
            if line.len() + piece.len() > SMALL_RESPONSE {
                self.write_all(&std::mem::take(&mut line)).await?;
            }
            line.extend_from_slice(&piece);
        }
        line.push(b'\n');
        self.write_all(&line).await?;
        tokio::select! {
            flushed = self.writer.flush() => flushed,
            error = stalled(&self.end_of_input) => Err(error),
        }
    }

    async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = tokio::select! {
                written = self.writer.write(bytes) => written?,
                error = stalled(&self.end_of_input) => return Err(error),
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The error of a write that makes no progress, after the time for one.
async fn stalled(end_of_input: &CancellationToken) -> io::Error {
    let at_end = async {
        end_of_input.cancelled().await;
        sleep(STALL_TIMEOUT_AT_END).await;
    };
    tokio::select! {
        () = sleep(STALL_TIMEOUT) => {}
        () = at_end => {}
    }
    io::ErrorKind::TimedOut.into()
}

impl PipeWriter {
    /// `end_of_input` is cancelled at the end of the input.
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(
        writer: W,
        end_of_input: CancellationToken,
    ) -> Self {
        let mut writer = LimitedWriter { writer, end_of_input };
        let (lines, mut waiting) = mpsc::unbounded_channel::<Line>();
        let gone = CancellationToken::new();
        let token = gone.clone();
        let task = tokio::spawn(async move {
            while let Some(line) = waiting.recv().await {
                let written = writer.write_message(line.message).await;
                let failed = written.as_ref().err().map(io::Error::kind);
                let _ = line.written.send(written);
                if failed == Some(io::ErrorKind::TimedOut) {
                    tracing::warn!("the client does not read, so the connection is closed");
                }
                if failed.is_some() {
                    token.cancel();
                    return;
                }
            }
            let _ = writer.writer.shutdown().await;
        });
        Self { lines: Some(lines), task, gone }
    }

    /// Queues a message. The future resolves when it is written, and may be dropped.
    pub(crate) fn send(
        &self,
        message: OutgoingMessage,
        permit: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (written, outcome) = oneshot::channel();
        if let Some(lines) = &self.lines {
            let _ = lines.send(Line { message, _permit: permit, written });
        }
        async move { outcome.await.unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into())) }
    }

    /// The token that is cancelled when the client has disconnected.
    pub(crate) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Writes the queued lines, within a timeout.
    pub(crate) async fn close(&mut self) {
        self.lines = None;
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
