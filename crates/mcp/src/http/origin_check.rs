//! The check of the request target, `Host` and `Origin` against DNS rebinding and cross-site requests.
//!
//! A web page can make a browser send requests to a server on the same machine: under a domain that resolves to it, or
//! from the page's own origin. These three names reveal both. They are parsed strictly, since a name that two parsers
//! read differently could bypass the check.

use std::net::Ipv6Addr;

use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

/// The names of this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A host name or IP address, and a port if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Accepts only a name or address and a port in digits: no user, no path, no spaces.
    fn parse(text: &str) -> Option<Self> {
        let (name, rest) = if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            // Normalized, since one address has many spellings.
            (format!("[{}]", address.parse::<Ipv6Addr>().ok()?), rest)
        } else {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            if name.is_empty() || !name.bytes().all(plain) {
                return None;
            }
            (name.to_ascii_lowercase(), rest)
        };
        let port = match rest.strip_prefix(':') {
            // The number parser would accept a sign.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            None if rest.is_empty() => None,
            _ => return None,
        };
        Some(Self { name, port })
    }
}

/// The origin of a browser's request: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    name: String,
    port: Option<u16>,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(plain) {
            return None;
        }
        let (scheme, host) = (scheme.to_ascii_lowercase(), Host::parse(host)?);
        // A browser omits the default port.
        let port = host.port.or(match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Some(Self { scheme, name: host.name, port })
    }
}

/// An allowed origin, on one port or on any.
#[derive(Clone, Debug)]
struct AllowedOrigin {
    origin: Origin,
    any_port: bool,
}

impl AllowedOrigin {
    fn parse(text: &str) -> Option<Self> {
        let any_port = text.strip_suffix(":*");
        let origin = Origin::parse(any_port.unwrap_or(text))?;
        Some(Self { origin, any_port: any_port.is_some() })
    }

    fn matches(&self, other: &Origin) -> bool {
        let Origin { scheme, name, port } = &self.origin;
        *scheme == other.scheme && *name == other.name && (self.any_port || *port == other.port)
    }
}

/// Whether a text is a valid entry of [`HttpOptions::hosts`](crate::HttpOptions::hosts): a host, with or without a port.
pub fn is_host(text: &str) -> bool {
    Host::parse(text).is_some()
}

/// Whether a text is a valid entry of [`HttpOptions::origins`](crate::HttpOptions::origins), such as
/// `https://app.example`, with `:*` for any port. `null` is not: every sandboxed page has that origin.
pub fn is_origin(text: &str) -> bool {
    AllowedOrigin::parse(text).is_some()
}

/// The word for the log, the status and the message for a request that is rejected.
pub(crate) type Rejection = (&'static str, StatusCode, &'static str);

/// The allowed hosts and origins.
pub(crate) struct OriginCheck {
    /// `None` allows any host.
    hosts: Option<Vec<Host>>,
    /// Those on loopback, and those that were named.
    origins: Vec<AllowedOrigin>,
    named: Vec<AllowedOrigin>,
}

impl OriginCheck {
    /// Allows loopback and the given names. With a token and no given hosts any host is allowed: a page that resolves
    /// its domain to this machine does not have the token.
    pub(crate) fn new(hosts: &[String], origins: &[String], token: bool) -> Self {
        let any = token && hosts.is_empty();
        let hosts = LOOPBACK.into_iter().chain(hosts.iter().map(String::as_str)).filter_map(Host::parse);
        let loopback = LOOPBACK.map(|name| [format!("http://{name}:*"), format!("https://{name}:*")]);
        let parsed = |origins: &[String]| -> Vec<AllowedOrigin> {
            origins.iter().filter_map(|text| AllowedOrigin::parse(text)).collect()
        };
        let named = parsed(origins);
        let origins = parsed(loopback.as_flattened()).into_iter().chain(named.iter().cloned()).collect();
        Self { hosts: (!any).then(|| hosts.collect()), origins, named }
    }

    /// Checks the target and the headers of a request.
    pub(crate) fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        const UNCLEAR: Rejection = ("host", StatusCode::BAD_REQUEST, "it is not clear which host is meant");
        let host = only(headers, header::HOST).and_then(Host::parse).ok_or(UNCLEAR)?;
        // A target may also name a host, which takes precedence.
        let target = target.authority().map(|authority| Host::parse(authority.as_str()).ok_or(UNCLEAR));
        for host in [Some(host), target.transpose()?].into_iter().flatten() {
            if !self.allows(&host) {
                return Err(("host", StatusCode::FORBIDDEN, "this host is not served here"));
            }
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = only(headers, header::ORIGIN).and_then(Origin::parse);
            if !origin.is_some_and(|origin| self.origins.iter().any(|allowed| allowed.matches(&origin))) {
                return Err(("origin", StatusCode::FORBIDDEN, "this origin may not ask here"));
            }
        }
        Ok(())
    }

    /// The origin of a request, if pages of that origin may read responses: one that was named. Pages on this machine may
    /// send requests, and only those that are named as well may read responses.
    pub(crate) fn reader<'h>(&self, headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
        let origin = Origin::parse(only(headers, header::ORIGIN)?)?;
        self.named.iter().any(|named| named.matches(&origin)).then(|| headers.get(header::ORIGIN)).flatten()
    }

    fn allows(&self, host: &Host) -> bool {
        let same =
            |known: &Host| known.name == host.name && (known.port.is_none() || known.port == host.port);
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(same))
    }
}

