//! [`Found`]: a skill as its source lists it. [`SourceSkill`]: the reference by which its source reads its files.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::candidate::Obstacle;
use super::key::KeyFrom;
use crate::check::profile::Profile;
use crate::client::Sighting;
use crate::digest::Digest;
use crate::document::Document;
use crate::finding::{Problem, Severity};
use crate::path::RelPath;
use crate::skill::Entry;
use crate::skill::location::{Location, Origin};

/// A mark that distinguishes two states of a skill without reading it.
///
/// Only the source that made it knows what the mark means; other code compares stamps. The default means that nothing
/// is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    #[serde(with = "super::wide")]
    changed: i64,
    #[serde(with = "super::wide::four")]
    mark: [u64; 4],
}

impl Stamp {
    /// A stamp of a source: when the skill last changed, in nanoseconds since 1970 or 0 when that does not matter, and a
    /// mark that differs after each change.
    pub const fn new(changed: i64, mark: [u64; 4]) -> Self {
        Self { changed, mark }
    }

    /// When the skill last changed, in nanoseconds since 1970; 0 when the mark alone differs after every change.
    pub const fn changed(&self) -> i64 {
        self.changed
    }

    /// The mark, for the source that made it.
    pub const fn mark(&self) -> [u64; 4] {
        self.mark
    }
}

/// The frontmatter that a source announces separately from the files, which are not read before the skill is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Announced {
    /// Its fields.
    pub frontmatter: Map<String, Value>,
    /// Its digest.
    pub digest: Digest,
}

/// A skill as its source lists it. The registry decides about it and builds a [`Candidate`].
///
/// [`Candidate`]: super::Candidate
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Its data; for a broken skill, as much as could be read. Its key is a proposal.
    pub entry: Entry,
    /// Why its source cannot offer it: it is broken, or cannot be approved.
    pub obstacle: Option<Obstacle>,
    /// The problems of its frontmatter and its file name that do not keep it from loading; usually none.
    pub problems: Option<Box<[Problem]>>,
    /// The state of its SKILL.md when it was read.
    pub stamp: Stamp,
    /// Where it is within its source: a path with `/`, without the file.
    pub virtual_path: String,
    /// Its frontmatter, when that is announced separately from its files.
    pub announced: Option<Arc<Announced>>,
    /// Whether it may be used only with an approval, whatever its scope.
    pub wants_approval: bool,
    /// Whether it is to be active from the start.
    pub preload: bool,
    /// Whether it shadows every other skill with its key, because the host registered it.
    pub overrides: bool,
    /// The clients that read its folder.
    pub readers: Vec<&'static str>,
    /// The facts about it that clients treat differently, if its source was asked for them.
    pub sighting: Option<Sighting>,
}

impl Found {
    /// A skill without an obstacle, at the virtual path of its key.
    pub fn new(entry: Entry) -> Self {
        let virtual_path = entry.key.clone();
        Self::placed(entry, virtual_path)
    }

    /// A skill without an obstacle, at this virtual path.
    pub fn placed(entry: Entry, virtual_path: String) -> Self {
        Self {
            entry,
            obstacle: None,
            problems: None,
            stamp: Stamp::default(),
            virtual_path,
            announced: None,
            wants_approval: false,
            preload: false,
            overrides: false,
            readers: Vec::new(),
            sighting: None,
        }
    }

    /// The skill of a document, judged by a profile. It is broken if the profile finds an error. Its problems are those of
    /// [`Profile::check_frontmatter`].
    ///
    /// ```
    /// use prowess_core::{Found, Origin, Profile, parse};
    ///
    /// let document = parse(b"---\nname: My_Skill\ndescription: Does it.\n---\n");
    /// let at = Origin::at("skills/my-skill/SKILL.md");
    /// assert!(!Found::judged(&document, &at, &Profile::lenient()).is_broken());
    /// assert!(Found::judged(&document, &at, &Profile::spec()).is_broken());
    /// ```
    pub fn judged(document: &Document, at: &Origin, profile: &Profile) -> Self {
        let mut found = Self::new(document.entry(at));
        found.judge(document, profile);
        found
    }

