//! Addresses of the web: which can be fetched from, which name this machine or a private network, and how references are
//! resolved.

use fluent_uri::{Uri, UriRef};
use prowess_core::text::uri_path;

use super::HttpError;
use crate::source::spec::hosts::{is_private_address, is_this_machine};

/// Parses an address to fetch from: `http` or `https`, with a host and without a password. Removes the fragment.
pub(crate) fn checked(url: &str) -> Result<Uri<String>, HttpError> {
    let uri = Uri::parse(url).map_err(|_| HttpError::BadAddress)?;
    let scheme = uri.scheme().as_str();
    let known = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    let open =
        authority.is_some_and(|authority| !authority.has_userinfo() && authority.port_to_u16().is_ok());
    if known && open { Ok(uri.strip_fragment().to_owned()) } else { Err(HttpError::BadAddress) }
}

/// Whether an address can be fetched from: `http` or `https`, with a host and without a password.
pub fn is_fetchable(url: &str) -> bool {
    checked(url).is_ok()
}

/// Resolves a reference on a page. A page fetched by https must not lead to http.
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

/// An address with another path below it.
pub(crate) fn below(base: &str, path: &str) -> Result<String, HttpError> {
    let base = checked(base)?;
    let end =
        base.query().map_or(base.as_str().len(), |query| base.as_str().len() - query.as_str().len() - 1);
    let folder = base.as_str().get(..end).unwrap_or_default().trim_end_matches('/');
    Ok(checked(&format!("{folder}/{}", uri_path(path)))?.into_string())
}

/// Whether an address is fetched by https.
fn is_protected(url: &str) -> bool {
    url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
}

/// The host of an address in lower case, if it can be fetched from.
pub(crate) fn host(url: &str) -> Option<String> {
    let uri = checked(url).ok()?;
    Some(uri.authority()?.host().to_ascii_lowercase())
}

/// Whether two addresses have the same scheme, host and port.
pub(crate) fn same_site(one: &str, other: &str) -> bool {
    let site = |url: &str| {
        let uri = checked(url).ok()?;
        let scheme = uri.scheme().as_str().to_ascii_lowercase();
        let usual = if scheme == "https" { 443 } else { 80 };
        let authority = uri.authority()?;
        let port = authority.port_to_u16().ok()?.unwrap_or(usual);
        Some((scheme, authority.host().to_ascii_lowercase(), port))
    };
    site(one).is_some_and(|one| site(other) == Some(one))
}

/// Whether what is sent to an address can be read on the way: it is not encrypted, and its host is not this machine.
pub fn is_exposed(url: &str) -> bool {
    !is_protected(url) && !host(url).is_some_and(|host| is_this_machine(&host))
}

/// Whether the host of an address is a private IP address or `localhost`. Other names are judged by what they resolve to.
pub(crate) fn names_private(url: &str) -> bool {
    host(url).is_some_and(|host| is_private_address(&host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_in_the_standard_and_never_to_another_scheme() {
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
        assert_eq!(below("https://x.test/a/?q=1", "b c/é").unwrap(), "https://x.test/a/b%20c/%C3%A9");
        assert!(names_private("http://[::1]:80/") && names_private("http://LOCALHOST/"));
        for safe in ["https://x.test/", "http://127.9.9.9/x", "http://[::1]:1/", "http://localhost/"] {
            assert!(!is_exposed(safe), "{safe}");
        }
        for exposed in ["http://10.0.0.1/", "http://[fe80::1]/", "http://localhost.x.test/", "127.0.0.1"] {
            assert!(is_exposed(exposed), "{exposed}");
        }
        assert!(!names_private("http://1.1.1.1/") && !names_private("https://x.test/"));
    }
}