/// The value of a header that appears exactly once.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_of(check: &OriginCheck, target: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let checked = check.check(&target.parse().unwrap(), &map);
        checked.map_or_else(|(_, status, _)| status.as_u16(), |()| 200)
    }

    fn origin_check(token: bool) -> OriginCheck {
        let hosts = ["Box.example", "exact.example:8080", "[2001:db8:0::1]"].map(str::to_owned);
        let origins = ["https://app.example", "http://dev.example:*", "app://notes"].map(str::to_owned);
        OriginCheck::new(if token { &[] } else { &hosts }, &origins, token)
    }

    #[test]
    fn hosts_are_allowed_by_exact_names() {
        for (host, status) in [
            ("localhost", 200),
            ("LOCALHOST:7878", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:1", 200),
            ("[0:0:0:0:0:0:0:1]", 200),
            ("box.example:9", 200),
            ("exact.example:8080", 200),
            ("exact.example", 403),
            ("[2001:db8::1]:1", 200),
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost.", 403),
            ("127.1", 403),
            ("user@localhost", 400),
            ("localhost:abc", 400),
            ("localhost:", 400),
            ("localhost:+80", 400),
            ("localhost:99999", 400),
            ("localhost:80:80", 400),
            ("localhost/x", 400),
            ("localhost, localhost", 400),
            ("::1", 400),
            ("[::1", 400),
            ("[::1]x", 400),
            ("[localhost]", 400),
            ("", 400),
        ] {
            assert_eq!(status_of(&origin_check(false), "/mcp", &[("host", host)]), status, "{host}");
        }
        assert_eq!(status_of(&origin_check(false), "/mcp", &[]), 400);
        assert_eq!(
            status_of(&origin_check(false), "/mcp", &[("host", "localhost"), ("host", "localhost")]),
            400
        );
    }

    #[test]
    fn the_host_of_a_target_is_checked_too() {
        for (target, status) in [
            ("http://localhost:1/mcp", 200),
            ("http://evil.example/mcp", 403),
            ("http://user@localhost/mcp", 400),
            ("http://localhost.evil.example/mcp", 403),
        ] {
            assert_eq!(status_of(&origin_check(false), target, &[("host", "localhost")]), status, "{target}");
        }
        assert_eq!(status_of(&origin_check(false), "http://localhost/mcp", &[("host", "evil.example")]), 403);
    }

    #[test]
    fn with_a_token_any_valid_host_is_allowed() {
        for (host, status) in [("evil.example", 200), ("user@evil.example", 400)] {
            assert_eq!(status_of(&origin_check(true), "/mcp", &[("host", host)]), status, "{host}");
        }
        let named = OriginCheck::new(&["box.example".to_owned()], &[], true);
        for (host, status) in [("evil.example", 403), ("box.example", 200), ("localhost", 200)] {
            assert_eq!(status_of(&named, "/mcp", &[("host", host)]), status, "{host}");
        }
    }

    #[test]
    fn origins_are_allowed_by_scheme_host_and_port() {
        for (origin, status) in [
            ("http://localhost", 200),
            ("http://localhost:7878", 200),
            ("https://localhost:7878", 200),
            ("https://127.0.0.1:7878", 200),
            ("https://[::1]:7878", 200),
            ("http://[::1]", 200),
            ("HTTPS://APP.example", 200),
            ("https://app.example:443", 200),
            ("https://app.example:8443", 403),
            ("http://app.example", 403),
            ("http://dev.example:3000", 200),
            ("app://notes", 200),
            ("app://notes:1", 403),
            ("ftp://localhost", 403),
            ("http://localhost:80.evil.com", 403),
            ("http://localhost.evil.example", 403),
            ("http://localhost@evil.example", 403),
            ("http://localhost/", 403),
            ("http://localhost:*", 403),
            ("http://localhost http://evil.example", 403),
            ("localhost", 403),
            ("://localhost", 403),
            ("null", 403),
            ("", 403),
        ] {
            let headers = [("host", "localhost"), ("origin", origin)];
            assert_eq!(status_of(&origin_check(false), "/mcp", &headers), status, "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(status_of(&origin_check(false), "/mcp", &twice), 403);
    }

    #[test]
    fn option_values_are_validated_by_the_same_parser() {
        assert!(is_host("box.example:80") && is_host("[::1]") && is_origin("https://a.example:*"));
        assert!(!is_host("http://box.example") && !is_host("*.example") && !is_host(""));
        assert!(!is_origin("app.example") && !is_origin("null") && !is_origin("*"));
    }
}
