//! A body that keeps a place until it has ended or nobody wants it any more.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::response::Answer;

struct Held {
    body: BoxBody<Bytes, Infallible>,
    _place: OwnedSemaphorePermit,
}

/// The answer, which keeps the place for as long as it is sent.
pub(crate) fn held(answer: Answer, place: OwnedSemaphorePermit) -> Answer {
    answer.map(|body| Held { body, _place: place }.boxed())
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
