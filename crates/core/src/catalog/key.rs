//! [`KeyFrom`]: how the key of a skill is made.

use serde::{Deserialize, Serialize};

use crate::skill::Entry;

/// How the key of a skill is made. Two skills of one name can be used side by side if their keys differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KeyFrom {
    /// Its name.
    Name,
    /// The name of its folder; its name when it has no folder.
    Folder,
    /// Its identifier in its source: the key in a map, the id of a record or of an entry in an index, or the folder.
    Id,
}

impl KeyFrom {
    /// The words of configurations, each with its meaning.
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("name", Self::Name), ("folder", Self::Folder), ("id", Self::Id)];

    /// Reads the word of a configuration.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, from)| *from)
    }

    /// The word of configurations.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, from)| *from == self).map_or("", |(word, _)| word)
    }

    /// The key of a skill.
    ///
    /// ```
    /// use prowess_core::catalog::KeyFrom;
    /// use prowess_core::{Origin, parse};
    ///
    /// let document = parse(b"---\nname: pdf\ndescription: Reads PDFs.\n---\n");
    /// let entry = document.entry(&Origin::at("skills/pdf-2/SKILL.md"));
    /// assert_eq!((KeyFrom::Name.key(&entry), KeyFrom::Folder.key(&entry)), ("pdf", "pdf-2"));
    /// ```
    pub fn key(self, entry: &Entry) -> &str {
        let folder = entry.origin.folder.as_deref();
        let from = match self {
            Self::Name => None,
            Self::Folder => folder,
            Self::Id => entry.origin.location.id().or(folder),
        };
        from.filter(|key| !key.is_empty()).unwrap_or(&entry.name)
    }
}
