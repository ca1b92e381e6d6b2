//! Fetches from web sites: one request at a time, within limits, and never from a public address to a private one.

pub(crate) mod address;
pub(crate) mod client;
mod deadline;
mod fetch;
pub(crate) mod public;

use std::time::Duration;

use prowess_core::Digest;

use crate::error::shown_address;

pub(crate) use address::{below, checked, resolved};
pub use client::UreqClient;
pub(crate) use deadline::Deadline;
pub use fetch::HttpLimits;
pub(crate) use fetch::{Fetcher, Permission};
pub(crate) use public::PublicHosts;

/// One request. Redirects are not followed; each is a request of its own.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The address, `http` or `https`.
    pub url: &'a str,
    /// The `ETag` of the cached copy. Status 304 means that it is still current.
    pub etag: Option<&'a str>,
    /// The maximum size of the body; a larger one is an error.
    pub limit: u64,
    /// The timeout for the whole request.
    pub timeout: Duration,
    /// Whether the address may be private. What counts is the address that is connected to.
    pub private: bool,
}

/// The response to a request, whatever its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<String>,
    /// The `ETag` of the body.
    pub etag: Option<String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the response came from a private address.
    pub private: bool,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The text is not an address that can be fetched from.
    #[error("this is no https:// or http:// address without a password")]
    BadAddress,
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Failed(String),
    /// The timeout was reached.
    #[error("it took longer than {0} seconds")]
    TooSlow(u64),
    /// The body is too large.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The server answered with an error status.
    #[error("the server answered with status {0}")]
    Status(u16),
    /// Too many redirects.
    #[error("it redirects more than {0} times")]
    Redirects(usize),
    /// A redirect from https to http.
    #[error("it redirects from https to http: {}", shown_address(.0))]
    Downgrade(String),
    /// A public site points at a private address.
    #[error("a public site points at a private address: {}", shown_address(.0))]
    Private(String),
    /// The deadline for a series of requests was reached before this one.
    #[error("it was not asked: fetching took longer than {0} seconds in all")]
    NotInTime(u64),
    /// A redirect to another site, where only the same site is allowed.
    #[error("it redirects to another site: {}", shown_address(.0))]
    OtherSite(String),
    /// The body does not have the expected digest.
    #[error("its bytes are not those that were promised: wanted {wanted}, got {got}")]
    Digest {
        /// The expected digest.
        wanted: Box<Digest>,
        /// The digest of the body.
        got: Box<Digest>,
    },
}

/// Performs requests. A host can provide its own client.
pub trait HttpClient: Send + Sync {
    /// Performs one request.
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError>;
}
