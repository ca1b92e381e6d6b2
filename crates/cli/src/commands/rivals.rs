//! Skills that compete: the description of one finds the other.

use std::collections::BTreeMap;

use prowess::Entry;
use prowess::select::Bm25;

/// How many skills each skill is compared with.
const COMPARED: usize = 5;
/// The share of its own score from which `eval --overlap` lists a pair: the author of a skill wants to see every one.
pub(super) const OVERLAPS: f32 = 0.5;
/// The share from which a pair is a trouble for `doctor`, which names only those that are likely to be confused.
pub(super) const CONFUSED: f32 = 0.8;

/// Pairs of skills that compete: the description of one finds the other with at least this share of its own score. The
/// closest pair is the first.
pub(super) fn rivals(index: &Bm25, among: &[&Entry], least: f32) -> Vec<(String, String, f32)> {
    let mask = index.mask(among);
    let mut pairs: BTreeMap<(&str, &str), f32> = BTreeMap::new();
    for entry in among {
        let ranking = index.ranking(&entry.description, COMPARED + 1, Some(&mask));
        let key = entry.key.as_str();
        // A skill that its own description does not rank this high scores no more than the last that it does.
        let itself = ranking.iter().find(|(found, _)| *found == key).or(ranking.last());
        let Some((_, own)) = itself.copied() else { continue };
        for (other, score) in
            ranking.into_iter().filter(|(other, score)| *other != key && *score >= least * own)
        {
            let share = pairs.entry((key.min(other), key.max(other))).or_default();
            *share = share.max(score / own);
        }
    }
    let mut list: Vec<_> =
        pairs.into_iter().map(|((one, other), share)| (one.to_owned(), other.to_owned(), share)).collect();
    list.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| (&one.0, &one.1).cmp(&(&other.0, &other.1)))
    });
    list
}
