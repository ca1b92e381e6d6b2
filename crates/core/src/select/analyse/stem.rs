//! The stems of English words: the Porter 2 algorithm of Snowball as it was in 2019.
//!
//! A stem is no word: `ponies` and `pony` give `poni`, and only that both give the same matters. The algorithm removes
//! endings in steps, each only where enough of the word is left: in its region R1, which begins after the first consonant
//! that follows a vowel, or in R2, which begins in the same way within R1.

/// Words whose stem is given.
const GIVEN: &[(&str, &str)] = &[
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that are done once they are singular.
const DONE: &[&str] = &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

/// Beginnings after which R1 begins, where the general rule would join words that have nothing to do with each other.
const BEGINNINGS: &[&str] = &["gener", "commun", "arsen"];

/// Endings of each step and what replaces them, the longest first: of two that fit, the longer one decides.
const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];
const STEP_3: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];
const STEP_4: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize",
    "ous", "al", "er", "ic",
];

/// The stem of a word of letters from a to z. Any other text is returned as it is.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = GIVEN.iter().find(|(given, _)| *given == word) {
        return (*stem).to_owned();
    }
    if word.len() < 3 || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = Word::new(word);
    word.singular();
    if !DONE.contains(&word.text.as_str()) {
        word.past_and_participle();
        word.final_y();
        word.double_endings();
        word.endings();
        word.endings_in_r2();
        word.final_e_and_l();
    }
    // Only a `y` that is a consonant is in upper case.
    word.text.make_ascii_lowercase();
    word.text
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// A word whose endings are being removed. A `y` at its beginning or after a vowel is a consonant, written `Y`.
struct Word {
    text: String,
    /// Where R1 and R2 begin, or the length of the whole word.
    r1: usize,
    r2: usize,
}

impl Word {
    fn new(word: &str) -> Self {
        let mut text = String::with_capacity(word.len() + 1);
        let mut after_vowel = true;
        for letter in word.bytes() {
            let letter = if letter == b'y' && after_vowel { b'Y' } else { letter };
            after_vowel = is_vowel(letter);
            text.push(char::from(letter));
        }
        let r1 = BEGINNINGS.iter().find(|beginning| text.starts_with(**beginning));
        let r1 = r1.map_or_else(|| region(&text, 0), |beginning| beginning.len());
        Self { r2: region(&text, r1), r1, text }
    }

    /// The letter that has this many others after it.
    fn letter_before(&self, after: usize) -> Option<u8> {
        self.text.len().checked_sub(after + 1).and_then(|at| self.text.as_bytes().get(at)).copied()
    }

    /// Whether there is a vowel among the letters that have at least this many others after them.
    fn has_vowel_before(&self, after: usize) -> bool {
        self.text.bytes().rev().skip(after).any(is_vowel)
    }

    /// Whether an ending of this length is in a region.
    fn is_in(&self, region: usize, ending: usize) -> bool {
        region + ending <= self.text.len()
    }

    fn replace(&mut self, ending: usize, new: &str) {
        self.text.truncate(self.text.len().saturating_sub(ending));
        self.text.push_str(new);
    }

    /// Whether the letters before an ending end with a short syllable: a vowel between consonants of which the last is
    /// neither `w`, `x` nor `Y`, or one at the beginning before a consonant.
    fn is_short_before(&self, ending: usize) -> bool {
        let vowel = self.letter_before(ending + 1).is_some_and(is_vowel);
        let Some(last) = self.letter_before(ending).filter(|last| vowel && !is_vowel(*last)) else {
            return false;
        };
        match self.letter_before(ending + 2) {
            Some(first) => !is_vowel(first) && !matches!(last, b'w' | b'x' | b'Y'),
            None => true,
        }
    }

    /// Plurals: `ponies`, `caresses`, `gaps`.
    fn singular(&mut self) {
        if self.text.ends_with("sses") {
            self.replace(2, "");
        } else if self.text.ends_with("ied") || self.text.ends_with("ies") {
            self.replace(3, if self.text.len() > 4 { "i" } else { "ie" });
        } else if self.text.ends_with('s')
            && !matches!(self.letter_before(1), Some(b'u' | b's'))
            && self.has_vowel_before(2)
        {
            self.replace(1, "");
        }
    }

