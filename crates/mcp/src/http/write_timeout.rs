//! A stream that is patient within limits: with a reader who takes nothing, and with one who still sends at the end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

/// How long what a client still sends is taken after the last answer. A socket that is closed with bytes unread is
/// reset, and a reset can overtake the answer.
const LINGER: Duration = Duration::from_secs(1);

/// A stream that gives up on a reader who takes nothing for too long. An idle stream of events writes nothing and is
/// not meant; its comments are what finds out that a client is gone.
pub(crate) struct Patient {
    stream: TcpStream,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs from the end of what is written.
    lingering: Option<Pin<Box<Sleep>>>,
    stop: CancellationToken,
}

impl Patient {
    /// After `stop`, nobody is waited for.
    pub(crate) fn new(stream: TcpStream, limit: Duration, stop: CancellationToken) -> Self {
        Self { stream, limit, stalled: None, lingering: None, stop }
    }

    fn wait<T>(&mut self, polled: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wait(polled, context)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.wait(polled, context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        let lingering = this.lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        loop {
            if this.stop.is_cancelled() || lingering.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut unread = [0; 4096];
            let mut unread = ReadBuf::new(&mut unread);
            let read = ready!(Pin::new(&mut this.stream).poll_read(context, &mut unread));
            if read.is_err() || unread.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.wait(polled, context)
    }
}
