//! Which skills can be published to strict readers, and why the others cannot.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::document::rules::YAML_ANCHOR;
use crate::document::{Document, Node, NodeKind, Pair, Style, looks_like_number, rules};
use crate::limits::{MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};

/// Why a usable skill is not published: a strict reader would refuse it, and the whole list with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Withheld {
    /// Its frontmatter had to be repaired: other readers would see something else, or nothing.
    Repaired,
    /// Its frontmatter has anchors or aliases, which simple readers read as text.
    Anchors,
    /// Text precedes the frontmatter.
    NotAtTheStart,
    /// A key appears twice: readers disagree about which counts.
    Duplicate(String),
    /// It has bytes that are not UTF-8: the published text would differ from the file.
    NotUtf8,
    /// It has no name, and uses that of its folder.
    NoName,
    /// The name is not text, differs from its name in the catalog, or has other characters than a-z, 0-9 and single
    /// hyphens.
    Name,
    /// The description is missing, not text, empty, or too long as written in the file.
    Description,
    /// A field does not have the shape of the specification.
    Shape(&'static str),
    /// A number or a key that JSON cannot express as YAML does.
    NotJson(String),
}

impl fmt::Display for Withheld {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => to.write_str("its file is not UTF-8"),
            Self::NoName => to.write_str("it has no name in its frontmatter"),
            Self::Repaired => to.write_str("its YAML had to be repaired"),
            Self::Anchors => to.write_str("its YAML has anchors or aliases"),
            Self::NotAtTheStart => to.write_str("its file does not begin with the frontmatter"),
            Self::Duplicate(key) => write!(to, "a key appears twice in its frontmatter: {key}"),
            Self::Name => {
                write!(
                    to,
                    "its name is not 1 to {MAX_NAME_CHARS} lower-case letters, digits and single hyphens"
                )
            }
            Self::Description => {
                write!(to, "its description is not a text of 1 to {MAX_DESCRIPTION_CHARS} characters")
            }
            Self::Shape(field) => write!(to, "{field} does not have the shape of the specification"),
            Self::NotJson(text) => write!(to, "JSON cannot represent a value of its frontmatter: {text}"),
        }
    }
}

/// Whether a skill can be published under a name; the reason why not.
///
/// This is stricter than loading. Clients compare each published field with the file that they read, and some refuse the
/// whole list when one entry differs.
pub fn withheld(document: &Document, name: &str) -> Option<Withheld> {
    if document.repaired() {
        return Some(Withheld::Repaired);
    }
    if document.findings().iter().any(|finding| finding.rule == &rules::NOT_UTF8) {
        return Some(Withheld::NotUtf8);
    }
    if document.findings().iter().any(|finding| finding.rule == &YAML_ANCHOR) {
        return Some(Withheld::Anchors);
    }
    if !document.text().trim_start_matches('\u{feff}').starts_with("---") {
        return Some(Withheld::NotAtTheStart);
    }
    if let Some(reason) = document.root().and_then(odd) {
        return Some(reason);
    }
    let front = document.frontmatter_json();
    match front.get("name") {
        None => return Some(Withheld::NoName),
        Some(Value::String(written)) if written == name && is_plain(name) => {}
        _ => return Some(Withheld::Name),
    }
    match front.get("description") {
        Some(Value::String(text))
            if !text.trim().is_empty() && text.chars().count() <= MAX_DESCRIPTION_CHARS => {}
        _ => return Some(Withheld::Description),
    }
    misshapen(&front).map(Withheld::Shape)
}

/// A field of the specification that has another shape.
fn misshapen(front: &Map<String, Value>) -> Option<&'static str> {
    let texts = ["license", "allowed-tools", "compatibility"];
    if let Some(field) =
        texts.into_iter().find(|field| front.get(*field).is_some_and(|value| !value.is_string()))
    {
        return Some(field);
    }
    let length = front.get("compatibility").and_then(Value::as_str).map(|text| text.chars().count());
    if length.is_some_and(|length| !(1..=MAX_COMPATIBILITY_CHARS).contains(&length)) {
        return Some("compatibility");
    }
    let texts = |value: &Value| value.as_object().is_some_and(|map| map.values().all(Value::is_string));
    front.get("metadata").is_some_and(|value| !texts(value)).then_some("metadata")
}

