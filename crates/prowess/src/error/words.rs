//! Words in messages: locations and causes as users read them.

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
            other => to.write_str(&escape_control(&other.to_string()))?,
        }
        self.1.map_or(Ok(()), |file| write!(to, ": {}", escape_control(file)))
    }
}

/// A text from outside on one line, with control characters and hidden characters escaped. Escaping a text twice is the
/// same as escaping it once.
pub fn escape_control(text: &str) -> String {
    prowess_core::text::inline(text).into_owned()
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

    #[test]
    fn escaping_twice_is_the_same_as_escaping_once() {
        let text = "\u{1b}[31m it's \"C:\\x\"\n\u{202e}é\\";
        let safe = escape_control(text);
        assert_eq!(safe, "\\u{1b}[31m it's \"C:\\x\"\\n\\u{202e}é\\");
        assert_eq!(escape_control(&safe), safe);
        assert_eq!(escape_control(""), "");
    }
}
