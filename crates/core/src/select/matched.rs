//! The words of a query as they were typed: those by which a skill was found, and those that it lacks.

use std::collections::BTreeSet;

use super::HitReason;
use super::analyse::{self, Unit, fold};
use crate::span::boundary;

/// The most bytes of a query that are read.
const MAX_BYTES: usize = 16 * 1024;

/// The words of a query that mean something to a selector, as they were typed, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedWords<'q> {
    /// The words by which the skill was found.
    pub found: Vec<&'q str>,
    /// The words that it lacks.
    pub missing: Vec<&'q str>,
}

impl<'q> TypedWords<'q> {
    /// The words of a query, sorted by the parts of a hit's score: see [`Hit::why`](super::Hit::why). Reasons hold
    /// terms such as `minut`, and people typed `minutes`. Words that no selector looks at, such as `the`, are left out.
    pub fn of(query: &'q str, why: &[HitReason]) -> Self {
        let terms: BTreeSet<&str> = why
            .iter()
            .flat_map(|reason| [Some(reason.term.as_str()), reason.instead_of.as_deref()])
            .flatten()
            .collect();
        let mut words = Self::default();
        let mut seen = BTreeSet::new();
        let mut pieces = Vec::new();
        for typed in query.get(..boundary(query, MAX_BYTES)).unwrap_or_default().split_whitespace() {
            let typed = typed.trim_matches(|character: char| !character.is_alphanumeric());
            let folded = fold(typed);
            pieces.clear();
            let mut grams = Vec::new();
            for unit in analyse::units(&folded) {
                match unit {
                    Unit::Word(word) => analyse::pieces(word, &mut pieces),
                    Unit::Gram(gram) => grams.push(gram),
                }
            }
            if (pieces.is_empty() && grams.is_empty()) || !seen.insert(folded.to_lowercase()) {
                continue;
            }
            let mut own = pieces.iter().map(|piece| piece.text.as_str()).chain(grams);
            // Simple selectors compare words without stemming them.
            let found = own.any(|term| terms.contains(term)) || terms.contains(typed.to_lowercase().as_str());
            if found { words.found.push(typed) } else { words.missing.push(typed) }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Field;

    fn words<'q>(query: &'q str, terms: &[&str]) -> (Vec<&'q str>, Vec<&'q str>) {
        let why: Vec<HitReason> =
            terms.iter().map(|term| HitReason::new(*term, Field::Description, 1.0)).collect();
        let words = TypedWords::of(query, &why);
        (words.found, words.missing)
    }

    #[test]
    fn words_are_given_as_they_were_typed() {
        let query = "Turn these meeting notes into Minutes, minutes!";
        assert_eq!(
            words(query, &["minut", "meet", "meet note"]),
            (vec!["meeting", "Minutes"], vec!["Turn", "notes"])
        );
    }

    #[test]
    fn a_misspelt_word_counts_as_found() {
        let mut reason = HitReason::new("kubernet", Field::Name, 1.0);
        reason.instead_of = Some("kubernets".to_owned());
        let words = TypedWords::of("kubernets", &[reason]);
        assert_eq!((words.found, words.missing), (vec!["kubernets"], vec![]));
    }

    #[test]
    fn words_without_meaning_and_signs_are_left_out() {
        assert_eq!(words("the ?! -- of", &[]), (vec![], vec![]));
        assert_eq!(words("会議の議事録", &["議事"]), (vec!["会議の議事録"], vec![]));
    }
}
