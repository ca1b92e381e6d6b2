//! A user's arguments put into instructions: `$ARGUMENTS`, `$ARGUMENTS[N]`, `$N` and `$name`.
//!
//! One pass: what is put in is not looked at again. A placeholder without a value stays as it is, and `\$` before a
//! placeholder keeps it. Commands in instructions are text like any other.

use serde::{Deserialize, Serialize};

/// What a user wrote behind the name of a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    whole: String,
    words: Vec<String>,
}

impl Arguments {
    /// A line, parted at blanks; quotes hold blanks together.
    pub fn line(line: &str) -> Self {
        let whole = line.trim();
        Self { whole: whole.to_owned(), words: words(whole) }
    }

    /// Words that somebody has parted already, such as a shell: each is one argument, whatever is in it.
    pub fn words<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        Self { whole: words.join(" ").trim().to_owned(), words }
    }
}

/// The words of a line as a shell would part them: at blanks, with quotes around blanks that count.
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

/// A placeholder at the start of a text: how long it is, and what stands for it.
fn placeholder<'v>(
    rest: &str,
    whole: &'v str,
    words: &'v [String],
    names: &[String],
) -> Option<(usize, Option<&'v str>)> {
    let name = rest.strip_prefix('$')?;
    if let Some(after) = name.strip_prefix("ARGUMENTS") {
        if let Some((number, _)) = after.strip_prefix('[').and_then(|index| index.split_once(']'))
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            let value = number.parse().ok().and_then(|at: usize| words.get(at)).map(String::as_str);
            return Some(("$ARGUMENTS[]".len() + number.len(), value));
        }
        if !after.starts_with(is_word) {
            return Some(("$ARGUMENTS".len(), Some(whole).filter(|whole| !whole.is_empty())));
        }
    }
    let length = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
    let name = name.get(..length)?;
    if name.is_empty() {
        return None;
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = name.parse().ok().and_then(|at: usize| words.get(at)).map(String::as_str);
        return Some((1 + length, value));
    }
    let at = names.iter().position(|known| known == name)?;
    Some((1 + length, words.get(at).map(String::as_str)))
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The instructions with a user's arguments in them. If no placeholder took any, they follow at the end.
pub(super) fn substitute(body: &str, arguments: &Arguments, names: &[String]) -> String {
    let Arguments { whole: arguments, words } = arguments;
    let mut text = String::with_capacity(body.len() + arguments.len());
    let mut taken = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, here) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
        let found = placeholder(here, arguments, words, names);
        let length = found.map_or(1, |(length, _)| length);
        let written = here.get(..length).unwrap_or(here);
        match (found, before.strip_suffix('\\')) {
            (Some(_), Some(before)) => {
                text.push_str(before);
                text.push_str(written);
            }
            (Some((_, Some(value))), None) => {
                text.push_str(before);
                text.push_str(value);
                taken = true;
            }
            _ => {
                text.push_str(before);
                text.push_str(written);
            }
        }
        rest = here.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    if !taken && !arguments.is_empty() {
        text.truncate(text.trim_end().len());
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
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
        }
    }
    #[test]
    fn words_of_a_shell_stay_as_they_are() {
        let given = Arguments::words(["a b", "it's", "\\"]);
        assert_eq!(substitute("$0, $1, $2: $ARGUMENTS", &given, &[]), "a b, it's, \\: a b it's \\");
    }
}
