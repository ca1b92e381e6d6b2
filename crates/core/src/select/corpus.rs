//! [`Corpus`]: the terms of many skills, each text kept once; and [`Terms`], those of one skill.

use serde::{Deserialize, Serialize};

use super::analyse::{self, Piece, Texts, Unit, WHOLE, fold, pair};
use super::lexicon::Lexicon;
use crate::span::boundary;

/// The most bytes of a body that are analysed. A body says at its beginning what it is about.
pub const MAX_BODY_BYTES: usize = 32 * 1024;

/// How often a term occurs in name, description and body, in halves.
pub type Counts = [u8; 3];

const BODY: usize = 2;

/// The terms of one skill as plain data, made by [`analyse`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The words in name, description and body.
    pub lengths: [u32; 3],
    /// Each term with its counts, sorted by text.
    pub terms: Vec<(String, Counts)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Where the terms of this skill end.
    pub(super) end: u32,
    pub(super) lengths: [u32; 3],
}

/// The terms of many skills, in the order in which they were added.
///
/// Parts of a library can be analysed separately, for example on threads, and joined as
/// [`Postings`](super::Postings).
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    pub(super) lexicon: Lexicon,
    pub(super) rows: Vec<Row>,
    pub(super) numbers: Vec<u32>,
    pub(super) counts: Vec<Counts>,
    /// For each term, in how many skills it occurs in name or description, and only in the body.
    pub(super) spread: Vec<[u32; 2]>,
}

/// Whether a term occurs in name or description.
pub(super) fn in_front(counts: Counts) -> bool {
    let [name, about, _] = counts;
    name | about != 0
}

impl Corpus {
    /// The number of skills.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn end(&self) -> u32 {
        u32::try_from(self.numbers.len()).unwrap_or(u32::MAX)
    }

    fn put(&mut self, number: u32, counts: Counts) {
        self.numbers.push(number);
        self.counts.push(counts);
        let at = number as usize;
        if at >= self.spread.len() {
            self.spread.resize(self.lexicon.len(), [0; 2]);
        }
        if let Some([front, back]) = self.spread.get_mut(at) {
            *(if in_front(counts) { front } else { back }) += 1;
        }
    }

    /// Adds a skill.
    pub fn push(&mut self, terms: &Terms) {
        for (text, counts) in &terms.terms {
            let number = self.lexicon.add(text);
            self.put(number, *counts);
        }
        self.rows.push(Row { end: self.end(), lengths: terms.lengths });
    }

    /// The terms of the skill at a place.
    pub fn terms(&self, at: usize) -> Option<Terms> {
        let row = self.rows.get(at)?;
        let start = at.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |row| row.end);
        let range = start as usize..row.end as usize;
        let numbers = self.numbers.get(range.clone())?.iter();
        let texts = numbers.map(|number| self.lexicon.text(*number).to_owned());
        let mut terms: Vec<(String, Counts)> = texts.zip(self.counts.get(range)?.iter().copied()).collect();
        terms.sort_unstable();
        Some(Terms { lengths: row.lengths, terms })
    }
}

/// The terms of one skill.
///
/// For many skills a [`Reader`] is faster: it analyses each word once.
pub fn analyse(texts: &Texts<'_>) -> Terms {
    let mut reader = Reader::new();
    reader.add(texts);
    reader.finish().terms(0).unwrap_or_default()
}

/// Analyses skills into a [`Corpus`]. Each distinct word is analysed once.
#[derive(Debug, Default)]
pub struct Reader {
    corpus: Corpus,
    /// Words as written, and for each where its pieces end.
    words: Lexicon,
    ends: Vec<u32>,
    pieces: Vec<(u32, u8)>,
    /// The counts of the skill that is being read, by the numbers of its terms.
    counts: Vec<[u16; 3]>,
    touched: Vec<u32>,
    cut: Vec<Piece>,
    joined: String,
}

impl Reader {
    /// A reader without skills.
    pub fn new() -> Self {
        Self::default()
    }

    /// Analyses one skill.
    pub fn add(&mut self, texts: &Texts<'_>) {
        let mut lengths = [0; 3];
        lengths[0] = self.field(texts.name, 0);
        lengths[1] = texts.about.iter().map(|text| self.field(text, 1)).sum();
        lengths[2] = texts.body.map_or(0, |body| {
            self.field(body.get(..boundary(body, MAX_BODY_BYTES)).unwrap_or_default(), BODY)
        });
        for number in self.touched.drain(..) {
            let Some(counts) = self.counts.get_mut(number as usize) else { continue };
            let counts = std::mem::take(counts).map(|count| u8::try_from(count).unwrap_or(u8::MAX));
            self.corpus.put(number, counts);
        }
        let end = self.corpus.end();
        self.corpus.rows.push(Row { end, lengths });
    }

