//! Fetching from web sites: one request at a time, within limits, and never from a public address to a private one.

mod address;
mod client;
mod deadline;
mod fetch;
mod public;

use std::time::Duration;

pub(crate) use address::{below, checked, resolved, shown};
pub use address::{is_fetchable, is_local, is_private, is_protected};
pub use client::{HttpAnswer, UreqClient, body_failed};
pub use deadline::Deadline;
pub use fetch::{Fetched, Fetcher, HttpLimits, Permission};
pub use public::PublicHosts;

/// One request. Redirects are not followed: each is a request of its own.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The address, `http` or `https`.
    pub url: &'a str,
    /// The tag of what is known already; an answer of 304 says that it is still so.
    pub etag: Option<&'a str>,
    /// The most bytes of a body; one more is an error.
    pub limit: u64,
    /// The time for all of it.
    pub timeout: Duration,
    /// Whether the address may be a private one. The question is asked of the address that is connected to.
    pub private: bool,
}

/// The answer to a request, whatever its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Where it lies instead, when the status says so.
    pub location: Option<String>,
    /// The tag of what was sent.
    pub etag: Option<String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the answer came from a private address.
    pub private: bool,
}

/// Why nothing could be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The text is no address that is fetched from.
    #[error("this is no https:// or http:// address without a password")]
    BadAddress,
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("it took longer than {0} seconds")]
    TooSlow(u64),
    /// It is too large.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The server answered that it has no such thing, or that something is wrong.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// Redirects without end.
    #[error("it redirects more than {0} times")]
    Redirects(usize),
    /// A redirect from a protected to an open connection.
    #[error("it redirects from https to http: {0}")]
    Downgrade(String),
    /// A public site points at a private address.
    #[error("a public site points at a private address: {0}")]
    Private(String),
    /// The time for all that was to be fetched was over before this was asked.
    #[error("it was not asked: fetching took longer than {0} seconds in all")]
    NotInTime(u64),
    /// A redirect to another site, where only the same one may answer.
    #[error("it redirects to another site: {0}")]
    OtherSite(String),
    /// The bytes are not those that were promised.
    #[error("its bytes are not those that were promised: wanted {wanted}, got {got}")]
    Digest {
        /// The digest that was promised.
        wanted: String,
        /// The digest of what came.
        got: String,
    },
}

/// What performs requests. Hosts with rules of their own bring their own.
pub trait HttpClient: Send + Sync {
    /// Performs one request.
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError>;
}
