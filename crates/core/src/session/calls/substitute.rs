//! Substitution of arguments in instructions: `$ARGUMENTS`, `$ARGUMENTS[N]`, `$N` and `$name`.
//!
//! There is one pass, and substituted text is not scanned again. A placeholder without a value stays, and `\$` escapes
//! a placeholder. Commands in instructions are text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The arguments that a user wrote after the name of a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    whole: String,
    words: Vec<String>,
}

impl Arguments {
    /// A line, split at spaces outside quotes.
    pub fn line(line: &str) -> Self {
        let whole = line.trim();
        Self { whole: whole.to_owned(), words: words(whole) }
    }

    /// Words that are split already, for example by a shell: each is one argument.
    pub fn words<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        Self { whole: words.join(" ").trim().to_owned(), words }
    }

    /// The number of bytes that they take.
    pub(in crate::session) fn kept_bytes(&self) -> usize {
        self.whole.len() + self.words.iter().map(|word| size_of::<String>() + word.len()).sum::<usize>()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

/// The words of a line, split as a shell does: at spaces outside quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The values of placeholders.
struct Values<'v> {
    whole: &'v str,
    words: &'v [String],
    /// The names that the skill declares, each with its word.
    names: BTreeMap<&'v str, Option<&'v str>>,
}

