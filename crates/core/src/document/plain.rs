//! A narrow, fast reader of the frontmatter most skills have: lines of `key: value`, one level of nesting.
//!
//! It gives up at any doubt, and the full reader takes over. What it does read equals what the full reader reads;
//! a property test, a fuzz target and the corpus check this.

use super::node::{Node, NodeKind, Pair, Scalar, Style};
use super::yaml;
use crate::span::Span;

/// More lines than real frontmatter has; the full reader counts against its own budget.
const MAX_LINES: usize = 500;

/// Reads the text if there is nothing in it that needs the full reader.
pub(crate) fn read(yaml: &str, base: usize) -> Option<Node> {
    if has_block_scalar(yaml.as_bytes()) {
        return None;
    }
    let mut top: Vec<Pair> = Vec::with_capacity(8);
    let mut nested: Vec<Pair> = Vec::new();
    let mut at = 0;
    let mut number = 0;
    while at < yaml.len() {
        let rest = yaml.get(at..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len()))?;
        let start = base + at;
        at += line.len() + 1;
        number += 1;
        if line.is_empty() {
            continue;
        }
        if number > MAX_LINES {
            return None;
        }
        if let Some(inner) = line.strip_prefix("  ") {
            // Only below a key without a value, and only one level deep.
            let parent = top.last()?;
            if !parent.value.span.is_empty()
                || parent.value.scalar().is_none_or(|scalar| scalar.style != Style::Plain)
            {
                return None;
            }
            nested.push(entry(inner, start + 2)?);
        } else {
            attach(&mut top, &mut nested)?;
            top.push(entry(line, start)?);
        }
    }
    attach(&mut top, &mut nested)?;
    mapping(top)
}

/// Whether this reader reads a text as the full reader does; none when it gives up. For tests.
pub fn quick_reader_agrees(text: &str) -> Option<bool> {
    let quick = read(text, 0)?;
    let full = yaml::read_events(text, 0);
    Some(full.error.is_none() && full.findings.is_empty() && full.root == Some(quick))
}

/// Whether a value begins with `>` or `|`. This is the usual reason to need the full reader, and finding it first saves
/// the work on the lines before it.
fn has_block_scalar(yaml: &[u8]) -> bool {
    memchr::memchr2_iter(b'>', b'|', yaml)
        .any(|at| yaml.get(..at).is_some_and(|before| before.ends_with(b": ")))
}

/// Puts the nested lines below their parent.
fn attach(top: &mut [Pair], nested: &mut Vec<Pair>) -> Option<()> {
    if !nested.is_empty() {
        let pairs = std::mem::take(nested);
        top.last_mut()?.value = mapping(pairs)?;
    }
    Some(())
}

/// A mapping without duplicate keys.
fn mapping(pairs: Vec<Pair>) -> Option<Node> {
    let span = Span::new(pairs.first()?.key_span.start, pairs.last()?.value.span.end);
    for (at, pair) in pairs.iter().enumerate() {
        if pairs.iter().take(at).any(|other| other.key == pair.key) {
            return None;
        }
    }
    Some(Node { span, kind: NodeKind::Mapping(pairs) })
}

/// One line `key: value`.
fn entry(line: &str, start: usize) -> Option<Pair> {
    let bytes = line.as_bytes();
    let colon =
        bytes.iter().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')))?;
    let key = line.get(..colon)?;
    if bytes.get(colon) != Some(&b':') || !key.starts_with(|c: char| c.is_ascii_alphanumeric()) || colon > 128
    {
        return None;
    }
    let value_at = start + colon + 1;
    let value = match line.get(colon + 1..)? {
        "" => scalar("", Span::at(value_at), Style::Plain),
        rest => {
            let text = rest.strip_prefix(' ')?;
            let span = Span::new(value_at + 1, value_at + 1 + text.len());
            match *text.as_bytes().first()? {
                b'"' => scalar(between_quotes(text, '"')?, span, Style::DoubleQuoted),
                b'\'' => scalar(between_quotes(text, '\'')?, span, Style::SingleQuoted),
                _ if is_plain(text) => scalar(text, span, Style::Plain),
                _ => return None,
            }
        }
    };
    Some(Pair { key: key.to_owned(), key_span: Span::new(start, start + colon), value })
}

