//! Text analysis: turns a text into terms that can be counted and compared.
//!
//! Words are split at spaces, hyphens, slashes and apostrophes, and folded (compatibility forms, accents, case). Stop
//! words are removed, and the others are stemmed. A compound such as `next.js`, `snake_case` or `camelCase` is one term,
//! and its parts count half. Scripts without spaces between words give every two neighbouring characters. Two
//! neighbouring words are one more term, so that they count for more than the same words apart.

mod stem;
mod stop;
mod token;

use stem::stem;
pub(crate) use stop::is_stop;
pub(crate) use token::fold;
use token::{Token, Tokens, parts};

use crate::skill::Entry;

/// How much a word counts.
pub(crate) const WHOLE: u8 = 2;

/// How much a part of a compound counts.
const PART: u8 = 1;

/// The longest word, in bytes. Anything longer is a key, a digest or noise.
const LONGEST_WORD: usize = 64;

/// The texts of one skill, by field. Exhaustive: these are the fields of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts<'a> {
    /// Its name.
    pub name: &'a str,
    /// The texts about it: description, when to use it, tags.
    pub about: Vec<&'a str>,
    /// Its body, when it has been read.
    pub body: Option<&'a str>,
}

impl<'a> Texts<'a> {
    /// The texts of an entry, and of its body when that has been read.
    pub fn of(entry: &'a Entry, body: Option<&'a str>) -> Self {
        let mut about = vec![entry.description.as_str()];
        about.extend(entry.client.when_to_use.as_deref());
        about.extend(entry.tags.iter().map(String::as_str));
        Self { name: &entry.name, about, body }
    }
}

/// One term of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// How much it counts: [`WHOLE`] or less.
    pub(crate) units: u8,
}

/// A word or a term, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// A word as written, which [`pieces`] turns into terms.
    Word(&'a str),
    /// Neighbouring characters of a script without spaces, which are a term.
    Gram(&'a str),
}

/// The units of folded text, in their order.
pub(crate) fn units(folded: &str) -> impl Iterator<Item = Unit<'_>> {
    Tokens::of(folded).flat_map(|token| {
        let (word, run) = match token {
            Token::Word(word) => (Some(Unit::Word(word)), None),
            Token::Run(run) => (None, Some(run)),
        };
        word.into_iter().chain(run.into_iter().flat_map(grams))
    })
}

/// The terms of one word as written. Those that count in full form the sequence of words.
pub(crate) fn pieces(written: &str, out: &mut Vec<Piece>) {
    for word in written.split(['/', '-']) {
        // The text after an apostrophe is an ending.
        let word = word.split(['\'', '’']).next().unwrap_or_default();
        if !word.is_empty() && word.len() <= LONGEST_WORD {
            pieces_of_word(word, out);
        }
    }
}

fn pieces_of_word(word: &str, out: &mut Vec<Piece>) {
    let lower = word.to_lowercase();
    if is_stop(&lower) {
        return;
    }
    let cut = parts(word);
    // A version such as 1.2 is not 12, and has no parts.
    if cut.len() < 2 || !lower.contains(char::is_alphabetic) {
        out.push(Piece { text: stem(&lower), units: WHOLE });
        return;
    }
    // `next.js` and `nextjs` are one word.
    let joined: String = lower.chars().filter(|sign| !matches!(sign, '.' | '_')).collect();
    out.push(Piece { text: stem(&joined), units: WHOLE });
    for part in cut {
        let part = part.to_lowercase();
        let speaks = part.chars().nth(1).is_some() && part.contains(char::is_alphabetic);
        if speaks && !is_stop(&part) {
            out.push(Piece { text: stem(&part), units: PART });
        }
    }
}

/// Every two neighbouring characters of a run; a single character is a term by itself.
fn grams(run: &str) -> impl Iterator<Item = Unit<'_>> {
    let ends = run.char_indices().map(|(at, _)| at).skip(2).chain([run.len()]);
    run.char_indices().zip(ends).filter_map(|((start, _), end)| run.get(start..end)).map(Unit::Gram)
}

/// The term of two neighbouring words.
pub(crate) fn pair(left: &str, right: &str, out: &mut String) {
    out.clear();
    out.push_str(left);
    out.push(' ');
    out.push_str(right);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(String, u8)> {
        let folded = fold(text);
        let mut found = Vec::new();
        for unit in units(&folded) {
            match unit {
                Unit::Word(word) => pieces(word, &mut found),
                Unit::Gram(gram) => found.push(Piece { text: gram.to_owned(), units: WHOLE }),
            }
        }
        found.into_iter().map(|piece| (piece.text, piece.units)).collect()
    }

    fn whole(text: &str) -> Vec<String> {
        terms(text).into_iter().filter(|(_, units)| *units == WHOLE).map(|(text, _)| text).collect()
    }

    #[test]
    fn words_are_stemmed_without_stop_words_and_endings() {
        assert_eq!(
            whole("Reviewing the user's Pull-Requests, please!"),
            ["review", "user", "pull", "request"]
        );
    }

    #[test]
    fn compounds_are_terms_and_their_parts_count_half() {
        assert_eq!(terms("Next.js"), [("nextj".into(), 2), ("next".into(), 1), ("js".into(), 1)]);
        assert_eq!(whole("nextjs"), ["nextj"]);
        assert_eq!(terms("parse_url"), [("parseurl".into(), 2), ("pars".into(), 1), ("url".into(), 1)]);
        assert_eq!(terms("GitHub"), [("github".into(), 2), ("git".into(), 1), ("hub".into(), 1)]);
        assert_eq!(terms("k8s c++ C# 1.2.3"), ["k8s", "c++", "c#", "1.2.3"].map(|word| (word.to_owned(), 2)));
        assert_eq!(terms("python3"), [("python3".into(), 2), ("python".into(), 1)]);
    }

    #[test]
    fn runs_give_pairs_of_characters_and_a_single_character_is_a_term() {
        assert_eq!(whole("往下滚 屏"), ["往下", "下滚", "屏"]);
    }

    #[test]
    fn a_text_without_words_has_no_terms() {
        for text in ["", "  \n", "😀🎉", "\u{0}\u{1b}\u{7f}", "the of and", "—…", &"x".repeat(65)] {
            assert_eq!(terms(text), [], "{text:?}");
        }
    }
}
