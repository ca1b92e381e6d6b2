//! Skills that compete: the description of one finds the other.

use std::collections::BTreeMap;

use prowess::Entry;
use prowess::select::{Bm25, Query, Selector as _};

/// How many skills each skill is compared with.
const COMPARED: usize = 5;
/// The share of its own score with which a description finds another skill that competes with it.
pub(super) const RIVAL: f32 = 0.5;

/// Pairs of skills that compete: the description of one finds the other with at least this share of its own score. The
/// closest pair is the first.
pub(super) fn rivals(index: &Bm25, among: &[&Entry], least: f32) -> Vec<(String, String, f32)> {
    let mut pairs: BTreeMap<(String, String), f32> = BTreeMap::new();
    for entry in among {
        let query = Query::text(entry.description.as_str());
        let hits = index.select(&query, among, COMPARED + 1).unwrap_or_default();
        let Some(own) = hits.iter().find(|hit| hit.key == entry.key).map(|hit| hit.score) else { continue };
        for hit in hits.iter().filter(|hit| hit.key != entry.key && hit.score >= least * own) {
            let pair = (entry.key.clone().min(hit.key.clone()), entry.key.clone().max(hit.key.clone()));
            let share = pairs.entry(pair).or_default();
            *share = share.max(hit.score / own);
        }
    }
    let mut list: Vec<_> = pairs.into_iter().map(|((one, other), share)| (one, other, share)).collect();
    list.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| (&one.0, &one.1).cmp(&(&other.0, &other.1)))
    });
    list
}
