//! Why a skill was found: which words, in which fields, and how much each added.

use super::Bm25;
use super::ask::Asked;
use crate::select::postings::{InBody, InFront};
use crate::select::{Field, Hit, HitReason};

impl Bm25 {
    /// The hit with its reasons, which sum to the score except for rounding.
    pub(super) fn explain(&self, asked: &Asked, doc: u32, score: f32) -> Hit {
        let mut why = Vec::new();
        let mut found = 0.0;
        for word in &asked.words {
            let front = self.postings.front(word.term);
            let counts = match front.binary_search_by_key(&doc, |bytes| InFront::read(*bytes).0) {
                Ok(at) => front.get(at).map(|bytes| InFront::read(*bytes).1),
                Err(_) => {
                    let back = self.postings.back(word.term);
                    let at = back.binary_search_by_key(&doc, |bytes| InBody::read(*bytes).skill()).ok();
                    at.and_then(|at| back.get(at)).map(|bytes| [0, 0, InBody::read(*bytes).count()])
                }
            };
            let Some(counts) = counts else { continue };
            if word.single {
                found += word.weight;
            }
            let norms = self.norms.get(doc as usize).copied().unwrap_or_default();
            let x: f32 = counts.iter().zip(norms).map(|(count, norm)| f32::from(*count) * norm).sum();
            for ((count, norm), field) in
                counts.iter().zip(norms).zip([Field::Name, Field::Description, Field::Body])
            {
                if *count > 0 {
                    why.push(HitReason {
                        term: word.text.clone(),
                        instead_of: word.instead_of.clone(),
                        field,
                        score: word.weight * f32::from(*count) * norm / (self.settings.k1 + x),
                    });
                }
            }
        }
        let factor = self.factor(found, asked.mass);
        for reason in &mut why {
            reason.score *= factor;
        }
        why.sort_by(|one, other| {
            other
                .score
                .total_cmp(&one.score)
                .then_with(|| (&one.term, one.field).cmp(&(&other.term, other.field)))
        });
        Hit { key: self.key(doc).to_owned(), score, why }
    }
}
