//! Repair: edits that turn broken frontmatter into the YAML its author meant.
//!
//! The text is divided into entries by indentation. An entry that is valid YAML by itself stays unchanged. The value of
//! a broken one is put in quotes, and its continuation lines are joined. Tabs in indentation become spaces, and control
//! characters are removed. When the result is still not YAML, there is no repair.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::document::{SPEC_FIELDS, yaml};
use crate::finding::Edit;
use crate::span::Span;

pub(crate) use body_start::{BodyStart, body_before_fence, body_without_fence};

mod body_start;

/// Text that is valid YAML after edits, and these edits.
#[derive(Debug)]
pub(crate) struct Repaired {
    pub(crate) text: String,
    pub(crate) edits: Vec<Edit>,
    /// Whether the edits write only what is certainly frontmatter: they lose no comment inside a value, and they change
    /// no text at the left margin or below a blank line, which may be the body of a file whose closing fence is missing.
    pub(crate) safe: bool,
}

impl Repaired {
    /// The place in the original text of a place in the repaired one.
    fn to_source(&self, offset: usize) -> usize {
        let mut shift = 0isize;
        for edit in &self.edits {
            let start = edit.span.start.saturating_add_signed(shift);
            if offset < start {
                break;
            }
            if offset <= start + edit.replacement.len() {
                // Inside a replacement only its two ends have a place in the original.
                return if offset == start { edit.span.start } else { edit.span.end };
            }
            shift += edit.replacement.len().cast_signed() - edit.span.len().cast_signed();
        }
        offset.saturating_add_signed(-shift)
    }

    /// The same for a span.
    pub(crate) fn span_to_source(&self, span: Span) -> Span {
        Span::new(self.to_source(span.start), self.to_source(span.end))
    }
}

/// Repairs text that strict YAML refuses; none when it cannot be repaired.
pub(crate) fn repair(yaml: &str) -> Option<Repaired> {
    if body_before_fence(yaml).is_some() {
        return None;
    }
    let mut repair = Repair::new(yaml);
    let lines = repair.lines();
    repair.block(&lines);
    let Repair { mut edits, safe, .. } = repair;
    edits.sort_by_key(|edit| edit.span);
    let text = apply(yaml, &edits);
    let read = yaml::read(&text, 0);
    let mapping = read.error.is_none() && read.root.is_some_and(|root| root.pairs().is_some());
    mapping.then_some(Repaired { text, edits, safe })
}

/// Applies ordered, disjoint edits.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in edits {
        result.push_str(text.get(from..edit.span.start).unwrap_or(""));
        result.push_str(&edit.replacement);
        from = edit.span.end;
    }
    result.push_str(text.get(from..).unwrap_or(""));
    result
}

/// One line: where its text begins and ends, and how far it is indented once tabs are spaces.
#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    indent: usize,
    begin: usize,
    start: usize,
    text: &'t str,
    /// The first byte of the next line.
    next: usize,
}

impl Line<'_> {
    const fn end(&self) -> usize {
        self.start + self.text.len()
    }

    const fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    fn is_comment(&self) -> bool {
        self.text.starts_with('#')
    }

    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

struct Repair<'t> {
    yaml: &'t str,
    edits: Vec<Edit>,
    safe: bool,
    /// The names of all anchors, collected once when the first alias is found: a frontmatter may consist of aliases.
    anchors: OnceCell<BTreeSet<&'t str>>,
}

impl<'t> Repair<'t> {
    const fn new(yaml: &'t str) -> Self {
        Self { yaml, edits: Vec::new(), safe: true, anchors: OnceCell::new() }
    }

