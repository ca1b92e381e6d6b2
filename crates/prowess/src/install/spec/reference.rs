//! [`SkillRef`]: a skill by its organisation, its name and optionally a version, written `@org/name[@version]`.

use std::fmt;
use std::str::FromStr;

use prowess_core::RelPath;

use crate::install::error::{InstallError, InstallErrorKind};

/// A skill by organisation and name, and the requested version.
///
/// ```
/// use prowess::install::SkillRef;
///
/// let skill: SkillRef = "@acme/invoices@v2".parse()?;
/// assert_eq!((skill.org.as_str(), skill.name.as_str()), ("acme", "invoices"));
/// assert_eq!(skill.version.as_deref(), Some("v2"));
/// assert_eq!(skill.to_string(), "@acme/invoices@v2");
/// assert!("@acme/invoices/more".parse::<SkillRef>().is_err());
/// # Ok::<(), prowess::install::InstallError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillRef {
    /// The organisation.
    pub org: String,
    /// The name.
    pub name: String,
    /// A tag, a branch or a commit; none for the latest.
    pub version: Option<String>,
}

impl SkillRef {
    /// Whether a text is written as a reference: it begins with `@`. It may still be invalid.
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with('@')
    }

    /// The organisation and the name, without the version.
    pub fn full_name(&self) -> String {
        format!("@{}/{}", self.org, self.name)
    }
}

/// Whether a text is a path on this machine: it begins with `./`, `../` or `/`.
pub fn is_local_path(text: &str) -> bool {
    ["./", "../", "/"].iter().any(|start| text.starts_with(start))
}

impl FromStr for SkillRef {
    type Err = InstallError;

    fn from_str(text: &str) -> Result<Self, InstallError> {
        let refused = |reason: &str| {
            let message = format!("this is no reference to a skill: {text}: {reason}");
            InstallError::new(
                InstallErrorKind::Request,
                message,
                "write it as @org/name or @org/name@version",
            )
        };
        let rest = text.strip_prefix('@').ok_or_else(|| refused("it does not begin with @"))?;
        let (full, version) = match rest.split_once('@') {
            Some((_, "")) => return Err(refused("the version is empty")),
            Some((full, version)) => (full, Some(version)),
            None => (rest, None),
        };
        let (org, name) = full.split_once('/').ok_or_else(|| refused("it has no / between org and name"))?;
        for (part, value) in [("org", org), ("name", name)] {
            if value.is_empty() {
                return Err(refused(&format!("the {part} is missing")));
            }
            if value.contains('/') {
                return Err(refused("it has more than one /"));
            }
            // It becomes the name of a folder and part of an address.
            if !value.bytes().all(is_plain) {
                return Err(refused(&format!("the {part} has other characters than letters, digits, . _ -")));
            }
            if value.starts_with(['.', '-']) {
                return Err(refused(&format!("the {part} begins with . or -")));
            }
            if RelPath::from_name(value).is_err() {
                return Err(refused(&format!("the {part} is a name that some systems cannot store")));
            }
        }
        if version.is_some_and(|version| version.starts_with('-') || version.chars().any(char::is_control)) {
            return Err(refused("the version begins with - or has control characters"));
        }
        Ok(Self { org: org.to_owned(), name: name.to_owned(), version: version.map(str::to_owned) })
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

impl fmt::Display for SkillRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}/{}", self.org, self.name)?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_org_name_and_perhaps_a_version() {
        for (text, version) in
            [("@a/b", None), ("@a/b@1.0", Some("1.0")), ("@a/b@feature/x", Some("feature/x"))]
        {
            let skill: SkillRef = text.parse().unwrap();
            assert_eq!(
                (skill.org.as_str(), skill.name.as_str(), skill.version.as_deref()),
                ("a", "b", version)
            );
            assert_eq!(skill.to_string(), text);
        }
    }

    #[test]
    fn a_reference_with_an_empty_or_missing_part_is_an_error() {
        for text in [
            "",
            "a/b",
            "@",
            "@a",
            "@a/",
            "@/b",
            "@a/b@",
            "@a/b/c",
            "@a/b/c@1",
            "@../b",
            "@a/..",
            "@a/b c",
            "@a/-b",
            "@-a/b",
            "@a/b@-x",
            "@a/b@x\ny",
            "@a/CON",
        ] {
            assert!(text.parse::<SkillRef>().is_err(), "{text:?}");
        }
        for (text, reason) in [
            ("@a/-b", "the name begins with . or -"),
            ("@.a/b", "the org begins with . or -"),
            ("@a/b c", "the name has other characters than letters, digits, . _ -"),
            ("@a/CON", "the name is a name that some systems cannot store"),
        ] {
            let error = text.parse::<SkillRef>().unwrap_err().to_string();
            assert!(error.ends_with(reason), "{error}");
        }
    }

    #[test]
    fn a_local_path_begins_with_a_dot_step_or_a_slash() {
        for text in ["./a", "../a", "/a"] {
            assert!(is_local_path(text), "{text}");
        }
        for text in ["a", "a/b", "@a/b", "~/a", ".hidden", "https://x/y"] {
            assert!(!is_local_path(text), "{text}");
        }
    }
}