    /// The corpus of all skills.
    pub fn finish(self) -> Corpus {
        self.corpus
    }

    /// Counts the terms of a field, and returns how many words it has.
    fn field(&mut self, text: &str, field: usize) -> u32 {
        let folded = fold(text);
        let mut length = 0;
        let mut before: Option<u32> = None;
        for unit in analyse::units(&folded) {
            match unit {
                Unit::Gram(gram) => {
                    let number = self.corpus.lexicon.add(gram);
                    self.count(number, field, WHOLE);
                    before = None;
                    length += 1;
                }
                Unit::Word(written) => {
                    for at in self.pieces_of(written) {
                        let Some((number, units)) = self.pieces.get(at).copied() else { continue };
                        self.count(number, field, units);
                        if units == WHOLE {
                            length += 1;
                            if let Some(left) = before {
                                self.neighbours(left, number, field);
                            }
                            before = Some(number);
                        }
                    }
                }
            }
        }
        length
    }

    /// The places of the pieces of a word as written.
    fn pieces_of(&mut self, written: &str) -> std::ops::Range<usize> {
        let known = self.words.len();
        let number = self.words.add(written) as usize;
        if number == known {
            self.cut.clear();
            analyse::pieces(written, &mut self.cut);
            for piece in &self.cut {
                self.pieces.push((self.corpus.lexicon.add(&piece.text), piece.units));
            }
            self.ends.push(u32::try_from(self.pieces.len()).unwrap_or(u32::MAX));
        }
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        start as usize..self.ends.get(number).copied().unwrap_or(start) as usize
    }

    /// Counts two neighbouring words.
    ///
    /// In a body they count only when one of them is in the name or the description. This gives nearly all of the
    /// benefit of pairs, with under a third of their postings.
    fn neighbours(&mut self, left: u32, right: u32, field: usize) {
        let mentioned = |number: u32| matches!(self.counts.get(number as usize), Some([name, about, _]) if *name > 0 || *about > 0);
        if field == BODY && !mentioned(left) && !mentioned(right) {
            return;
        }
        pair(self.corpus.lexicon.text(left), self.corpus.lexicon.text(right), &mut self.joined);
        let number = self.corpus.lexicon.add(&self.joined);
        self.count(number, field, WHOLE);
    }

    fn count(&mut self, number: u32, field: usize, units: u8) {
        let at = number as usize;
        if at >= self.counts.len() {
            self.counts.resize((at + 1).max(self.counts.len() * 2), [0; 3]);
        }
        let Some(counts) = self.counts.get_mut(at) else { return };
        if *counts == [0; 3] {
            self.touched.push(number);
        }
        if let Some(count) = counts.get_mut(field) {
            *count = count.saturating_add(u16::from(units));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_counted_in_each_field() {
        let mut reader = Reader::new();
        let about = vec!["Review code. Code reviews!"];
        reader.add(&Texts { name: "code-review", about, body: Some("code code in the barn door") });
        let terms = reader.finish().terms(0).unwrap();
        assert_eq!(terms.lengths, [2, 4, 4]);
        let expected = [
            ("barn", [0, 0, 2]),
            ("barn door", [0, 0, 0]),
            ("code", [2, 4, 4]),
            ("code barn", [0, 0, 2]),
            ("code code", [0, 2, 2]),
            ("code review", [2, 2, 0]),
            ("door", [0, 0, 2]),
            ("review", [2, 4, 0]),
            ("review code", [0, 2, 0]),
        ];
        let expected: Vec<_> = expected.iter().filter(|(_, counts)| *counts != [0; 3]).collect();
        assert_eq!(terms.terms.len(), expected.len());
        for ((text, counts), (expected, wanted)) in terms.terms.iter().zip(expected) {
            assert_eq!((text.as_str(), counts), (*expected, wanted));
        }
    }

    #[test]
    fn a_count_stops_at_the_end_of_its_counter() {
        let about = "door ".repeat(40_000);
        let mut reader = Reader::new();
        reader.add(&Texts { name: "door", about: vec![&about], body: Some("the door opens") });
        let terms = reader.finish().terms(0).unwrap();
        let door = terms.terms.iter().find(|(text, _)| text == "door").unwrap();
        assert_eq!(door.1, [2, u8::MAX, 2]);
    }

    #[test]
    fn a_corpus_returns_the_terms_that_were_added() {
        let mut reader = Reader::new();
        for text in ["alpha beta", "beta gamma", "", "gamma alpha beta"] {
            reader.add(&Texts { name: text, about: vec![text], body: None });
        }
        let whole = reader.finish();
        let mut again = Corpus::default();
        (0..4).for_each(|at| again.push(&whole.terms(at).unwrap()));
        assert_eq!((again.len(), whole.len()), (4, 4));
        assert!((0..4).all(|at| again.terms(at) == whole.terms(at)));
        assert_eq!(whole.terms(4), None);
    }
}