    /// `agreed`, `hopped`, `hoping`, and adverbs of them.
    fn past_and_participle(&mut self) {
        let ending = ["eedly", "ingly", "edly", "eed", "ing", "ed"];
        let Some(ending) = ending.into_iter().find(|ending| self.text.ends_with(ending)) else { return };
        if ending.starts_with("ee") {
            if self.is_in(self.r1, ending.len()) {
                self.replace(ending.len(), "ee");
            }
            return;
        }
        if !self.has_vowel_before(ending.len()) {
            return;
        }
        self.replace(ending.len(), "");
        let double = self.letter_before(0).filter(|last| self.letter_before(1) == Some(*last));
        if ["at", "bl", "iz"].iter().any(|end| self.text.ends_with(end)) {
            self.text.push('e');
        } else if matches!(double, Some(b'b' | b'd' | b'f' | b'g' | b'm' | b'n' | b'p' | b'r' | b't')) {
            self.replace(1, "");
        } else if self.text.len() == self.r1 && self.is_short_before(0) {
            self.text.push('e');
        }
    }

    /// `cry`, but neither `say` nor `by`.
    fn final_y(&mut self) {
        let after_consonant = self.letter_before(1).is_some_and(|letter| !is_vowel(letter));
        if matches!(self.letter_before(0), Some(b'y' | b'Y')) && after_consonant && self.text.len() > 2 {
            self.replace(1, "i");
        }
    }

    /// Two endings in one: `relational`, `hopefulness`.
    fn double_endings(&mut self) {
        let Some((ending, new)) = longest(&self.text, STEP_2) else { return };
        let fits = match (*ending, self.letter_before(ending.len())) {
            ("ogi", before) => before == Some(b'l'),
            ("li", before) => before.is_some_and(|letter| b"cdeghkmnrt".contains(&letter)),
            _ => true,
        };
        if fits && self.is_in(self.r1, ending.len()) {
            self.replace(ending.len(), new);
        }
    }

    /// `triplicate`, `goodness`.
    fn endings(&mut self) {
        let Some((ending, new)) = longest(&self.text, STEP_3) else { return };
        let region = if *ending == "ative" { self.r2 } else { self.r1 };
        if self.is_in(region, ending.len()) {
            self.replace(ending.len(), new);
        }
    }

    /// `allowance`, `adjustment`, `adoption`.
    fn endings_in_r2(&mut self) {
        let Some(ending) = STEP_4.iter().find(|ending| self.text.ends_with(**ending)) else { return };
        let fits = *ending != "ion" || matches!(self.letter_before(3), Some(b's' | b't'));
        if fits && self.is_in(self.r2, ending.len()) {
            self.replace(ending.len(), "");
        }
    }

    /// `probate`, `controll`.
    fn final_e_and_l(&mut self) {
        let removed = match self.letter_before(0) {
            Some(b'e') => self.is_in(self.r2, 1) || (self.is_in(self.r1, 1) && !self.is_short_before(1)),
            Some(b'l') => self.is_in(self.r2, 1) && self.letter_before(1) == Some(b'l'),
            _ => false,
        };
        if removed {
            self.replace(1, "");
        }
    }
}

/// Where the region begins that comes after the first consonant that follows a vowel at or after `start`.
fn region(text: &str, start: usize) -> usize {
    let mut letters = text.bytes().enumerate().skip(start);
    let vowel = letters.any(|(_, letter)| is_vowel(letter));
    let consonant = letters.find(|(_, letter)| !is_vowel(*letter)).filter(|_| vowel);
    consonant.map_or(text.len(), |(at, _)| at + 1)
}

/// The longest of these endings that a text has. The longest come first.
fn longest<'a>(text: &str, endings: &'a [(&'a str, &'a str)]) -> Option<&'a (&'a str, &'a str)> {
    endings.iter().find(|(ending, _)| text.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn every_stem_is_the_one_that_the_vectors_name() {
        let vectors = include_str!("../../../../../conformance/stems.json");
        let vectors: serde_json::Value = serde_json::from_str(vectors).unwrap();
        let stems = vectors["stems"].as_object().unwrap();
        assert!(stems.len() > 2_000, "{}", stems.len());
        for (word, expected) in stems {
            assert_eq!(stem(word), expected.as_str().unwrap(), "{word}");
        }
    }

    #[test]
    fn a_text_with_other_letters_is_its_own_stem() {
        for text in ["", "a", "by", "Running", "größen", "k8s", "c++", "running's", "ζώντας", "1.2.3"]
        {
            assert_eq!(stem(text), text);
        }
    }

    #[test]
    fn a_stem_is_never_longer_than_its_word() {
        proptest::proptest!(|(word in "[a-z]{0,64}")| {
            let stem = stem(&word);
            assert!(stem.len() <= word.len() && stem.bytes().all(|letter| letter.is_ascii_lowercase()));
        });
    }
}
