//! The nearest known word for one that no skill has: a tolerance for slips of the finger.

use super::Bm25;
use crate::select::postings::TermId;

/// Shorter words have too many neighbours, longer ones are no words.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=24;

/// The words of names and descriptions, by first letter and length.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// First letter, length, which letters it has, how rare it is, where it is.
    words: Vec<(u8, u8, u32, u32, TermId)>,
}

fn plain(word: &[u8]) -> bool {
    LENGTHS.contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase)
}

/// One bit for each letter of a word.
fn letters(word: &[u8]) -> u32 {
    word.iter().fold(0, |bits, byte| bits | 1 << (byte.wrapping_sub(b'a') & 31))
}

fn short(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}

impl Bm25 {
    fn words(&self) -> &Words {
        self.near.get_or_init(|| {
            let words = self.postings.terms().filter(|(_, word)| plain(word));
            let mut words: Vec<_> = words
                .filter_map(|(term, word)| {
                    let skills = u32::try_from(self.postings.front_range(term).len()).unwrap_or(u32::MAX);
                    let first = *word.first()?;
                    (skills > 0).then(|| (first, short(word.len()), letters(word), u32::MAX - skills, term))
                })
                .collect();
            words.sort_unstable_by_key(|(first, length, ..)| (*first, *length));
            Words { words }
        })
    }

    /// The word nearest to an unknown one: the fewest changes, then in the most skills, then the first.
    pub(super) fn nearest(&self, word: &str) -> Option<&str> {
        if self.settings.typo <= 0.0 || !plain(word.as_bytes()) {
            return None;
        }
        let most = if word.len() < 8 { 1 } else { 2 };
        let first = *word.as_bytes().first()?;
        let bits = letters(word.as_bytes());
        let words = &self.words().words;
        let mut best: Option<(usize, u32, &str)> = None;
        for length in word.len() - most..=word.len() + most {
            let bucket = (first, short(length));
            let from = words.partition_point(|(first, length, ..)| (*first, *length) < bucket);
            let same = words.get(from..).unwrap_or_default().iter();
            for (_, _, other, rarity, term) in
                same.take_while(|(first, length, ..)| (*first, *length) == bucket)
            {
                // A change adds one letter and takes one away at most.
                if (bits ^ other).count_ones() as usize > 2 * most {
                    continue;
                }
                let Ok(text) = std::str::from_utf8(self.postings.text(*term)) else { continue };
                if let Some(changes) = changes(word.as_bytes(), text.as_bytes(), most) {
                    let found = (changes, *rarity, text);
                    if best.is_none_or(|best| found < best) {
                        best = Some(found);
                    }
                }
            }
        }
        best.map(|(_, _, text)| text)
    }
}

/// How many letters must be added, taken away, replaced or swapped with their neighbour; none if more than `most`.
fn changes(left: &[u8], right: &[u8], most: usize) -> Option<usize> {
    let width = right.len() + 1;
    let mut before_last: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    let mut row: Vec<usize> = vec![0; width];
    let mut above = None;
    for (at, one) in left.iter().enumerate() {
        let mut diagonal = last.first().copied().unwrap_or(0);
        let mut lowest = at + 1;
        let mut beside = at + 1;
        let mut previous = None;
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
        for (place, other) in right.iter().enumerate() {
            let over = last.get(place + 1).copied().unwrap_or(usize::MAX);
            let mut cost = (diagonal + usize::from(one != other)).min(over + 1).min(beside + 1);
            if above == Some(other) && previous == Some(one) {
                let swapped = place.checked_sub(1).and_then(|place| before_last.get(place)).copied();
                cost = cost.min(swapped.unwrap_or(usize::MAX - 1) + 1);
            }
            if let Some(slot) = row.get_mut(place + 1) {
                *slot = cost;
            }
            (diagonal, beside, previous) = (over, cost, Some(other));
            lowest = lowest.min(cost);
        }
        if lowest > most {
            return None;
        }
        above = Some(one);
        std::mem::swap(&mut before_last, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|changes| *changes <= most)
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn a_swap_is_one_change() {
        let count = |left: &str, right: &str| changes(left.as_bytes(), right.as_bytes(), 2);
        assert_eq!(count("kubernetse", "kubernetes"), Some(1));
        assert_eq!(count("anthropc", "anthropic"), Some(1));
        assert_eq!(count("same", "same"), Some(0));
        assert_eq!(count("abcd", "badc"), Some(2));
        assert_eq!(count("kitten", "sitting"), None);
        assert_eq!(count("", "ab"), Some(2));
    }
}
