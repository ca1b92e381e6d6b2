//! [`Postings`]: the skills of each term. Made from a [`Corpus`], merged, stored, and never changed.

mod build;
mod shard;
mod store;

pub use build::Part;
pub(super) use shard::{BackBytes, FrontBytes, InFront};

use shard::{SHARD_BITS, Shard};

#[cfg(doc)]
use super::Corpus;
use super::lexicon::hash;

/// A skill whose body alone has a term: 24 bits of its number and 8 of the count, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InBody(pub(super) u32);

impl InBody {
    pub(super) const fn new(skill: u32, count: u8) -> Self {
        Self(skill << 8 | count as u32)
    }

    #[inline]
    pub(super) const fn read(bytes: BackBytes) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    pub(super) const fn skill(self) -> u32 {
        self.0 >> 8
    }

    pub(super) const fn count(self) -> u8 {
        self.0.to_le_bytes()[0]
    }
}

/// The most skills of an index: their numbers have 24 bits. A search finds no skill after these; the memory of such a
/// catalog is several gigabytes.
pub const MAX_SKILLS: usize = 1 << 24;

/// For each term, the skills that have it and how often.
///
/// Skills have numbers from 0. Parts can be made separately, for example on threads, and joined by
/// [`merge`](Self::merge), which can also remove and renumber skills. What an index finds does not depend on the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Postings {
    /// The words in name, description and body of each skill.
    lengths: Vec<[u32; 3]>,
    /// The terms, by the first bits of their hashes.
    shards: Vec<Shard>,
}

/// The place of a term: its shard and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TermId {
    pub(super) shard: usize,
    pub(super) at: usize,
}

impl Postings {
    /// The number of skills.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The approximate number of bytes in memory.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(Shard::size).sum::<usize>() + 12 * self.lengths.capacity()
    }

    pub(super) fn lengths(&self) -> &[[u32; 3]] {
        &self.lengths
    }

    pub(super) fn find(&self, text: &str) -> Option<TermId> {
        let hash = hash(text);
        let shard = (hash >> (32 - SHARD_BITS)) as usize;
        let at = self.shards.get(shard)?.find(text.as_bytes(), hash)?;
        Some(TermId { shard, at })
    }

    /// All terms with their texts.
    pub(super) fn terms(&self) -> impl Iterator<Item = (TermId, &[u8])> {
        self.shards.iter().enumerate().flat_map(|(number, shard)| {
            (0..shard.len()).map(move |at| (TermId { shard: number, at }, shard.text(at)))
        })
    }

    pub(super) fn text(&self, term: TermId) -> &[u8] {
        self.shards.get(term.shard).map(|shard| shard.text(term.at)).unwrap_or_default()
    }

    /// The range of the front items of a term in its shard.
    pub(super) fn front_range(&self, term: TermId) -> std::ops::Range<usize> {
        self.shards.get(term.shard).map(|shard| shard.front_range(term.at)).unwrap_or_default()
    }

    pub(super) fn front(&self, term: TermId) -> &[FrontBytes] {
        let items = self.shards.get(term.shard).map(Shard::front).unwrap_or_default();
        items.get(self.front_range(term)).unwrap_or_default()
    }

    pub(super) fn back(&self, term: TermId) -> &[BackBytes] {
        self.shards.get(term.shard).map(|shard| shard.back_of(term.at)).unwrap_or_default()
    }

    /// For each shard, all front items, term by term.
    pub(super) fn fronts(&self) -> impl Iterator<Item = &[FrontBytes]> {
        self.shards.iter().map(Shard::front)
    }

    /// For each shard, the back items of each term.
    pub(super) fn backs(&self) -> impl Iterator<Item = impl Iterator<Item = &[BackBytes]>> {
        self.shards.iter().map(|shard| (0..shard.len()).map(|at| shard.back_of(at)))
    }
}

#[cfg(test)]
mod tests;
