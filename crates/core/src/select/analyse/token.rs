//! Splits text into tokens: words and compounds, and runs of scripts that have no spaces.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A word, perhaps a compound such as `next.js`, `src/app` or `getUserName`.
    Word(&'a str),
    /// A run of a script without spaces between words.
    Run(&'a str),
}

/// The text without differences that do not matter: compatibility forms and accents.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // In stretches: normalisation starts again at ASCII, and once accents are removed nothing combines with it.
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (plain, other) = rest.split_at_checked(ascii).unwrap_or((rest, ""));
        let end = other.bytes().position(|byte| byte.is_ascii()).unwrap_or(other.len());
        let (other, after) = other.split_at_checked(end).unwrap_or((other, ""));
        folded.push_str(plain);
        folded.extend(folded_characters(other));
        rest = after;
    }
    Cow::Owned(folded)
}

fn folded_characters(text: &str) -> impl Iterator<Item = char> {
    let plain = text.nfkd().filter(|character| !('\u{300}'..='\u{36f}').contains(character));
    // Compose again, since a Hangul syllable must stay one character.
    plain.nfc()
}

/// Whether a character belongs to a script that is written without spaces.
fn unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff
        | 0x3040..=0x30ff | 0x31f0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

fn of_word(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_alphanumeric()
    } else {
        character.is_alphanumeric() && !unspaced(character)
    }
}

/// Whether a sign between two letters joins them into one word.
fn joins(character: char) -> bool {
    matches!(character, '-' | '_' | '.' | '/' | '\'' | '’')
}

/// The tokens of folded text.
pub(crate) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { rest: text }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (token, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        token
    }
}

/// The number of bytes of the first word: letters and digits, joined by single signs.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    loop {
        // Most text is ASCII; only the rest is decoded.
        while bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            end += 1;
        }
        let mut rest = text.get(end..).unwrap_or_default().chars();
        match rest.next() {
            Some(letter) if of_word(letter) => end += letter.len_utf8(),
            Some(sign) if joins(sign) && rest.next().is_some_and(of_word) => end += sign.len_utf8(),
            _ => break,
        }
    }
    // `c++` and `c#` are words; `a+b` and `x#y` are not.
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let letters = word.len() - word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len();
    for sign in ["++", "#"] {
        if let Some(after) = rest.strip_prefix(sign)
            && (1..=2).contains(&letters)
            && !after.chars().next().is_some_and(|next| of_word(next) || sign.starts_with(next))
        {
            return end + sign.len();
        }
    }
    end
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let start = self.rest.char_indices().find(|(_, first)| of_word(*first) || unspaced(*first));
        let (skipped, first) = start?;
        self.take(skipped);
        if unspaced(first) {
            let end = self.rest.find(|character| !unspaced(character)).unwrap_or(self.rest.len());
            return Some(Token::Run(self.take(end)));
        }
        let end = word_length(self.rest);
        Some(Token::Word(self.take(end)))
    }
}

/// The parts of a word at signs, at the change from lower to upper case, and between letters and digits.
pub(crate) fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in word.split(['_', '.']) {
        let characters: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for (at, pair) in characters.windows(2).enumerate() {
            let [(_, left), (place, right)] = *pair else { continue };
            let after = characters.get(at + 2).map(|(_, next)| *next);
            // `HTTPServer` is `HTTP` and `Server`.
            let hump = (left.is_lowercase() && right.is_uppercase())
                || (left.is_uppercase() && right.is_uppercase() && after.is_some_and(char::is_lowercase));
            if hump || left.is_numeric() != right.is_numeric() {
                parts.extend(piece.get(start..place));
                start = place;
            }
        }
        parts.extend(piece.get(start..));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let folded = fold(text);
        Tokens::of(&folded)
            .map(|token| match token {
                Token::Word(word) => word.to_owned(),
                Token::Run(run) => format!("<{run}>"),
            })
            .collect()
    }

    #[test]
    fn compounds_stay_whole_without_signs_at_their_ends() {
        assert_eq!(
            words("Use next.js, c++/C# (k8s) -- and src/app_x.rs! it's a+b x#y a.. 'q' g+++"),
            [
                "Use",
                "next.js",
                "c++",
                "C#",
                "k8s",
                "and",
                "src/app_x.rs",
                "it's",
                "a",
                "b",
                "x",
                "y",
                "a",
                "q",
                "g"
            ]
        );
        assert_eq!(words("a--b ... \u{1b}[0m 😀 –"), ["a", "b", "0m"]);
    }

    #[test]
    fn scripts_without_spaces_are_runs_and_accents_are_removed() {
        assert_eq!(
            words("往下滚report.json，한국어 naïve ﬁx ﾃｽﾄ"),
            ["<往下滚>", "report.json", "<한국어>", "naive", "fix", "<テスト>"]
        );
    }

    #[test]
    fn words_have_parts() {
        assert_eq!(parts("getHTTPServerName"), ["get", "HTTP", "Server", "Name"]);
        assert_eq!(parts("run_script.py"), ["run", "script", "py"]);
        assert_eq!(parts("k8s"), ["k", "8", "s"]);
        assert_eq!(parts("plain"), ["plain"]);
    }

    proptest::proptest! {
        #[test]
        fn folding_in_stretches_is_folding_the_whole(
            text in "([ -~]{0,3}|[\\u{300}-\\u{36f}\\u{5b0}-\\u{5bd}\\u{20d0}-\\u{20f0}]|[\\u{80}-\\u{24f}]|[ｦ-ﾟ゙゚]|[\\u{1100}-\\u{11ff}]|\\PC){0,12}",
        ) {
            proptest::prop_assert_eq!(fold(&text), folded_characters(&text).collect::<String>());
        }
    }
}
