//! A skill of a catalog: what its source found, and what the registry decided about it.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::found::{Announced, Found, SourceSkill, Stamp, joined};
use crate::files::manifest::Manifest;
use crate::finding::Problem;
use crate::finding::rule::Preset;
use crate::skill::Entry;
use crate::skill::location::Location;

/// What turned a skill off. As text and in JSON it is the words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnedOffBy {
    /// The host unregistered it.
    Host,
    /// An option that the user gave, such as `--except`.
    Option(String),
    /// A list that has this name, such as the path of a configuration.
    List(String),
}

impl fmt::Display for TurnedOffBy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Host => "the host, which unregistered it",
            Self::Option(name) | Self::List(name) => name,
        })
    }
}

impl Serialize for TurnedOffBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What keeps a skill from being offered or used. Closed, because a host that does not know an obstacle would offer the
/// skill.
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
        /// What turned it off.
        by: TurnedOffBy,
    },
    /// It may be seen, but not used before the user trusts it.
    Untrusted,
}

/// A skill of a catalog. [`Candidate::build`] makes it, and nothing changes it afterwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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
    /// Its frontmatter, when its source announces that apart from its files.
    #[serde(skip)]
    pub announced: Option<Arc<Announced>>,
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
    /// The clients that look where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<&'static str>,
    /// The state of its SKILL.md when it was read.
    #[serde(skip)]
    pub stamp: Stamp,
    /// The label of the source that listed it, for people; within a source made of others, ` › ` and theirs.
    #[serde(skip)]
    pub source: Arc<str>,
    /// The layer of a registry through which it is read.
    #[serde(skip)]
    pub layer: LayerId,
    /// The layers within that layer's source, the outermost last.
    #[serde(skip)]
    within: Vec<usize>,
}

/// One layer of one registry. A skill is read only through the layer that listed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerId {
    /// The number of the registry; 0 for none.
    pub registry: u64,
    /// The position of the layer in it.
    pub at: usize,
}

/// What a registry decides about a skill that was found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Decision {
    /// What keeps it from being offered or used, besides what its source found.
    pub obstacle: Option<Obstacle>,
    /// The approval that is the only reason why it may be used.
    pub approved: Option<Approved>,
    /// The layer of a registry through which it is read.
    pub layer: LayerId,
    /// The label of that layer.
    pub label: Arc<str>,
}

impl Decision {
    /// A skill of this layer, with nothing against it.
    pub fn of_layer(layer: LayerId, label: &Arc<str>) -> Self {
        Self { obstacle: None, approved: None, layer, label: Arc::clone(label) }
    }
}

/// What was approved of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The digest over all its files.
    pub digest: String,
    /// The files that were counted; none when its source holds it to what it announces.
    pub files: Option<Arc<Manifest>>,
}

impl Candidate {
    /// Makes the candidate of a skill that was found: the only way there is.
    #[inline]
    pub fn build(found: Found, decision: Decision) -> Self {
        let Decision { obstacle, approved, layer, label } = decision;
        let (approved, approved_files) = approved.map_or((None, None), |it| (Some(it.digest), it.files));
        Self {
            entry: found.entry,
            obstacle: obstacle.or(found.obstacle),
            approved,
            approved_files,
            wants_approval: found.wants_approval,
            announced: found.announced,
            problems: found.problems,
            preload: found.preload,
            overrides: found.overrides,
            also_at: Vec::new(),
            virtual_path: found.virtual_path,
            readers: found.readers,
            stamp: found.stamp,
            source: joined(label, &found.source),
            layer,
            within: found.within,
        }
    }

    /// A skill without anything against it, at the virtual path of its key.
    pub fn new(entry: Entry) -> Self {
        Self::build(Found::new(entry), Decision::default())
    }

    /// The same skill, found at other places too, and preloaded or not.
    pub(super) fn merged(&self, others: &[Arc<Self>], preload: bool) -> Self {
        let mut merged = Self { preload, ..self.clone() };
        for other in others {
            merged.also_at.push(other.entry.origin.location.clone());
            let new = other.readers.iter().filter(|reader| !merged.readers.contains(reader));
            let new: Vec<_> = new.copied().collect();
            merged.readers.extend(new);
        }
        merged
    }

    /// What its source is asked about it with.
    pub fn source_skill(&self) -> SourceSkill<'_> {
        let broken = matches!(self.obstacle, Some(Obstacle::Broken { .. }));
        SourceSkill::new(&self.entry, self.stamp, broken, self.announced.as_deref(), &self.within)
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
