//! The selector `embedding`: the cosine between the query's vector and each skill's, by a model of the host.

use std::collections::BTreeMap;

use super::{Field, Hit, HitReason, Query, SelectError, Selector, best};
use crate::skill::Entry;

/// Turns texts into vectors: one for each, all of one width.
pub trait Embed: Send + Sync {
    /// The vectors of the texts, in their order; the error says what went wrong.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String>;
}

impl<F: Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync> Embed for F {
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        self(texts)
    }
}

/// The text of a skill that is embedded.
pub fn embedded_text(entry: &Entry) -> String {
    format!("{}: {}", entry.name, entry.description)
}

/// Vectors of length one, by their texts. A host keeps them so that no text is embedded twice.
///
/// The text is the key, so a changed skill is embedded again, and an unchanged one is not, wherever it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    width: Option<usize>,
    by_text: BTreeMap<String, Vec<f32>>,
}

impl Vectors {
    /// The number of texts with a vector.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// The vector of a text, of length one; all zeros when the model returned zeros.
    pub fn get(&self, text: &str) -> Option<&[f32]> {
        self.by_text.get(text).map(Vec::as_slice)
    }

    /// The texts and their vectors, sorted by text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f32])> {
        self.by_text.iter().map(|(text, vector)| (text.as_str(), vector.as_slice()))
    }

    /// Adds the vector of a text.
    pub fn insert(&mut self, text: String, vector: Vec<f32>) -> Result<(), SelectError> {
        let vector = unit(vector, self.width)?;
        self.width = Some(vector.len());
        self.by_text.insert(text, vector);
        Ok(())
    }

    /// Embeds the texts that have no vector yet.
    pub fn complete(&mut self, texts: &[&str], model: &dyn Embed) -> Result<(), SelectError> {
        let mut missing: Vec<&str> =
            texts.iter().copied().filter(|text| !self.by_text.contains_key(*text)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let vectors = model.embed(&missing).map_err(|reason| SelectError::Embed { reason })?;
        if vectors.len() != missing.len() {
            return Err(SelectError::Count { found: vectors.len(), wanted: missing.len() });
        }
        missing.into_iter().zip(vectors).try_for_each(|(text, vector)| self.insert(text.to_owned(), vector))
    }
}

/// The vector scaled to length one, if it has the right width.
fn unit(mut vector: Vec<f32>, width: Option<usize>) -> Result<Vec<f32>, SelectError> {
    if let Some(wanted) = width.filter(|wanted| *wanted != vector.len()) {
        return Err(SelectError::Width { found: vector.len(), wanted });
    }
    let square: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    if !square.is_finite() {
        return Err(SelectError::NotFinite);
    }
    if square > 0.0 {
        for value in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "a value between -1 and 1")]
            let scaled = (f64::from(*value) / square.sqrt()) as f32;
            *value = scaled;
        }
    }
    Ok(vector)
}

/// The selector `embedding`.
pub struct Embedding {
    model: Box<dyn Embed>,
    vectors: Vectors,
}

impl std::fmt::Debug for Embedding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Embedding").field("vectors", &self.vectors.len()).finish_non_exhaustive()
    }
}

impl Embedding {
    /// A selector over these skills. It embeds those without a vector in `known`.
    pub fn new(skills: &[&Entry], model: Box<dyn Embed>, known: Vectors) -> Result<Self, SelectError> {
        let mut vectors = known;
        let texts: Vec<String> = skills.iter().map(|entry| embedded_text(entry)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        vectors.complete(&texts, &*model)?;
        Ok(Self { model, vectors })
    }

    /// The vectors, to be stored for the next run.
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }
}

impl Selector for Embedding {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        if query.text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut own = Vectors { width: self.vectors.width, by_text: BTreeMap::new() };
        // Skills that are newer than the selector are embedded with the query.
        let texts: Vec<String> = among.iter().map(|entry| embedded_text(entry)).collect();
        let mut needed: Vec<&str> =
            texts.iter().map(String::as_str).filter(|text| self.vectors.get(text).is_none()).collect();
        if self.vectors.get(&query.text).is_none() {
            needed.push(&query.text);
        }
        own.complete(&needed, &*self.model)?;
        let vector = |text: &str| self.vectors.get(text).or_else(|| own.get(text)).unwrap_or_default();
        let asked = vector(&query.text);
        let hits = among.iter().zip(&texts).map(|(entry, text)| {
            let score = asked.iter().zip(vector(text)).map(|(one, other)| one * other).sum();
            let why = vec![HitReason {
                term: "similarity".to_owned(),
                instead_of: None,
                field: Field::Skill,
                score,
            }];
            Hit { key: entry.key.clone(), score, why }
        });
        Ok(best(hits.collect(), limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;

    #[expect(clippy::unnecessary_wraps, reason = "the shape of an embedder")]
    fn letters(texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        let count = |text: &str, letter: char| text.matches(letter).fold(0.0, |sum, _| sum + 1.0);
        Ok(texts.iter().map(|text| vec![count(text, 'a'), count(text, 'b')]).collect())
    }

    #[test]
    fn the_cosine_ranks_and_nothing_is_embedded_twice() {
        let (one, two) = (entry("one", "aaa"), entry("two", "abb"));
        let first = Embedding::new(&[&one, &two], Box::new(letters), Vectors::default()).unwrap();
        let hits = first.select(&Query::text("a"), &[&two, &one], 9).unwrap();
        assert_eq!((hits[0].key.as_str(), hits[0].score), ("one", 1.0));
        assert!((hits[1].score - 1.0 / 5.0_f32.sqrt()).abs() < 1e-6);
        assert_eq!(first.select(&Query::text(" "), &[&one], 9).unwrap(), []);
        let refuses = |_: &[&str]| -> Result<Vec<Vec<f32>>, String> { Err("must not be asked".to_owned()) };
        Embedding::new(&[&two], Box::new(refuses), first.vectors().clone()).unwrap();
    }

    #[test]
    fn wrong_vectors_of_a_model_are_errors() {
        let (one, two) = (entry("one", "a"), entry("two", "b"));
        let made = |model: Box<dyn Embed>| {
            Embedding::new(&[&one, &two], model, Vectors::default()).map(|_| ()).unwrap_err()
        };
        let fails = |_: &[&str]| -> Result<Vec<Vec<f32>>, String> { Err("no memory".to_owned()) };
        let nan = |texts: &[&str]| Ok(texts.iter().map(|_| vec![f32::NAN]).collect());
        let infinite = |texts: &[&str]| Ok(texts.iter().map(|_| vec![f32::INFINITY]).collect());
        let uneven = |texts: &[&str]| Ok((1..=texts.len()).map(|width| vec![1.0; width]).collect());
        let short = |_: &[&str]| Ok(vec![vec![1.0]]);
        assert_eq!(made(Box::new(fails)), SelectError::Embed { reason: "no memory".to_owned() });
        assert_eq!(made(Box::new(nan)), SelectError::NotFinite);
        assert_eq!(made(Box::new(infinite)), SelectError::NotFinite);
        assert_eq!(made(Box::new(uneven)), SelectError::Width { found: 2, wanted: 1 });
        assert_eq!(made(Box::new(short)), SelectError::Count { found: 1, wanted: 2 });
    }
}
