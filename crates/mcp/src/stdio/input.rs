//! The input of a pipe, which can be read ahead: its end is noticed also while no request may begin.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

/// The number of bytes that are read ahead.
pub(crate) const READ_AHEAD: usize = 64 * 1024;

/// The reading end of a pipe. Nothing is lost when one of its futures is dropped.
pub(crate) struct PipeInput<R> {
    reader: R,
    bytes: BytesMut,
    /// Cancelled when the input has ended.
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> PipeInput<R> {
    pub(crate) fn new(reader: R, ended: CancellationToken) -> Self {
        Self { reader, bytes: BytesMut::new(), ended }
    }

    /// The bytes that are not consumed yet, at least one; none at the end.
    pub(crate) async fn fill(&mut self) -> io::Result<&[u8]> {
        if self.bytes.is_empty() && !self.ended.is_cancelled() {
            self.read().await?;
        }
        Ok(&self.bytes)
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.bytes.advance(bytes);
    }

    /// Reads ahead to the end of the input, and resolves when nothing of it is left. It never does if more is left than
    /// is read ahead.
    pub(crate) async fn end(&mut self) {
        while !self.ended.is_cancelled() && self.bytes.len() < READ_AHEAD {
            if self.read().await.is_err() {
                self.ended.cancel();
            }
        }
        if !self.ended.is_cancelled() || !self.bytes.is_empty() {
            std::future::pending::<()>().await;
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        // At least one: reading none is the end.
        let most = READ_AHEAD - self.bytes.len().min(READ_AHEAD - 1);
        self.bytes.reserve(most);
        if (&mut self.reader).take(most as u64).read_buf(&mut self.bytes).await? == 0 {
            self.ended.cancel();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn input_is_read_ahead_up_to_the_limit_and_its_end_waits_for_what_is_left() {
        let (mut client, reader) = tokio::io::duplex(4 * READ_AHEAD);
        let ended = CancellationToken::new();
        let mut input = PipeInput::new(reader, ended.clone());
        let all = 3 * READ_AHEAD;
        client.write_all(&vec![b'x'; all]).await.unwrap();
        drop(client);
        let waiting = |input: &mut PipeInput<_>| {
            let mut end = std::pin::pin!(input.end());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            end.as_mut().poll(&mut context).is_pending()
        };
        // What comes after the limit is not looked for.
        assert!(waiting(&mut input) && !ended.is_cancelled());
        let mut consumed = 0;
        while consumed < all {
            let bytes = input.fill().await.unwrap().len().min(50);
            input.consume(bytes);
            consumed += bytes;
            assert_eq!(waiting(&mut input), consumed < all, "{consumed}");
            assert!(input.bytes.len() <= READ_AHEAD, "{consumed}: {}", input.bytes.len());
            assert!(input.bytes.capacity() <= 2 * READ_AHEAD, "{}", input.bytes.capacity());
            assert!(!ended.is_cancelled() || all - consumed < READ_AHEAD, "{consumed}");
        }
        assert!(ended.is_cancelled());
        assert!(input.fill().await.unwrap().is_empty());
    }
}
