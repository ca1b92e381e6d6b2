//! The redirects of a server. On the same host they are followed. Another host is never contacted: only the host that
//! the user named gets a request.

use crate::error::quoted;
use crate::install::spec::{InstallPlace, InstallSpec, without_credentials};

/// The maximum number of redirects in a row.
pub(super) const MAX_REDIRECTS: usize = 3;
/// What git appends to the address of a repository in its first request.
const REQUEST: &str = "/info/refs?service=git-upload-pack";

/// The target of a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// To another repository of the same host.
    SameHost(String),
    /// Another host, as the server writes it.
    Elsewhere(String),
}

/// Reads the headers of a response from a trace of git.
pub(super) fn read(trace: &str, url: &str) -> Option<Redirect> {
    let headers = trace.lines().filter_map(|line| line.split_once("<= Recv header: "));
    let mut locations =
        headers.filter_map(|(_, header)| header.split_once(':')).filter_map(|(name, value)| {
            let is_location = name.trim().eq_ignore_ascii_case("location");
            is_location.then(|| value.trim())
        });
    let location = locations.next_back()?;
    let elsewhere = || Redirect::Elsewhere(quoted(&without_credentials(location)).into_owned());
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next().unwrap_or(rest);
    let absolute = match location.strip_prefix('/') {
        Some(path) if !path.starts_with('/') => format!("{scheme}://{host}/{path}"),
        _ => location.to_owned(),
    };
    let same_host = |url: &str| {
        let other = url.strip_prefix(scheme)?.strip_prefix("://")?;
        other.split('/').next().filter(|other| other.eq_ignore_ascii_case(host)).map(drop)
    };
    let followed = absolute.strip_suffix(REQUEST).filter(|to| same_host(to).is_some() && !to.contains('='));
    // The target is parsed like an address from the user, by the same rules.
    let spec = followed.and_then(|to| to.parse::<InstallSpec>().ok());
    Some(match spec.map(|spec| (spec.place, spec.tree, spec.reference)) {
        Some((InstallPlace::Git(to), None, None)) if to != url => Redirect::SameHost(to),
        _ => elsewhere(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(location: &str) -> Option<Redirect> {
        let trace = format!(
            "1 http.c:8 <= Recv header: HTTP/1.1 301 Moved\n1 http.c:8 <= Recv header: location: {location}\n"
        );
        read(&trace, "https://host.example/a/b.git")
    }

    #[test]
    fn a_redirect_is_followed_on_the_same_host_only() {
        let followed = |url: &str| Some(Redirect::SameHost(url.to_owned()));
        assert_eq!(
            to(&format!("https://host.example/c/d.git{REQUEST}")),
            followed("https://host.example/c/d.git")
        );
        assert_eq!(to(&format!("/c/d{REQUEST}")), followed("https://host.example/c/d"));
        for elsewhere in [
            "https://other.example/a/b.git/info/refs?service=git-upload-pack",
            "https://host.example:8443/a/b.git/info/refs?service=git-upload-pack",
            "https://host.example@other.example/a/b.git/info/refs?service=git-upload-pack",
            "http://host.example/a/b.git/info/refs?service=git-upload-pack",
            "//other.example/a/b.git/info/refs?service=git-upload-pack",
            "file:///etc/info/refs?service=git-upload-pack",
            "https://host.example/login",
            "https://host.example/a/b.git/info/refs?service=git-upload-pack",
            "https://host.example/a/../b/info/refs?service=git-upload-pack",
        ] {
            assert_eq!(to(elsewhere), Some(Redirect::Elsewhere(without_credentials(elsewhere))));
        }
        assert_eq!(read("1 http.c:8 <= Recv header: HTTP/1.1 302 Found\n", "https://h/x"), None);
        let long = format!("https://other.example/{}", "x".repeat(300));
        assert!(matches!(to(&long), Some(Redirect::Elsewhere(to)) if to.ends_with("x…")));
    }
}