impl<'v> Values<'v> {
    fn new(arguments: &'v Arguments, names: &'v [String]) -> Self {
        let Arguments { whole, words } = arguments;
        let mut by_name = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            by_name.entry(name.as_str()).or_insert_with(|| words.get(at).map(String::as_str));
        }
        Self { whole, words, names: by_name }
    }

    fn word(&self, number: &str) -> Option<&'v str> {
        number.parse().ok().and_then(|at: usize| self.words.get(at)).map(String::as_str)
    }

    /// A placeholder at the start of a text: its length and its value.
    fn placeholder(&self, rest: &str) -> Option<(usize, Option<&'v str>)> {
        let name = rest.strip_prefix('$')?;
        if let Some(after) = name.strip_prefix("ARGUMENTS") {
            // Only digits are scanned: a search for the bracket in the whole rest would be quadratic.
            if let Some(index) = after.strip_prefix('[') {
                let digits = index.bytes().take_while(u8::is_ascii_digit).count();
                let (number, behind) = index.split_at_checked(digits)?;
                if digits > 0 && behind.starts_with(']') {
                    return Some(("$ARGUMENTS[]".len() + digits, self.word(number)));
                }
            }
            if !after.starts_with(is_word) {
                return Some(("$ARGUMENTS".len(), Some(self.whole).filter(|whole| !whole.is_empty())));
            }
        }
        let length = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
        let name = name.get(..length)?;
        if name.is_empty() {
            return None;
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some((1 + length, self.word(name)));
        }
        Some((1 + length, *self.names.get(name)?))
    }

    /// Passes the pieces of a text to `emit`, and returns whether a placeholder had a value.
    fn pieces(&self, body: &str, mut emit: impl FnMut(&str)) -> bool {
        let (mut rest, mut taken) = (body, false);
        while let Some(at) = rest.find('$') {
            let (before, here) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
            let found = self.placeholder(here);
            let length = found.map_or(1, |(length, _)| length);
            let written = here.get(..length).unwrap_or(here);
            let (before, piece) = match (found, before.strip_suffix('\\')) {
                (Some(_), Some(before)) => (before, written),
                (Some((_, Some(value))), None) => {
                    taken = true;
                    (before, value)
                }
                _ => (before, written),
            };
            emit(before);
            emit(piece);
            rest = here.get(length..).unwrap_or_default();
        }
        emit(rest);
        taken
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The label of arguments that no placeholder used.
const ARGUMENTS_LABEL: &str = "\n\nARGUMENTS: ";

/// The maximum size in bytes of what [`substitute`] returns, computed without building it.
pub(in crate::session) fn substituted_size(body: &str, arguments: &Arguments, names: &[String]) -> usize {
    let mut size = 0_usize;
    let taken = Values::new(arguments, names).pieces(body, |piece| size = size.saturating_add(piece.len()));
    if taken { size } else { size.saturating_add(ARGUMENTS_LABEL.len() + arguments.whole.len()) }
}

/// The instructions with the arguments of a user. If no placeholder used them, they follow at the end.
pub(in crate::session) fn substitute(body: &str, arguments: &Arguments, names: &[String]) -> String {
    let mut text = String::with_capacity(body.len() + arguments.whole.len());
    let taken = Values::new(arguments, names).pieces(body, |piece| text.push_str(piece));
    if !taken && !arguments.whole.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str(ARGUMENTS_LABEL);
        text.push_str(&arguments.whole);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_take_their_values_and_missing_ones_stay() {
        let names = ["file".to_owned(), "mode".to_owned()];
        let with = |body: &str, arguments: &str| substitute(body, &Arguments::line(arguments), &names);
        for (body, arguments, expected) in [
            ("Do $ARGUMENTS now", "a b", "Do a b now"),
            ("$ARGUMENTS[1], $0, $7", "a 'b c'", "b c, a, $7"),
            ("$file in $mode, $other", "x.md", "x.md in $mode, $other"),
            ("$ARGUMENTS", "", "$ARGUMENTS"),
            ("\\$0 is $0", "a", "$0 is a"),
            ("\\$HOME and $HOME and $", "", "\\$HOME and $HOME and $"),
            ("$0", "$1 $ARGUMENTS", "$1"),
            ("$ARGUMENTSX $files $00", "a", "$ARGUMENTSX $files a"),
            ("Nothing.\n", "a b", "Nothing.\n\nARGUMENTS: a b"),
            ("!`rm $0`", "x", "!`rm x`"),
            ("$ARGUMENTS[99999999999999999999] $ARGUMENTS[x]", "a", "$ARGUMENTS[99999999999999999999] a[x]"),
        ] {
            assert_eq!(with(body, arguments), expected, "{body} with {arguments}");
            let size = substituted_size(body, &Arguments::line(arguments), &names);
            assert!(
                (expected.len()..=expected.len() + ARGUMENTS_LABEL.len()).contains(&size),
                "{body}: {size}"
            );
        }
    }

    #[test]
    fn the_work_is_linear_in_the_text_whatever_it_is_made_of() {
        let names: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
        let arguments = Arguments::line(&"x ".repeat(50_000));
        for part in ["$ARGUMENTS", "$ARGUMENTS[", "$ARGUMENTS[1", "$n9999 ", "$"] {
            let body = part.repeat(1_000_000 / part.len());
            let size = substituted_size(&body, &arguments, &names);
            assert!(size >= body.len().min(arguments.whole.len()), "{part}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_size_is_known_before_the_text_is_built(
            parts in proptest::collection::vec("\\$ARGUMENTS(\\[[0-9]?\\]?)?|\\$[a-z0-9]|\\\\|\\PC", 0..20),
            line in "\\PC{0,20}",
        ) {
            let (body, arguments, names) = (parts.concat(), Arguments::line(&line), ["a".to_owned()]);
            let (made, size) = (substitute(&body, &arguments, &names), substituted_size(&body, &arguments, &names));
            proptest::prop_assert!(made.len() <= size);
            // More only by spaces at the end, and by the words before arguments that nothing took.
            proptest::prop_assert!(size <= made.len().max(body.len()) + ARGUMENTS_LABEL.len() + arguments.whole.len());
        }
    }

    #[test]
    fn words_of_a_shell_stay_as_they_are() {
        let given = Arguments::words(["a b", "it's", "\\"]);
        assert_eq!(substitute("$0, $1, $2: $ARGUMENTS", &given, &[]), "a b, it's, \\: a b it's \\");
    }
}
