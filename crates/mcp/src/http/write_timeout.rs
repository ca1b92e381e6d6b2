//! A TCP stream with a write timeout, which checks heads, drains unread input before it closes, and ends half a request at
//! shutdown.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use crate::http::head_check::HeadCheck;
use crate::http::newcomers::ConnectionSlot;

/// How long input is drained after the last response. Closing a socket with unread bytes resets the connection, and a
/// reset can overtake the response.
const LINGER: Duration = Duration::from_secs(1);

/// A stream that fails when a write makes no progress for too long. An idle event stream writes nothing, so it never
/// times out; its keep-alive comments detect that the client has disconnected.
pub(crate) struct WriteTimeout {
    stream: TcpStream,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// Runs from the end of the output.
    lingering: Option<Pin<Box<Sleep>>>,
    stop: CancellationToken,
    /// Its permit is taken while a request is answered.
    requests: Arc<Semaphore>,
    /// The place of this connection among all.
    slot: Arc<ConnectionSlot>,
    check: HeadCheck,
}

impl WriteTimeout {
    /// After `stop` is cancelled, input is not drained, and no further request is read.
    pub(crate) fn new(
        stream: TcpStream,
        limit: Duration,
        stop: CancellationToken,
        requests: Arc<Semaphore>,
        slot: Arc<ConnectionSlot>,
    ) -> Self {
        Self {
            stream,
            limit,
            stalled: None,
            lingering: None,
            stop,
            requests,
            slot,
            check: HeadCheck::default(),
        }
    }

    fn with_timeout<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        self.slot.wait();
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // hyper waits for the rest of a head. The end of the input during a request or its response would cut it off.
        if self.stop.is_cancelled() && self.stalled.is_none() && self.requests.available_permits() > 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_pending() {
            self.slot.wait();
        } else if let Some(read) = buffer.filled_mut().get_mut(before..) {
            self.check.read(read);
        }
        polled
    }
}

impl AsyncWrite for WriteTimeout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_timeout(polled, context)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.with_timeout(polled, context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        this.slot.wait();
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
        self.with_timeout(polled, context)
    }
}
