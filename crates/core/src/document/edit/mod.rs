//! Writing frontmatter: YAML for a value, and edits that set or remove one field and leave every other byte alone.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::document::{Document, Node, Pair, Style, parse, repair};
use crate::finding::Edit;
use crate::span::Span;
use crate::text::{Unseen, unseen};

/// Why a field cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no frontmatter to write into.
    #[error(
        "there is no frontmatter to write into; begin the file with a line `---` and end it with another"
    )]
    NoFrontmatter,
    /// The frontmatter cannot be read, so nothing can be changed in it safely.
    #[error("the frontmatter cannot be read, so it is not changed; correct it first")]
    Unreadable,
    /// The field stands twice.
    #[error("the field stands twice, so it is not clear which to change; keep one: {0}")]
    Ambiguous(String),
    /// What would be written does not read back as what was asked for.
    #[error("the field cannot be written without changing something else: {0}")]
    NotWritable(String),
}

impl Document {
    /// The bytes of the file: an unchanged document is written as it was read.
    pub fn to_markdown(&self) -> &[u8] {
        self.raw()
    }

    /// The document with one field set. Comments, order, quoting and every other byte stay as they are.
    ///
    /// Repaired frontmatter is written as it was read. A new field comes last, a name first.
    ///
    /// ```
    /// let document = prowess_core::parse(b"---\nname: a # ours\ndescription: 'old'\n---\nbody\n");
    /// let changed = document.with_field("description", &"new".into())?;
    /// assert_eq!(changed.text(), "---\nname: a # ours\ndescription: 'new'\n---\nbody\n");
    /// # Ok::<(), prowess_core::document::EditError>(())
    /// ```
    pub fn with_field(&self, key: &str, value: &Value) -> Result<Self, EditError> {
        let base = self.writable(key)?;
        let edit = base.setting(key, value)?;
        base.changed(key, Some(value), &[edit])
    }

    /// The document without one field; unchanged when it has none of that name.
    pub fn without_field(&self, key: &str) -> Result<Self, EditError> {
        let base = self.writable(key)?;
        match base.removal(key) {
            Some(edit) => base.changed(key, None, &[edit]),
            None if base.pair(key).is_some() => Err(EditError::NotWritable(key.to_owned())),
            None => Ok(base),
        }
    }

    /// The document whose fields can be edited: this one, or with its repair written down.
    fn writable(&self, key: &str) -> Result<Self, EditError> {
        if self.fences.is_none() {
            return Err(EditError::NoFrontmatter);
        }
        let base = if self.repaired { self.repaired_text() } else { self.clone() };
        if base.findings.iter().any(|finding| finding.rule.refuses()) || base.root.is_none() {
            return Err(EditError::Unreadable);
        }
        if base.pairs().iter().filter(|pair| pair.key == key).count() > 1 {
            return Err(EditError::Ambiguous(key.to_owned()));
        }
        Ok(base)
    }

    fn repaired_text(&self) -> Self {
        let fixes = self.findings.iter().filter_map(|finding| finding.fix.as_ref().filter(|fix| fix.safe));
        let mut edits: Vec<Edit> = fixes.flat_map(|fix| fix.edits.iter().cloned()).collect();
        edits.sort_by_key(|edit| edit.span);
        parse(repair::apply(&self.text, &edits).as_bytes())
    }

    /// Applies edits and makes sure that they changed this field and no other.
    fn changed(&self, key: &str, value: Option<&Value>, edits: &[Edit]) -> Result<Self, EditError> {
        let mut document = parse(repair::apply(&self.text, edits).as_bytes());
        let same = |before: &Pair, after: &Pair| {
            before.key == after.key && before.value.to_json() == after.value.to_json()
        };
        let others = |document: &Self| {
            document.pairs().iter().filter(|pair| pair.key != key).cloned().collect::<Vec<_>>()
        };
        let (before, after) = (others(self), others(&document));
        let kept = before.len() == after.len()
            && before.iter().zip(&after).all(|(before, after)| same(before, after));
        let written = document.field(key).map(Node::to_json);
        if document.repaired || !kept || written.as_ref() != value || document.body_raw() != self.body_raw() {
            return Err(EditError::NotWritable(key.to_owned()));
        }
        document.whole = self.whole;
        Ok(document)
    }

