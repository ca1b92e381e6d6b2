//! [`Shard`]: a part of all terms with the skills that have them, as one block of bytes that is read in place.
//!
//! ```text
//! head       the numbers of terms, front items, back items and bytes of text; bits of the directory
//! terms      16 bytes each, sorted by hash and text: hash, and where text, front and back items end
//! directory  for each prefix of a hash, the first term that has it
//! front      7 bytes each: a skill and its counts in name, description and body
//! back       4 bytes each: a skill and its count in the body, for terms that are only there
//! text       all terms, one after the other
//! ```
//!
//! The stored form is used directly: a warm start rebuilds nothing.

use std::ops::Range;

use super::InBody;
use crate::select::corpus::Counts;

/// The number of bits of a hash that select the shard. Shards are merged one by one, so that little is in memory twice.
pub(super) const SHARD_BITS: u32 = 6;
/// The number of shards.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
const HEAD: usize = 20;
const TERM: usize = 16;

/// A skill that has a term in its name or description: its number and its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InFront(pub(crate) u32, pub(crate) Counts);

/// A front item as bytes.
pub(crate) type FrontBytes = [u8; 7];
/// A back item as bytes.
pub(crate) type BackBytes = [u8; 4];

impl InFront {
    #[inline]
    pub(crate) fn read(bytes: FrontBytes) -> Self {
        let [a, b, c, d, name, about, body] = bytes;
        Self(u32::from_le_bytes([a, b, c, d]), [name, about, body])
    }

    fn write(self) -> FrontBytes {
        let ([a, b, c, d], [name, about, body]) = (self.0.to_le_bytes(), self.1);
        [a, b, c, d, name, about, body]
    }
}

/// A term and the skills that have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term<'s> {
    pub(super) hash: u32,
    pub(super) text: &'s [u8],
    pub(super) front: &'s [FrontBytes],
    pub(super) back: &'s [BackBytes],
}

/// Terms with the same first bits of their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shard {
    bytes: Vec<u8>,
    terms: Range<usize>,
    directory: Range<usize>,
    front: Range<usize>,
    back: Range<usize>,
    text: Range<usize>,
}

fn word(bytes: &[u8; TERM], at: usize) -> u32 {
    let (words, _) = bytes.as_chunks::<4>();
    words.get(at).map_or(0, |word| u32::from_le_bytes(*word))
}

impl Shard {
    /// Reads a shard from bytes; none when they are not valid.
    pub(super) fn new(bytes: Vec<u8>) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let (head, _) = bytes.split_first_chunk::<HEAD>()?;
        let (words, _) = head.as_chunks::<4>();
        let count =
            |at: usize| words.get(at).and_then(|word| usize::try_from(u32::from_le_bytes(*word)).ok());
        let bits = u32::try_from(count(4)?).ok()?;
        let mut end = HEAD;
        let mut section = |count: usize, size: usize| {
            let start = end;
            end = count.checked_mul(size)?.checked_add(start)?;
            Some(start..end)
        };
        let terms = section(count(0)?, TERM)?;
        let directory = section(1_usize.checked_shl(bits)?, 4)?;
        let front = section(count(1)?, 7)?;
        let back = section(count(2)?, 4)?;
        let text = section(count(3)?, 1)?;
        (end == bytes.len()).then_some(Self { bytes, terms, directory, front, back, text })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes.
    pub(super) fn size(&self) -> usize {
        self.bytes.capacity()
    }

    fn section<const N: usize>(&self, range: &Range<usize>) -> &[[u8; N]] {
        self.bytes.get(range.clone()).unwrap_or_default().as_chunks::<N>().0
    }

    fn records(&self) -> &[[u8; TERM]] {
        self.section(&self.terms)
    }

    /// The number of terms.
    pub(super) fn len(&self) -> usize {
        self.records().len()
    }

    /// All front items, term by term.
    pub(super) fn front(&self) -> &[FrontBytes] {
        self.section(&self.front)
    }

    /// All back items, term by term.
    pub(super) fn back(&self) -> &[BackBytes] {
        self.section(&self.back)
    }

    /// The range of text or items of the term at a place.
    fn range(&self, at: usize, what: usize) -> Range<usize> {
        let records = self.records();
        let end = |at: usize| records.get(at).map_or(0, |record| word(record, what) as usize);
        at.checked_sub(1).map_or(0, end)..end(at)
    }

