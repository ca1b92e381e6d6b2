//! Selection: the skills that fit a query, the best first, and why.

mod analyse;
mod bm25;
mod corpus;
mod embedding;
mod fused;
mod keyword;
mod lexicon;
mod matched;
mod narrow;
mod postings;
mod trigger;

use serde::{Deserialize, Serialize};

pub use analyse::Texts;
pub use bm25::{Bm25, Mask, Settings};
pub use corpus::{Corpus, Counts, MAX_BODY_BYTES, Reader, Terms, analyse};
pub use embedding::{Embed, Embedding, Vectors, embedded_text};
pub use fused::{Fused, MEANING_WEIGHT};
pub use keyword::{All, Keyword, Tags};
pub use matched::TypedWords;
pub use narrow::{Narrowed, NotNarrowed, OnEmpty, OnSelectError, SelectOptions, narrow, search};
pub use postings::{MAX_SKILLS, Part, Postings};
pub use trigger::{OTHER_TRIGGER_FILES, TRIGGER_FILE, Trigger, TriggerError, triggers};

use crate::skill::Entry;

/// A query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Query {
    /// Plain words: a task, a question, a few keywords.
    pub text: String,
    /// Tags, for the selector `tags`.
    pub tags: Vec<String>,
}

impl Query {
    /// A query in plain words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), tags: Vec::new() }
    }

    /// Sets the tags.
    #[must_use]
    pub fn with_tags(mut self, tags: Vec<String>) -> Self {
        self.tags = tags;
        self
    }

    /// Whether it has neither words nor tags.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.tags.iter().all(|tag| tag.trim().is_empty())
    }
}

/// A selected skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hit {
    /// Its key.
    pub key: String,
    /// How well it fits. Only comparable between the hits of one query and selector.
    pub score: f32,
    /// The parts of the score, which sum to it.
    pub why: Vec<HitReason>,
}

impl Hit {
    /// A skill with its score and the parts of it.
    pub fn new(key: impl Into<String>, score: f32, why: Vec<HitReason>) -> Self {
        Self { key: key.into(), score, why }
    }
}

/// One part of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HitReason {
    /// The term that was found, or another reason.
    pub term: String,
    /// The word of the query, when it is unknown and `term` is the nearest known word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// Where it was found.
    pub field: Field,
    /// What it adds to the score.
    pub score: f32,
}

impl HitReason {
    /// A term that was found in a field, and what it adds to the score.
    pub fn new(term: impl Into<String>, field: Field, score: f32) -> Self {
        Self { term: term.into(), instead_of: None, field, score }
    }
}

/// Where something was found. Exhaustive, so that a host names every place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// In the name.
    Name,
    /// In the description, in `when_to_use` or in the tags.
    Description,
    /// In the body.
    Body,
    /// In the tags, by the selector `tags`.
    Tags,
    /// In the skill as a whole, when the selector does not name a part.
    Skill,
}

/// Why a selector could not rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The embedder failed.
    #[error("the texts could not be embedded: {reason}")]
    Embed {
        /// Its message.
        reason: String,
    },
    /// The embedder returned fewer or more vectors than it got texts.
    #[error("the embedder returned {found} vectors for {wanted} texts")]
    Count {
        /// How many it returned.
        found: usize,
        /// How many were wanted.
        wanted: usize,
    },
    /// A vector is not as wide as the others.
    #[error("the embedder returned vectors of different width: {found} and {wanted}")]
    Width {
        /// The width of this one.
        found: usize,
        /// The width of the others.
        wanted: usize,
    },
    /// A vector has a value that is not a finite number.
    #[error("the embedder returned a vector with a value that is not a finite number")]
    NotFinite,
    /// The program could not be used.
    #[error("the selector program failed: {program}: {reason}")]
    Command {
        /// The program.
        program: String,
        /// What went wrong.
        reason: String,
    },
    /// A selector of the host failed.
    #[error("the selector failed: {reason}")]
    Host {
        /// Its message.
        reason: String,
    },
    /// The search ended before all skills were read: it was cancelled, its skills were closed, or a source took too long.
    #[error("the search was stopped: {reason}")]
    Stopped {
        /// Why it ended.
        reason: String,
    },
}

/// Ranks skills for a query.
pub trait Selector: Send + Sync {
    /// The best of `among`, at most `limit`, the best first, each key once.
    ///
    /// The order is used as returned, whatever the scores say: [`best`] sorts by score, [`in_given_order`] keeps an order.
    /// `among` are the skills that may be shown; no others may be returned. When nothing fits, the list is empty.
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError>;
}

impl<S: Selector + ?Sized> Selector for Box<S> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        (**self).select(query, among, limit)
    }
}

/// Keeps the order of the hits; at most `limit`, each key once, at its first place.
pub fn in_given_order(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let mut seen = std::collections::BTreeSet::new();
    hits.retain(|hit| seen.len() < limit && seen.insert(hit.key.clone()));
    hits
}

/// Sorts hits by score, then by key; at most `limit`, each key once.
pub fn best(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.key.cmp(&other.key)));
    in_given_order(hits, limit)
}

#[cfg(test)]
pub(crate) mod testing {
    //! Entries for tests.

    use crate::skill::Entry;
    use crate::skill::location::Origin;

    /// A skill with a name and a description.
    pub(crate) fn entry(name: &str, description: &str) -> Entry {
        let mut entry = crate::parse(b"").entry(&Origin::text("<test>"));
        (entry.key, entry.name, entry.description) =
            (name.to_owned(), name.to_owned(), description.to_owned());
        entry
    }
}
