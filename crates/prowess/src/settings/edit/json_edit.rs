//! Inserts and removes an entry of a JSON text.

use serde::Serialize as _;
use serde_json::Value;

use super::entry::nested;
use super::json::{Member, Node, comments_end, read, trivia_end};
use super::{ConfigChange, ConfigEditError, EntryPath, lines};

/// An error if a key on the way to the entry has no object, or appears twice.
pub(super) fn check_shape(text: &str, path: EntryPath<'_>) -> Result<(), ConfigEditError> {
    let Some(root) = read(text)? else { return Ok(()) };
    let mut node = &root;
    let mut keys = String::new();
    for key in path.keys.iter().chain([&path.name]) {
        let wrong = |at: usize, key: &str, twice: bool| {
            let key = if key.is_empty() { "the top of the file" } else { key }.to_owned();
            ConfigEditError::Shape { line: lines::number(text, at), key, twice }
        };
        let members = node.members().ok_or_else(|| wrong(node.span.start, &keys, false))?;
        keys = if keys.is_empty() { (*key).to_owned() } else { format!("{keys}.{key}") };
        let mut called = members.iter().filter(|member| member.key == *key);
        let Some(member) = called.next() else { return Ok(()) };
        if let Some(again) = called.next() {
            return Err(wrong(again.key_at, &keys, true));
        }
        node = &member.value;
    }
    Ok(())
}

/// The change that inserts an entry, or replaces its value.
pub(super) fn insert(
    text: &str,
    path: EntryPath<'_>,
    entry: &Value,
) -> Result<ConfigChange, ConfigEditError> {
    let start = lines::start(text);
    let Some(root) = read(text)? else {
        let style = Style { unit: "  ", end: lines::end(text), lines: true };
        let whole = format!("{}{}", style.value(&nested(path.keys, path.name, entry), ""), style.end);
        let tables = path.keys.len();
        let blank = text.get(start..).filter(|rest| rest.trim().is_empty());
        return Ok(match blank {
            Some(blank) => ConfigChange { at: start, old: blank.to_owned(), new: whole, tables },
            // Comments stay above.
            None => {
                let break_ = if text.ends_with('\n') { "" } else { style.end };
                ConfigChange { at: text.len(), old: String::new(), new: format!("{break_}{whole}"), tables }
            }
        });
    };
    let style = Style::of(text, &root);
    let (mut object, mut rest) = (&root, path.keys);
    while let Some((key, below)) = rest.split_first() {
        let Some(member) = member(object, key) else { break };
        (object, rest) = (&member.value, below);
    }
    let (key, value) = match rest.split_first() {
        None => (path.name, entry.clone()),
        Some((key, below)) => (*key, nested(below, path.name, entry)),
    };
    let tables = rest.len();
    if let Some(known) = member(object, key) {
        let (at, old) = (known.value.span.start, text.get(known.value.span.clone()).unwrap_or_default());
        let style = Style { lines: style.lines && lines::is_first(text, known.key_at), ..style };
        let new = style.value(&value, lines::indentation(text, known.key_at));
        return Ok(ConfigChange { at, old: old.to_owned(), new, tables });
    }
    let members = object.members().unwrap_or_default();
    let change = match members.last() {
        Some(last) => after(text, last, key, &value, style),
        None => inside(text, object, key, &value, style),
    };
    Ok(ConfigChange { tables, ..change })
}

/// The change that removes an entry, and this many tables around it, which have no other members.
pub(super) fn remove(
    text: &str,
    path: EntryPath<'_>,
    tables: usize,
) -> Result<ConfigChange, ConfigEditError> {
    let root = read(text)?;
    let (keys, removed) = match path.keys.len().checked_sub(tables) {
        Some(kept) if tables > 0 => path.keys.split_at(kept),
        _ => (path.keys, &[][..]),
    };
    let name = removed.first().copied().unwrap_or(path.name);
    let missing = || ConfigEditError::style(text, 0, "the entry was not found again");
    let object = root
        .as_ref()
        .and_then(|root| keys.iter().try_fold(root, |object, key| Some(&member(object, key)?.value)));
    let members = object.and_then(Node::members).ok_or_else(missing)?;
    let index = members.iter().position(|member| member.key == name).ok_or_else(missing)?;
    let own = members.get(index).ok_or_else(missing)?;
    let before = index.checked_sub(1).and_then(|index| members.get(index));
    let mut end = own.comma.map_or(own.value.span.end, |comma| comma + 1);
    let start = match lines::previous_end(text, own.key_at).filter(|_| lines::is_first(text, own.key_at)) {
        // A line comment that ends there must not go on with what follows the entry.
        Some(previous) if is_commented(text, previous) && !ends_line(text, end) => {
            lines::line_start(text, own.key_at)
        }
        // Only the line of the entry goes.
        Some(previous) => previous,
        None => {
            let spaces = text.get(..own.key_at).unwrap_or_default();
            let start = spaces.trim_end_matches([' ', '\t']).len();
            if before.is_none() && own.comma.is_some() {
                let rest = text.get(end..).unwrap_or_default();
                end += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            }
            start
        }
    };
    let (at, kept) = match before.and_then(|before| before.comma).filter(|_| own.comma.is_none()) {
        // The comma before it would be one too many.
        Some(comma) => (comma, text.get(comma + 1..start.max(comma + 1)).unwrap_or_default()),
        None => (start, ""),
    };
    let old = text.get(at..end).ok_or_else(missing)?;
    Ok(ConfigChange { at, old: old.to_owned(), new: kept.to_owned(), tables })
}

