//! Inserts and removes an entry of a TOML text: a table with a header of its own.

use std::ops::Range;

use serde_json::Value;
use toml::de::{DeInteger, DeTable, DeValue};

use super::entry::{at_keys, entry_of};
use super::{ConfigChange, ConfigEditError, EntryPath, lines};

/// The whole text as a value.
pub(super) fn value(text: &str) -> Result<Value, ConfigEditError> {
    let start = lines::start(text);
    let body = text.get(start..).unwrap_or_default();
    match DeTable::parse(body) {
        Ok(table) => Ok(of_table(table.get_ref())),
        Err(error) => {
            let at = start + error.span().map_or(0, |span| span.start);
            Err(ConfigEditError::invalid(text, at, error.message()))
        }
    }
}

fn of_table(table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(key, value)| (key.get_ref().to_string(), of_value(value.get_ref())));
    Value::Object(members.collect())
}

/// A value of TOML as one of JSON.
pub(crate) fn of_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Array(items) => items.iter().map(|item| of_value(item.get_ref())).collect(),
        DeValue::Table(table) => of_table(table),
        DeValue::Integer(written) => {
            let negative = || i64::from_str_radix(written.as_str(), written.radix()).ok();
            let value = number(written).map(Value::from).or_else(|| negative().map(Value::from));
            value.unwrap_or_else(|| Value::from(format!("integer {written}")))
        }
        // What these say does not matter here, only whether it changes.
        DeValue::Float(number) => Value::from(format!("float {number}")),
        DeValue::Datetime(moment) => Value::from(format!("moment {moment}")),
    }
}

/// A number that is not negative, in any notation of TOML.
pub(crate) fn number(written: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(written.as_str(), written.radix()).ok()
}

/// The change that appends the table of an entry, or replaces it.
pub(super) fn insert(
    text: &str,
    path: EntryPath<'_>,
    entry: &Value,
) -> Result<ConfigChange, ConfigEditError> {
    let whole = value(text)?;
    let table = table(path, entry);
    if entry_of(&whole, path).is_some() {
        let Range { start, end } = block(text, path)?;
        let old = text.get(start..end).unwrap_or_default().to_owned();
        let kept = if old.ends_with('\n') { table.as_str() } else { table.trim_end() };
        return Ok(ConfigChange { at: start, old, new: kept.replace('\n', lines::end(text)), tables: 0 });
    }
    let known = (0..path.keys.len())
        .take_while(|depth| path.keys.get(..=*depth).is_some_and(|keys| at_keys(&whole, keys).is_some()));
    let tables = path.keys.len() - known.count();
    Ok(ConfigChange { at: text.len(), old: String::new(), new: lines::appended(text, &table, true), tables })
}

/// The change that removes the table of an entry, with the blank line above it.
pub(super) fn remove(text: &str, path: EntryPath<'_>) -> Result<ConfigChange, ConfigEditError> {
    let Range { mut start, end } = block(text, path)?;
    let above = text.get(..start).unwrap_or_default();
    let is_blank = ["\r\n\r\n", "\n\n"].iter().any(|end| above.ends_with(end));
    if let Some(previous) = lines::previous_end(text, start).filter(|_| is_blank) {
        start = previous;
    }
    Ok(ConfigChange {
        at: start,
        old: text.get(start..end).unwrap_or_default().to_owned(),
        new: String::new(),
        tables: 0,
    })
}

/// The lines of the table of an entry, with those of the tables in it.
fn block(text: &str, path: EntryPath<'_>) -> Result<Range<usize>, ConfigEditError> {
    let wanted: Vec<&str> = path.keys.iter().copied().chain([path.name]).collect();
    let mut found: Option<Range<usize>> = None;
    let (mut inside, mut at) = (false, lines::start(text));
    let mut long: Option<&str> = None;
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let end = at + line.len();
        let is_text = long.is_some();
        long = long_text(line, long);
        if let Some(keys) = header(line).filter(|_| !is_text) {
            inside = keys.starts_with(&wanted.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
            if inside && found.as_ref().is_some_and(|found| text.get(found.end..at).is_none_or(has_other)) {
                let what = format!("the tables of {} are not together", path.name);
                return Err(ConfigEditError::style(text, at, what));
            }
        }
        let says = !line.trim().is_empty() && !line.trim_start().starts_with('#');
        if inside && says {
            found = Some(found.map_or(at, |found| found.start)..end);
        }
        at = end;
    }
    found.ok_or_else(|| {
        let name = wanted.join(".");
        let what = format!("the entry is not written as a table of its own, [{name}]");
        let line = lines::of_key(text, path.name);
        ConfigEditError::Style { line, what }
    })
}

/// The quotes of a text of several lines that is open after a line. What it misses is found when the result of an edit is
/// read again.
fn long_text<'q>(line: &str, open: Option<&'q str>) -> Option<&'q str> {
    let (mut rest, mut open) = (line, open);
    loop {
        let next = match open {
            Some(quotes) => rest.find(quotes).map(|at| (at, None)),
            None => {
                ["\"\"\"", "'''"].iter().filter_map(|quotes| Some((rest.find(quotes)?, Some(*quotes)))).min()
            }
        };
        let Some((at, then)) = next else { return open };
        open = then;
        rest = rest.get(at + 3..).unwrap_or_default();
    }
}

/// Whether there is something else than blank lines and comments.
fn has_other(between: &str) -> bool {
    between.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

/// The keys in the header of a table, such as `[a.b]`.
pub(crate) fn header(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let (inner, _) = inner.split_once(']')?;
    let key = |part: &str| part.trim().trim_matches(['"', '\'']).to_owned();
    Some(inner.split('.').map(key).collect())
}

fn table(path: EntryPath<'_>, entry: &Value) -> String {
    let name: Vec<String> = path.keys.iter().chain([&path.name]).map(|key| written_key(key)).collect();
    let members = entry.as_object().into_iter().flatten();
    let lines: String =
        members.map(|(key, value)| format!("{} = {}\n", written_key(key), written(value))).collect();
    format!("[{}]\n{lines}", name.join("."))
}

/// A key, in quotes if it needs them.
pub(crate) fn written_key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { Value::from(key).to_string() }
}

/// A value, on one line. Texts, numbers and lists are written as in JSON.
pub fn written(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{} = {}", written_key(key), written(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        // JSON does not escape it, TOML wants that.
        Value::String(_) => value.to_string().replace('\u{7f}', "\\u007f"),
        other => other.to_string(),
    }
}
