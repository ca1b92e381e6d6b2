//! YAML errors for authors of a SKILL.md: the usual mistakes, in plain words.

use crate::document::SPEC_FIELDS;
use crate::document::yaml::SyntaxError;
use crate::finding::Finding;
use crate::finding::rule::Rule;
use crate::span::Span;

/// The finding of a syntax error: what is wrong, in which field, and what to do.
pub(in crate::document) fn syntax_finding(
    rule: &'static Rule,
    error: &SyntaxError,
    text: &str,
    yaml: Span,
) -> Finding {
    let rest = text.get(error.at..).unwrap_or("");
    let next = rest.chars().next().filter(|character| !matches!(character, '\n' | '\r'));
    let width = next.map_or(0, char::len_utf8);
    if let Some(key) = indented_key(text, error) {
        let what = "a key that is indented, and belongs to no key above it";
        return Finding::new(rule, format!("the frontmatter is not valid YAML: {what}"))
            .with_span(Span::new(error.at, error.at + width))
            .with_help("remove the spaces before it")
            .with_field(key);
    }
    let (what, help) = explain(&error.message, next);
    let finding = Finding::new(rule, format!("the frontmatter is not valid YAML: {what}"))
        .with_span(Span::new(error.at, error.at + width));
    let help = |value: &str| help.replace(VALUE, value);
    match field_at(text, yaml, error.at) {
        Some(field) => finding.with_help(help(&format!("the value of {field}"))).with_field(field),
        None => finding.with_help(help("the value")),
    }
}

/// The key of an indented line that continues no value: after a block of text that has ended, or a field of the
/// specification below a value on one line, as ` license: MIT` below a description.
fn indented_key(text: &str, error: &SyntaxError) -> Option<String> {
    let start = text.get(..error.at)?.rfind('\n').map_or(0, |line| line + 1);
    let line = text.get(start..)?.lines().next()?;
    let trimmed = line.trim_start_matches(' ');
    let (key, rest) = trimmed.split_once(':')?;
    let begin = start + (line.len() - trimmed.len());
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_key = !key.is_empty() && key.chars().all(word) && (rest.is_empty() || rest.starts_with(' '));
    let is_meant = if error.message.starts_with("while parsing a block mapping") {
        error.at == begin
    } else {
        // The repair moves these, and no other ones.
        error.message.starts_with("mapping values are not allowed")
            && error.at == begin + key.len()
            && SPEC_FIELDS.contains(&key)
    };
    (is_key && is_meant && begin > start).then(|| key.to_owned())
}

/// What an instruction calls the value with the error.
const VALUE: &str = "{value}";

/// The parser's message in plain words, and what to do.
fn explain(message: &str, next: Option<char>) -> (String, &'static str) {
    const QUOTE: &str = "put {value} in quotes";
    let starts = [
        ("mapping values are not allowed", "a colon and a space inside a value without quotes", QUOTE),
        (
            "invalid trailing content",
            "text after a closing quote",
            "put {value} in other quotes, or double the quotes inside",
        ),
        (
            "invalid indentation in multiline quoted",
            "a quote that is not closed, or lines of a quoted value that are not indented",
            "close the quote, and indent the lines of {value}",
        ),
        (
            "simple key expected",
            "a line that is neither `key: value` nor part of a value",
            "indent the line, or write it as `key: value`",
        ),
        ("while parsing a block mapping", "text after a value that does not belong to it", QUOTE),
        (
            "unexpected EOF while parsing a block mapping",
            "a quote or bracket that is not closed",
            "close it, or put {value} in quotes",
        ),
        ("unclosed bracket", "a bracket that is not closed", "close it, or put {value} in quotes"),
        (
            "while parsing a flow",
            "a bracket that is not closed, or a comma that is missing",
            "close it, or put {value} in quotes",
        ),
        ("tabs disallowed", "a tab in the indentation", "indent with spaces"),
        ("while parsing node, found unknown anchor", "a value that begins with `*`", QUOTE),
        ("while scanning an anchor", "a value that begins with `*` or `&`", QUOTE),
        (
            "while parsing a quoted scalar, found unknown escape",
            "a backslash in double quotes that escapes nothing",
            "use single quotes, or write two backslashes",
        ),
        (
            "block sequence entries are not allowed",
            "a list on the line of its key",
            "begin the list on the next line",
        ),
        ("while parsing a block collection", "a list and keys at one indentation", "indent one of them"),
        ("YAML directives are disallowed", "a line that begins with `%`", "remove the line"),
    ];
    if let Some((_, what, help)) = starts.iter().find(|(start, ..)| message.starts_with(start)) {
        return ((*what).to_owned(), help);
    }
    match next {
        Some(character) if message.starts_with("unexpected character") && character.is_control() => {
            (format!("the control character U+{:04X}", u32::from(character)), "remove the character")
        }
        Some(character) if message.starts_with("unexpected character") => {
            (format!("a value that begins with `{character}`"), QUOTE)
        }
        _ => (message.to_owned(), "correct the place that is shown; when in doubt, put {value} in quotes"),
    }
}

/// The field of the frontmatter that contains a place: the last line at the left margin that looks like a key.
fn field_at(text: &str, yaml: Span, at: usize) -> Option<String> {
    let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |line| at + line);
    let before = text.get(yaml.start..end.min(yaml.end))?;
    before.lines().rev().find_map(|line| {
        let key = line.split_once(':')?.0;
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        (!key.is_empty() && key.chars().all(word)).then(|| key.to_owned())
    })
}
