//! Who may ask over HTTP, how much, and how long: the options, the token, and which address needs one.

use std::net::SocketAddr;
use std::time::Duration;

/// The limits of the HTTP side.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The bearer token; without one, only loopback addresses are served.
    pub token: Option<Token>,
    /// Names besides those of loopback that a `Host` header may have, with or without a port. What is no
    /// [host](crate::is_host) is passed over.
    pub hosts: Vec<String>,
    /// Origins besides those of loopback that a browser may come from, such as `https://app.example`, with `:*` for
    /// any port. What is no [origin](crate::is_origin) is passed over.
    pub origins: Vec<String>,
    /// The most bytes of the head of a request.
    pub max_head: usize,
    /// The most bytes of the body of a request. Bodies under way take up to this much times the connections.
    pub max_body: usize,
    /// The most connections at once; further clients are told to come back.
    pub max_connections: usize,
    /// The most streams that stay open: those of sessions, and subscriptions. One connection is always left for
    /// requests.
    pub max_streams: usize,
    /// The most requests at once; others wait, and are then told to come back.
    pub max_requests: usize,
    /// The most sessions of the handshake eras.
    pub max_sessions: usize,
    /// How long a session lives without a word from its client, and without a stream that it has open.
    pub session_time: Duration,
    /// How long the head of a request may take.
    pub header_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long the first byte of an answer may take.
    pub request_time: Duration,
    /// How long a reader may take not one byte of an answer.
    pub stall_time: Duration,
    /// How long what is under way may take to end when the server stops.
    pub grace: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            // Tokens and cookies of proxies are a few KB.
            max_head: 64 * 1024,
            // The largest request that makes sense here is a few KB.
            max_body: 1 << 20,
            max_connections: 256,
            max_streams: 128,
            max_requests: 64,
            max_sessions: 1024,
            session_time: Duration::from_secs(300),
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// A token that is compared in constant time and shown to nobody.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// At least 16 visible ASCII characters.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// Whether this is it.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        // Every byte is looked at, whatever the first ones say.
        let mut difference = u8::from(own.len() != given.len());
        for (at, byte) in own.iter().enumerate() {
            difference |= byte ^ given.get(at).copied().unwrap_or(0);
        }
        std::hint::black_box(difference) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Token(…)")
    }
}

/// Whether an address may be served: everybody on this machine may ask, others need a token.
pub fn may_serve(address: SocketAddr, options: &HttpOptions) -> bool {
    address.ip().is_loopback() || options.token.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_visible_and_shown_to_nobody() {
        assert!(Token::new("short").is_none() && Token::new("0123456789 abcdef").is_none());
        let token = Token::new("0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in ["", "0123456789abcdeF", "0123456789abcdef0", "0123456789abcde"] {
            assert!(!token.is(wrong.as_bytes()));
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn other_addresses_need_a_token() {
        let token = HttpOptions { token: Token::new("0123456789abcdef"), ..HttpOptions::default() };
        for (address, open) in
            [("127.0.0.1:1", true), ("[::1]:1", true), ("0.0.0.0:1", false), ("10.1.2.3:1", false)]
        {
            let address = address.parse().unwrap();
            assert_eq!(may_serve(address, &HttpOptions::default()), open);
            assert!(may_serve(address, &token));
        }
    }
}
