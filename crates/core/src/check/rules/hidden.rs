//! Rules about invisible text: bidirectional controls, zero-width characters, tag characters,
//! variation selectors out of place, control characters.

use std::ops::Range;

use crate::check::findings::Findings;
use crate::document::{Document, Node, NodeKind, Style};
use crate::finding::Finding;
use crate::finding::rule::{Rule, rules};
use crate::span::Span;
use crate::text::{Unseen, hidden, may_have_hidden};

rules! {
    HIDDEN_BIDI = "hidden-bidi" [W I E W W],
        "the text contains bidirectional controls",
        "Characters such as U+202E reverse the direction of text, so that users read a different text than a model. Marks such as U+200E are reported where no script that runs from right to left is beside them.\n\nRemove them.";
    HIDDEN_ZERO_WIDTH = "hidden-zero-width" [W I W W W],
        "the text contains invisible characters",
        "Zero-width characters can carry invisible text, and make two equal names different. Those that join emoji or letters of scripts that need them are not reported.\n\nRemove them.";
    HIDDEN_TAG_CHARACTERS = "hidden-tag-characters" [E I E E W],
        "the text contains invisible tag characters",
        "Characters from U+E0000 to U+E007F encode text that users do not see and models read. No real skill needs them, apart from the flags of regions: a black flag, at most six tags and U+E007F.\n\nRemove them.";
    HIDDEN_VARIATION_SELECTORS = "hidden-variation-selectors" [W I W W W],
        "the text contains variation selectors out of place",
        "One variation selector after an emoji, a symbol or an ideograph chooses its form. After any other character, or after another selector, it changes nothing and carries hidden text.\n\nRemove them.";
    CONTROL_CHARACTER = "control-character" [W I W W W],
        "the text contains control characters",
        "Control characters have no place in text, and can change what a terminal shows.\n\nRemove them.";
}

/// Checks everything before the body; one finding for each kind and place, with the number of characters.
pub(in crate::check) fn check_frontmatter(document: &Document, findings: &mut Findings<'_>) {
    let text = document.text();
    let yaml = text.get(..document.body_offset()).unwrap_or("");
    let shown = may_have_hidden(yaml);
    // Only double quotes have escapes.
    if !shown && memchr::memchr(b'"', yaml.as_bytes()).is_none() {
        return;
    }
    // The fields first: they may have the characters as escapes, which the text of the file does not contain.
    let mut named = Vec::new();
    for field in ["name", "description"] {
        let Some(node) = document.field(field) else { continue };
        let Some(scalar) = node.scalar().filter(|scalar| shown || scalar.style == Style::DoubleQuoted) else {
            continue;
        };
        for hidden in scan(&scalar.text) {
            let first = hidden.first.clone();
            named.push(rule_of(hidden.kind));
            findings.push(
                finding(&hidden, field)
                    .with_field(field)
                    .with_span(crate::check::part_of(document, node, first)),
            );
        }
    }
    if yaml.contains('\\') {
        for pair in
            document.pairs().iter().filter(|pair| !matches!(pair.key.as_str(), "name" | "description"))
        {
            check_escapes(document, &pair.value, &pair.key, findings);
        }
    }
    if !shown {
        return;
    }
    let identity = |at: usize| {
        ["name", "description"]
            .iter()
            .filter_map(|field| document.field(field))
            .any(|node| (node.span.start..node.span.end).contains(&at))
    };
    // A field lacks a control character that YAML forbids: the reader drops it.
    let is_named = |hidden: &Hidden| identity(hidden.first.start) && named.contains(&rule_of(hidden.kind));
    for hidden in scan(yaml).filter(|hidden| !is_named(hidden)) {
        // The byte order mark has a rule of its own.
        if hidden.first.start > 0 {
            findings.push(
                finding(&hidden, "frontmatter").with_span(Span::new(hidden.first.start, hidden.first.end)),
            );
        }
    }
}

/// Checks for hidden characters that a value has only as escapes; the text of the file is checked separately.
fn check_escapes(document: &Document, node: &Node, field: &str, findings: &mut Findings<'_>) {
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            let source = node.span.slice(document.text()).unwrap_or("");
            if scalar.style == Style::DoubleQuoted && !may_have_hidden(source) {
                for hidden in scan(&scalar.text) {
                    findings.push(finding(&hidden, field).with_span(node.span));
                }
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                check_escapes(document, item, field, findings);
            }
        }
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                check_escapes(document, &pair.value, field, findings);
            }
        }
    }
}

/// Checks the body, as far as it was read.
pub(in crate::check) fn check_body(document: &Document, findings: &mut Findings<'_>) {
    let body = document.body_offset();
    for hidden in scan(document.text().get(body..).unwrap_or("")) {
        let first = Span::new(hidden.first.start, hidden.first.end).shift(body);
        if first.start > 0 {
            findings.push(finding(&hidden, "body").with_span(first));
        }
    }
}

fn finding(hidden: &Hidden, place: &str) -> Finding {
    let Hidden { kind, count, code_point, .. } = hidden;
    let rule = rule_of(*kind);
    let what = match *count {
        1 => format!("the {place} contains U+{code_point:04X}"),
        count => format!("the {place} contains U+{code_point:04X} and {} more of its kind", count - 1),
    };
    Finding::new(rule, format!("{what}: {}", words(*kind)))
}

/// Hidden characters of one kind in one text.
struct Hidden {
    kind: Unseen,
    first: Range<usize>,
    code_point: u32,
    count: usize,
}

