//! Builds the index: postings from the terms of a corpus.

use std::sync::{Mutex, OnceLock};

use super::{Bm25, InBody, MAX_SKILLS, Postings, Settings};
use crate::select::analyse::{Analyser, WHOLE};
use crate::select::corpus::{Corpus, Counts, Row, in_front};

impl Bm25 {
    /// An index of the skills of a corpus; `keys` names them in their order.
    ///
    /// Whatever the order of the skills and the way the corpus came about, the index finds the same.
    pub fn new(keys: Vec<String>, corpus: Corpus, settings: Settings) -> Self {
        let Corpus { lexicon, rows, numbers, counts, mut spread } = corpus;
        spread.resize(lexicon.len() + 1, [0; 2]);
        let mut order: Vec<(String, usize)> = keys.into_iter().zip(0..rows.len()).collect();
        order.sort_unstable();
        order.truncate(MAX_SKILLS);
        let norms = norms(&order, &rows, &settings);
        let ranges = || {
            order.iter().map(|(_, at)| {
                let start = at.checked_sub(1).and_then(|before| rows.get(before)).map_or(0, |row| row.end);
                start as usize..rows.get(*at).map_or(start, |row| row.end) as usize
            })
        };
        let terms = |range: std::ops::Range<usize>| {
            let numbers = numbers.get(range.clone()).unwrap_or_default();
            numbers.iter().zip(counts.get(range).unwrap_or_default())
        };
        let (ahead, behind) = spread.into_iter().map(|[front, back]| (front, back)).unzip();
        let mut front = Postings::with_starts(ahead);
        let mut back = Postings::with_starts(behind);
        for (doc, range) in (0..).zip(ranges()) {
            for (number, counts) in terms(range) {
                let at = *number as usize;
                if in_front(*counts) {
                    front.put(at, (doc, *counts));
                } else {
                    back.put(at, InBody::new(doc, counts[2]));
                }
            }
        }
        let (front, back) = (front.filled(), back.filled());
        // Term by term, not skill by skill: memory is read in its order.
        let share = |x: f32| x / (settings.k1 + x);
        let norm = |doc: u32| norms.get(doc as usize).copied().unwrap_or_default();
        let in_all = |(doc, [name, about, body]): &(u32, Counts)| {
            let [x, y, z] = norm(*doc);
            share(f32::from(*name) * x + f32::from(*about) * y + f32::from(*body) * z)
        };
        let shares = front.items.iter().map(in_all).collect();
        let body_norms: Vec<f32> = norms.iter().map(|[_, _, body]| *body).collect();
        let in_body = |item: &InBody| {
            share(f32::from(item.count()) * body_norms.get(item.doc() as usize).copied().unwrap_or(0.0))
        };
        let highest = |number| ceiling(back.of(number).iter().map(in_body).fold(0.0, f32::max));
        let most = (0..u32::try_from(lexicon.len()).unwrap_or(u32::MAX)).map(highest).collect();
        Self {
            settings,
            keys: order.into_iter().map(|(key, _)| key).collect(),
            lexicon,
            front,
            shares,
            back,
            most,
            body_norms,
            norms,
            analyser: Analyser::default(),
            near: OnceLock::new(),
            scratch: Mutex::new(Vec::new()),
        }
    }
}

/// For each skill, in the order of the index, what half a word counts in each field.
fn norms(order: &[(String, usize)], rows: &[Row], settings: &Settings) -> Vec<[f32; 3]> {
    let mut means = [0.0_f32; 3];
    for (field, mean) in means.iter_mut().enumerate() {
        let lengths = rows.iter().filter_map(|row| row.lengths.get(field)).filter(|length| **length > 0);
        let (sum, count) =
            lengths.fold((0_u64, 0_u64), |(sum, count), length| (sum + u64::from(*length), count + 1));
        // A field that no skill has, such as bodies that were not read, has no mean and needs none.
        *mean = if count == 0 { 1.0 } else { sum as f32 / count as f32 };
    }
    let norm = |row: &Row| {
        let mut norm = [0.0; 3];
        let fields =
            norm.iter_mut().zip(&settings.weights).zip(&settings.lengths).zip(row.lengths).zip(means);
        for ((((norm, weight), b), length), mean) in fields {
            *norm = weight / f32::from(WHOLE) / (1.0 - b + b * length as f32 / mean);
        }
        norm
    };
    order.iter().filter_map(|(_, at)| rows.get(*at)).map(norm).collect()
}

/// A share as a byte that is not less.
fn ceiling(share: f32) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 255 by the clamp"
    )]
    let byte = (share * 255.0).ceil().clamp(0.0, 255.0) as u8;
    byte
}

impl<T: Clone + Default> Postings<T> {
    /// Room for as many skills as were counted for each term. Each start is a cursor until all is filled.
    fn with_starts(mut counts: Vec<u32>) -> Self {
        let mut sum = 0;
        for count in &mut counts {
            sum += std::mem::replace(count, sum);
        }
        Self { starts: counts, items: vec![T::default(); sum as usize] }
    }

    /// Puts a skill behind the others of a term.
    fn put(&mut self, term: usize, item: T) {
        let Some(cursor) = self.starts.get_mut(term) else { return };
        if let Some(slot) = self.items.get_mut(*cursor as usize) {
            *slot = item;
        }
        *cursor += 1;
    }

    /// Turns cursors, which now stand where the next term begins, back into starts.
    fn filled(mut self) -> Self {
        self.starts.rotate_right(1);
        if let Some(first) = self.starts.first_mut() {
            *first = 0;
        }
        self
    }
}
