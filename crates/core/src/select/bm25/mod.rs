//! BM25F: ranks skills by the words of a query, over name, description and body.
//!
//! For a word `t` of the query and a skill `d`, with the counts of `t` in the fields of `d`:
//!
//! ```text
//! x        = Σ over fields  weight × count ÷ (1 − b + b × length ÷ mean length)
//! S(d)     = Σ over words   importance(t) × idf(t) × x ÷ (k1 + x)
//! score(d) = S(d) × (importance × idf of the words found ÷ that of all words) ^ coverage
//! idf(t)   = ln(1 + (N − df + ½) ÷ (df + ½))
//! ```
//!
//! Neighbouring words of the query are words too, of importance [`Settings::pair`]; they do not count for coverage.

#![allow(clippy::cast_precision_loss, reason = "scores are 32-bit floats, and counts are far below 2^24")]

mod ask;
mod build;
mod fuzzy;
mod search;
mod why;

use std::sync::{Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use super::postings::{Postings, TermId};
use super::{Hit, Query, SelectError, Selector};
use crate::skill::Entry;

/// The settings of the ranking. The defaults were chosen on real skills; docs/project/retrieval.md shows the effect of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// How much a word counts in name, description and body.
    pub weights: [f32; 3],
    /// How much a long name, description or body makes each of its words count less, from 0 to 1.
    pub lengths: [f32; 3],
    /// How fast repetitions of a word stop counting.
    pub k1: f32,
    /// How much two neighbouring words count, compared with one word.
    pub pair: f32,
    /// How much a repeated word of the query counts: `1 + repeat × ln(times)`.
    pub repeat: f32,
    /// How much the share of the query's words that a skill has counts, compared with how often it has them.
    pub coverage: f32,
    /// How much the nearest known word counts in place of an unknown one; 0 turns this off.
    pub typo: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            weights: [4.0, 3.0, 0.25],
            lengths: [0.3, 0.3, 0.7],
            k1: 1.6,
            pair: 0.4,
            repeat: 0.5,
            coverage: 0.25,
            typo: 0.6,
        }
    }
}

with_methods! { Settings:
    with_weights weights: [f32; 3];
    with_lengths lengths: [f32; 3];
    with_k1 k1: f32;
    with_pair pair: f32;
    with_repeat repeat: f32;
    with_coverage coverage: f32;
    with_typo typo: f32;
}

/// The selector `bm25`: an index over the terms of many skills.
///
/// ```
/// use prowess_core::select::{Bm25, Query, Reader, Settings, Texts};
///
/// let mut reader = Reader::new();
/// for (name, about) in [("pdf-forms", "Fill in PDF forms"), ("commit-messages", "Write git commit messages")] {
///     reader.add(&Texts { name, about: vec![about], body: None });
/// }
/// let keys = vec!["pdf-forms".to_owned(), "commit-messages".to_owned()];
/// let index = Bm25::new(keys, reader.finish(), Settings::default());
/// let hits = index.search("filling a form", 5, None);
/// assert_eq!(hits[0].key, "pdf-forms");
/// ```
#[derive(Debug)]
pub struct Bm25 {
    settings: Settings,
    /// Sorted: of equal scores the smaller key is first.
    keys: Vec<String>,
    postings: Postings,
    /// The shares of the terms, by shard.
    shares: Vec<OnceLock<Shares>>,
    /// For each skill and field, `weight ÷ (1 − b + b × length ÷ mean length)` of half a word.
    norms: Vec<[f32; 3]>,
    /// The norms of bodies alone, which most of a search reads.
    body_norms: Vec<f32>,
    fuzzy: OnceLock<fuzzy::Words>,
    scratch: Mutex<Vec<search::Scratch>>,
}

/// How much of a score the terms of a shard are.
#[derive(Debug)]
struct Shares {
    /// For each front item, `x ÷ (k1 + x)`.
    front: Vec<f32>,
    /// For each term, the highest `x ÷ (k1 + x)` of the back items, rounded up to 1/255.
    most: Vec<u8>,
}

/// Which skills of an index may be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask(Vec<bool>);

impl Bm25 {
    /// The number of skills.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether it has no skills.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys of its skills, sorted.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The approximate number of bytes in memory.
    pub fn bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(|key| key.capacity() + size_of::<String>()).sum();
        let computed = self.shares.iter().filter_map(OnceLock::get);
        let shares: usize = computed.map(|shares| 4 * shares.front.capacity() + shares.most.capacity()).sum();
        keys + self.postings.bytes() + shares + 16 * self.norms.capacity()
    }

    /// The postings it was made from, for storing.
    pub fn postings(&self) -> &Postings {
        &self.postings
    }

    /// The keys of the skills and the postings, for making another index.
    pub fn into_parts(self) -> (Vec<String>, Postings) {
        (self.keys, self.postings)
    }

    /// The number of skills that have a term.
    fn skills_with(&self, term: TermId) -> usize {
        self.postings.front_range(term).len() + self.postings.back(term).len()
    }

    /// A mask that lets only these skills be found. Keep it as long as they do not change.
    pub fn mask(&self, among: &[&Entry]) -> Mask {
        let mut mask = vec![false; self.keys.len()];
        let mut from = 0;
        for entry in among {
            // A catalog is sorted by key, as the index is: mostly it is the next one.
            let next = self.keys.get(from).is_some_and(|key| *key == entry.key);
            let found = if next { Ok(from) } else { self.keys.binary_search(&entry.key) };
            if let Ok(at) = found {
                if let Some(slot) = mask.get_mut(at) {
                    *slot = true;
                }
                from = at + 1;
            }
        }
        Mask(mask)
    }

    /// The best skills for a text, each with its reasons.
    pub fn search(&self, text: &str, limit: usize, mask: Option<&Mask>) -> Vec<Hit> {
        self.hits(&self.ask(text, None), limit, mask)
    }

    /// The best skills of one of two indexes whose results are merged: a word is as rare as in both together, and known if
    /// either has it, so that the scores are comparable.
    pub fn search_beside(&self, other: &Self, text: &str, limit: usize, mask: Option<&Mask>) -> Vec<Hit> {
        self.hits(&self.ask(text, Some(other)), limit, mask)
    }

    fn hits(&self, asked: &ask::Asked, limit: usize, mask: Option<&Mask>) -> Vec<Hit> {
        let ranked = self.rank(asked, limit, mask);
        ranked.into_iter().map(|(doc, score)| self.explain(asked, doc, score)).collect()
    }

    /// The keys of the best skills and their scores, without reasons.
    pub fn ranking(&self, text: &str, limit: usize, mask: Option<&Mask>) -> Vec<(&str, f32)> {
        let ranked = self.rank(&self.ask(text, None), limit, mask);
        ranked.into_iter().map(|(doc, score)| (self.key(doc), score)).collect()
    }

    fn key(&self, doc: u32) -> &str {
        self.keys.get(doc as usize).map_or("", String::as_str)
    }
}

impl Selector for Bm25 {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        Ok(self.search(&query.text, limit, Some(&self.mask(among))))
    }
}

#[cfg(test)]
mod tests;