/// The rule that a kind of hidden character breaks.
pub const fn rule_of(kind: Unseen) -> &'static Rule {
    match kind {
        Unseen::Bidi | Unseen::Mark => &HIDDEN_BIDI,
        Unseen::Invisible | Unseen::Joiner => &HIDDEN_ZERO_WIDTH,
        Unseen::Tag => &HIDDEN_TAG_CHARACTERS,
        Unseen::Selector => &HIDDEN_VARIATION_SELECTORS,
        Unseen::Control => &CONTROL_CHARACTER,
    }
}

/// A kind of hidden character in words, those of the summary of its rule.
const fn words(kind: Unseen) -> &'static str {
    match kind {
        Unseen::Bidi | Unseen::Mark => "bidirectional controls",
        Unseen::Invisible | Unseen::Joiner => "invisible characters",
        Unseen::Tag => "invisible tag characters",
        Unseen::Selector => "variation selectors out of place",
        Unseen::Control => "control characters",
    }
}

/// Finds the hidden characters, by the rule they break, in the order of the rules.
fn scan(text: &str) -> impl Iterator<Item = Hidden> {
    let mut found: [Option<Hidden>; 5] = [const { None }; 5];
    for (at, character, kind) in hidden(text) {
        let rule = rule_of(kind);
        let place = RULES.iter().position(|other| *other == rule);
        if let Some(slot) = place.and_then(|place| found.get_mut(place)) {
            let first = at..at + character.len_utf8();
            let code_point = u32::from(character);
            slot.get_or_insert(Hidden { kind, first, code_point, count: 0 }).count += 1;
        }
    }
    found.into_iter().flatten()
}

/// Every run of hidden characters at a place that a rule is about. The place is the body or is in the frontmatter, whose
/// characters are judged by what is beside them there.
pub(in crate::check) fn places(document: &Document, place: Span, rule: &Rule) -> Vec<Span> {
    let body = document.body_offset();
    let from = if place.start < body { 0 } else { body };
    let mut runs: Vec<Span> = Vec::new();
    for (at, character, kind) in hidden(document.text().get(from..place.end).unwrap_or("")) {
        let span = Span::new(at, at + character.len_utf8()).shift(from);
        // The byte order mark has a rule of its own.
        if rule_of(kind) != rule || span.start < place.start.max(1) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => runs.push(span),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn codes(text: &str) -> Vec<&'static str> {
        scan(text).map(|hidden| rule_of(hidden.kind).code).collect()
    }

    #[test]
    fn emoji_flags_and_scripts_that_need_joiners_are_not_hidden_text() {
        assert!(codes("👩\u{200d}💻 ❤\u{fe0f} क्\u{200d}ष نامه\u{200c}ای").is_empty());
        assert!(codes("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}").is_empty());
    }

    #[test]
    fn a_carriage_return_is_hidden_unless_it_ends_a_line() {
        assert_eq!(codes("evil text\rharmless text\n"), ["control-character"]);
        assert!(codes("one\r\ntwo\r\n").is_empty());
    }

    #[test]
    fn characters_side_by_side_are_removed_by_one_edit() {
        let document = parse("---\nname: a\n---\nx\u{200b}\u{200b}y\u{200b}".as_bytes());
        let runs =
            places(&document, Span::new(document.body_offset(), document.text().len()), &HIDDEN_ZERO_WIDTH);
        assert_eq!(runs.iter().map(|run| run.len()).collect::<Vec<_>>(), [6, 3]);
    }

    #[test]
    fn each_kind_is_found_once_with_its_count() {
        assert_eq!(codes("a\u{202e}b\u{2066}"), ["hidden-bidi"]);
        assert_eq!(codes("a\u{200b}b"), ["hidden-zero-width"]);
        assert_eq!(codes("a\u{e0041}"), ["hidden-tag-characters"]);
        assert_eq!(codes("a\u{fe0f}\u{fe0f}"), ["hidden-variation-selectors"]);
        assert_eq!(codes("a\u{1b}[0m\u{85}"), ["control-character"]);
        assert_eq!(scan("\u{200b}\u{200b}x\u{200b}").next().map(|hidden| hidden.count), Some(3));
    }

    #[test]
    fn a_raw_control_character_that_the_reader_drops_is_found() {
        for text in [
            "---\nname: a\ndescription: x \u{1b}[8my\u{1b}[0m\n---\n",
            "---\nname: a\u{1b}b\ndescription: x\n---\n",
        ] {
            let document = parse(text.as_bytes());
            let mut findings = Findings::default();
            check_frontmatter(&document, &mut findings);
            let findings = findings.into_findings();
            assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), ["control-character"]);
            assert_eq!(findings[0].span.and_then(|span| span.slice(text)), Some("\u{1b}"));
        }
    }

    #[test]
    fn escapes_in_a_field_are_found_and_spans_are_exact() {
        let text = "---\nname: a\ndescription: \"x\\u202ey\"\n---\nab\u{200b}c\n";
        let document = parse(text.as_bytes());
        let mut findings = Findings::default();
        check_frontmatter(&document, &mut findings);
        check_body(&document, &mut findings);
        let findings = findings.into_findings();
        assert_eq!(
            findings.iter().map(Finding::code).collect::<Vec<_>>(),
            ["hidden-bidi", "hidden-zero-width"]
        );
        assert_eq!(findings[1].span.and_then(|span| span.slice(text)), Some("\u{200b}"));
    }
}