    /// The edit that sets a field.
    pub(crate) fn setting(&self, key: &str, value: &Value) -> Result<Edit, EditError> {
        let root = self.root.as_ref().ok_or(EditError::Unreadable)?;
        let flow = root.span.slice(&self.text).is_some_and(|text| text.starts_with('{'));
        let line_break =
            if self.frontmatter().is_some_and(|yaml| yaml.contains("\r\n")) { "\r\n" } else { "\n" };
        let indent = self.indent_of(root.span.start);
        let mut writer = Writer { line_break, flow, blocks: true };
        let Some(pair) = self.pair(key) else {
            return self.insertion(key, value, root, &writer, &indent);
        };
        let old = &pair.value;
        writer.blocks = self.block_fits(old.span.end.max(pair.key_span.end), indent.len());
        if let (Some(scalar), true) =
            (old.scalar(), !matches!(value, Value::Array(_) | Value::Object(_)) || flow)
        {
            let text = writer.inline(value, scalar.style, indent.len());
            let text = if old.span.is_empty() { format!(" {text}") } else { text };
            return Ok(Edit { span: old.span, replacement: text });
        }
        if flow {
            return Ok(Edit { span: old.span, replacement: writer.inline(value, Style::Plain, 0) });
        }
        // A collection on either side: everything behind the colon changes.
        let behind = self.text.get(pair.key_span.end..).unwrap_or("");
        let colon = behind.find(':').ok_or_else(|| EditError::NotWritable(key.to_owned()))?;
        let from = pair.key_span.end + colon + 1;
        let span = Span::new(from, old.span.end);
        let new = writer.after_colon(value, indent.len());
        // A comment behind the key stays there when the value stands below it.
        let line = self.text.get(from..old.span.start).and_then(|between| between.split_once('\n'));
        let comment = line.map(|(line, _)| line.trim_end()).filter(|line| line.trim_start().starts_with('#'));
        let replacement = match (comment, new.strip_prefix(writer.line_break)) {
            (Some(comment), Some(_)) => format!("{comment}{new}"),
            (Some(comment), None) if !new.contains('\n') => format!("{new}{comment}"),
            _ => new,
        };
        Ok(Edit { span, replacement })
    }

    fn insertion(
        &self,
        key: &str,
        value: &Value,
        root: &Node,
        writer: &Writer<'_>,
        indent: &str,
    ) -> Result<Edit, EditError> {
        let fences = self.fences.ok_or(EditError::NoFrontmatter)?;
        let name = scalar(key, Style::Plain, writer.flow);
        if writer.flow {
            let last = root.pairs().and_then(<[Pair]>::last);
            // Behind the last value, since a comma or a comment may stand before the bracket.
            let at = match last.map(|pair| pair.value.span) {
                Some(span) if !span.is_empty() => span.end,
                Some(_) => root.span.end.saturating_sub(1),
                None => root.span.start + 1,
            };
            let comma = if last.is_some() { ", " } else { "" };
            let text = writer.inline(value, Style::Plain, 0);
            return Ok(Edit { span: Span::at(at), replacement: format!("{comma}{name}: {text}") });
        }
        let first = self.pairs().first().map_or(fences.yaml.end, |pair| self.line_start(pair.key_span.start));
        let at = match key {
            "name" => first,
            "description" => self.pair("name").map_or(first, |pair| self.behind(pair)),
            _ => fences.yaml.end,
        };
        let writer = Writer { blocks: at == 0 || self.block_fits(at - 1, indent.len()), ..*writer };
        let line = format!("{indent}{name}:{}{}", writer.after_colon(value, indent.len()), writer.line_break);
        Ok(Edit { span: Span::at(at), replacement: line })
    }

