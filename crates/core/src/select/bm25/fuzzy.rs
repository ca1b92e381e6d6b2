//! Typo tolerance: the nearest known word for one that no skill has.

use super::Bm25;
use crate::select::postings::TermId;
use crate::text::typos;

/// Shorter words have too many neighbours, and longer ones are not words.
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
        self.fuzzy.get_or_init(|| {
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
                // A change adds and removes at most one letter.
                if (bits ^ other).count_ones() as usize > 2 * most {
                    continue;
                }
                let Ok(text) = std::str::from_utf8(self.postings.text(*term)) else { continue };
                if let Some(changes) = typos(word, text, most) {
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
