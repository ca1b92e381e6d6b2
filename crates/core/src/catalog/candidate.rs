//! [`Candidate`]: a skill that a source found, with what the registry decided about it.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::found::{Announced, Found, SourceSkill, Stamp};
use crate::client::Sighting;
use crate::digest::Digest;
use crate::files::manifest::Manifest;
use crate::finding::Problem;
use crate::finding::rule::Preset;
use crate::skill::Entry;
use crate::skill::location::Location;

/// What turned a skill off. Its text and its JSON form are words for users.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnedOffBy {
    /// The host unregistered it.
    Host,
    /// An option that the user gave, as the user knows it, such as `--except` on a command line.
    Option(String),
    /// A list, by its name, such as the path of a configuration.
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

/// Why a skill cannot be offered or used. Exhaustive, because a host that does not know an obstacle would offer the
/// skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "obstacle")]
pub enum Obstacle {
    /// It cannot be loaded.
    Broken {
        /// Why.
        problems: Vec<Problem>,
        /// The strict profile that found the errors; none when it cannot be loaded at all.
        #[serde(skip_serializing_if = "Option::is_none")]
        profile: Option<Preset>,
    },
    /// It was turned off.
    Disabled {
        /// What turned it off.
        by: TurnedOffBy,
    },
    /// It is listed, but cannot be used before the user trusts it.
    Untrusted,
}

/// A skill of a catalog. A registry makes it, and it is never changed afterwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Its data; for a broken skill, as much as could be read.
    pub entry: Entry,
    /// Why it cannot be offered or used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
    /// The approved digest over all its files, when it may be used only because of this approval.
    #[serde(skip)]
    pub approved: Option<Digest>,
    /// The files that this digest covers, each with its own digest. Only these bytes are read.
    #[serde(skip)]
    pub approved_files: Option<Arc<Manifest>>,
    /// Whether it may be used only with an approval, whatever its scope, as the skills of an MCP server.
    #[serde(skip)]
    pub wants_approval: bool,
    /// Its frontmatter, when its source announces that separately from its files.
    #[serde(skip)]
    pub announced: Option<Arc<Announced>>,
    /// The problems of its frontmatter and its file name that do not keep it from loading; usually none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problems: Option<Box<[Problem]>>,
    /// Whether it is to be active from the start.
    pub preload: bool,
    /// Whether it shadows every other skill with its key, whatever [`Duplicates`](super::Duplicates) says, because the
    /// host registered it.
    #[serde(skip)]
    pub overrides: bool,
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<Location>,
    /// The path by which filters and folders match it, with `/` and without the file.
    pub virtual_path: String,
    /// The clients that read its folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readers: Vec<&'static str>,
    /// The facts about it that clients treat differently, if its source was asked for them.
    #[serde(skip)]
    pub sighting: Option<Sighting>,
    /// The state of its SKILL.md when it was read.
    #[serde(skip)]
    pub stamp: Stamp,
    /// The label of the source that listed it, for display.
    #[serde(skip)]
    pub source: Arc<str>,
    /// The layer of a registry through which it is read.
    #[serde(skip)]
    pub layer: LayerId,
    /// Whether it was found broken, if its obstacle is another one.
    #[serde(skip)]
    found_broken: bool,
}

/// One layer of one registry. A skill is read only through the layer that listed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerId {
    /// The number of the registry; 0 for none.
    pub registry: u64,
    /// The position of the layer in it.
    pub at: usize,
}

/// The decision of a registry about a skill that was found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Decision {
    /// Why it cannot be offered or used. It takes the place of the reasons of its source.
    pub obstacle: Option<Obstacle>,
    /// The approval, when it may be used only because of that.
    pub approved: Option<Approved>,
    /// The layer of a registry through which it is read.
    pub layer: LayerId,
    /// The label of that layer.
    pub label: Arc<str>,
}

impl Decision {
    /// A skill of this layer, without an obstacle.
    pub fn of_layer(layer: LayerId, label: &Arc<str>) -> Self {
        Self { obstacle: None, approved: None, layer, label: Arc::clone(label) }
    }
}

/// An approval of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The digest over all its files.
    pub digest: Digest,
    /// The files that the digest covers; none when its source checks them against what it announces.
    pub files: Option<Arc<Manifest>>,
}

impl Candidate {
    /// Makes the candidate of a skill that was found. Every candidate is made here.
    #[doc(hidden)]
    #[inline]
    pub fn build(found: Found, decision: Decision) -> Self {
        let Decision { obstacle, approved, layer, label } = decision;
        let (approved, approved_files) = approved.map_or((None, None), |it| (Some(it.digest), it.files));
        Self {
            found_broken: found.is_broken(),
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
            sighting: found.sighting,
            stamp: found.stamp,
            source: label,
            layer,
        }
    }

    /// A skill without an obstacle, at the virtual path of its key.
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

    /// The reference by which its source reads it.
    pub fn source_skill(&self) -> SourceSkill<'_> {
        SourceSkill::new(&self.entry, self.stamp, self.is_broken(), self.announced.as_deref())
    }

    /// Whether a name refers to this skill: its key, its name, or its folder's name when it is broken.
    pub fn answers_to(&self, key: &str) -> bool {
        self.entry.key == key
            || self.entry.name == key
            || (self.is_broken() && self.entry.origin.folder.as_deref() == Some(key))
    }

    /// Whether it cannot be loaded, also if it is turned off besides.
    pub fn is_broken(&self) -> bool {
        self.found_broken || matches!(self.obstacle, Some(Obstacle::Broken { .. }))
    }

    /// Whether its virtual path is in or below a folder; all skills are in the empty folder.
    pub fn is_in(&self, folder: &str) -> bool {
        super::is_below(&self.virtual_path, folder.trim_matches('/'))
    }

    /// Whether it may be activated, run and served.
    pub fn is_usable(&self) -> bool {
        self.obstacle.is_none()
    }
}
