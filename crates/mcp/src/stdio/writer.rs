//! The writer of a pipe: whole lines in order, on its own task.
//!
//! The future that sends a line may be dropped before the line is written, for example by `select!`. The line is written
//! completely in any case, since half a line would corrupt the next one.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::protocol::outgoing::OutgoingMessage;
use crate::protocol::response_budget::SMALL_RESPONSE;

/// How long the last lines may take when the pipe is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// Cancelled when a write fails because the client has disconnected.
    gone: CancellationToken,
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, mut message: OutgoingMessage) -> io::Result<()> {
    // One write for most lines.
    let mut line = Vec::new();
    for piece in message.by_ref() {
        if line.len() + piece.len() > SMALL_RESPONSE {
            writer.write_all(&std::mem::take(&mut line)).await?;
        }
        line.extend_from_slice(&piece);
    }
    line.push(b'\n');
    writer.write_all(&line).await?;
    writer.flush().await
}

impl PipeWriter {
    pub(crate) fn new<W: AsyncWrite + Send + Unpin + 'static>(mut writer: W) -> Self {
        let (lines, mut waiting) = mpsc::unbounded_channel::<Line>();
        let gone = CancellationToken::new();
        let token = gone.clone();
        let task = tokio::spawn(async move {
            while let Some(line) = waiting.recv().await {
                let written = write(&mut writer, line.message).await;
                let failed = written.is_err();
                let _ = line.written.send(written);
                if failed {
                    token.cancel();
                    return;
                }
            }
            let _ = writer.shutdown().await;
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
