//! The selector `fused`: the scores of two selectors, scaled and added.

use std::collections::BTreeMap;

use super::{Field, Hit, HitReason, Query, SelectError, Selector, best};
use crate::skill::Entry;

/// The selector `fused`: `score = words + weight × meaning`, each from 0 for the last to 1 for the best.
///
/// The scores of each selector are scaled over all skills it ranks, so that a skill that only one of them ranks
/// can still win.
pub struct Fused<A, B> {
    words: A,
    meaning: B,
    weight: f32,
}

/// How much meaning counts beside words, by default.
pub const MEANING_WEIGHT: f32 = 0.5;

impl<A: Selector, B: Selector> Fused<A, B> {
    /// Words, usually `bm25`, and meaning, usually `embedding`.
    pub fn new(words: A, meaning: B, weight: f32) -> Self {
        Self { words, meaning, weight }
    }
}

/// The scores scaled from 0 to 1. A skill without a score has 0.
fn scaled(hits: Vec<Hit>) -> impl Iterator<Item = (String, f32)> {
    let scores = || hits.iter().map(|hit| hit.score);
    let (low, high) = (scores().fold(f32::INFINITY, f32::min), scores().fold(f32::NEG_INFINITY, f32::max));
    let range = high - low;
    // When all are equal, all are the best.
    hits.into_iter().map(move |hit| (hit.key, if range > 0.0 { (hit.score - low) / range } else { 1.0 }))
}

impl<A: Selector, B: Selector> Selector for Fused<A, B> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let words = self.words.select(query, among, usize::MAX)?;
        let meaning = self.meaning.select(query, among, usize::MAX)?;
        let mut sums: BTreeMap<String, Vec<HitReason>> = BTreeMap::new();
        for (term, weight, hits) in [("words", 1.0, words), ("meaning", self.weight, meaning)] {
            for (key, score) in scaled(hits) {
                let reason = HitReason {
                    term: term.to_owned(),
                    instead_of: None,
                    field: Field::Skill,
                    score: weight * score,
                };
                sums.entry(key).or_default().push(reason);
            }
        }
        let hits = sums.into_iter().map(|(key, why)| {
            let score = why.iter().map(|reason| reason.score).sum();
            Hit { key, score, why }
        });
        Ok(best(hits.collect(), limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;

    struct Fixed(&'static [(&'static str, f32)]);

    impl Selector for Fixed {
        fn select(&self, _: &Query, _: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
            let hit =
                |(key, score): &(&str, f32)| Hit { key: (*key).to_owned(), score: *score, why: Vec::new() };
            Ok(best(self.0.iter().map(hit).collect(), limit))
        }
    }

    #[test]
    fn scores_are_scaled_weighed_and_added() {
        let words = Fixed(&[("a", 30.0), ("b", 20.0), ("c", 10.0)]);
        let meaning = Fixed(&[("b", 0.9), ("d", 0.7), ("a", 0.5)]);
        let a = entry("a", "d");
        let hits = Fused::new(words, meaning, 0.5).select(&Query::text("x"), &[&a], 3).unwrap();
        let found: Vec<(&str, f32)> =
            hits.iter().map(|hit| (hit.key.as_str(), (hit.score * 100.0).round())).collect();
        assert_eq!(found, [("a", 100.0), ("b", 100.0), ("d", 25.0)]);
        assert_eq!(hits[1].why.len(), 2);
    }
}
