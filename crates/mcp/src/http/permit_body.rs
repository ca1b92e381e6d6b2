//! A response body that holds a permit until it has been sent or dropped.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::Context;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::response::{FramePoll, HttpResponse};

struct PermitBody {
    body: BoxBody<Bytes, Infallible>,
    _permit: OwnedSemaphorePermit,
}

/// The response, which holds the permit for as long as it is being sent.
pub(crate) fn with_permit(response: HttpResponse, permit: OwnedSemaphorePermit) -> HttpResponse {
    response.map(|body| PermitBody { body, _permit: permit }.boxed())
}

impl Body for PermitBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> FramePoll {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
