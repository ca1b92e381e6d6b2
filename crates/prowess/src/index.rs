//! Analysis on threads: the same terms as on one, sooner; and an index that is built when it is first asked.

use std::sync::OnceLock;
use std::thread;

use prowess_core::Entry;
use prowess_core::select::{Bm25, Corpus, Hit, Query, Reader, SelectError, Selector, Settings, Texts};

use crate::registry::Registry;

/// Words in name, description and body of all skills of a registry, read when somebody first searches.
pub struct LazyIndex<'r> {
    registry: &'r Registry,
    built: OnceLock<Bm25>,
}

impl<'r> LazyIndex<'r> {
    /// An index that has read nothing yet.
    pub fn new(registry: &'r Registry) -> Self {
        Self { registry, built: OnceLock::new() }
    }
}

impl Selector for LazyIndex<'_> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.built.get_or_init(|| of(self.registry)).select(query, among, limit)
    }
}

/// An index over the skills of a registry that may be used. One that cannot be read is found by its description.
pub fn of(registry: &Registry) -> Bm25 {
    let catalog = registry.catalog();
    let skills: Vec<(&Entry, Option<String>)> = catalog
        .iter()
        .map(|skill| {
            let body = skill.is_usable().then(|| registry.document(&skill.entry.key).ok()).flatten();
            (&skill.entry, body.map(|document| document.body().to_owned()))
        })
        .collect();
    let texts: Vec<Texts<'_>> =
        skills.iter().map(|(entry, body)| Texts::of(entry, body.as_deref())).collect();
    let keys = skills.iter().map(|(entry, _)| entry.key.clone()).collect();
    Bm25::new(keys, analyse(&texts, threads()), Settings::default())
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
