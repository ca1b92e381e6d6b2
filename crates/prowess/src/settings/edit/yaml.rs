//! Inserts and removes an entry of a YAML text in block style, line by line.

use std::ops::Range;

use prowess_core::internal::read_yaml;
use serde_json::{Map, Value};

use super::{ConfigChange, ConfigEditError, EntryPath, lines};

/// The whole text as a value.
pub(super) fn value(text: &str) -> Result<Value, ConfigEditError> {
    let start = lines::start(text);
    match read_yaml(text.get(start..).unwrap_or_default()) {
        Ok(value) => Ok(value),
        Err((at, reason)) => Err(ConfigEditError::invalid(text, start + at, reason)),
    }
}

/// The change that inserts an entry, or replaces it.
pub(super) fn insert(
    text: &str,
    path: EntryPath<'_>,
    entry: &Value,
) -> Result<ConfigChange, ConfigEditError> {
    let Some((key, [])) = path.keys.split_first() else {
        return Err(ConfigEditError::style(text, 0, "only entries of one table can be edited"));
    };
    let whole = value(text)?;
    if ends_in_block(text) {
        let what = "the last line is part of a text, and would get a line break; end the file with one";
        return Err(ConfigEditError::style(text, text.len(), what));
    }
    let end = lines::end(text);
    if whole.as_object().is_none_or(Map::is_empty) && text.contains(['{', '[']) {
        return Err(ConfigEditError::style(text, 0, "the file is not written in block style"));
    }
    let Some(table) = Table::find(text, key) else {
        let block = format!("{}:\n{}", written_key(key), member(path.name, entry, "  "));
        let new = lines::appended(text, &block, false);
        return Ok(ConfigChange { at: text.len(), old: String::new(), new, tables: 1 });
    };
    let indentation = table.indentation.unwrap_or("  ");
    let member = member(path.name, entry, indentation);
    if let Some(Range { start, end: close }) = table.entry(text, path.name) {
        let old = text.get(start..close).unwrap_or_default().to_owned();
        let kept = if old.ends_with('\n') { member.as_str() } else { member.trim_end() };
        return Ok(ConfigChange { at: start, old, new: kept.replace('\n', end), tables: 0 });
    }
    let member = member.replace('\n', end);
    // An empty table in braces becomes one in block style.
    let (at, old) = match table.value {
        "" => (table.lines.end, ""),
        "{}" => (table.value_at, text.get(table.value_at..table.lines.end).unwrap_or_default()),
        _ => {
            return Err(ConfigEditError::style(text, table.value_at, format!("{key} is not in block style")));
        }
    };
    let is_cut = if old.is_empty() {
        !text.get(..at).is_some_and(|text| text.ends_with('\n'))
    } else {
        !old.ends_with('\n')
    };
    let behind = old.strip_prefix("{}").map_or("", |rest| rest.trim_end_matches(['\r', '\n']));
    let new = match (old.is_empty(), is_cut) {
        (true, false) => member,
        (true, true) => format!("{end}{}", member.trim_end()),
        (false, false) => format!("{}{end}{member}", behind.trim_start()),
        (false, true) => format!("{}{end}{}", behind.trim_start(), member.trim_end()),
    };
    Ok(ConfigChange { at, old: old.to_owned(), new, tables: 0 })
}

/// The change that removes an entry, with its table if that has no other.
pub(super) fn remove(
    text: &str,
    path: EntryPath<'_>,
    tables: usize,
) -> Result<ConfigChange, ConfigEditError> {
    let table = path.keys.first().and_then(|key| Table::find(text, key));
    let entry = table.as_ref().and_then(|table| table.entry(text, path.name));
    let (Some(table), Some(entry)) = (table, entry) else {
        let line = lines::of_key(text, path.name);
        return Err(ConfigEditError::Style { line, what: "the entry is not in block style".to_owned() });
    };
    let Range { mut start, end } = if tables > 0 { table.lines } else { entry };
    if let Some(previous) =
        lines::previous_end(text, start).filter(|_| end == text.len() && !text.ends_with('\n'))
    {
        // The last line has no end, and so has the one that becomes the last.
        start = previous;
    }
    let old = text.get(start..end).unwrap_or_default().to_owned();
    Ok(ConfigChange { at: start, old, new: String::new(), tables })
}

