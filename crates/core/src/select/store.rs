//! A [`Corpus`] as bytes: what a cache keeps, so that a warm start analyses nothing.

use super::corpus::{Corpus, Counts, Row};
use super::lexicon::Lexicon;

/// The form and its version. Text analysis is part of it: terms made by other rules must not be mixed.
const MAGIC: &[u8; 8] = b"PRWTRM03";

impl Corpus {
    /// The corpus as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (text, ends, slots) = self.lexicon.raw();
        let mut bytes = MAGIC.to_vec();
        let mut put = |count: usize, content: &mut dyn Iterator<Item = u8>| {
            bytes.extend_from_slice(&(count as u64).to_le_bytes());
            bytes.extend(content);
        };
        put(text.len(), &mut text.bytes());
        put(slots.len(), &mut slots.iter().flat_map(|slot| slot.to_le_bytes()));
        for numbers in [ends, &self.numbers] {
            put(numbers.len(), &mut numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        put(self.counts.len(), &mut self.counts.iter().flatten().copied());
        let rows = self.rows.iter().flat_map(|row| {
            let [name, about, body] = row.lengths;
            [row.end, name, about, body].into_iter().flat_map(u32::to_le_bytes)
        });
        put(self.rows.len(), &mut { rows });
        put(self.spread.len(), &mut self.spread.iter().flatten().flat_map(|count| count.to_le_bytes()));
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The corpus that bytes hold; nothing if they are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return None;
        }
        let mut rest = content.strip_prefix(MAGIC)?;
        let text = std::str::from_utf8(take(&mut rest, 1)?).ok()?.to_owned();
        let (slots, _) = take(&mut rest, 8)?.as_chunks::<8>();
        let slots = slots.iter().map(|slot| u64::from_le_bytes(*slot)).collect();
        let lexicon = Lexicon::from_raw(text, words(take(&mut rest, 4)?), slots)?;
        let numbers = words(take(&mut rest, 4)?);
        let (counts, _) = take(&mut rest, 3)?.as_chunks::<3>();
        let counts: Vec<Counts> = counts.to_vec();
        let (rows, _) = take(&mut rest, 16)?.as_chunks::<16>();
        let rows: Vec<Row> = rows
            .iter()
            .filter_map(|row| match *words(row) {
                [end, name, about, body] => Some(Row { end, lengths: [name, about, body] }),
                _ => None,
            })
            .collect();
        let (spread, _) = take(&mut rest, 8)?.as_chunks::<8>();
        let half = |both: &[u8; 8]| {
            let (halves, _) = both.as_chunks::<4>();
            let count = |at: usize| halves.get(at).map_or(0, |half| u32::from_le_bytes(*half));
            [count(0), count(1)]
        };
        let spread: Vec<[u32; 2]> = spread.iter().map(half).collect();
        let known = u32::try_from(lexicon.len()).ok()?;
        let sound = rest.is_empty()
            && counts.len() == numbers.len()
            && spread.len() <= lexicon.len()
            && numbers.iter().all(|number| *number < known)
            && rows.is_sorted_by_key(|row| row.end)
            && rows.last().map_or(0, |row| row.end) as usize == numbers.len();
        sound.then_some(Self { lexicon, rows, numbers, counts, spread })
    }
}

/// A sum that damage changes.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}

/// The next counted section, of items of this size.
fn take<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (count, behind) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(size)?;
    let (section, behind) = behind.split_at_checked(length)?;
    *rest = behind;
    Some(section)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::{Reader, Texts};

    fn corpus() -> Corpus {
        let mut reader = Reader::new();
        for name in ["pdf-forms", "git-commit", ""] {
            reader.add(&Texts { name, about: vec!["Fills 表单 forms"], body: Some(name) });
        }
        reader.finish()
    }

    #[test]
    fn bytes_give_the_same_corpus() {
        let before = corpus();
        let after = Corpus::from_bytes(&before.to_bytes()).unwrap();
        assert_eq!(after.len(), 3);
        assert!((0..3).all(|at| after.terms(at) == before.terms(at)));
        assert_eq!(after.to_bytes(), before.to_bytes());
        assert!(Corpus::from_bytes(&Corpus::default().to_bytes()).unwrap().is_empty());
    }

    #[test]
    fn damaged_bytes_give_nothing() {
        let bytes = corpus().to_bytes();
        for at in 0..bytes.len() {
            assert!(Corpus::from_bytes(&bytes[..at]).is_none());
            for flip in [1, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                assert!(Corpus::from_bytes(&damaged).is_none());
            }
        }
    }
}
