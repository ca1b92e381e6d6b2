//! Rules about the description: present, text, not too long.

use crate::check::findings::Findings;
use crate::check::part_of;
use crate::check::rules::Locate;
use crate::document::{Document, Node, Style};
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::limits::MAX_DESCRIPTION_CHARS;
use crate::span::Span;

rules! {
    DESCRIPTION_MISSING = "description-missing" [E E E E E],
        "there is no description",
        "The description is all an agent sees of a skill before it decides to use it. Without one the skill is not loaded.\n\nSay what the skill does and when to use it.";
    DESCRIPTION_EMPTY = "description-empty" [E E E E E],
        "the description is empty",
        "The description is all an agent sees of a skill before it decides to use it. Without one the skill is not loaded.\n\nSay what the skill does and when to use it.";
    DESCRIPTION_NOT_TEXT = "description-not-text" [E E E E E],
        "the description is a list or a mapping",
        "The description is one text. A value such as `{placeholder}` or `- item` without quotes is read as something else; put it in quotes.";
    DESCRIPTION_NULL = "description-null" [E E E E E],
        "the description is null",
        "A plain `null` or `~` is null in YAML, so there is no description, and the skill is not loaded.\n\nSay what the skill does and when to use it.";
    DESCRIPTION_TYPED = "description-typed" [W O E E W],
        "the description is a number, a boolean or a date to other readers",
        "A value without quotes that looks like `123`, `true`, `yes` or `2024-01-31` is not text to readers with typed values; some of them then refuse the skill. Prowess reads the text verbatim.\n\nSay what the skill does and when to use it, or put the value in quotes.";
    DESCRIPTION_CUT = "description-cut" [W O W W W],
        "a comment cuts the description short",
        "A space and a `#` begin a comment in YAML, so the rest is not part of the description.\n\n```\ndescription: Fix issue #12     # wrong: reads `Fix issue`\ndescription: 'Fix issue #12'   # right\n```";
    DESCRIPTION_TOO_LONG = "description-too-long" [E E E E W],
        "the description has more than 1024 characters",
        "The specification allows 1024 characters, counted without the spaces around them. Every skill's description is in every prompt.\n\nMove the details into the body.";
    DESCRIPTION_ANGLE_BRACKET = "description-angle-bracket" [O O E O O],
        "the description contains an angle bracket",
        "Anthropic's upload refuses `<` and `>` in descriptions, because they could be read as markup in a prompt.";
}

/// Everything wrong with a description by itself.
///
/// ```
/// assert!(prowess_core::check_description("Fills in PDF forms. Use for any form.").is_empty());
/// assert_eq!(prowess_core::check_description("  ")[0].code(), "description-empty");
/// ```
pub fn check_description(description: &str) -> Vec<Finding> {
    let mut findings = Findings::default();
    if description.trim().is_empty() {
        findings.push(empty());
    } else {
        check_text(description, &mut findings, &|finding, _| finding);
    }
    findings.into_findings()
}

fn empty() -> Finding {
    Finding::new(&DESCRIPTION_EMPTY, "the description is empty")
        .with_field("description")
        .with_help("say what the skill does and when to use it")
}

/// Checks that there is a description.
pub(in crate::check) fn check_presence(document: &Document, findings: &mut Findings<'_>) {
    let Some(pair) = document.pair("description") else {
        findings.push(
            Finding::new(&DESCRIPTION_MISSING, "there is no description")
                .with_field("description")
                .with_span(document.fences().map(|fences| fences.open))
                .with_help(crate::check::misspelt(document, "description").unwrap_or_else(|| {
                    "add `description:` and say what the skill does and when to use it".to_owned()
                })),
        );
        return;
    };
    match pair.value.text() {
        None => findings.push(
            Finding::new(&DESCRIPTION_NOT_TEXT, format!("the description is {}", pair.value.shape()))
                .with_field("description")
                .with_span(pair.value.span)
                .with_help("put the text in quotes"),
        ),
        Some(text) if text.trim_start().is_empty() => findings.push(empty().with_span(pair.key_span)),
        Some(text) if pair.value.is_null() => findings.push(
            Finding::new(&DESCRIPTION_NULL, format!("the description is null: {text}"))
                .with_field("description")
                .with_span(pair.value.span)
                .with_help("say what the skill does and when to use it"),
        ),
        Some(_) => {}
    }
}

/// Checks the text of the description.
pub(in crate::check) fn check(document: &Document, findings: &mut Findings<'_>) {
    let Some(node) = document.field("description") else { return };
    let Some(text) = node.said().filter(|text| !text.trim_start().is_empty()) else { return };
    crate::check::check_type(&DESCRIPTION_TYPED, "description", node, findings);
    if let Some(comment) = comment_behind(document, node) {
        findings.push(
            Finding::new(&DESCRIPTION_CUT, "a comment cuts the description short")
                .with_field("description")
                .with_span(comment)
                .with_help("put the description in quotes if this is part of it"),
        );
    }
    check_text(text, findings, &|finding, part| finding.with_span(part_of(document, node, part)));
}

/// The comment on the line where a plain text ends.
fn comment_behind(document: &Document, node: &Node) -> Option<Span> {
    let plain = node.scalar().is_some_and(|scalar| scalar.style == Style::Plain);
    let rest = document.text().get(node.span.end..)?;
    // Most lines end with the text.
    if !plain || rest.starts_with('\n') {
        return None;
    }
    let line = rest.lines().next()?;
    let comment = line.trim_start();
    let start = node.span.end + line.len() - comment.len();
    // A space after the `#` shows that a comment was meant.
    let meant = comment.strip_prefix('#').is_some_and(|text| text.starts_with(|c: char| !c.is_whitespace()));
    (meant && !document.repaired()).then(|| Span::new(start, node.span.end + line.len()))
}

fn check_text(text: &str, findings: &mut Findings<'_>, place: Locate<'_>) {
    let brackets = findings.wants(&DESCRIPTION_ANGLE_BRACKET);
    let mut push = |finding: Finding, part| findings.push(place(finding.with_field("description"), part));
    // There are at least as many bytes as characters.
    let length = if text.len() > MAX_DESCRIPTION_CHARS { text.trim().chars().count() } else { 0 };
    if length > MAX_DESCRIPTION_CHARS {
        let message = format!("the description has {length} characters, more than {MAX_DESCRIPTION_CHARS}");
        push(
            Finding::new(&DESCRIPTION_TOO_LONG, message).with_help("move the details into the body"),
            0..text.len(),
        );
    }
    if let Some(at) = brackets.then(|| text.find(['<', '>'])).flatten() {
        push(
            Finding::new(&DESCRIPTION_ANGLE_BRACKET, "the description contains an angle bracket"),
            at..at + 1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_counts_characters_of_the_trimmed_text() {
        assert!(check_description(&format!("{}\n", "é".repeat(1024))).is_empty());
        assert_eq!(check_description(&"é".repeat(1025))[0].code(), "description-too-long");
    }
}
