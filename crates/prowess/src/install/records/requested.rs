//! [`Requested`]: which version of a repository was asked for, as a lock says it.

use std::fmt;

use serde::{Serialize, Serializer};

/// A version of a repository that was asked for. Its text in a lock and in JSON is the kind and the name, such as `tag:v1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Requested {
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// A commit by its whole id.
    Commit(String),
    /// Another ref by its whole name, or a name that may be that of a branch or a tag.
    Ref(String),
    /// A text of a lock without such a kind.
    Other(String),
}

impl Requested {
    /// Reads a text of a lock, which may be any text.
    pub(crate) fn read(text: &str) -> Self {
        let (kind, name) = text.split_once(':').unwrap_or_default();
        let kind = match kind {
            "branch" => Self::Branch,
            "tag" => Self::Tag,
            "commit" => Self::Commit,
            "ref" => Self::Ref,
            _ => return Self::Other(text.to_owned()),
        };
        kind(name.to_owned())
    }

    /// The branch, tag, commit or ref, without its kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Branch(name) | Self::Tag(name) | Self::Commit(name) | Self::Ref(name) => name,
            Self::Other(text) => text.split_once(':').map_or(text, |(_, name)| name),
        }
    }
}

impl fmt::Display for Requested {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(formatter, "branch:{name}"),
            Self::Tag(name) => write!(formatter, "tag:{name}"),
            Self::Commit(id) => write!(formatter, "commit:{id}"),
            Self::Ref(name) => write!(formatter, "ref:{name}"),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

impl Serialize for Requested {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_written_as_it_was_read() {
        for (text, name) in [
            ("branch:main", "main"),
            ("tag:a:b", "a:b"),
            ("commit:0a", "0a"),
            ("ref:refs/pull/1/head", "refs/pull/1/head"),
            ("ref:", ""),
            ("head:x", "x"),
            ("x", "x"),
            ("", ""),
        ] {
            let requested = Requested::read(text);
            assert_eq!((&*requested.to_string(), requested.name()), (text, name));
        }
    }
}
