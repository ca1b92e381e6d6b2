//! Edit distance between two words, for suggestions and for typos in queries.

use std::borrow::Borrow;

/// The number of characters to add, remove or replace to turn one word into the other.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    strsim::levenshtein(left, right)
}

/// The most words that are suggested for an unknown one.
const MAX_SIMILAR: usize = 5;

/// The words that are similar to an unknown one, the closest first. The word itself is never suggested.
pub fn similar<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Vec<&'w str> {
    let (length, lower) = (word.chars().count(), word.to_lowercase());
    let near = |other: &'w str| {
        if other.to_lowercase() == lower {
            return Some((0, other));
        }
        let edits = distance(word, other);
        // One letter is in most words.
        let contains =
            length > 1 && (other.contains(word) || other.chars().count() > 1 && word.contains(other));
        // Half of a short word is too much, unless it is one swap.
        let few = edits * 2 < length || edits < length && typos(word, other, 1).is_some();
        let close = edits <= 2.max(word.len() / 4) && few;
        (contains || close).then_some((edits, other))
    };
    let mut near: Vec<(usize, &str)> = words.filter(|other| *other != word).filter_map(near).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().map(|(_, word)| word).take(MAX_SIMILAR).collect()
}

/// The question whether one of these words was meant; none when there are none.
pub fn did_you_mean<W: Borrow<str>>(near: &[W]) -> Option<String> {
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// The number of characters to change, where swapping two neighbours counts once; none when it is more than `most`.
pub(crate) fn typos(left: &str, right: &str, most: usize) -> Option<usize> {
    // One edit takes the bytes of at most one character away and adds those of another: one each in ASCII, at most four
    // elsewhere. Most words differ by more, and counting that is quicker than the distance.
    let different = (byte_kinds(left) ^ byte_kinds(right)).count_ones() as usize;
    if different > 8 * most || (left.is_ascii() && right.is_ascii() && different > 2 * most) {
        return None;
    }
    Some(strsim::osa_distance(left, right)).filter(|typos| *typos <= most)
}

/// A bit for each of 64 kinds of bytes that a text has.
fn byte_kinds(text: &str) -> u64 {
    text.bytes().fold(0, |kinds, byte| kinds | 1 << (byte % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("abc", "axc"), distance("ab", "abc")],
            [3, 0, 1, 1]
        );
        assert_eq!(distance("ab", "ba"), 2);
    }

    #[test]
    fn another_case_is_the_nearest_word_and_half_of_a_word_is_too_far() {
        assert_eq!(similar("ALPHA", ["alphas", "alpha", "beta"].into_iter()), ["alpha"]);
        assert_eq!(similar("nope", ["kode", "node"].into_iter()), ["node"]);
        assert_eq!(similar("plna", ["plan", "play"].into_iter()), ["plan"]);
        assert_eq!(similar("pfd", ["pdf", "abc"].into_iter()), ["pdf"]);
    }

    #[test]
    fn a_swap_is_one_typo() {
        assert_eq!(typos("kubernetse", "kubernetes", 2), Some(1));
        assert_eq!(typos("anthropc", "anthropic", 2), Some(1));
        assert_eq!(typos("same", "same", 2), Some(0));
        assert_eq!(typos("abcd", "badc", 2), Some(2));
        assert_eq!(typos("kitten", "sitting", 2), None);
        assert_eq!(typos("", "ab", 2), Some(2));
    }

    proptest::proptest! {
        #![proptest_config(crate::text::testing::many())]

        #[test]
        fn typos_are_those_of_the_whole_distance(left in "[abcä語]{0,6}", right in "[abdä本]{0,6}", most in 0_usize..3) {
            let whole = strsim::osa_distance(&left, &right);
            proptest::prop_assert_eq!(typos(&left, &right, most), (whole <= most).then_some(whole));
        }
    }
}