    /// The edit that removes a field with its line; nothing when it is not there or the mapping is in brackets.
    pub(crate) fn removal(&self, key: &str) -> Option<Edit> {
        let pair = self.pair(key)?;
        let root = self.root.as_ref()?;
        if root.span.slice(&self.text)?.starts_with('{') {
            return None;
        }
        let end = self.line_end(pair.value.span.end.max(pair.key_span.end));
        Some(Edit { span: Span::new(self.line_start(pair.key_span.start), end), replacement: String::new() })
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
    }

    /// Whether a block may end here: nothing on the rest of the line, and no deeper line, a comment say, below it
    /// that would become part of the block.
    fn block_fits(&self, at: usize, indent: usize) -> bool {
        let rest = self.text.get(at..self.line_end(at)).unwrap_or("");
        let below = self.text.get(self.line_end(at)..).unwrap_or("");
        let next = below.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        rest.trim_start_matches(':').trim_end_matches(['\r', '\n']).is_empty()
            && next.len() - next.trim_start().len() <= indent
    }

    /// The first line behind a field. Blank lines may be part of a block, so they are.
    fn behind(&self, pair: &Pair) -> usize {
        let mut at = self.line_end(pair.value.span.end.max(pair.key_span.end));
        let block =
            pair.value.scalar().is_some_and(|old| matches!(old.style, Style::Literal | Style::Folded));
        while block && self.text.get(at..).is_some_and(|rest| rest.starts_with(['\n', '\r'])) {
            at = self.line_end(at);
        }
        at
    }

    /// The first byte of the next line.
    fn line_end(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|after| after.find('\n')).map_or(self.text.len(), |line| at + line + 1)
    }

    /// The blanks between the start of a line and a place on it.
    fn indent_of(&self, at: usize) -> String {
        let before = self.text.get(self.line_start(at)..at).unwrap_or("");
        if before.trim().is_empty() { before.to_owned() } else { String::new() }
    }
}

/// A whole SKILL.md: frontmatter with these fields, in this order, then the body.
pub fn markdown(fields: &Map<String, Value>, body: &str) -> String {
    let mut text = String::from("---\n");
    let writer = Writer { line_break: "\n", flow: false, blocks: true };
    for (key, value) in fields {
        let _ = writeln!(text, "{}:{}", scalar(key, Style::Plain, false), writer.after_colon(value, 0));
    }
    text.push_str("---\n");
    if !body.is_empty() {
        text.push('\n');
        text.push_str(body);
        if !body.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

struct Writer<'w> {
    line_break: &'w str,
    /// Whether the value stands in brackets.
    flow: bool,
    /// Whether text of several lines may be written as a block.
    blocks: bool,
}

impl Writer<'_> {
    /// What stands behind `key:`, on its line and on those below.
    fn after_colon(&self, value: &Value, indent: usize) -> String {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let inner = " ".repeat(indent + 2);
                map.iter().fold(String::new(), |mut text, (key, value)| {
                    let key = scalar(key, Style::Plain, false);
                    let _ = write!(
                        text,
                        "{}{inner}{key}:{}",
                        self.line_break,
                        self.after_colon(value, indent + 2)
                    );
                    text
                })
            }
            Value::Array(items) if !items.is_empty() => {
                let inner = " ".repeat(indent + 2);
                items.iter().fold(String::new(), |mut text, item| {
                    let _ = write!(
                        text,
                        "{}{inner}- {}",
                        self.line_break,
                        self.inline(item, Style::Plain, indent + 2)
                    );
                    text
                })
            }
            value => format!(" {}", self.inline(value, Style::Plain, indent)),
        }
    }

    /// A value on one line, or a block scalar when the old one was.
    fn inline(&self, value: &Value, style: Style, indent: usize) -> String {
        match value {
            Value::String(text) => match style {
                Style::Literal | Style::Folded if !self.flow => {
                    self.block(text, indent).unwrap_or_else(|| scalar(text, Style::DoubleQuoted, false))
                }
                Style::Plain if text.contains('\n') && !self.flow => {
                    self.block(text, indent).unwrap_or_else(|| scalar(text, Style::DoubleQuoted, false))
                }
                style => scalar(text, style, self.flow),
            },
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.nested(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(map) => {
                let pairs: Vec<String> = map
                    .iter()
                    .map(|(key, value)| {
                        format!("{}: {}", scalar(key, Style::Plain, true), self.nested(value))
                    })
                    .collect();
                format!("{{{}}}", pairs.join(", "))
            }
            other => other.to_string(),
        }
    }

    fn nested(&self, value: &Value) -> String {
        Writer { flow: true, ..*self }.inline(value, Style::Plain, 0)
    }

    /// A literal block, when the text can be one.
    fn block(&self, text: &str, indent: usize) -> Option<String> {
        if !self.blocks {
            return None;
        }
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let fits = |line: &&str| line.trim_end() == *line && line.chars().all(is_printable);
        // A first line that is blank or indented would need an indentation indicator.
        lines.first().filter(|line| !line.is_empty() && !line.starts_with([' ', '\t']))?;
        if !lines.iter().all(fits)
            || text.ends_with("\n\n")
            || lines.iter().any(|line| line.starts_with('\t'))
        {
            return None;
        }
        let blanks = " ".repeat(indent + 2);
        let mut block = if text.ends_with('\n') { "|".to_owned() } else { "|-".to_owned() };
        for line in lines {
            block.push_str(self.line_break);
            if !line.is_empty() {
                block.push_str(&blanks);
                block.push_str(line);
            }
        }
        Some(block)
    }
}