/// Whether the line that ends there may end with a line comment.
fn is_commented(text: &str, end: usize) -> bool {
    text.get(lines::line_start(text, end)..end).is_some_and(|line| line.contains("//"))
}

/// Whether nothing but spaces follows in a line.
fn ends_line(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default().trim_start_matches([' ', '\t', '\r']);
    rest.is_empty() || rest.starts_with('\n')
}

fn member<'n>(object: &'n Node, key: &str) -> Option<&'n Member> {
    object.members()?.iter().find(|member| member.key == key)
}

/// A new member after the last one.
fn after(text: &str, last: &Member, key: &str, value: &Value, style: Style<'_>) -> ConfigChange {
    let at = last.comma.map_or(last.value.span.end, |comma| comma + 1);
    let (before, behind) = if last.comma.is_some() { ("", ",") } else { (",", "") };
    if !lines::is_first(text, last.key_at) {
        let member = Style { lines: false, ..style }.member(key, value, "");
        return ConfigChange { at, old: String::new(), new: format!("{before} {member}{behind}"), tables: 0 };
    }
    let indentation = lines::indentation(text, last.key_at);
    let member = Style { lines: true, ..style }.member(key, value, indentation);
    // A comment behind the last member is about that one.
    let comments = text.get(at..comments_end(text, at)).unwrap_or_default();
    let new = format!("{before}{comments}{}{indentation}{member}{behind}", style.end);
    ConfigChange { at, old: comments.to_owned(), new, tables: 0 }
}

/// The first member of an empty object.
fn inside(text: &str, object: &Node, key: &str, value: &Value, style: Style<'_>) -> ConfigChange {
    let open = object.span.start + 1;
    let trivia = text.get(open..trivia_end(text, open)).unwrap_or_default();
    let closing = lines::indentation(text, object.span.start);
    let indentation = format!("{closing}{}", style.unit);
    let comments = trivia.trim_end();
    if !style.lines && comments.is_empty() {
        return ConfigChange {
            at: open,
            old: trivia.to_owned(),
            new: style.member(key, value, ""),
            tables: 0,
        };
    }
    let member = Style { lines: true, ..style }.member(key, value, &indentation);
    let line = format!("{}{indentation}{member}", style.end);
    let close = format!("{}{closing}", style.end);
    if comments.is_empty() {
        return ConfigChange { at: open, old: trivia.to_owned(), new: line + &close, tables: 0 };
    }
    let rest = trivia.get(comments.len()..).unwrap_or_default();
    let close = if rest.contains('\n') { "" } else { &close };
    ConfigChange { at: open + comments.len(), old: String::new(), new: format!("{line}{close}"), tables: 0 }
}

/// How a file writes its values.
#[derive(Clone, Copy)]
struct Style<'t> {
    /// One level of indentation.
    unit: &'t str,
    /// The end of a line.
    end: &'static str,
    /// Whether members have lines of their own.
    lines: bool,
}

impl<'t> Style<'t> {
    fn of(text: &'t str, root: &Node) -> Self {
        let first = root.members().and_then(<[_]>::first);
        let own_line = first.filter(|first| lines::is_first(text, first.key_at));
        let own_line = own_line.filter(|first| {
            text.get(root.span.start..first.key_at).is_some_and(|before| before.contains('\n'))
        });
        let unit = own_line.map_or("", |first| {
            let outer = lines::indentation(text, root.span.start);
            let inner = lines::indentation(text, first.key_at);
            inner.strip_prefix(outer).unwrap_or(inner)
        });
        let unit = if unit.is_empty() { "  " } else { unit };
        Self { unit, end: lines::end(text), lines: first.is_none() || own_line.is_some() }
    }

    fn member(&self, key: &str, value: &Value, indentation: &str) -> String {
        format!("{}: {}", Value::from(key), self.value(value, indentation))
    }

    fn value(&self, value: &Value, indentation: &str) -> String {
        if !self.lines {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        // A value in memory can always be written.
        let _ = value.serialize(&mut writer);
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace('\n', &format!("{}{indentation}", self.end))
    }
}
