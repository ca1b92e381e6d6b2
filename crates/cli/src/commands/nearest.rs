//! The skills that are nearest to a task that none of them fits.

use std::collections::BTreeSet;

use prowess::{Candidate, Catalog};

/// How many are named.
const NEAREST: usize = 3;
/// How many pairs of letters a similar name shares with the task at least.
const MIN_PAIRS: usize = 3;

/// The nearest skills: those that have words which begin as words of the task do, then those whose names have at least
/// half of its pairs of letters. There may be none.
pub(super) fn nearest<'c>(task: &str, catalog: &'c Catalog) -> Vec<&'c Candidate> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        // Shorter words say little about a task.
        words.filter(|word| word.chars().count() > 3).map(str::to_lowercase).collect()
    };
    let pairs = |text: &str| -> BTreeSet<(char, char)> {
        let letters: Vec<char> =
            text.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
        letters.windows(2).filter_map(|two| Some((*two.first()?, *two.last()?))).collect()
    };
    let (wanted, wanted_pairs) = (words(task), pairs(task));
    let mut near: Vec<((usize, usize), &Candidate)> = catalog
        .iter()
        .map(|skill| {
            let own = words(&format!("{} {}", skill.entry.name, skill.entry.description));
            let best = |word: &String| own.iter().map(|other| shared(word, other)).max().unwrap_or(0);
            let begins = wanted.iter().map(best).filter(|shared| *shared > 2).sum();
            ((begins, pairs(&skill.entry.name).intersection(&wanted_pairs).count()), skill)
        })
        .collect();
    let is_near = |shared: usize| shared >= MIN_PAIRS && shared * 2 >= wanted_pairs.len();
    near.retain(|((begins, shared), _)| *begins > 0 || is_near(*shared));
    near.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.entry.key.cmp(&b.1.entry.key)));
    near.into_iter().map(|(_, skill)| skill).take(NEAREST).collect()
}

/// How many characters two words share at their beginning.
fn shared(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count()
}
