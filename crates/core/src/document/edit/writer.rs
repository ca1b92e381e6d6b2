//! YAML for a value: block or flow, with quotes only where they are needed.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::document::Style;
use crate::text::{Unseen, unseen};

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

/// How values are written at one place of the frontmatter.
pub(super) struct Writer<'w> {
    pub(super) line_break: &'w str,
    /// Whether the value is in brackets.
    pub(super) flow: bool,
    /// Whether text of several lines may be written as a block.
    pub(super) blocks: bool,
}

impl Writer<'_> {
    /// The text after `key:`, on its line and on those below.
    pub(super) fn after_colon(&self, value: &Value, indent: usize) -> String {
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
    pub(super) fn inline(&self, value: &Value, style: Style, indent: usize) -> String {
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
        let spaces = " ".repeat(indent + 2);
        let mut block = if text.ends_with('\n') { "|".to_owned() } else { "|-".to_owned() };
        for line in lines {
            block.push_str(self.line_break);
            if !line.is_empty() {
                block.push_str(&spaces);
                block.push_str(line);
            }
        }
        Some(block)
    }
}

/// A scalar that reads back as this text, and as a string: in the wanted style if possible, else quoted.
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

/// Whether every reader, YAML 1.1 included, reads the text without quotes as the same text.
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

/// Whether a character may be written verbatim in YAML; the others are escaped. Joiners and selectors are part of emoji and
/// of some scripts.
fn is_printable(character: char) -> bool {
    !matches!(character, '\t' | '\r' | '\n' | '\u{FFFE}' | '\u{FFFF}')
        && matches!(unseen(character), None | Some(Unseen::Joiner | Unseen::Selector))
}
