//! Postings as bytes for a cache, so that a warm start analyses nothing and builds little.

use super::Postings;
use super::shard::{SHARDS, Shard};

/// The form and its version. Text analysis is part of it: terms made by other rules must not be mixed.
const MAGIC: &[u8; 8] = b"PRWTRM04";

impl Postings {
    /// The postings as blocks of bytes: one about the skills, and one for each part of the terms.
    ///
    /// They are large, so they are not joined: a cache writes them one after the other.
    pub fn to_blocks(&self) -> (Vec<u8>, Vec<&[u8]>) {
        let shards: Vec<&[u8]> = self.shards.iter().map(Shard::bytes).collect();
        let mut head = MAGIC.to_vec();
        let sums = (0..SHARDS).map(|at| checksum(shards.get(at).copied().unwrap_or_default()));
        head.extend(sums.flat_map(u64::to_le_bytes));
        head.extend(self.lengths.iter().flatten().flat_map(|length| length.to_le_bytes()));
        head.extend(checksum(&head).to_le_bytes());
        (head, shards)
    }

    /// Reads postings from blocks; none when they are damaged or of another version.
    pub fn from_blocks(head: &[u8], shards: Vec<Vec<u8>>) -> Option<Self> {
        let (content, sum) = head.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != checksum(content) || !(shards.is_empty() || shards.len() == SHARDS) {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        let (sums, lengths) = rest.split_at_checked(8 * SHARDS)?;
        let (sums, _) = sums.as_chunks::<8>();
        let (lengths, rest) = lengths.as_chunks::<12>();
        let same = |shard: Option<&Vec<u8>>, sum: &[u8; 8]| {
            checksum(shard.map(Vec::as_slice).unwrap_or_default()) == u64::from_le_bytes(*sum)
        };
        if !rest.is_empty() || !sums.iter().enumerate().all(|(at, sum)| same(shards.get(at), sum)) {
            return None;
        }
        let word = |bytes: &[u8; 12], at: usize| {
            let (words, _) = bytes.as_chunks::<4>();
            words.get(at).map_or(0, |word| u32::from_le_bytes(*word))
        };
        Some(Self {
            lengths: lengths.iter().map(|bytes| [word(bytes, 0), word(bytes, 1), word(bytes, 2)]).collect(),
            shards: shards.into_iter().map(Shard::new).collect::<Option<_>>()?,
        })
    }
}

/// A checksum. Four sums at a time, since each step depends on the one before.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut sums = [1_u64, 2, 3, 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = mix(*sum, u64::from_le_bytes(*word));
        }
    }
    let sum = sums.iter().fold(bytes.len() as u64, |sum, word| mix(sum, *word));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}
