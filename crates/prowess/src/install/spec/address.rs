//! Addresses of repositories: which are allowed, and which repository a page of GitHub or GitLab belongs to.

use std::path::PathBuf;

use super::checks::Refusal;
use super::{InstallPlace, InstallSpec, with_reference};
use crate::source::spec::hosts::is_this_machine;

const GITHUB: &str = "https://github.com/";

/// The address of a repository on GitHub; none when the names are not valid there.
pub(super) fn on_github(owner: &str, repo: &str) -> Option<String> {
    let repo = repo.strip_suffix(".git").unwrap_or(repo);
    let plain = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !text.is_empty() && !text.starts_with(['-', '.']) && text.bytes().all(plain)
    };
    (plain(owner) && plain(repo) && !owner.contains('.')).then(|| format!("{GITHUB}{owner}/{repo}.git"))
}

/// `owner/repo` of an address on GitHub.
pub(super) fn github(url: &str) -> Option<&str> {
    let full = url.strip_prefix(GITHUB)?.strip_suffix(".git")?;
    let (owner, repo) = full.split_once('/')?;
    (on_github(owner, repo).as_deref() == Some(url)).then_some(full)
}

/// The host of an address that was allowed.
pub(crate) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if url.contains("://") { host } else { host.split(':').next().unwrap_or(host) }
}

/// Whether an address is a path on this machine, so that no network is used.
pub(crate) fn is_on_this_machine(url: &str) -> bool {
    url.starts_with("file://")
}

/// The folder of a repository on this machine.
pub(crate) fn folder_of(url: &str) -> Option<PathBuf> {
    decoded(url.strip_prefix("file://")?).ok().map(PathBuf::from)
}

/// A text with what may be a secret in each address left out: user, password, query and fragment.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['/', '\'', '"', ' ', '#', '?']).unwrap_or(part.len());
        let (authority, rest) = part.split_at_checked(end).unwrap_or((part, ""));
        clean.push_str("://");
        match authority.rsplit_once('@') {
            Some((_, host)) => clean.extend(["***@", host]),
            None => clean.push_str(authority),
        }
        // What ends the address in a message stays: a quote or a space.
        let end = rest.find(['\'', '"', ' ']).unwrap_or(rest.len());
        let (path, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        clean.push_str(path.split(['?', '#']).next().unwrap_or_default());
        clean.push_str(after);
    }
    clean
}

/// The argument of a user as a message repeats it: without what may be a secret, also if it is not quite an address.
pub(super) fn repeated(text: &str) -> String {
    let front = text.split('/').next().unwrap_or_default();
    match front.rsplit_once('@') {
        // `user:password@host:path`
        Some((user, host)) if user.contains(':') => {
            let rest = text.get(front.len()..).unwrap_or_default();
            without_credentials(&format!("***@{host}{rest}"))
        }
        _ => without_credentials(text),
    }
}

/// An address with a scheme.
pub(super) fn url(scheme: &str, rest: &str) -> Result<InstallSpec, Refusal> {
    let scheme = scheme.to_ascii_lowercase();
    let scheme = scheme.strip_prefix("git+").unwrap_or(&scheme);
    if !["https", "http", "ssh", "git", "file"].contains(&scheme) {
        return Err(Refusal::TRANSPORT);
    }
    let (rest, reference) = with_reference(rest)?;
    let (authority, path) = rest.split_once('/').ok_or(Refusal::ADDRESS)?;
    // GitLab adds this to the addresses of folders.
    let path = match path.split_once('?') {
        Some((page, "ref_type=heads" | "ref_type=tags")) if page.contains("/-/") => page,
        Some(_) => return Err(Refusal::QUERY),
        None => path,
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) if scheme == "ssh" && is_user(user) => (Some(user), host),
        Some(_) => return Err(Refusal::CREDENTIALS),
        None => (None, authority),
    };
    let host = host.to_ascii_lowercase();
    match scheme {
        "file" if !["", "localhost"].contains(&host.as_str()) => return Err(Refusal::ADDRESS),
        "file" => {}
        _ if !is_host(&host) => return Err(Refusal::ADDRESS),
        "http" | "git" if !is_this_machine(&host) => return Err(Refusal::PLAIN),
        _ => {}
    }
    let path = path.trim_end_matches('/');
    if ["https", "http"].contains(&scheme)
        && let Some(spec) = page((scheme, &host), path, reference.is_some())?
    {
        return Ok(InstallSpec { reference, ..spec });
    }
    check_path(path)?;
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let host = if scheme == "file" { "" } else { &host };
    let place = InstallPlace::Git(format!("{scheme}://{user}{host}/{path}"));
    Ok(InstallSpec { reference, ..InstallSpec::of(place) })
}

