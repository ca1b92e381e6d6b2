//! Where a skill comes from: the [`Location`] of its SKILL.md, and the [`Scope`] that it belongs to.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a skill comes from in relation to the user, which decides precedence and trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// Named by the user: a path on the command line, an entry of the user's configuration.
    #[default]
    Explicit,
    /// Found in the project's folders.
    Project,
    /// Found in the user's folders.
    User,
    /// Ships with the host.
    Builtin,
    /// Comes from another machine.
    Remote,
}

/// The place of a SKILL.md. It distinguishes two skills of one name.
///
/// [`Display`](fmt::Display) writes it as people, approvals, caches and JSON know it. Two locations are equal when they
/// are written alike, so one that was stored as text and read again equals the one it was made from.
///
/// ```
/// use prowess_core::Location;
///
/// let location = Location::Mcp { label: "team".into(), uri: "skill://pdf/SKILL.md".into() };
/// assert_eq!(location.to_string(), "mcp:team:skill://pdf/SKILL.md");
/// assert_eq!(location, Location::parse("mcp:team:skill://pdf/SKILL.md"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Location {
    /// A file, by its path.
    Path(Arc<str>),
    /// A file in an archive.
    Packed {
        /// The path of the archive.
        archive: Arc<str>,
        /// The path of the file in it.
        path: Arc<str>,
    },
    /// A record in a file that holds many skills.
    Record {
        /// The path of the file.
        file: Arc<str>,
        /// What identifies the record.
        id: Arc<str>,
    },
    /// A page of a web site.
    Url(Arc<str>),
    /// A resource of an MCP server.
    Mcp {
        /// The label that the host gave the server.
        label: Arc<str>,
        /// The address on the server.
        uri: Arc<str>,
    },
    /// An entry of a source that is held in memory.
    Memory {
        /// The name of the source.
        source: Arc<str>,
        /// The key of the entry.
        key: Arc<str>,
    },
    /// No place, only a text with a label such as `<stdin>`.
    Text(Arc<str>),
}

impl Location {
    /// Reads a location that was stored as text, as far as the text says what it is: an MCP resource, a URL, a label in
    /// angle brackets, and otherwise a path.
    pub fn parse(text: &str) -> Self {
        if text.is_empty() || (text.starts_with('<') && text.ends_with('>')) {
            return Self::Text(text.into());
        }
        let Some((before, _)) = text.split_once("://") else { return Self::Path(text.into()) };
        if let Some((label, _)) = before.strip_prefix("mcp:").and_then(|rest| rest.rsplit_once(':')) {
            let uri = text.get("mcp:".len() + label.len() + ":".len()..).unwrap_or_default();
            return Self::Mcp { label: label.into(), uri: uri.into() };
        }
        let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if before.bytes().all(is_scheme) { Self::Url(text.into()) } else { Self::Path(text.into()) }
    }

    /// The location as text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Path(text) | Self::Url(text) | Self::Text(text) => Cow::Borrowed(text),
            _ => Cow::Owned(self.to_string()),
        }
    }

    /// The path of the SKILL.md, when it is a file of its own.
    pub fn path(&self) -> Option<&str> {
        if let Self::Path(path) = self { Some(path) } else { None }
    }

    /// The path of the file that holds the skill: its SKILL.md, an archive, or a file with many skills.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Path(file) | Self::Packed { archive: file, .. } | Self::Record { file, .. } => Some(file),
            _ => None,
        }
    }

    /// What identifies the skill in its source, when that is not a path: the key in a map, or the id of a record.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Memory { key: id, .. } | Self::Record { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether this is a place, and not only the label of a text.
    pub fn is_place(&self) -> bool {
        !matches!(self, Self::Text(_))
    }

    /// The parts of its text, in order.
    fn parts(&self) -> [&str; 4] {
        match self {
            Self::Path(text) | Self::Url(text) | Self::Text(text) => [text, "", "", ""],
            Self::Packed { archive, path } => [archive, "!/", path, ""],
            Self::Record { file, id } => [file, "#", id, ""],
            Self::Mcp { label, uri } => ["mcp:", label, ":", uri],
            Self::Memory { source, key } => [source, ":", key, ""],
        }
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.parts().into_iter().flat_map(str::bytes)
    }
}

impl Default for Location {
    fn default() -> Self {
        Self::Text(Arc::default())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| formatter.write_str(part))
    }
}

impl Ord for Location {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => one.cmp(other),
            _ => self.bytes().cmp(other.bytes()),
        }
    }
}

