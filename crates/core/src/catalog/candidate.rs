//! A skill that was found, before it is decided whether it is offered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::check::profile::Profile;
use crate::document::Document;
use crate::files::manifest::Manifest;
use crate::finding::rule::Preset;
use crate::finding::{Problem, Severity};
use crate::skill::Entry;
use crate::skill::location::{Location, Origin};

/// What keeps a skill from being offered or used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "obstacle")]
pub enum Obstacle {
    /// It cannot be loaded.
    Broken {
        /// Why.
        problems: Vec<Problem>,
        /// The strict profile by which it was judged; none when it cannot be loaded at all.
        #[serde(skip_serializing_if = "Option::is_none")]
        profile: Option<Preset>,
    },
    /// It was turned off.
    Disabled {
        /// By which configuration.
        by: String,
    },
    /// It may be seen, but not used before the user trusts it.
    Untrusted,
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

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// What is known of it; for a broken one, whatever could be read.
    pub entry: Entry,
    /// What keeps it from being offered or used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
    /// The approved digest over all its files, when the approval is the only reason that it may be used.
    #[serde(skip)]
    pub approved: Option<String>,
    /// The files that were counted in that digest, each with its own. Only these bytes are read.
    #[serde(skip)]
    pub approved_files: Option<Arc<Manifest>>,
    /// Whether it is used only as it was approved, wherever it comes from: a skill of a server.
    #[serde(skip)]
    pub wants_approval: bool,
    /// The digest of its frontmatter, when its source announces that apart from its files.
    #[serde(skip)]
    pub announced: Option<String>,
    /// What is wrong with its frontmatter or its file's name although it loads; most have nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problems: Option<Box<[Problem]>>,
    /// Whether it is to be active from the start.
    pub preload: bool,
    /// Whether it takes the place of every other skill with its key, whatever becomes of duplicates: it was registered.
    #[serde(skip)]
    pub overrides: bool,
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<Location>,
    /// Where filters and folders see it: a path with `/`, without the file.
    pub virtual_path: String,
    /// The clients that look where it lies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<&'static str>,
    /// The state of its SKILL.md when it was read.
    #[serde(skip)]
    pub stamp: Stamp,
    /// The source that listed it, and through which it is read; within a source made of others, ` › ` and theirs.
    #[serde(skip)]
    pub source: Arc<str>,
}

impl Candidate {
    /// A skill without anything against it, at the virtual path of its key.
    pub fn new(entry: Entry) -> Self {
        let virtual_path = entry.key.clone();
        Self {
            entry,
            obstacle: None,
            approved: None,
            approved_files: None,
            wants_approval: false,
            announced: None,
            problems: None,
            preload: false,
            overrides: false,
            also_at: Vec::new(),
            virtual_path,
            readers: Vec::new(),
            stamp: Stamp::default(),
            source: Arc::default(),
        }
    }

    /// What a document makes in a catalog under a profile: a skill, or one that is broken because the profile sees an
    /// error. Its problems are those that [`Profile::check_frontmatter`] gives.
    ///
    /// ```
    /// use prowess_core::{Candidate, Origin, Profile, parse};
    ///
    /// let document = parse(b"---\nname: My_Skill\ndescription: Does it.\n---\n");
    /// let at = Origin::at("skills/my-skill/SKILL.md");
    /// assert!(Candidate::judged(&document, &at, &Profile::lenient()).is_usable());
    /// assert!(!Candidate::judged(&document, &at, &Profile::spec()).is_usable());
    /// ```
    pub fn judged(document: &Document, at: &Origin, profile: &Profile) -> Self {
        let entry = document.entry(at);
        let problems = profile.check_read(document, at, Some(&entry));
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Self::new(entry).with_breakage(problems);
        }
        let mut candidate = Self::new(entry);
        candidate.problems = (!problems.is_empty()).then(|| problems.into());
        candidate
    }

    /// A skill that cannot be loaded, with whatever could be read of it.
    pub fn broken(document: &Document, at: &Origin, problems: Vec<Problem>) -> Self {
        Self::new(document.entry(at)).with_breakage(problems)
    }

    fn with_breakage(mut self, problems: Vec<Problem>) -> Self {
        self.obstacle = Some(Obstacle::Broken { problems, profile: None });
        if self.entry.key.is_empty() {
            let at = &self.entry.origin;
            self.entry.key = at.folder.clone().unwrap_or_else(|| at.location.to_string());
        }
        self
    }

    /// Whether a key means this skill: its key, its name, or its folder's name when it is broken.
    pub fn answers_to(&self, key: &str) -> bool {
        let broken = matches!(self.obstacle, Some(Obstacle::Broken { .. }));
        self.entry.key == key
            || self.entry.name == key
            || (broken && self.entry.origin.folder.as_deref() == Some(key))
    }

    /// Whether filters see it in or below a folder; all are in the empty one.
    pub fn is_in(&self, folder: &str) -> bool {
        super::is_below(&self.virtual_path, folder.trim_matches('/'))
    }

    /// Whether it may be activated, run and served.
    pub fn is_usable(&self) -> bool {
        self.obstacle.is_none()
    }
}
