//! Ranking the skills of a client, several of which may have one name.
//!
//! A selector tells skills apart by their keys. Where a client lists two skills under one name, each of them gets a key
//! of its own for the ranking.

use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use prowess::search::SearchIndex;
use prowess::select::{Hit, Query, SelectError, SelectOptions, Selector, search};
use prowess::{Candidate, Catalog, Entry, Registry};

use super::search::{options, selector};
use crate::args::{Places, Selection};

/// The skills that fit, the best first.
pub(super) fn ranked<'c>(
    registry: &Registry,
    skills: &[&'c Candidate],
    query: &Query,
    (selection, places): (&Selection, &Places),
) -> Result<Vec<(&'c Candidate, Hit)>, SelectError> {
    ranked_by(registry, skills, query, &options(selection), |index| match index {
        None => selector(selection, places, registry),
        Some(catalog) => selection
            .selector
            .without_index()
            .unwrap_or_else(|| Box::new(SearchIndex::of_catalog(registry, catalog))),
    })
}

/// The same with a selector that is made for the catalog with own keys, if one is needed.
pub(super) fn ranked_by<'c, 's>(
    registry: &Registry,
    skills: &[&'c Candidate],
    query: &Query,
    options: &SelectOptions,
    selector: impl FnOnce(Option<&Catalog>) -> Box<dyn Selector + 's>,
) -> Result<Vec<(&'c Candidate, Hit)>, SelectError> {
    if registry.client().is_none() || !is_repeated(skills) {
        let entries: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
        // The process ends after the search, and freeing an index would take as long as asking it.
        let selector = ManuallyDrop::new(selector(None));
        let hits = search(&**selector, query, &entries, options)?;
        // They are sorted by key.
        let of = |hit: Hit| {
            let at = skills.binary_search_by(|skill| skill.entry.key.cmp(&hit.key)).ok()?;
            Some((*skills.get(at)?, hit))
        };
        return Ok(hits.into_iter().filter_map(of).collect());
    }
    let mut taken = BTreeSet::new();
    let apart: Vec<Arc<Candidate>> =
        skills.iter().map(|skill| Arc::new(with_own_key(skill, &mut taken))).collect();
    let entries: Vec<&Entry> = apart.iter().map(|skill| &skill.entry).collect();
    let catalog = Catalog::apart(apart.clone());
    let hits = search(&*selector(Some(&catalog)), query, &entries, options)?;
    let of = |hit: Hit| {
        let at = apart.iter().position(|skill| skill.entry.key == hit.key)?;
        let skill = *skills.get(at)?;
        Some((skill, Hit::new(skill.entry.key.clone(), hit.score, hit.why)))
    };
    Ok(hits.into_iter().filter_map(of).collect())
}

/// Whether two skills have one key.
pub(super) fn is_repeated(skills: &[&Candidate]) -> bool {
    let keys: BTreeSet<&str> = skills.iter().map(|skill| &*skill.entry.key).collect();
    keys.len() < skills.len()
}

/// A skill with a key that no other one has.
fn with_own_key(skill: &Candidate, taken: &mut BTreeSet<String>) -> Candidate {
    let mut own = skill.clone();
    let mut number = 1;
    while !taken.insert(own.entry.key.clone()) {
        number += 1;
        own.entry.key = format!("{}#{number}", skill.entry.key);
    }
    own
}

/// A selector that returns what was ranked before.
pub(super) struct Known(pub(super) Vec<Hit>);

impl Selector for Known {
    fn select(&self, _: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let is_among = |hit: &&Hit| among.iter().any(|entry| entry.key == hit.key);
        Ok(self.0.iter().filter(is_among).take(limit).cloned().collect())
    }
}