/// Whether every reader accepts a name.
fn is_plain(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// A part of a value that JSON or another YAML reader would read differently.
fn odd(node: &Node) -> Option<Withheld> {
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            // A number that JSON cannot hold is text here, and a number to other readers.
            let lost = scalar.style == Style::Plain
                && looks_like_number(&scalar.text)
                && scalar.to_json().is_string();
            lost.then(|| Withheld::NotJson(scalar.text.clone()))
        }
        NodeKind::Sequence(items) => items.iter().find_map(odd),
        NodeKind::Mapping(pairs) => {
            let mut keys = BTreeSet::new();
            pairs.iter().find_map(|pair| {
                if !keys.insert(pair.key.as_str()) {
                    return Some(Withheld::Duplicate(pair.key.clone()));
                }
                odd_key(pair).or_else(|| odd(&pair.value))
            })
        }
    }
}

/// A key that readers read differently: `1.0` is 1 to some, `~` may be null or text, and `<<` may merge.
fn odd_key(pair: &Pair) -> Option<Withheld> {
    let key = pair.key.as_str();
    let special = ["", "~", "<<", "null", "Null", "NULL", "True", "TRUE", "False", "FALSE"].contains(&key);
    let number =
        looks_like_number(key) && key.parse::<u32>().map(|number| number.to_string()).as_deref() != Ok(key);
    (special || number).then(|| Withheld::NotJson(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn of(front: &str) -> Option<Withheld> {
        withheld(&parse(format!("---\n{front}\n---\nDo.\n").as_bytes()), "tidy-up")
    }

    #[test]
    fn a_skill_that_all_readers_read_alike_is_published() {
        let plain = "name: tidy-up\ndescription: Tidies up.";
        for more in [
            "",
            "license: MIT",
            "metadata:\n  version: \"1.0\"\n  author: me",
            "version: 1.5\ntags: [a, 7, true]\nhooks: {on: {2: x}}",
            "compatibility: needs git\nallowed-tools: Bash(git:*) Read",
        ] {
            assert_eq!(of(&format!("{plain}\n{more}")), None, "{more}");
        }
        assert_eq!(
            withheld(&parse(b"\xef\xbb\xbf---\nname: tidy-up\ndescription: x\n---\n"), "tidy-up"),
            None
        );
    }

    #[test]
    fn a_skill_that_readers_read_differently_is_not_published() {
        let long = "x".repeat(1025);
        let plain = "name: tidy-up\ndescription: Tidies up.";
        for (front, reason) in [
            ("name: tidy-up\ndescription: Use when: always".to_owned(), Withheld::Repaired),
            ("name: &n tidy-up\ndescription: *n".to_owned(), Withheld::Anchors),
            ("name: Tidy-Up\ndescription: x".to_owned(), Withheld::Name),
            ("name: tidy-üp\ndescription: x".to_owned(), Withheld::Name),
            ("name: other\ndescription: x".to_owned(), Withheld::Name),
            ("description: x".to_owned(), Withheld::NoName),
            (format!("name: tidy-up\ndescription: {long}"), Withheld::Description),
            ("name: tidy-up\ndescription: 7".to_owned(), Withheld::Description),
            (format!("{plain}\nlicense: 7"), Withheld::Shape("license")),
            (format!("{plain}\nallowed-tools: [Read]"), Withheld::Shape("allowed-tools")),
            (format!("{plain}\nmetadata:\n  version: 1.0"), Withheld::Shape("metadata")),
            (format!("{plain}\ncompatibility: \"\""), Withheld::Shape("compatibility")),
            (format!("{plain}\nlimit: .inf"), Withheld::NotJson(".inf".to_owned())),
            (
                format!("{plain}\nlimits: [99999999999999999999999]"),
                Withheld::NotJson("99999999999999999999999".to_owned()),
            ),
            (format!("{plain}\nmap: {{1.0: x}}"), Withheld::NotJson("1.0".to_owned())),
        ] {
            assert_eq!(of(&front), Some(reason), "{front}");
        }
        assert!(matches!(
            of("name: tidy-up\nname: tidy-up\ndescription: x"),
            Some(Withheld::Duplicate(_) | Withheld::Repaired)
        ));
        let not_utf8 = parse(b"---\nname: tidy-up\ndescription: bad \xff bytes\n---\n");
        assert_eq!(withheld(&not_utf8, "tidy-up"), Some(Withheld::NotUtf8));
        assert!(withheld(&parse(b"\n\n---\nname: tidy-up\ndescription: x\n---\n"), "tidy-up").is_some());
    }
}