    /// Sets the problems that a profile found in its document.
    pub fn judge(&mut self, document: &Document, profile: &Profile) {
        let problems = profile.check_read(document, &self.entry.origin, Some(&self.entry));
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            self.set_broken(problems);
        } else {
            self.problems = (!problems.is_empty()).then(|| problems.into());
        }
    }

    /// A skill that cannot be loaded, with as much as could be read.
    pub fn broken(document: &Document, at: &Origin, problems: Vec<Problem>) -> Self {
        let mut found = Self::new(document.entry(at));
        found.set_broken(problems);
        found
    }

    fn set_broken(&mut self, problems: Vec<Problem>) {
        self.obstacle = Some(Obstacle::Broken { problems, profile: None });
        if self.entry.key.is_empty() {
            let at = &self.entry.origin;
            self.entry.key = at.folder.clone().unwrap_or_else(|| at.location.to_string());
        }
    }

    /// Whether it cannot be loaded, or a profile finds an error in it.
    pub fn is_broken(&self) -> bool {
        matches!(self.obstacle, Some(Obstacle::Broken { .. }))
    }

    /// Applies the options of a layer.
    #[doc(hidden)]
    pub fn appear_as(&mut self, layer: &Appearance) {
        if let Some(key_from) = layer.key_from {
            self.entry.key = key_from.key(&self.entry).to_owned();
        }
        if let Some(prefix) = &layer.prefix {
            self.entry.key = format!("{prefix}:{}", self.entry.key);
        }
        if let Some(mount) = &layer.mount {
            self.virtual_path = format!("{mount}/{}", self.virtual_path);
        }
        self.preload |= layer.preload;
        self.wants_approval |= layer.approval;
        if !layer.readers.is_empty() {
            self.readers.clone_from(&layer.readers);
        }
    }

    /// Replaces what was read of its SKILL.md. Its key stays.
    #[doc(hidden)]
    pub fn read_again(&mut self, read: Self) {
        let key = std::mem::take(&mut self.entry.key);
        self.entry = Entry { key, ..read.entry };
        (self.problems, self.obstacle) = (read.problems, read.obstacle);
    }

    /// The reference by which its source reads it.
    pub fn source_skill(&self) -> SourceSkill<'_> {
        SourceSkill::new(&self.entry, self.stamp, self.is_broken(), self.announced.as_deref())
    }
}

/// How the skills of a source appear through a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appearance {
    /// The prefix of every key; a colon follows it.
    pub prefix: Option<String>,
    /// How keys are made, when the source does not decide it.
    pub key_from: Option<KeyFrom>,
    /// The folder of virtual paths that they appear in.
    pub mount: Option<String>,
    /// Whether each is to be active from the start.
    pub preload: bool,
    /// Whether each may be used only with an approval.
    pub approval: bool,
    /// The clients that read it; none when the source knows them.
    pub readers: Vec<&'static str>,
}

/// A reference to a skill that a source listed, with which the source is asked for its files.
///
/// Within a source, its [`location`](Self::location) identifies a skill.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SourceSkill<'s> {
    /// Its data when it was listed. The registry decides its key, which may differ from the one that the source proposed.
    pub entry: &'s Entry,
    /// The state of its SKILL.md when it was listed.
    pub stamp: Stamp,
    /// Whether it could not be loaded, or a profile found an error in it.
    pub broken: bool,
    /// The frontmatter that its source announced.
    pub announced: Option<&'s Announced>,
}

impl<'s> SourceSkill<'s> {
    pub(super) fn new(
        entry: &'s Entry,
        stamp: Stamp,
        broken: bool,
        announced: Option<&'s Announced>,
    ) -> Self {
        Self { entry, stamp, broken, announced }
    }

    /// Its location, which identifies it in its source.
    pub fn location(&self) -> &'s Location {
        &self.entry.origin.location
    }

    /// The name of its own file.
    pub fn own_name(&self) -> &'s str {
        self.entry.origin.file.as_deref().unwrap_or("SKILL.md")
    }

    /// Whether a path names its own file, which can always be requested as `SKILL.md`.
    pub fn is_own(&self, path: &RelPath) -> bool {
        path.as_str() == "SKILL.md" || path.as_str() == self.own_name()
    }
}
