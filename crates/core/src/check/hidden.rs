//! Rules about text that people do not see: bidirectional controls, zero-width characters, tag characters,
//! runs of variation selectors, control characters.

use std::ops::Range;

use crate::document::Document;
use crate::problem::Finding;
use crate::rule::{Rule, rules};
use crate::span::Span;

rules! {
    HIDDEN_BIDI = "hidden-bidi" [W I E W W],
        "the text contains bidirectional controls",
        "Characters such as U+202E turn the direction of text around, so that people read something else than a model does.\n\nRemove them.";
    HIDDEN_ZERO_WIDTH = "hidden-zero-width" [W I W W W],
        "the text contains invisible characters",
        "Zero-width characters can carry text that nobody sees, and make two equal names different. Those that join emoji or letters of scripts that need them are not reported.\n\nRemove them.";
    HIDDEN_TAG_CHARACTERS = "hidden-tag-characters" [E I E E W],
        "the text contains invisible tag characters",
        "Characters from U+E0000 to U+E007F spell out text that no one sees and models read. No real skill needs them, apart from the flags of regions.\n\nRemove them.";
    HIDDEN_VARIATION_SELECTORS = "hidden-variation-selectors" [W I W W W],
        "the text contains runs of variation selectors",
        "One variation selector behind a character chooses its look; several in a row carry hidden text.\n\nRemove them.";
    CONTROL_CHARACTER = "control-character" [W I W W W],
        "the text contains control characters",
        "Control characters have no place in text, and can change what a terminal shows.\n\nRemove them.";
}

/// Looks at the frontmatter and the body; one finding for each kind and place, with the number of characters.
pub(super) fn check(document: &Document, findings: &mut Vec<Finding>) {
    let text = document.text();
    // The fields first: the same characters may be there as escapes, which the file does not show.
    for field in ["name", "description"] {
        let Some(node) = document.field(field) else { continue };
        let Some(value) = node.text() else { continue };
        for hidden in scan(value) {
            let first = hidden.first.clone();
            findings.push(
                finding(&hidden, field).with_field(field).with_span(super::part_of(document, node, first)),
            );
        }
    }
    let body = document.body_offset();
    let identity = |at: usize| {
        ["name", "description"]
            .iter()
            .filter_map(|field| document.field(field))
            .any(|node| (node.span.start..node.span.end).contains(&at))
    };
    let yaml = text.get(..body).unwrap_or("");
    for hidden in scan(yaml).filter(|hidden| !identity(hidden.first.start)) {
        // The byte order mark has a rule of its own.
        if hidden.first.start > 0 {
            findings.push(
                finding(&hidden, "frontmatter").with_span(Span::new(hidden.first.start, hidden.first.end)),
            );
        }
    }
    for hidden in scan(text.get(body..).unwrap_or("")) {
        let first = Span::new(hidden.first.start, hidden.first.end).shift(body);
        if first.start > 0 {
            findings.push(finding(&hidden, "body").with_span(first));
        }
    }
}

fn finding(hidden: &Hidden, place: &str) -> Finding {
    let Hidden { rule, count, code_point, .. } = hidden;
    let what = match *count {
        1 => format!("the {place} contains U+{code_point:04X}"),
        count => format!("the {place} contains U+{code_point:04X} and {} more of its kind", count - 1),
    };
    let kind = rule.summary.strip_prefix("the text contains ").unwrap_or(rule.summary);
    Finding::new(rule, format!("{what}: {kind}"))
}

/// Hidden characters of one kind in one text.
struct Hidden {
    rule: &'static Rule,
    first: Range<usize>,
    code_point: u32,
    count: usize,
}

/// The rules of the five kinds.
const KINDS: [&Rule; 5] = [
    &HIDDEN_BIDI,
    &HIDDEN_ZERO_WIDTH,
    &HIDDEN_TAG_CHARACTERS,
    &HIDDEN_VARIATION_SELECTORS,
    &CONTROL_CHARACTER,
];