    /// Splits the text into lines, and adds the edits of tabs in indentation and of control characters, which YAML does
    /// not allow.
    fn lines(&mut self) -> Vec<Line<'t>> {
        let mut lines = Vec::new();
        let mut at = 0;
        for full in self.yaml.split_inclusive('\n') {
            let bare = full.trim_end();
            let text = bare.trim_start_matches([' ', '\t']);
            let spaces = bare.get(..bare.len() - text.len()).unwrap_or("");
            let tabs = spaces.bytes().filter(|byte| *byte == b'\t').count();
            if tabs > 0 {
                self.safe &= !lines.last().is_some_and(Line::is_blank);
                let replacement = spaces.replace('\t', "  ");
                self.edits.push(Edit { span: Span::new(at, at + spaces.len()), replacement });
            }
            let next = at + full.len();
            lines.push(Line { indent: spaces.len() + tabs, begin: at, start: at + spaces.len(), text, next });
            at = next;
        }
        lines
    }

    /// Repairs the entries of one block, each by itself.
    fn block(&mut self, lines: &[Line<'t>]) {
        let Some(first) = lines.iter().find(|line| !line.is_blank() && !line.is_comment()) else { return };
        let (indent, items) = (first.indent, first.is_item());
        let mut entry: Vec<Line<'t>> = Vec::new();
        for line in lines {
            let begins = !line.is_blank()
                && line.indent <= indent
                && if items { line.is_item() } else { key_length(line.text).is_some() };
            let between = line.is_comment() && line.indent <= indent;
            if begins || between {
                self.entry(&entry);
                entry.clear();
            }
            if !between {
                entry.push(*line);
            }
        }
        self.entry(&entry);
    }

    /// Repairs one entry, `key: value` or `- item`, with the lines below it, if it is broken.
    fn entry(&mut self, lines: &[Line<'t>]) {
        let Some((head, below)) = lines.split_first() else { return };
        if head.is_blank() {
            return self.entry(below);
        }
        if self.reads(lines) {
            return;
        }
        if head.is_item() {
            let text = head.text.get(1..).unwrap_or("").trim_start();
            let start = head.end() - text.len();
            let inner = Line {
                indent: head.indent + (start - head.start),
                begin: start,
                start,
                text,
                next: head.next,
            };
            if inner.is_item() || key_length(text).is_some() {
                let mut block = vec![inner];
                block.extend_from_slice(below);
                return self.block(&block);
            }
            return self.quote(start, text, below);
        }
        let Some(colon) = key_length(head.text) else { return self.comment_out(lines) };
        let value = head.text.get(colon + 1..).unwrap_or("").trim_start();
        let start = head.end() - value.len();
        if start == head.start + colon + 1 && !value.is_empty() {
            // `name:value` is one word to YAML.
            self.edits.push(Edit { span: Span::at(start), replacement: " ".to_owned() });
        }
        let nested = below.iter().find(|line| !line.is_blank() && !line.is_comment());
        if value.is_empty() && nested.is_some_and(|line| line.is_item() || key_length(line.text).is_some()) {
            return self.block(below);
        }
        // A field of the specification that is indented by mistake does not continue the one above it.
        let stray = below.iter().position(|line| !value.is_empty() && known_field(line.text).is_some());
        let Some((mine, others)) = stray.and_then(|at| below.split_at_checked(at)) else {
            // As text it would be read, but it is no text: the author must write its keys and values.
            let is_mapping = head.indent == 0 && head.text.get(..colon) == Some("metadata");
            self.safe &= !is_mapping;
            return self.quote(start, value, below);
        };
        if let Some(first) = others.first() {
            self.replace(Span::new(first.begin, first.start), " ".repeat(head.indent));
            let moved = Line { indent: head.indent, ..*first };
            let own: Vec<Line<'t>> = [&[*head], mine].concat();
            self.entry(&own);
            self.entry(&[&[moved], others.get(1..).unwrap_or(&[])].concat());
        }
    }

    /// Whether the lines are YAML by themselves, with the edits already made to them.
    fn reads(&self, lines: &[Line<'t>]) -> bool {
        let mut text = String::new();
        for line in lines {
            text.extend(std::iter::repeat_n(' ', line.indent));
            text.push_str(line.text);
            text.push('\n');
        }
        let read = yaml::read(&text, 0);
        let sound = read.error.is_none() && read.root.is_some_and(|root| root.scalar().is_none());
        sound || (lines.len() == 1 && lines.first().is_some_and(|line| self.is_alias(line.text)))
    }

    /// Whether a line is a key and an alias whose anchor is elsewhere, so that it cannot be read by itself.
    fn is_alias(&self, text: &str) -> bool {
        let value = key_length(text).and_then(|colon| text.get(colon + 1..)).unwrap_or("").trim();
        let name = value.strip_prefix('*').filter(|name| !name.is_empty() && !name.contains([' ', ',', '*']));
        let anchors = || {
            self.yaml.split_whitespace().filter_map(|word| word.strip_prefix('&')).collect::<BTreeSet<_>>()
        };
        name.is_some_and(|name| self.anchors.get_or_init(anchors).contains(name))
    }

    /// Puts a value and its continuation lines in quotes.
    fn quote(&mut self, start: usize, value: &str, below: &[Line<'t>]) {
        // No reader takes a line that is only a comment for part of the value.
        let block_text = value.starts_with(['|', '>']);
        let is_text = |line: &Line<'t>| !line.is_blank() && (block_text || !line.is_comment());
        let last = below.iter().rposition(is_text).map_or(0, |at| at + 1);
        let below = below.get(..last).unwrap_or(below);
        let end = below.last().map_or(start + value.len(), Line::end);
        // A comment and a blank line are lost, and text at the left margin may be the body.
        let kept = |line: &Line<'t>| if is_text(line) { line.indent > 0 } else { block_text };
        self.safe &= below.iter().all(kept);
        let text = if block_text && value.len() <= 3 {
            block_of_text(below, value.starts_with('>'))
        } else {
            let first = Some(value).filter(|value| !value.is_empty());
            let rest = below.iter().filter(|line| is_text(line)).map(|line| line.text);
            first.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
        };
        let replacement = quoted(unquote(text.trim()).as_ref());
        // A value on the next line moves up to its key.
        let replacement =
            if value.is_empty() && self.yaml.get(..start).is_some_and(|text| text.ends_with([':', '-'])) {
                format!(" {replacement}")
            } else {
                replacement
            };
        self.replace(Span::new(start, end), replacement);
    }

    /// Keeps prose before the first key as comments.
    fn comment_out(&mut self, lines: &[Line<'t>]) {
        self.safe = false;
        for line in lines.iter().filter(|line| !line.is_blank()) {
            self.replace(Span::at(line.start), "# ".to_owned());
        }
    }

    /// Adds an edit; smaller ones inside its span, made before, are part of it now.
    fn replace(&mut self, span: Span, replacement: String) {
        self.edits.retain(|edit| edit.span.end <= span.start || edit.span.start >= span.end);
        self.edits.push(Edit { span, replacement });
    }
}

/// The lines of a `|` or `>` block as its text: literally, or folded at its line breaks.
fn block_of_text(lines: &[Line<'_>], folded: bool) -> String {
    let margin = lines.iter().filter(|line| !line.is_blank()).map(|line| line.indent).min().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        if folded {
            let glue = if line.is_blank() { "\n" } else { " " };
            text.push_str(if text.is_empty() || text.ends_with('\n') && !line.is_blank() {
                ""
            } else {
                glue
            });
        } else {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.extend(std::iter::repeat_n(' ', line.indent.saturating_sub(margin)));
        }
        text.push_str(line.text);
    }
    text
}

/// The length of the key when the text begins with one: `key:` at the end of the line or before a space, or a field of
/// the specification without a space before its value.
fn key_length(text: &str) -> Option<usize> {
    let colon = match text.as_bytes().first()? {
        quote @ (b'"' | b'\'') => {
            let close = text.bytes().skip(1).position(|byte| byte == *quote)? + 2;
            (text.as_bytes().get(close) == Some(&b':')).then_some(close)?
        }
        _ => {
            let colon = text.find(':')?;
            let key = text.get(..colon)?.trim_end();
            let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$');
            (!key.is_empty() && key.len() <= 128 && !key.starts_with('-') && key.chars().all(word))
                .then_some(colon)?
        }
    };
    match text.as_bytes().get(colon + 1) {
        None | Some(b' ' | b'\t') => Some(colon),
        Some(_) => {
            text.get(..colon).is_some_and(|key| matches!(key, "name" | "description")).then_some(colon)
        }
    }
}

/// The field of the specification that the line begins with.
fn known_field(text: &str) -> Option<&str> {
    key_length(text).and_then(|colon| text.get(..colon)).filter(|key| SPEC_FIELDS.contains(key))
}

/// The text inside quotes that the author meant as quotes.
fn unquote(text: &str) -> std::borrow::Cow<'_, str> {
    for quote in ['"', '\''] {
        let Some(after) = text.strip_prefix(quote) else { continue };
        let escaped = if quote == '"' { "\\\"" } else { "''" };
        let Some(inner) = after.strip_suffix(quote) else {
            // Opened and never closed.
            return if after.contains(quote) { text.into() } else { after.into() };
        };
        // `"one" and "two"` is prose that begins and ends with a quote: its second quote closes the first.
        let first = inner.replace(escaped, "  ").find(quote);
        let closes = first.is_some_and(|at| {
            let before = inner.get(..at).and_then(|text| text.chars().next_back());
            let after = inner.get(at + 1..).and_then(|text| text.chars().next());
            before.is_some_and(|c| !matches!(c, ' ' | '(')) && !after.is_some_and(char::is_alphanumeric)
        });
        if closes {
            return text.into();
        }
        let plain = inner.replace(escaped, &quote.to_string());
        return if quote == '"' { plain.replace("\\\\", "\\").into() } else { plain.into() };
    }
    text.into()
}

/// A YAML scalar in quotes that reads back as the text, without control characters.
fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    if text.contains('\n') {
        result.push('"');
        for character in text.chars() {
            match character {
                '\n' => result.push_str("\\n"),
                '"' => result.push_str("\\\""),
                '\\' => result.push_str("\\\\"),
                character if character.is_control() && character != '\t' => {}
                character => result.push(character),
            }
        }
        result.push('"');
    } else {
        result.push('\'');
        for character in text.chars() {
            match character {
                '\'' => result.push_str("''"),
                character if character.is_control() && character != '\t' => {}
                character => result.push(character),
            }
        }
        result.push('\'');
    }
    result
}

#[cfg(test)]
mod tests;