impl PartialOrd for Location {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Location {}

impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl PartialEq<str> for Location {
    fn eq(&self, other: &str) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl PartialEq<&str> for Location {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// A path; a text of unknown kind is read by [`Location::parse`].
impl From<&str> for Location {
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

impl From<String> for Location {
    fn from(path: String) -> Self {
        Self::Path(path.into())
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&Cow::<str>::deserialize(deserializer)?))
    }
}

/// Where a skill comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The scope it belongs to.
    pub scope: Scope,
    /// The place of its SKILL.md.
    pub location: Location,
    /// The name of the folder that holds it, when there is one.
    pub folder: Option<String>,
    /// The name of the file, when there is one.
    pub file: Option<Cow<'static, str>>,
}

impl Origin {
    /// The origin of a skill at a location. The last segment of a path or a URL is the file, and the one before it the
    /// folder. The key of a skill in memory is its folder.
    ///
    /// ```
    /// use prowess_core::Origin;
    ///
    /// let origin = Origin::at("skills/pdf/SKILL.md");
    /// assert_eq!(origin.folder.as_deref(), Some("pdf"));
    /// assert_eq!(origin.file.as_deref(), Some("SKILL.md"));
    /// ```
    pub fn at(location: impl Into<Location>) -> Self {
        let location = location.into();
        let path = match &location {
            Location::Path(path)
            | Location::Packed { path, .. }
            | Location::Url(path)
            | Location::Mcp { uri: path, .. } => path,
            Location::Memory { key, .. } => {
                let folder = Some(key.as_ref().to_owned());
                return Self { location, folder, ..Self::default() };
            }
            Location::Record { .. } | Location::Text(_) => return Self { location, ..Self::default() },
        };
        let mut segments = path.rsplit('/');
        let file = segments.next().filter(|segment| !segment.is_empty()).map(|file| match file {
            "SKILL.md" => Cow::Borrowed("SKILL.md"),
            other => Cow::Owned(other.to_owned()),
        });
        let folder =
            segments.next().filter(|segment| !matches!(*segment, "" | "." | "..")).map(str::to_owned);
        Self { scope: Scope::default(), location, folder, file }
    }

    /// The origin of a skill that is only text, with a label for people such as `<stdin>`.
    pub fn text(label: impl Into<Arc<str>>) -> Self {
        Self { location: Location::Text(label.into()), ..Self::default() }
    }

    /// The place of its SKILL.md as text; none for a skill that is only text.
    ///
    /// ```
    /// use prowess_core::Origin;
    ///
    /// assert_eq!(Origin::at("pdf/SKILL.md").place().as_deref(), Some("pdf/SKILL.md"));
    /// assert_eq!(Origin::text("<text>").place(), None);
    /// ```
    pub fn place(&self) -> Option<Cow<'_, str>> {
        self.location.is_place().then(|| self.location.text())
    }

    /// Sets the scope.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets the name of the folder, as the file system spells it.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The sender of a skill from another machine: a server by the label that the host gave it, a site by its host.
    /// None for a skill of this machine.
    ///
    /// ```
    /// use prowess_core::{Location, Origin, Scope};
    ///
    /// let at = Location::Mcp { label: "team".into(), uri: "skill://pdf/SKILL.md".into() };
    /// assert_eq!(Origin::at(at).with_scope(Scope::Remote).sender().as_deref(), Some("mcp:team"));
    /// let at = Location::Url("https://example.com/a/pdf/SKILL.md".into());
    /// assert_eq!(Origin::at(at).with_scope(Scope::Remote).sender().as_deref(), Some("https://example.com"));
    /// assert_eq!(Origin::at("/skills/pdf/SKILL.md").sender(), None);
    /// ```
    pub fn sender(&self) -> Option<Cow<'_, str>> {
        if self.scope != Scope::Remote {
            return None;
        }
        match &self.location {
            Location::Mcp { label, .. } => Some(format!("mcp:{label}").into()),
            Location::Url(url) => {
                let (scheme, rest) = url.split_once("://")?;
                let host = rest.split('/').next().unwrap_or(rest);
                url.get(..scheme.len() + "://".len() + host.len()).map(Cow::Borrowed)
            }
            other => Some(other.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> [(Location, &'static str); 7] {
        [
            (Location::Path("/s/a/SKILL.md".into()), "/s/a/SKILL.md"),
            (
                Location::Packed { archive: "/s/a.zip".into(), path: "a/SKILL.md".into() },
                "/s/a.zip!/a/SKILL.md",
            ),
            (Location::Record { file: "/s/all.jsonl".into(), id: "a".into() }, "/s/all.jsonl#a"),
            (Location::Url("https://x.org/a/SKILL.md".into()), "https://x.org/a/SKILL.md"),
            (
                Location::Mcp { label: "team".into(), uri: "skill://a/SKILL.md".into() },
                "mcp:team:skill://a/SKILL.md",
            ),
            (Location::Memory { source: "registered".into(), key: "a".into() }, "registered:a"),
            (Location::Text("<stdin>".into()), "<stdin>"),
        ]
    }

    #[test]
    fn a_location_that_was_stored_equals_the_one_it_was_made_from() {
        for (location, text) in every_kind() {
            assert_eq!(location.to_string(), text);
            assert_eq!(location.text(), text);
            assert_eq!(location, text);
            let stored = serde_json::to_string(&location).unwrap();
            assert_eq!(stored, format!("\"{text}\""));
            let read: Location = serde_json::from_str(&stored).unwrap();
            assert_eq!((&read, read.cmp(&location)), (&location, Ordering::Equal));
            assert_eq!(read.is_place(), location.is_place());
        }
    }

    #[test]
    fn locations_are_in_the_order_of_their_texts() {
        for (one, text) in every_kind() {
            for (other, other_text) in every_kind() {
                assert_eq!(one.cmp(&other), text.cmp(other_text), "{text} {other_text}");
            }
        }
    }

    #[test]
    fn a_text_is_a_url_or_a_resource_only_when_it_begins_as_one() {
        assert!(matches!(Location::parse("a b://c"), Location::Path(_)));
        assert!(matches!(Location::parse("/tmp/mcp:x:y://z"), Location::Path(_)));
        assert!(matches!(Location::parse("mcp:x"), Location::Path(_)));
        assert!(matches!(Location::parse(""), Location::Text(_)));
        let Location::Mcp { label, uri } = Location::parse("mcp:a:b:skill://c") else { panic!() };
        assert_eq!((&*label, &*uri), ("a:b", "skill://c"));
    }
}
