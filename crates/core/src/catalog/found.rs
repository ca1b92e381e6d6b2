//! A skill as its source lists it, and how a source is asked about it again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::candidate::Obstacle;
use super::key::KeyFrom;
use crate::check::profile::Profile;
use crate::document::Document;
use crate::finding::{Problem, Severity};
use crate::path::RelPath;
use crate::skill::Entry;
use crate::skill::location::{Location, Origin};

/// What is shown between the label of a source and that of a source within it.
const WITHIN: &str = " › ";

/// What is shown for a source within another.
pub(super) fn joined(label: Arc<str>, within: &str) -> Arc<str> {
    if within.is_empty() { label } else { format!("{label}{WITHIN}{within}").into() }
}

/// What tells two states of a skill apart without reading it.
///
/// Only the source that made it knows what the mark means; everyone else compares. The default says that nothing is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    changed: i64,
    mark: [u64; 4],
}

impl Stamp {
    /// A stamp of a source: when the skill last changed, in nanoseconds since 1970 or 0 when that does not matter, and a
    /// mark that is another one after each change.
    pub const fn new(changed: i64, mark: [u64; 4]) -> Self {
        Self { changed, mark }
    }

    /// When the skill last changed, in nanoseconds since 1970; 0 when the mark alone tells every change.
    pub const fn changed(&self) -> i64 {
        self.changed
    }

    /// The mark, for the source that made it.
    pub const fn mark(&self) -> [u64; 4] {
        self.mark
    }
}

/// The frontmatter that a source announces apart from the files, which are not read before the skill is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Announced {
    /// What it says.
    pub frontmatter: Map<String, Value>,
    /// The digest of that.
    pub digest: String,
}

/// A skill as its source lists it. The registry decides what becomes of it and makes a [`Candidate`] of it.
///
/// [`Candidate`]: super::Candidate
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// What is known of it; for a broken one, whatever could be read. Its key is a proposal.
    pub entry: Entry,
    /// What its source knows to be against it: it is broken, or cannot be approved.
    pub obstacle: Option<Obstacle>,
    /// What is wrong with its frontmatter or its file's name although it loads; most have nothing.
    pub problems: Option<Box<[Problem]>>,
    /// The state of its SKILL.md when it was read.
    pub stamp: Stamp,
    /// Where it is within its source: a path with `/`, without the file.
    pub virtual_path: String,
    /// Its frontmatter, when that is announced apart from its files.
    pub announced: Option<Arc<Announced>>,
    /// Whether it is used only as it was approved, wherever it comes from.
    pub wants_approval: bool,
    /// Whether it is to be active from the start.
    pub preload: bool,
    /// Whether it takes the place of every other skill with its key: it was registered.
    pub overrides: bool,
    /// The clients that look where it is.
    pub readers: Vec<&'static str>,
    /// The label of the source within its source, for people.
    pub(super) source: Arc<str>,
    /// The layers within its source, the outermost last.
    pub(super) within: Vec<usize>,
}

impl Found {
    /// A skill without anything against it, at the virtual path of its key.
    pub fn new(entry: Entry) -> Self {
        let virtual_path = entry.key.clone();
        Self::placed(entry, virtual_path)
    }

    /// A skill without anything against it, at this virtual path.
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
            source: Arc::default(),
            within: Vec::new(),
        }
    }

    /// What a document is under a profile: a skill, or one that is broken because the profile sees an error. Its problems
    /// are those that [`Profile::check_frontmatter`] gives.
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

    /// Takes what a profile says about the document it was made of.
    pub fn judge(&mut self, document: &Document, profile: &Profile) {
        let problems = profile.check_read(document, &self.entry.origin, Some(&self.entry));
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            self.set_broken(problems);
        } else {
            self.problems = (!problems.is_empty()).then(|| problems.into());
        }
    }

    /// A skill that cannot be loaded, with whatever could be read of it.
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

    /// Whether it cannot be loaded, or a profile sees an error in it.
    pub fn is_broken(&self) -> bool {
        matches!(self.obstacle, Some(Obstacle::Broken { .. }))
    }

    /// Makes it appear as a layer says.
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

    /// Notes the way to it in a source made of others: the layer that listed it, and the label of that.
    pub fn put_within(&mut self, layer: usize, label: &Arc<str>) {
        self.source = joined(Arc::clone(label), &self.source);
        self.within.push(layer);
    }

    /// Takes another reading of its SKILL.md. Its key stays.
    pub fn read_again(&mut self, read: Self) {
        let key = std::mem::take(&mut self.entry.key);
        self.entry = Entry { key, ..read.entry };
        (self.problems, self.obstacle) = (read.problems, read.obstacle);
    }

    /// What its source is asked about it with.
    pub fn source_skill(&self) -> SourceSkill<'_> {
        SourceSkill::new(&self.entry, self.stamp, self.is_broken(), self.announced.as_deref(), &self.within)
    }
}

/// How the skills of a source appear through a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appearance {
    /// What comes before every key, with a colon between them.
    pub prefix: Option<String>,
    /// What the keys are made of, when that is not for the source to say.
    pub key_from: Option<KeyFrom>,
    /// The folder of virtual paths that they appear in.
    pub mount: Option<String>,
    /// Whether each is to be active from the start.
    pub preload: bool,
    /// Whether each is used only as it was approved.
    pub approval: bool,
    /// The clients that look there; none when the source says it.
    pub readers: Vec<&'static str>,
}

/// A skill that a source listed, when the source is asked about it again.
///
/// Within a source a skill is known by its [`location`](Self::location).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SourceSkill<'s> {
    /// What was known of it. Its key is for the registry to decide, and may be another than the source proposed.
    pub entry: &'s Entry,
    /// The state of its SKILL.md when it was listed.
    pub stamp: Stamp,
    /// Whether it could not be loaded, or a profile sees an error in it.
    pub broken: bool,
    /// What its source announced of it.
    pub announced: Option<&'s Announced>,
    within: &'s [usize],
}

impl<'s> SourceSkill<'s> {
    pub(super) fn new(
        entry: &'s Entry,
        stamp: Stamp,
        broken: bool,
        announced: Option<&'s Announced>,
        within: &'s [usize],
    ) -> Self {
        Self { entry, stamp, broken, announced, within }
    }

    /// Where it is: what its source knows it by.
    pub fn location(&self) -> &'s Location {
        &self.entry.origin.location
    }

    /// The name of its own file.
    pub fn own_name(&self) -> &'s str {
        self.entry.origin.file.as_deref().unwrap_or("SKILL.md")
    }

    /// Whether a path means its own file, which may always be asked for as `SKILL.md`.
    pub fn is_own(&self, path: &RelPath) -> bool {
        path.as_str() == "SKILL.md" || path.as_str() == self.own_name()
    }

    /// In a source made of others: the layer that listed it, and the skill as that layer's source knows it.
    pub fn split_layer(mut self) -> Option<(usize, Self)> {
        let (layer, within) = self.within.split_last()?;
        self.within = within;
        Some((*layer, self))
    }
}
