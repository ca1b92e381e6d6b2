//! Whom a request is meant for and where it comes from: the names in its target, `Host` and `Origin`, read exactly.
//!
//! A web page can make a browser ask a server on its own machine: under a name of its own that leads here, or from its
//! own origin. Both give themselves away by these names. They are read without mercy, since what two readers take
//! differently lets a stranger in.

use std::net::Ipv6Addr;

use http::{HeaderMap, StatusCode, Uri, header};

/// The ways to say "this machine".
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// A name or address, and the port if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Nothing but a name or address and a port in digits: no user, no path, no blanks.
    fn parse(text: &str) -> Option<Self> {
        let (name, rest) = if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']')?;
            // Through a type, since one address has many spellings.
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
            // A sign would be taken by the parser of numbers.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            None if rest.is_empty() => None,
            _ => return None,
        };
        Some(Self { name, port })
    }
}

/// Where a browser comes from: a scheme, a host and a port.
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
        // A browser leaves out the port that goes without saying.
        let port = host.port.or(match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        });
        Some(Self { scheme, name: host.name, port })
    }
}

/// An origin that may come in, on one port or on any.
#[derive(Clone, Debug)]
struct Welcome {
    origin: Origin,
    any_port: bool,
}

impl Welcome {
    fn parse(text: &str) -> Option<Self> {
        let any_port = text.strip_suffix(":*");
        let origin = Origin::parse(any_port.unwrap_or(text))?;
        Some(Self { origin, any_port: any_port.is_some() })
    }

    fn takes(&self, other: &Origin) -> bool {
        let Origin { scheme, name, port } = &self.origin;
        *scheme == other.scheme && *name == other.name && (self.any_port || *port == other.port)
    }
}

/// Whether a text is the name of a host, with or without a port, as `hosts` of the options wants it.
pub fn is_host(text: &str) -> bool {
    Host::parse(text).is_some()
}

/// Whether a text is an origin, such as `https://app.example`, with `:*` for any port, as `origins` of the options
/// wants it. `null` is none: every page in a sandbox is that.
pub fn is_origin(text: &str) -> bool {
    Welcome::parse(text).is_some()
}

/// Why a request is not let in.
pub(crate) type Stranger = (StatusCode, &'static str);

/// Knows the names that are let in.
pub(crate) struct Gatekeeper {
    /// None for any.
    hosts: Option<Vec<Host>>,
    origins: Vec<Welcome>,
}

impl Gatekeeper {
    /// Loopback comes in, and those named. A token makes a name that leads here pointless, since a page does not have
    /// it; with one, names of hosts are looked at only if there are any.
    pub(crate) fn new(hosts: &[String], origins: &[String], token: bool) -> Self {
        let any = token && hosts.is_empty();
        let hosts = LOOPBACK.into_iter().chain(hosts.iter().map(String::as_str)).filter_map(Host::parse);
        let loopback = LOOPBACK.map(|name| [format!("http://{name}:*"), format!("https://{name}:*")]);
        let origins = loopback.as_flattened().iter().chain(origins).filter_map(|text| Welcome::parse(text));
        Self { hosts: (!any).then(|| hosts.collect()), origins: origins.collect() }
    }

    /// Whether a request may come in.
    pub(crate) fn judge(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        const UNCLEAR: Stranger = (StatusCode::BAD_REQUEST, "it is not clear which host is meant");
        let host = only(headers, header::HOST).and_then(Host::parse).ok_or(UNCLEAR)?;
        // A target may name a host too, and then it is the one that counts.
        let target = target.authority().map(|authority| Host::parse(authority.as_str()).ok_or(UNCLEAR));
        for host in [Some(host), target.transpose()?].into_iter().flatten() {
            if !self.knows(&host) {
                return Err((StatusCode::FORBIDDEN, "this host is not served here"));
            }
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = only(headers, header::ORIGIN).and_then(Origin::parse);
            if !origin.is_some_and(|origin| self.origins.iter().any(|welcome| welcome.takes(&origin))) {
                return Err((StatusCode::FORBIDDEN, "this origin may not ask here"));
            }
        }
        Ok(())
    }

    fn knows(&self, host: &Host) -> bool {
        let same =
            |known: &Host| known.name == host.name && (known.port.is_none() || known.port == host.port);
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(same))
    }
}

/// The value of a header that is there once.
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

    fn judged(keeper: &Gatekeeper, target: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let judged = keeper.judge(&target.parse().unwrap(), &map);
        judged.map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    fn keeper(token: bool) -> Gatekeeper {
        let hosts = ["Box.example", "exact.example:8080", "[2001:db8:0::1]"].map(str::to_owned);
        let origins = ["https://app.example", "http://dev.example:*", "app://notes"].map(str::to_owned);
        Gatekeeper::new(if token { &[] } else { &hosts }, &origins, token)
    }

    #[test]
    fn hosts_are_let_in_by_exact_names() {
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
            assert_eq!(judged(&keeper(false), "/mcp", &[("host", host)]), status, "{host}");
        }
        assert_eq!(judged(&keeper(false), "/mcp", &[]), 400);
        assert_eq!(judged(&keeper(false), "/mcp", &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn the_host_of_a_target_is_let_in_as_well() {
        for (target, status) in [
            ("http://localhost:1/mcp", 200),
            ("http://evil.example/mcp", 403),
            ("http://user@localhost/mcp", 400),
            ("http://localhost.evil.example/mcp", 403),
        ] {
            assert_eq!(judged(&keeper(false), target, &[("host", "localhost")]), status, "{target}");
        }
        assert_eq!(judged(&keeper(false), "http://localhost/mcp", &[("host", "evil.example")]), 403);
    }

    #[test]
    fn with_a_token_any_host_is_let_in_that_can_be_read() {
        for (host, status) in [("evil.example", 200), ("user@evil.example", 400)] {
            assert_eq!(judged(&keeper(true), "/mcp", &[("host", host)]), status, "{host}");
        }
        let named = Gatekeeper::new(&["box.example".to_owned()], &[], true);
        for (host, status) in [("evil.example", 403), ("box.example", 200), ("localhost", 200)] {
            assert_eq!(judged(&named, "/mcp", &[("host", host)]), status, "{host}");
        }
    }

    #[test]
    fn origins_are_let_in_by_scheme_host_and_port() {
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
            assert_eq!(judged(&keeper(false), "/mcp", &headers), status, "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(judged(&keeper(false), "/mcp", &twice), 403);
    }

    #[test]
    fn what_can_be_named_is_what_can_be_read() {
        assert!(is_host("box.example:80") && is_host("[::1]") && is_origin("https://a.example:*"));
        assert!(!is_host("http://box.example") && !is_host("*.example") && !is_host(""));
        assert!(!is_origin("app.example") && !is_origin("null") && !is_origin("*"));
    }
}
