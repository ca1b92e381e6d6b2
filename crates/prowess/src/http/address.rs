//! Addresses: which are private, and what one means beside another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fluent_uri::component::Host;
use fluent_uri::{Uri, UriRef};

use super::HttpError;

/// Whether an address is one of a machine or a network of its own, and none of the public internet.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_private_v4(v4),
        IpAddr::V6(v6) => is_private_v6(v6),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        // Addresses behind a provider's translation, of protocols, and of benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [first, second, ..] = segments;
    // Forms that stand for an address of the older kind.
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    let [.., high, low] = segments;
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
        || (first == 0x2001 && second == 0xdb8)
        || (segments.starts_with(&[0, 0, 0, 0, 0, 0xffff]) && inner(high, low))
        || (segments.starts_with(&[0, 0, 0, 0, 0, 0]) && inner(high, low))
        || (segments.starts_with(&[0x64, 0xff9b]) && inner(high, low))
        || (first == 0x2002
            && segments.get(1..3).is_some_and(|v4| matches!(v4, [high, low] if inner(*high, *low))))
}

/// An address that may be fetched from: `http` or `https`, with a host and without a password or a fragment.
pub(crate) fn checked(url: &str) -> Result<Uri<String>, HttpError> {
    let uri = Uri::parse(url).map_err(|_| HttpError::BadAddress)?;
    let scheme = uri.scheme().as_str();
    let known = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let open =
        authority.is_some_and(|authority| !authority.has_userinfo() && authority.port_to_u16().is_ok());
    if known && open { Ok(uri.strip_fragment().to_owned()) } else { Err(HttpError::BadAddress) }
}

/// Whether an address may be fetched from: `http` or `https`, with a host and without a password.
pub fn is_fetchable(url: &str) -> bool {
    checked(url).is_ok()
}

/// What a reference on a page means. A protected page leads to no open connection.
pub(crate) fn resolved(base: &str, reference: &str) -> Result<String, HttpError> {
    let base = checked(base)?;
    let reference = UriRef::parse(reference).map_err(|_| HttpError::BadAddress)?;
    let uri = reference.resolve_against(&base).map_err(|_| HttpError::BadAddress)?;
    let uri = checked(uri.as_str())?.into_string();
    if is_protected(base.as_str()) && !is_protected(&uri) {
        return Err(HttpError::Downgrade(uri));
    }
    Ok(uri)
}

/// An address as it may be shown: without a password.
pub(crate) fn shown(url: &str) -> String {
    match (url.split_once("://"), url.split_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => url.to_owned(),
    }
}

/// An address with another path below it.
pub(crate) fn below(base: &str, path: &str) -> Result<String, HttpError> {
    let base = checked(base)?;
    let end =
        base.query().map_or(base.as_str().len(), |query| base.as_str().len() - query.as_str().len() - 1);
    let folder = base.as_str().get(..end).unwrap_or_default().trim_end_matches('/');
    Ok(checked(&format!("{folder}/{}", encoded(path)))?.into_string())
}

/// A path with everything written out that has a meaning in an address.
pub(crate) fn encoded(path: &str) -> String {
    use std::fmt::Write as _;
    path.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// Whether the connection to an address is protected.
pub fn is_protected(url: &str) -> bool {
    url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
}

/// Whether an address names this very machine: `localhost`, or a loopback address by its numbers.
pub fn is_local(url: &str) -> bool {
    let Ok(uri) = checked(url) else { return false };
    let Some(authority) = uri.authority() else { return false };
    match authority.host_parsed() {
        Host::Ipv4(v4) => v4.is_loopback(),
        Host::Ipv6(v6) => v6.is_loopback(),
        _ => authority.host().eq_ignore_ascii_case("localhost"),
    }
}

/// The private address that an address names by its numbers.
pub(crate) fn names_private(url: &str) -> bool {
    let Ok(uri) = checked(url) else { return false };
    let Some(authority) = uri.authority() else { return false };
    match authority.host_parsed() {
        Host::Ipv4(v4) => is_private(IpAddr::V4(v4)),
        Host::Ipv6(v6) => is_private(IpAddr::V6(v6)),
        _ => authority.host().eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_form() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "::1",
            "::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "::10.0.0.1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "2002:101:101::"]
        {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn references_mean_what_the_standard_says_and_never_another_scheme() {
        let base = "https://x.test/a/b/index.json?v=1";
        for (reference, meant) in [
            ("c", "https://x.test/a/b/c"),
            ("/c", "https://x.test/c"),
            ("../c", "https://x.test/a/c"),
            ("//y.test/c#f", "https://y.test/c"),
            ("https://y.test/c", "https://y.test/c"),
        ] {
            assert_eq!(resolved(base, reference).unwrap(), meant);
        }
        for reference in
            ["file:///etc/passwd", "ftp://x/y", "javascript:1", "https://u:p@x.test/", "http:///x", "a b"]
        {
            assert_eq!(resolved(base, reference), Err(HttpError::BadAddress), "{reference}");
        }
        assert_eq!(
            resolved(base, "http://y.test/c"),
            Err(HttpError::Downgrade("http://y.test/c".to_owned()))
        );
        assert_eq!(resolved("http://x.test/", "http://y.test/c").unwrap(), "http://y.test/c");
        assert_eq!(shown("https://u:p@x.test/a"), "https://…@x.test/a");
        assert_eq!(below("https://x.test/a/?q=1", "b c/é").unwrap(), "https://x.test/a/b%20c/%C3%A9");
        assert!(names_private("http://[::1]:80/") && names_private("http://LOCALHOST/"));
        for local in ["http://127.9.9.9/x", "http://[::1]/", "https://localhost:1/"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["http://10.0.0.1/", "http://localhost.x.test/", "http://x.test/", "127.0.0.1"] {
            assert!(!is_local(other), "{other}");
        }
        assert!(!names_private("http://1.1.1.1/") && !names_private("https://x.test/"));
    }
}
