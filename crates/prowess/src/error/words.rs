//! Words in messages: locations and causes as users read them.

#[cfg(feature = "install")]
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use prowess_core::Location;

/// A path for messages: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> std::path::Display<'_> {
    path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).display()
}

/// A location for messages, and a file of the skill there, with control characters escaped.
pub(super) struct Shown<'l>(pub(super) &'l Location, pub(super) Option<&'l str>);

impl Shown<'_> {
    /// The location in a message that already says that it is about a server.
    pub(super) fn of_server(&self) -> String {
        let file = self.1.map(|file| format!(" {file}")).unwrap_or_default();
        escape_control(&match self.0 {
            Location::Mcp { label, uri } => format!("{label}: {uri}{file}"),
            other => format!("{other}{file}"),
        })
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Location::Path(path) if path.is_empty() => to.write_str("\"\"")?,
            Location::Path(path) => to.write_str(&escape_control(&shown(Path::new(&**path)).to_string()))?,
            Location::Url(url) => to.write_str(&shown_address(url))?,
            other => to.write_str(&escape_control(&other.to_string()))?,
        }
        self.1.map_or(Ok(()), |file| write!(to, ": {}", escape_control(file)))
    }
}

/// An address for messages, escaped: without user, password, query and fragment. They may be secrets, and users copy
/// errors and send them to others. It need not be a valid address: a server may send anything as the target of a redirect.
pub fn shown_address(url: &str) -> String {
    let place = url.trim().split(['?', '#']).next().unwrap_or_default();
    let is_scheme = |before: &str| before.is_empty() || (before.ends_with(':') && !before.contains('/'));
    let (scheme, rest) = match place.split_once("//").filter(|(before, _)| is_scheme(before)) {
        Some((scheme, rest)) => (place.get(..scheme.len() + 2).unwrap_or_default(), rest),
        None => ("", place),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // A user or a password with `/`, `?` or `#` in it ends the authority early, and what follows it is the rest of it.
    let port = authority.rsplit_once(']').map_or(authority, |(_, port)| port).split_once(':');
    let is_cut =
        !authority.contains('@') && port.is_some_and(|(_, port)| !port.bytes().all(|b| b.is_ascii_digit()));
    if is_cut {
        return escape_control(&format!("{scheme}…"));
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    escape_control(&format!("{scheme}{host}{path}"))
}

/// A text from outside on one line, with control characters and hidden characters escaped. Escaping a text twice is the
/// same as escaping it once.
pub fn escape_control(text: &str) -> String {
    prowess_core::text::inline(text).into_owned()
}

/// The most characters of a text from outside in a message.
#[cfg(feature = "install")]
const MAX_QUOTED: usize = 200;

/// A text from outside as a message quotes it: the end of a long one is cut, with `…` in its place.
#[cfg(feature = "install")]
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    prowess_core::text::cut(text, Some(MAX_QUOTED))
}

/// The first of some names with commas between them, and how many more there are.
#[cfg(feature = "install")]
pub(crate) fn first_of<S: AsRef<str>>(names: impl IntoIterator<Item = S>, most: usize) -> String {
    let mut names = names.into_iter();
    let shown: Vec<S> = names.by_ref().take(most).collect();
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A message of the system without its number and its capital letter.
pub fn plain_cause(message: &str) -> String {
    let words = message.split(" (os error").next().unwrap_or(message);
    let mut characters = words.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_lower_case_and_carry_no_numbers() {
        assert_eq!(plain_cause("Permission denied (os error 13)"), "permission denied");
        assert_eq!(plain_cause("YAML is hard"), "YAML is hard");
        assert_eq!(plain_cause(""), "");
    }

    #[cfg(feature = "install")]
    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(quoted("short"), "short");
        assert_eq!(quoted(&"x".repeat(MAX_QUOTED)), "x".repeat(MAX_QUOTED));
        assert_eq!(quoted(&"é".repeat(MAX_QUOTED + 1)), "é".repeat(MAX_QUOTED - 1) + "…");
        assert_eq!(first_of(["a", "b"], 2), "a, b");
        assert_eq!(first_of(["a", "b", "c", "d"], 2), "a, b and 2 more");
        assert_eq!(first_of([""; 0], 2), "");
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_secret() {
        for (url, wanted) in [
            ("https://u:s3cret@x.test:8443/mcp", "https://x.test:8443/mcp"),
            ("https://x.test/@team/mcp?key=s3cret", "https://x.test/@team/mcp"),
            ("https://x.test?key=s3cret@y/z", "https://x.test"),
            ("https://x.test/mcp#s3cret", "https://x.test/mcp"),
            ("https://u:s3cret@a@x.test", "https://x.test"),
            ("//u:s3cret@x.test/a//b@c", "//x.test/a//b@c"),
            ("https:u:s3cret@x.test/a", "x.test/a"),
            ("/mcp/?key=s3cret", "/mcp/"),
            ("https://u:s3/cret@x.test/a", "https://…"),
            ("https://u:s3#cret@x.test/a", "https://…"),
            ("https://u:s3?cret@x.test/a", "https://…"),
            ("https://[::1]:8443/mcp", "https://[::1]:8443/mcp"),
            ("https://[::1]/mcp", "https://[::1]/mcp"),
            ("https://x.test/\u{1b}[31m", "https://x.test/\\u{1b}[31m"),
            ("", ""),
        ] {
            assert_eq!(shown_address(url), wanted, "{url}");
            assert_eq!(shown_address(wanted), wanted, "{url}");
        }
    }

    #[test]
    fn escaping_twice_is_the_same_as_escaping_once() {
        let text = "\u{1b}[31m it's \"C:\\x\"\n\u{202e}é\\";
        let safe = escape_control(text);
        assert_eq!(safe, "\\u{1b}[31m it's \"C:\\x\"\\n\\u{202e}é\\");
        assert_eq!(escape_control(&safe), safe);
        assert_eq!(escape_control(""), "");
    }
}
