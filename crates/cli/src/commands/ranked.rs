//! The place of a skill in the ranking for a query, for `prowess why --query`.

use prowess::Entry;
use prowess::select::{Field, HitReason, Query, SelectError, SelectOptions, Selector, TypedWords, search};
use serde::Serialize;

/// How well a skill fits a query, and what fits better.
#[derive(Serialize)]
pub(super) struct Ranked<'q> {
    /// Its place, from 1; nothing when it does not fit at all.
    rank: Option<usize>,
    /// How many skills fit.
    of: usize,
    score: Option<f32>,
    winner: Option<Winner>,
    /// The words of the query in its name or description, as they were typed.
    found: Vec<&'q str>,
    /// The words that are in neither.
    missing: Vec<&'q str>,
}

/// The skill that fits best.
#[derive(Serialize)]
struct Winner {
    key: String,
    score: f32,
}

impl<'q> Ranked<'q> {
    pub(super) fn of(
        key: &str,
        query: &'q str,
        selector: &dyn Selector,
        among: &[&Entry],
    ) -> Result<Self, SelectError> {
        let options = SelectOptions::default().with_top_k(None);
        let hits = search(selector, &Query::text(query), among, &options)?;
        let place = hits.iter().position(|hit| hit.key == key);
        let own = place.and_then(|place| hits.get(place));
        let words = described_by(query, own.map_or(&[], |hit| &hit.why));
        Ok(Self {
            rank: place.map(|place| place + 1),
            of: hits.len(),
            score: own.map(|hit| hit.score),
            winner: hits.first().map(|hit| Winner { key: hit.key.clone(), score: hit.score }),
            found: words.found,
            missing: words.missing,
        })
    }

    /// In lines.
    pub(super) fn lines(&self) -> Vec<String> {
        let winner = self.winner.as_ref().filter(|_| self.rank != Some(1));
        let winner = winner.map(|Winner { key, score }| format!("; the first is {key}, score {score:.3}"));
        let place = match (self.rank, self.score) {
            (Some(rank), Some(score)) => format!("{rank} of {} that fit, score {score:.3}", self.of),
            _ => "does not fit".to_owned(),
        };
        let mut lines = vec![format!("for this query: {place}{}", winner.unwrap_or_default())];
        if !self.found.is_empty() {
            lines.push(format!("words in its name or description: {}", self.found.join(", ")));
        }
        if !self.missing.is_empty() {
            lines.push(format!("words missing from its description: {}", self.missing.join(", ")));
        }
        lines
    }
}

/// The words of a query, sorted by whether the name or the description of a skill has them.
pub(super) fn described_by<'q>(query: &'q str, why: &[HitReason]) -> TypedWords<'q> {
    let described = |reason: &&HitReason| matches!(reason.field, Field::Name | Field::Description);
    TypedWords::of(query, &why.iter().filter(described).cloned().collect::<Vec<_>>())
}
