//! The words of a query with their weights, and their places in the index.

use std::collections::BTreeMap;

use super::Bm25;
use crate::select::analyse::{self, Unit, WHOLE, fold, pair};
use crate::select::postings::TermId;
use crate::span::boundary;

/// The most bytes of a query that are read, and the most words that count. More would not change the result.
const MAX_QUERY_BYTES: usize = 16 * 1024;
const MAX_WORDS: usize = 512;

/// A word, or two neighbouring words, of the query that the index has.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) term: TermId,
    pub(super) text: String,
    /// The word of the query, when it is unknown and this is the nearest one.
    pub(super) instead_of: Option<String>,
    /// Importance times idf.
    pub(super) weight: f32,
    /// Whether it is one word, which counts for coverage.
    pub(super) single: bool,
}

/// The words of a query, sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) words: Vec<Word>,
    /// The weights of all single words, unknown ones too.
    pub(super) mass: f32,
}

#[derive(Default)]
struct Wanted {
    times: f32,
    instead_of: Option<String>,
}

impl Bm25 {
    /// The words of a text. With another index, words are as rare as in both together.
    pub(super) fn ask(&self, text: &str, other: Option<&Self>) -> Asked {
        let folded = fold(text.get(..boundary(text, MAX_QUERY_BYTES)).unwrap_or_default());
        // Sorted, so that sums of floats are the same whatever the numbers of the terms.
        let mut wanted: BTreeMap<(bool, String), Wanted> = BTreeMap::new();
        let mut before: Option<String> = None;
        let mut pieces = Vec::new();
        let mut joined = String::new();
        for unit in analyse::units(&folded) {
            if wanted.len() >= MAX_WORDS {
                break;
            }
            match unit {
                Unit::Gram(gram) => {
                    wanted.entry((true, gram.to_owned())).or_default().times += 1.0;
                    before = None;
                }
                Unit::Word(written) => {
                    pieces.clear();
                    analyse::pieces(written, &mut pieces);
                    for piece in &pieces {
                        let times = f32::from(piece.units) / f32::from(WHOLE);
                        let known =
                            [Some(self), other].into_iter().flatten().any(|index| index.known(&piece.text));
                        let nearest =
                            if known || piece.units < WHOLE { None } else { self.nearest(&piece.text) };
                        let word = nearest.unwrap_or(&piece.text);
                        let slot = wanted.entry((true, word.to_owned())).or_default();
                        if nearest.is_some() {
                            slot.times += times * self.settings.typo;
                            slot.instead_of = Some(piece.text.clone());
                        } else {
                            slot.times += times;
                        }
                        if piece.units == WHOLE {
                            if let Some(left) = &before {
                                pair(left, word, &mut joined);
                                wanted.entry((false, joined.clone())).or_default().times += 1.0;
                            }
                            before = Some(word.to_owned());
                        }
                    }
                }
            }
        }
        self.weigh(wanted, other)
    }

    fn weigh(&self, wanted: BTreeMap<(bool, String), Wanted>, other: Option<&Self>) -> Asked {
        let all = self.len() + other.map_or(0, Self::len);
        let mut asked = Asked::default();
        for ((single, text), Wanted { times, instead_of }) in wanted {
            let said = if times > 1.0 { 1.0 + self.settings.repeat * times.ln() } else { times };
            let importance = if single { said } else { said * self.settings.pair };
            let term = self.postings.find(&text);
            let skills = term.map_or(0, |term| self.skills_with(term));
            let elsewhere = other.map_or(0, |other| other.skills_with_text(&text));
            let weight = importance * idf(all, skills + elsewhere);
            if single {
                asked.mass += weight;
            }
            if let Some(term) = term.filter(|_| skills > 0 && weight > 0.0) {
                asked.words.push(Word { term, text, instead_of, weight, single });
            }
        }
        asked
    }

    fn skills_with_text(&self, text: &str) -> usize {
        self.postings.find(text).map_or(0, |term| self.skills_with(term))
    }

    fn known(&self, text: &str) -> bool {
        self.skills_with_text(text) > 0
    }
}

fn idf(all: usize, some: usize) -> f32 {
    let (all, some) = (all as f32, some as f32);
    (1.0 + (all - some + 0.5) / (some + 0.5)).ln()
}
