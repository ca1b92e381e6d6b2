//! Makes postings from the terms of a corpus, and from other postings.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::shard::{InFront, SHARD_BITS, SHARDS, Shard, ShardWriter, Term};
use super::{InBody, MAX_SKILLS, Postings};
use crate::select::corpus::{Corpus, in_front};

impl From<Corpus> for Postings {
    /// The postings of a corpus; its skills keep their order.
    fn from(corpus: Corpus) -> Self {
        let Corpus { lexicon, rows, numbers, counts, spread } = corpus;
        let mut order: Vec<(u32, u32)> = lexicon.hashes();
        order.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| lexicon.text(one.1).cmp(lexicon.text(other.1)))
        });
        // The places of the next front and back item of each term.
        let mut cursors: Vec<[u32; 2]> = vec![[0; 2]; lexicon.len()];
        let mut ends = [0_u32; 2];
        for (_, number) in &order {
            let at = *number as usize;
            let many = spread.get(at).copied().unwrap_or_default();
            if let Some(cursor) = cursors.get_mut(at) {
                *cursor = ends;
            }
            ends = [ends[0] + many[0], ends[1] + many[1]];
        }
        let mut front = vec![InFront(0, [0; 3]); ends[0] as usize];
        let mut back = vec![InBody::default(); ends[1] as usize];
        let mut start = 0;
        for (skill, row) in (0..).zip(rows.iter().take(MAX_SKILLS)) {
            let range = start..row.end as usize;
            start = row.end as usize;
            let terms = numbers.get(range.clone()).unwrap_or_default().iter();
            for (number, counts) in terms.zip(counts.get(range).unwrap_or_default()) {
                let Some([ahead, behind]) = cursors.get_mut(*number as usize) else { continue };
                if in_front(*counts) {
                    if let Some(slot) = front.get_mut(*ahead as usize) {
                        *slot = InFront(skill, *counts);
                    }
                    *ahead += 1;
                } else {
                    if let Some(slot) = back.get_mut(*behind as usize) {
                        *slot = InBody::new(skill, counts[2]);
                    }
                    *behind += 1;
                }
            }
        }
        let mut writers: Vec<ShardWriter> = (0..SHARDS).map(|_| ShardWriter::default()).collect();
        let (mut front, mut back) = (front.into_iter(), back.into_iter());
        for (hash, number) in order {
            let [ahead, behind] = spread.get(number as usize).copied().unwrap_or_default();
            let Some(writer) = writers.get_mut((hash >> (32 - SHARD_BITS)) as usize) else { continue };
            front.by_ref().take(ahead as usize).for_each(|item| writer.front(item));
            back.by_ref().take(behind as usize).for_each(|item| writer.back(item));
            if ahead + behind > 0 {
                writer.term(hash, lexicon.text(number).as_bytes());
            }
        }
        Self {
            lengths: rows.iter().take(MAX_SKILLS).map(|row| row.lengths).collect(),
            shards: writers.into_iter().map(ShardWriter::finish).collect(),
        }
    }
}

/// Postings, and the new number of each of their skills; none for a removed skill.
pub type Part = (Postings, Vec<Option<u32>>);

impl Postings {
    /// Joins parts, one after the other.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut next = 0..;
        let numbered = |part: Self| {
            let numbers = next.by_ref().take(part.len()).map(Some).collect();
            (part, numbers)
        };
        let mut parts: Vec<Part> = parts.into_iter().map(numbered).collect();
        match (parts.pop(), parts.is_empty()) {
            (Some((only, _)), true) => only,
            (last, _) => Self::merge(parts.into_iter().chain(last).collect()),
        }
    }

    /// Joins parts. No two skills may get the same number.
    pub fn merge(parts: Vec<Part>) -> Self {
        let numbers = || parts.iter().flat_map(|(_, numbers)| numbers.iter().flatten());
        let count = numbers().max().map_or(0, |last| *last as usize + 1).min(MAX_SKILLS);
        let mut lengths = vec![[0; 3]; count];
        for (part, numbers) in &parts {
            for (own, number) in part.lengths.iter().zip(numbers) {
                if let Some(slot) = number.and_then(|number| lengths.get_mut(number as usize)) {
                    *slot = *own;
                }
            }
        }
        // Each shard of the parts is freed once it is merged, so that little is in memory twice.
        let mut parts: Vec<_> =
            parts.into_iter().map(|(part, numbers)| (part.shards.into_iter(), numbers)).collect();
        let shards = (0..SHARDS)
            .map(|_| {
                let shards: Vec<(Shard, &[Option<u32>])> = parts
                    .iter_mut()
                    .map(|(shards, numbers)| (shards.next().unwrap_or_default(), numbers.as_slice()))
                    .collect();
                merge_shards(&shards)
            })
            .collect();
        Self { lengths, shards }
    }
}

fn merge_shards(shards: &[(Shard, &[Option<u32>])]) -> Shard {
    let mut writer = ShardWriter::for_all(shards.iter().map(|(shard, _)| shard));
    let next = |part: usize, at: usize| {
        let term = shards.get(part)?.0.term(at)?;
        Some(Reverse((term.hash, term.text, part, at)))
    };
    let mut heads: BinaryHeap<_> = (0..shards.len()).filter_map(|part| next(part, 0)).collect();
    let (mut front, mut back): (Vec<InFront>, Vec<InBody>) = (Vec::new(), Vec::new());
    while let Some(Reverse((hash, text, part, at))) = heads.pop() {
        let mut take = |part: usize, at: usize| {
            let Some((shard, numbers)) = shards.get(part) else { return };
            let Some(Term { front: ahead, back: behind, .. }) = shard.term(at) else { return };
            let number = |skill: u32| numbers.get(skill as usize).copied().flatten();
            front.extend(
                ahead
                    .iter()
                    .map(|bytes| InFront::read(*bytes))
                    .filter_map(|InFront(skill, counts)| Some(InFront(number(skill)?, counts))),
            );
            back.extend(
                behind
                    .iter()
                    .map(|bytes| InBody::read(*bytes))
                    .filter_map(|item| Some(InBody::new(number(item.skill())?, item.count()))),
            );
        };
        take(part, at);
        heads.extend(next(part, at + 1));
        while let Some(Reverse((other, other_text, part, at))) = heads.peek().copied()
            && (other, other_text) == (hash, text)
        {
            heads.pop();
            take(part, at);
            heads.extend(next(part, at + 1));
        }
        if front.is_empty() && back.is_empty() {
            continue;
        }
        // Usually the parts follow each other already, and a stable sort is then fast.
        if !front.is_sorted() {
            front.sort();
        }
        if !back.is_sorted() {
            back.sort();
        }
        front.drain(..).for_each(|item| writer.front(item));
        back.drain(..).for_each(|item| writer.back(item));
        writer.term(hash, text);
    }
    writer.finish()
}