/// Reads the address of a page of a repository or of a folder, as GitHub and GitLab show it; none for other addresses.
fn page(
    (scheme, host): (&str, &str),
    path: &str,
    has_reference: bool,
) -> Result<Option<InstallSpec>, Refusal> {
    let (repository, below) = if ["github.com", "www.github.com"].contains(&host) {
        let mut parts = path.splitn(3, '/');
        let (owner, repo) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        (on_github(owner, repo).ok_or(Refusal::ADDRESS)?, parts.next())
    } else if let Some((repository, below)) = path.split_once("/-/") {
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        check_path(repository)?;
        // A path with a part that is only a dash is not a repository there.
        if repository.split('/').any(|part| part == "-") {
            return Err(Refusal::ADDRESS);
        }
        (format!("{scheme}://{host}/{repository}.git"), Some(below))
    } else {
        return Ok(None);
    };
    let spec = InstallSpec::of(InstallPlace::Git(repository));
    let Some(below) = below else { return Ok(Some(spec)) };
    let tree = match below.split_once('/') {
        Some(("tree", tree)) => tree,
        // The page of a SKILL.md refers to its folder.
        Some(("blob", file)) => file.strip_suffix("/SKILL.md").ok_or(Refusal::ADDRESS)?,
        _ => return Err(Refusal::ADDRESS),
    };
    if has_reference {
        return Err(Refusal::ADDRESS);
    }
    let tree = decoded(tree)?;
    check_parts(&tree)?;
    Ok(Some(InstallSpec { tree: Some(tree), ..spec }))
}

/// Whether a text has the form `user@host:path`.
pub(super) fn is_scp(text: &str) -> bool {
    let front = text.split(['/', '#']).next().unwrap_or_default();
    front.split_once(':').is_some_and(|(front, _)| front.contains('@'))
}

/// `user@host:path[#ref]`.
pub(super) fn scp(text: &str) -> Result<InstallSpec, Refusal> {
    let (rest, reference) = with_reference(text)?;
    let (front, path) = rest.split_once(':').ok_or(Refusal::ADDRESS)?;
    let (user, host) = front.split_once('@').ok_or(Refusal::ADDRESS)?;
    let host = host.to_ascii_lowercase();
    if !is_user(user) || !is_host(&host) || host.contains([':', '[']) {
        return Err(Refusal::ADDRESS);
    }
    let path = path.trim_end_matches('/');
    check_path(path.strip_prefix('/').unwrap_or(path))?;
    let place = InstallPlace::Git(format!("{user}@{host}:{path}"));
    Ok(InstallSpec { reference, ..InstallSpec::of(place) })
}

/// A login name. One with a `:` would contain a password.
fn is_user(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// A host name or IP address, with or without a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let plain = match inside {
        Some(inside) => inside.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)),
        None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)),
    };
    !host.is_empty() && !host.starts_with(['-', '.']) && plain && port.is_none_or(number)
}

/// The path of a repository in an address.
fn check_path(path: &str) -> Result<(), Refusal> {
    check_parts(path)?;
    if path.contains(|c: char| c.is_whitespace() || "\"<>^`{|}\\".contains(c)) || path.starts_with(':') {
        return Err(Refusal::ADDRESS);
    }
    decoded(path).map(drop)
}

fn check_parts(path: &str) -> Result<(), Refusal> {
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(if path.is_empty() { Refusal::ADDRESS } else { Refusal::STEP });
        }
        if part.starts_with('-') && part != "-" {
            return Err(Refusal::DASH);
        }
    }
    if path.contains('\\') { Err(Refusal::ADDRESS) } else { Ok(()) }
}

/// Decodes percent escapes. An escape of a separator, a step, a control character or another escape hides something and
/// is refused, and so is an invalid escape.
fn decoded(text: &str) -> Result<String, Refusal> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or(Refusal::PERCENT)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16).ok().filter(|_| plain).ok_or(Refusal::PERCENT)?;
        if byte < 0x20 || byte == 0x7f || b"/\\.%".contains(&byte) {
            return Err(Refusal::PERCENT);
        }
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let text = String::from_utf8(bytes).map_err(|_| Refusal::PERCENT)?;
    if text.chars().any(char::is_control) { Err(Refusal::CONTROL) } else { Ok(text) }
}

/// Percent-encodes the characters that have another meaning in an address.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for c in text.chars() {
        match c {
            '#' => encoded.push_str("%23"),
            '?' => encoded.push_str("%3f"),
            ' ' => encoded.push_str("%20"),
            other => encoded.push(other),
        }
    }
    encoded
}
