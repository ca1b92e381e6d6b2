//! Where a skill comes from: the source that listed it, how far it is trusted, and where its SKILL.md lies.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The circle a skill comes from, which decides precedence and trust.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Named on purpose: a path on the command line, an entry of the user's configuration.
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

/// Where a skill comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The circle it comes from.
    pub scope: Scope,
    /// The place of its SKILL.md as people know it: a path, a URL, or a word such as `<stdin>`.
    pub location: String,
    /// The name of the folder that holds it, when there is one.
    pub folder: Option<String>,
    /// The name of the file, when there is one.
    pub file: Option<Cow<'static, str>>,
}

impl Origin {
    /// The origin of a file at a path or URL: the last segment is the file, the one before it the folder.
    ///
    /// ```
    /// use prowess_core::Origin;
    ///
    /// let origin = Origin::at("skills/pdf/SKILL.md");
    /// assert_eq!(origin.folder.as_deref(), Some("pdf"));
    /// assert_eq!(origin.file.as_deref(), Some("SKILL.md"));
    /// ```
    pub fn at(location: impl Into<String>) -> Self {
        let location = location.into();
        let mut segments = location.rsplit('/');
        let file = segments.next().filter(|segment| !segment.is_empty()).map(|file| match file {
            "SKILL.md" => Cow::Borrowed("SKILL.md"),
            other => Cow::Owned(other.to_owned()),
        });
        let folder =
            segments.next().filter(|segment| !matches!(*segment, "" | "." | "..")).map(str::to_owned);
        Self { scope: Scope::default(), location, folder, file }
    }

    /// The origin of a skill that is text only, under a name people will recognise.
    pub fn text(label: impl Into<String>) -> Self {
        Self { location: label.into(), ..Self::default() }
    }

    /// The place of its SKILL.md; nothing when there is none, or only a label such as `<stdin>`.
    ///
    /// ```
    /// use prowess_core::Origin;
    ///
    /// assert_eq!(Origin::at("pdf/SKILL.md").place(), Some("pdf/SKILL.md"));
    /// assert_eq!(Origin::text("<text>").place(), None);
    /// ```
    pub fn place(&self) -> Option<&str> {
        let label = self.location.starts_with('<') && self.location.ends_with('>');
        Some(self.location.as_str()).filter(|place| !place.is_empty() && !label)
    }

    /// The same with another scope.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The same in a folder of this name, as the file system knows it.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Whom a skill from another machine comes from: a server by the label that the host gave it, a site by its host.
    /// Nothing for a skill that is here.
    ///
    /// ```
    /// use prowess_core::{Origin, Scope};
    ///
    /// let origin = Origin::at("mcp:team:skill://pdf/SKILL.md").in_scope(Scope::Remote);
    /// assert_eq!(origin.sender(), Some("mcp:team"));
    /// let origin = Origin::at("https://example.com/a/pdf/SKILL.md").in_scope(Scope::Remote);
    /// assert_eq!(origin.sender(), Some("https://example.com"));
    /// assert_eq!(Origin::at("/skills/pdf/SKILL.md").sender(), None);
    /// ```
    pub fn sender(&self) -> Option<&str> {
        if self.scope != Scope::Remote {
            return None;
        }
        let Some((before, after)) = self.location.split_once("://") else { return Some(&self.location) };
        if let Some((server, _)) = before.rsplit_once(':') {
            return Some(server);
        }
        let host = after.split('/').next().unwrap_or(after);
        self.location.get(..before.len() + "://".len() + host.len())
    }
}