fn scalar(text: &str, span: Span, style: Style) -> Node {
    Node { span, kind: NodeKind::Scalar(Scalar { text: text.to_owned(), style }) }
}

/// The text between two quotes, when they are the only ones and nothing is escaped.
fn between_quotes(text: &str, quote: char) -> Option<&str> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let simple = |byte: u8| byte >= b' ' && byte != 0x7F && byte != b'\\' && byte != quote as u8;
    (inner.bytes().all(simple) && !has_special(inner)).then_some(inner)
}

/// Whether the text is a plain scalar: no rule of YAML cuts it short or gives it another meaning.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = bytes.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0xC3);
    if !begins || bytes.last().is_none_or(|byte| matches!(byte, b' ' | b':')) {
        return false;
    }
    // Without an early exit, so that the compiler looks at many bytes at once.
    if bytes.iter().fold(false, |found, byte| found | byte.is_ascii_control()) {
        return false;
    }
    let cut = memchr::memchr2_iter(b':', b'#', bytes).any(|at| match bytes.get(at) {
        Some(b':') => bytes.get(at + 1) == Some(&b' '),
        _ => at > 0 && bytes.get(at - 1) == Some(&b' '),
    });
    if cut {
        return false;
    }
    !has_special(text)
}

/// Whether the text has a character beyond ASCII that YAML treats in a special way: C1 controls, line ends, a byte
/// order mark, the two noncharacters.
fn has_special(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    text.chars().any(|c| {
        matches!(c, '\u{80}'..='\u{A0}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(yaml: &str) -> bool {
        let Some(quick) = read(yaml, 7) else { return false };
        let full = yaml::read_events(yaml, 7);
        assert_eq!(full.error, None, "{yaml:?}");
        assert_eq!(full.findings, [], "{yaml:?}");
        assert_eq!(full.root.as_ref(), Some(&quick), "{yaml:?}");
        true
    }

    #[test]
    fn ordinary_frontmatter_is_read() {
        assert!(agrees(
            "name: a-b\ndescription: Does x, y; and \"z\" (see http://x.y/z#q).\nlicense:\nmetadata:\n  author: me\n  version: \"1.0\"\n\nx: 'y'\n"
        ));
        assert!(agrees("name: 技能\nversion: 1.0\nempty: \"\"\n"));
    }

    #[test]
    fn anything_else_is_left_to_the_full_reader() {
        for yaml in [
            "",
            "# c\n",
            "a: b: c\n",
            "a: b #c\n",
            "a: [b]\n",
            "a: b\n  c\n",
            "a: b\n   c: d\n",
            "a:\n  b:\n    c: d\n",
            "a: 'it''s'\n",
            "a: \"x\\n\"\n",
            "a: b\na: c\n",
            "a:  b\n",
            "a: b \n",
            "a: b\r\n",
            "a:\tb\n",
            "- a\n",
            "a:\n- b\n",
            "a: &x b\n",
            "a: b:\n",
            "  a: b\n",
            "a: \u{a0}b\n",
            "a:\n  b: c\n  b: d\n",
            "a: x\u{2028}y\n",
        ] {
            assert!(read(yaml, 0).is_none(), "{yaml:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::text::testing::many())]

        #[test]
        fn what_is_read_is_what_the_full_reader_reads(lines in prop::collection::vec("(  )?[a-c_-]{1,2}:( ?[ -~éa-c\u{80}\u{2028}\u{feff}]{0,6})?", 0..6)) {
            agrees(&lines.join("\n"));
        }

        #[test]
        fn any_text_agrees_or_is_given_up(text in any::<String>()) {
            agrees(&text);
            agrees(&format!("a: {text}\nb: c\n"));
        }
    }
}