    pub(super) fn text(&self, at: usize) -> &[u8] {
        let text = self.bytes.get(self.text.clone()).unwrap_or_default();
        text.get(self.range(at, 1)).unwrap_or_default()
    }

    pub(super) fn front_range(&self, at: usize) -> Range<usize> {
        self.range(at, 2)
    }

    pub(super) fn back_of(&self, at: usize) -> &[BackBytes] {
        self.back().get(self.range(at, 3)).unwrap_or_default()
    }

    pub(super) fn term(&self, at: usize) -> Option<Term<'_>> {
        Some(Term {
            hash: word(self.records().get(at)?, 0),
            text: self.text(at),
            front: self.front().get(self.front_range(at)).unwrap_or_default(),
            back: self.back_of(at),
        })
    }

    /// The place of a term.
    pub(super) fn find(&self, text: &[u8], hash: u32) -> Option<usize> {
        let directory: &[[u8; 4]] = self.section(&self.directory);
        let bucket = bucket(hash, directory.len().checked_ilog2()?);
        let from = u32::from_le_bytes(*directory.get(bucket)?) as usize;
        let records = self.records().get(from..)?;
        let same = records.iter().map(|record| word(record, 0)).zip(from..);
        let mut same = same.skip_while(|(other, _)| *other < hash).take_while(|(other, _)| *other == hash);
        same.find(|(_, at)| self.text(*at) == text).map(|(_, at)| at)
    }
}

/// The place in the directory: the bits of a hash after those of the shard.
fn bucket(hash: u32, bits: u32) -> usize {
    (hash << SHARD_BITS).checked_shr(32 - bits).unwrap_or(0) as usize
}

/// Collects terms, sorted by hash and text, into a shard.
#[derive(Debug, Default)]
pub(super) struct ShardWriter {
    terms: Vec<u8>,
    front: Vec<u8>,
    back: Vec<u8>,
    text: Vec<u8>,
}

impl ShardWriter {
    /// A builder with capacity for all terms of these shards.
    pub(super) fn for_all<'s>(shards: impl Iterator<Item = &'s Shard> + Clone) -> Self {
        let room = |range: fn(&Shard) -> &Range<usize>| {
            Vec::with_capacity(shards.clone().map(|shard| range(shard).len()).sum())
        };
        Self {
            terms: room(|shard| &shard.terms),
            front: room(|shard| &shard.front),
            back: room(|shard| &shard.back),
            text: room(|shard| &shard.text),
        }
    }

    pub(super) fn front(&mut self, item: InFront) {
        self.front.extend_from_slice(&item.write());
    }

    pub(super) fn back(&mut self, item: InBody) {
        self.back.extend_from_slice(&item.0.to_le_bytes());
    }

    /// Ends a term after its items.
    pub(super) fn term(&mut self, hash: u32, text: &[u8]) {
        self.text.extend_from_slice(text);
        let short = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let ends = [self.text.len(), self.front.len() / 7, self.back.len() / 4].map(short);
        self.terms.extend_from_slice(&hash.to_le_bytes());
        self.terms.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    }

    pub(super) fn finish(self) -> Shard {
        let count = self.terms.len() / TERM;
        if count == 0 {
            return Shard::default();
        }
        let bits = (count / 4).max(1).ilog2();
        let (records, _) = self.terms.as_chunks::<TERM>();
        let mut directory: Vec<u8> = Vec::with_capacity(4 << bits);
        let mut hashes = records.iter().map(|record| bucket(word(record, 0), bits)).peekable();
        let mut passed = 0_u32;
        for at in 0..1_usize << bits {
            while hashes.next_if(|bucket| *bucket < at).is_some() {
                passed += 1;
            }
            directory.extend_from_slice(&passed.to_le_bytes());
        }
        let counts = [count, self.front.len() / 7, self.back.len() / 4, self.text.len(), bits as usize];
        let head = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes()).concat();
        let sections = [head, self.terms, directory, self.front, self.back, self.text];
        // One after the other, so that memory is freed as early as possible.
        let mut bytes = Vec::with_capacity(sections.iter().map(Vec::len).sum());
        for section in sections {
            bytes.extend_from_slice(&section);
        }
        Shard::new(bytes).unwrap_or_default()
    }
}
