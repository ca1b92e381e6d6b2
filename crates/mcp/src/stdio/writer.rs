//! The writing end of a pipe: whole lines in their order, on a task of its own.
//!
//! Whoever hands over a line may be dropped before it is written, as everything may be that stands in a `select!`. The
//! line is written all the same, and whole: half a line would spoil the one behind it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::protocol::outgoing::Outgoing;
use crate::protocol::response_budget::SMALL;

/// How long a reader has for the last lines when the pipe is closed.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A line on its way out.
struct Line {
    message: Outgoing,
    /// The place of the request that it answers, given back when it is written.
    _place: Option<OwnedSemaphorePermit>,
    written: oneshot::Sender<io::Result<()>>,
}

/// The writing end of a pipe.
pub(crate) struct PipeWriter {
    /// Without a limit of its own: every answer and every complaint holds a place among those under way.
    lines: Option<mpsc::UnboundedSender<Line>>,
    task: JoinHandle<()>,
    /// Cancelled when the reader is gone.
    gone: CancellationToken,
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, mut message: Outgoing) -> io::Result<()> {
    // One call for most lines.
    let mut line = Vec::new();
    for piece in message.by_ref() {
        if line.len() + piece.len() > SMALL {
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

    /// Hands over a message; what comes back says when it is written, and need not be waited for.
    pub(crate) fn send(
        &self,
        message: Outgoing,
        place: Option<OwnedSemaphorePermit>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (written, told) = oneshot::channel();
        if let Some(lines) = &self.lines {
            let _ = lines.send(Line { message, _place: place, written });
        }
        async move { told.await.unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into())) }
    }

    /// Is cancelled when the reader is gone.
    pub(crate) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Writes what is handed over already, for as long as somebody takes it.
    pub(crate) async fn close(&mut self) {
        self.lines = None;
        if tokio::time::timeout(LAST_LINES, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
