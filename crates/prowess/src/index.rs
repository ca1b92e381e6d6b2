//! Analysis on threads: the same terms as on one, sooner.

use std::path::PathBuf;
use std::thread;

use prowess_core::Entry;
use prowess_core::select::{Bm25, Corpus, Hit, Query, Reader, SelectError, Selector, Settings, Texts};

use crate::registry::Registry;

/// The skills of a registry, to be searched by name, description and body.
#[derive(Debug)]
pub struct SearchIndex {
    bm25: Bm25,
}

impl SearchIndex {
    /// An index of the skills that a registry offers. The bodies of skills that may not be used are not read.
    pub fn open(registry: &Registry, _cache: Option<PathBuf>) -> Self {
        let catalog = registry.catalog();
        let bodies: Vec<_> = catalog
            .iter()
            .map(|skill| skill.is_usable().then(|| registry.document(&skill.entry.key).ok()).flatten())
            .collect();
        let texts: Vec<_> = catalog
            .iter()
            .zip(&bodies)
            .map(|(skill, body)| Texts::of(&skill.entry, body.as_ref().map(prowess_core::Document::body)))
            .collect();
        let keys = catalog.iter().map(|skill| skill.entry.key.clone()).collect();
        Self { bm25: Bm25::new(keys, analyse(&texts, threads()), Settings::default()) }
    }
}

impl Selector for SearchIndex {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.bm25.select(query, among, limit)
    }
}

/// The terms of many skills, analysed on as many threads; what is found does not depend on their number.
pub fn analyse(texts: &[Texts<'_>], threads: usize) -> Corpus {
    let part = texts.len().div_ceil(threads.max(1)).max(1);
    let read = |texts: &[Texts<'_>]| {
        let mut reader = Reader::new();
        for texts in texts {
            reader.add(texts);
        }
        reader.finish()
    };
    if texts.len() <= part {
        return read(texts);
    }
    thread::scope(|scope| {
        let parts: Vec<_> = texts.chunks(part).map(|part| (part, scope.spawn(move || read(part)))).collect();
        let mut parts = parts.into_iter().map(|(texts, part)| part.join().unwrap_or_else(|_| read(texts)));
        let mut corpus = parts.next().unwrap_or_default();
        parts.for_each(|part| corpus.append(&part));
        corpus
    })
}

/// As many threads as the machine has to offer.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_changes_no_terms() {
        let names: Vec<String> =
            (0..50).map(|number| format!("skill-{number} sorts {}", number % 7)).collect();
        let texts: Vec<Texts<'_>> =
            names.iter().map(|name| Texts { name, about: vec![name, "apples"], body: Some(name) }).collect();
        let one = analyse(&texts, 1);
        for threads in [0, 2, 3, 8, 80] {
            let many = analyse(&texts, threads);
            assert_eq!(many.len(), one.len());
            assert!((0..50).all(|at| many.terms(at) == one.terms(at)), "{threads} threads");
        }
        assert!(analyse(&[], 4).is_empty());
    }
}