/// Whether a text ends without a line break in a block scalar: the value would change if anything followed.
fn ends_in_block(text: &str) -> bool {
    if text.is_empty() || text.ends_with('\n') {
        return false;
    }
    let mut least = usize::MAX;
    for line in text.lines().rev().filter(|line| !line.trim().is_empty()) {
        let indentation = line.len() - line.trim_start().len();
        if indentation < least && least != usize::MAX {
            let code = line.split(" #").next().unwrap_or_default();
            let last = code.split_whitespace().next_back().unwrap_or_default();
            // One that strips its line breaks has none.
            let rest = last.strip_prefix(['|', '>']).filter(|rest| !rest.contains('-'));
            if rest.is_some_and(|rest| rest.bytes().all(|byte| byte == b'+' || byte.is_ascii_digit())) {
                return true;
            }
        }
        least = least.min(indentation);
        if least == 0 {
            return false;
        }
    }
    false
}

/// A table at the top of the file.
struct Table<'t> {
    /// Its lines, without blank ones at the end.
    lines: Range<usize>,
    /// The lines below its key.
    body: usize,
    /// What follows its key in the same line, without a comment.
    value: &'t str,
    value_at: usize,
    /// The indentation of its entries.
    indentation: Option<&'t str>,
}

impl<'t> Table<'t> {
    fn find(text: &'t str, key: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for Range { start, end } in all_lines(text) {
            let line = text.get(start..end).unwrap_or_default();
            let Some(table) = &mut found else {
                let Some(rest) = after_key(line, key) else { continue };
                let spaces = rest.len() - rest.trim_start().len();
                let value_at = end - rest.len() + spaces.min(rest.trim_end().len());
                let value = rest.split(" #").next().unwrap_or_default().trim();
                found = Some(Self { lines: start..end, body: end, value, value_at, indentation: None });
                continue;
            };
            let indentation = lines::indentation(text, start);
            if line.trim().is_empty() {
                continue;
            }
            if indentation.is_empty() {
                break;
            }
            if table.indentation.is_none() && !line.trim_start().starts_with('#') {
                table.indentation = Some(indentation);
            }
            table.lines.end = end;
        }
        found
    }

    /// The lines of an entry.
    fn entry(&self, text: &str, name: &str) -> Option<Range<usize>> {
        let indentation = self.indentation?;
        let mut found: Option<Range<usize>> = None;
        for Range { start, end } in all_lines(text) {
            if start < self.body || start >= self.lines.end {
                continue;
            }
            let line = text.get(start..end).unwrap_or_default();
            match &mut found {
                None => {
                    let own = line.strip_prefix(indentation).and_then(|line| after_key(line, name));
                    found = own.map(|_| start..end);
                }
                Some(_) if line.trim().is_empty() => {}
                Some(_) if lines::indentation(text, start).len() <= indentation.len() => break,
                Some(found) => found.end = end,
            }
        }
        found
    }
}

/// The places of all lines.
fn all_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = lines::start(text);
    text.get(at..).unwrap_or_default().split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..at
    })
}

/// What follows a key and its colon.
fn after_key<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let quoted = [format!("\"{key}\""), format!("'{key}'")];
    let rest =
        line.strip_prefix(key).or_else(|| quoted.iter().find_map(|key| line.strip_prefix(key.as_str())))?;
    let rest = rest.trim_start_matches(' ').strip_prefix(':')?;
    rest.chars().next().is_none_or(char::is_whitespace).then_some(rest)
}

/// The lines of an entry. Values are written as in JSON, which YAML reads too.
fn member(name: &str, entry: &Value, indentation: &str) -> String {
    let members = entry.as_object().into_iter().flatten();
    let lines: String =
        members.map(|(key, value)| format!("{indentation}  {}: {value}\n", written_key(key))).collect();
    format!("{indentation}{}:\n{lines}", written_key(name))
}

fn written_key(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let starts = key.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts && key.bytes().all(is_plain) { key.to_owned() } else { Value::from(key).to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigFormat;
    use super::super::entry::tests::{EXTENSIONS, inserted, server};

    #[test]
    fn a_text_at_the_end_of_a_yaml_file_gets_no_line_break() {
        for text in [
            "a: |\n  x",
            "a: >+ # kept\n  x\n    y",
            "extensions:\n  a:\n    b: |\n      x",
            "a:\n  - |\n   x",
        ] {
            let error = ConfigFormat::Yaml.insert(text, EXTENSIONS, &server()).unwrap_err();
            assert!(error.to_string().contains("end the file with one"), "{text:?}: {error}");
            inserted(ConfigFormat::Yaml, &format!("{text}\n"), EXTENSIONS);
        }
        for text in ["a: |-\n  x", "a: |\n  x\nb: 1", "a: |\n  x\nb:\n  c: 1", "a: x | y"] {
            inserted(ConfigFormat::Yaml, text, EXTENSIONS);
        }
    }
}
