//! The options of HTTP: the bearer token, allowed names, limits and timeouts.

use std::net::SocketAddr;
use std::time::Duration;

use prowess::internal::with_methods;

use crate::http::tokens::Tokens;

/// Who may connect over HTTP, and the limits and timeouts.
///
/// Each `max_token_…` is a limit of each token of a token file. It counts as half of the limit of all where it is larger, so
/// that no token can take all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The tokens, of which clients must send one; without any, only loopback addresses are served.
    pub tokens: Option<Tokens>,
    /// Further names that a `Host` header may have besides loopback, with or without a port. Invalid
    /// [hosts](crate::is_host) are ignored.
    pub hosts: Vec<String>,
    /// Further allowed origins of browsers besides loopback, such as `https://app.example`, with `:*` for any port.
    /// Invalid [origins](crate::is_origin) are ignored.
    pub origins: Vec<String>,
    /// The maximum size of the head of a request, in bytes.
    pub max_head: usize,
    /// The maximum size of the body of a request, in bytes. Large bodies in transit take up to eight times this much.
    pub max_body: usize,
    /// The maximum number of connections on which no request had a valid token yet. The oldest one of the address with the
    /// most gives way to the next, so that no address takes the places of the others. As many more wait for their place.
    pub max_newcomers: usize,
    /// The maximum number of connections besides these; further clients get 503.
    pub max_connections: usize,
    /// The maximum number of connections of each token of a token file: half of all by default.
    pub max_token_connections: Option<usize>,
    /// The maximum number of open streams: those of sessions, and subscriptions. One connection is always left for
    /// requests.
    pub max_streams: usize,
    /// The maximum number of open streams of each token of a token file: half of all by default.
    pub max_token_streams: Option<usize>,
    /// The maximum number of requests at once; others wait for a permit, then get 503.
    pub max_requests: usize,
    /// The maximum number of requests at once of each token of a token file: half of all by default.
    pub max_token_requests: Option<usize>,
    /// The maximum number of sessions, which protocol versions with a handshake have.
    pub max_sessions: usize,
    /// The maximum number of sessions of each token of a token file: a quarter of all by default.
    pub max_token_sessions: Option<usize>,
    /// The maximum number of bytes that the sessions of each token of a token file keep: a quarter of
    /// [`max_kept`](crate::ServeOptions::max_kept) by default.
    pub max_token_kept: Option<usize>,
    /// The maximum size of the responses that the clients of each token of a token file have not read yet, in bytes: half of
    /// [`max_unsent`](crate::ServeOptions::max_unsent) by default.
    pub max_token_unsent: Option<usize>,
    /// How long a session lives without a request from its client and without an open stream.
    pub session_time: Duration,
    /// How long the head of a request may take.
    pub header_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long the first byte of a response may take.
    pub request_time: Duration,
    /// How long a write to a client may make no progress.
    pub stall_time: Duration,
    /// How long running requests may take to finish when the server stops.
    pub grace: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            tokens: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            // Tokens and cookies of proxies are a few KB.
            max_head: 64 * 1024,
            // The largest request that makes sense here is a few KB.
            max_body: 1 << 20,
            max_newcomers: 256,
            // Of a token two for each of 64 clients.
            max_connections: 256,
            max_token_connections: None,
            max_streams: 128,
            max_token_streams: None,
            max_requests: 64,
            max_token_requests: None,
            max_sessions: 1024,
            max_token_sessions: None,
            max_token_kept: None,
            max_token_unsent: None,
            session_time: Duration::from_secs(300),
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

with_methods! { HttpOptions:
    with_tokens tokens: Option<Tokens>;
    with_hosts hosts: Vec<String>;
    with_origins origins: Vec<String>;
    with_max_head max_head: usize;
    with_max_body max_body: usize;
    with_max_newcomers max_newcomers: usize;
    with_max_connections max_connections: usize;
    with_max_token_connections max_token_connections: Option<usize>;
    with_max_streams max_streams: usize;
    with_max_token_streams max_token_streams: Option<usize>;
    with_max_requests max_requests: usize;
    with_max_token_requests max_token_requests: Option<usize>;
    with_max_sessions max_sessions: usize;
    with_max_token_sessions max_token_sessions: Option<usize>;
    with_max_token_kept max_token_kept: Option<usize>;
    with_max_token_unsent max_token_unsent: Option<usize>;
    with_session_time session_time: Duration;
    with_header_time header_time: Duration;
    with_body_time body_time: Duration;
    with_request_time request_time: Duration;
    with_stall_time stall_time: Duration;
    with_grace grace: Duration;
}

impl HttpOptions {
    /// The maximum number of open streams. One connection is always left for plain requests.
    pub(crate) fn streams(&self) -> usize {
        self.max_streams.min(self.max_connections.saturating_sub(1)).max(1)
    }
}

/// A bearer token, compared in constant time and never printed.
#[derive(Clone)]
pub struct BearerToken(String);

impl BearerToken {
    /// The token in a text, which must be at least 16 visible ASCII characters.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// Whether a client sent this token.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        // Compare every byte, also after a difference.
        let mut difference = u8::from(own.len() != given.len());
        for (at, byte) in own.iter().enumerate() {
            difference |= byte ^ given.get(at).copied().unwrap_or(0);
        }
        std::hint::black_box(difference) == 0
    }
}

impl PartialEq for BearerToken {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

impl Eq for BearerToken {}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("BearerToken(…)")
    }
}

/// Whether an address may be served: one that other machines can reach needs a token.
pub fn may_serve(address: SocketAddr, options: &HttpOptions) -> bool {
    address.ip().is_loopback() || options.tokens.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_visible_and_never_printed() {
        assert!(BearerToken::new("short").is_none() && BearerToken::new("0123456789 abcdef").is_none());
        let token = BearerToken::new("0123456789abcdef\n").unwrap();
        assert!(token.matches(b"0123456789abcdef"));
        for wrong in ["", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcde"] {
            assert!(!token.matches(wrong.as_bytes()));
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn other_addresses_need_a_token() {
        let tokens = BearerToken::new("0123456789abcdef").map(Tokens::from);
        let token = HttpOptions::default().with_tokens(tokens);
        for (address, open) in
            [("127.0.0.1:1", true), ("[::1]:1", true), ("0.0.0.0:1", false), ("10.1.2.3:1", false)]
        {
            let address = address.parse().unwrap();
            assert_eq!(may_serve(address, &HttpOptions::default()), open);
            assert!(may_serve(address, &token));
        }
    }
}