/// A scalar that reads back as this text and as text: in the wanted style if that can be, else quoted.
pub(crate) fn scalar(text: &str, style: Style, flow: bool) -> String {
    let plain = style == Style::Plain && is_plain(text, flow);
    if plain {
        return text.to_owned();
    }
    if style != Style::DoubleQuoted && text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            character if is_printable(character) => quoted.push(character),
            character => {
                let code = u32::from(character);
                let _ = if code <= 0xFFFF {
                    write!(quoted, "\\u{code:04X}")
                } else {
                    write!(quoted, "\\U{code:08X}")
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Whether the text may stand without quotes and be the same text to every reader, YAML 1.1 included.
fn is_plain(text: &str, flow: bool) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = ["yes", "no", "on", "off", "y", "n", "true", "false", "null", "~"];
    let starts_well =
        text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '(' | '/') || (c == '.' && !flow));
    let digits =
        || text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(|c: char| c.is_alphabetic());
    let numeric = || {
        lower.starts_with("0x")
            || lower.starts_with("0o")
            || lower.starts_with("0b")
            || is_number_like(&lower)
    };
    if words.contains(&lower.as_str()) || !(starts_well || (digits() && !numeric())) || is_number_like(&lower)
    {
        return false;
    }
    if text.trim() != text || text.contains(": ") || text.ends_with(':') || text.contains(" #") {
        return false;
    }
    let flow_ok = !flow || !text.contains([',', '[', ']', '{', '}', ':']);
    flow_ok && text.chars().all(is_printable)
}

/// Whether a reader of YAML 1.1 might take the text for a number, a date or a time.
fn is_number_like(lower: &str) -> bool {
    matches!(lower, ".inf" | ".nan" | "nan" | "inf")
        || (lower.contains(|c: char| c.is_ascii_digit())
            && lower.chars().all(|c| {
                c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_' | ':' | 'e' | 't' | 'z' | ' ')
            }))
}

/// Whether a character may stand in YAML as it is; the others are escaped. Joiners and selectors are part of emoji and
/// of some scripts.
fn is_printable(character: char) -> bool {
    !matches!(character, '\t' | '\r' | '\n' | '\u{FFFE}' | '\u{FFFF}')
        && matches!(unseen(character), None | Some(Unseen::Joiner | Unseen::Selector))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