/// Finds the hidden characters of each kind.
fn scan(text: &str) -> impl Iterator<Item = Hidden> {
    let mut kinds: [Option<Hidden>; 5] = [const { None }; 5];
    visit(text, |kind, at, character| {
        if let (Some(slot), Some(rule)) = (kinds.get_mut(kind), KINDS.get(kind)) {
            let first = at..at + character.len_utf8();
            let code_point = u32::from(character);
            slot.get_or_insert(Hidden { rule, first, code_point, count: 0 }).count += 1;
        }
    });
    kinds.into_iter().flatten()
}

/// Every hidden character in the body that a rule is about.
pub(super) fn in_body(document: &Document, code: &str) -> Vec<Span> {
    let body = document.body_offset();
    let mut spans = Vec::new();
    visit(document.text().get(body..).unwrap_or(""), |kind, at, character| {
        if KINDS.get(kind).is_some_and(|rule| rule.code == code) {
            spans.push(Span::new(at, at + character.len_utf8()).shift(body));
        }
    });
    spans
}

/// Calls a function with the kind, the place and the value of each hidden character.
fn visit(text: &str, mut call: impl FnMut(usize, usize, char)) {
    let suspicious =
        |byte: u8| byte >= 0x80 || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7F;
    if !text.bytes().any(suspicious) {
        return;
    }
    let mut previous = None;
    let mut in_flag = false;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        in_flag = character == '\u{1F3F4}' || (in_flag && is_tag(character));
        if let Some(kind) = kind_of(previous, character, next, in_flag) {
            call(kind, at, character);
        }
        previous = Some(character);
    }
}

/// Which of the five kinds a character is, if any, seen between its neighbours.
fn kind_of(previous: Option<char>, character: char, next: Option<char>, in_flag: bool) -> Option<usize> {
    match character {
        '\t' | '\n' | '\r' => None,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Some(0),
        // Joiners are part of emoji and of Arabic, Indic and other scripts: both neighbours are then not ASCII.
        '\u{200C}' | '\u{200D}' => {
            let needs_it = |c: char| !c.is_ascii() && !is_zero_width(c);
            let joins = previous.is_some_and(needs_it) && next.is_some_and(needs_it);
            (!joins).then_some(1)
        }
        character if is_zero_width(character) => Some(1),
        character if is_tag(character) => (!in_flag).then_some(2),
        character if is_variation_selector(character) => {
            previous.is_some_and(is_variation_selector).then_some(3)
        }
        character if character.is_control() => Some(4),
        _ => None,
    }
}

fn is_zero_width(character: char) -> bool {
    matches!(
        character,
        '\u{200B}' | '\u{200C}' | '\u{200D}' | '\u{2060}'
            ..='\u{2064}'
                | '\u{FEFF}'
                | '\u{180E}'
                | '\u{034F}'
                | '\u{00AD}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{3164}'
                | '\u{FFA0}'
    )
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{E0000}'..='\u{E007F}')
}

fn is_variation_selector(character: char) -> bool {
    matches!(character, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn codes(text: &str) -> Vec<&'static str> {
        scan(text).map(|hidden| hidden.rule.code).collect()
    }

    #[test]
    fn emoji_flags_and_scripts_that_need_joiners_are_no_hidden_text() {
        assert!(codes("👩\u{200d}💻 ❤\u{fe0f} क्\u{200d}ष نامه\u{200c}ای").is_empty());
        assert!(codes("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}").is_empty());
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
    fn escapes_in_a_field_are_seen_and_places_are_exact() {
        let text = "---\nname: a\ndescription: \"x\\u202ey\"\n---\nab\u{200b}c\n";
        let document = parse(text.as_bytes());
        let mut findings = Vec::new();
        check(&document, &mut findings);
        assert_eq!(
            findings.iter().map(Finding::code).collect::<Vec<_>>(),
            ["hidden-bidi", "hidden-zero-width"]
        );
        assert_eq!(findings[1].span.and_then(|span| span.slice(text)), Some("\u{200b}"));
    }
}
