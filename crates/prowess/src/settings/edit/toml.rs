//! The one editor of TOML: a key is set or removed, or a table is inserted, and every other byte stays.
//!
//! `toml_edit` finds keys, values and headers, and prints tables in braces. It does not print whole files: it would change
//! their line ends, gather keys with dots, and remove the comments above a key with the key.

use std::ops::Range;

use serde_json::Value as Json;
use toml::de::DeTable;
use toml_edit::{Document, InlineTable, Item, Key, RawString, Table, TableLike, Value};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::entry::{ConfigChange, ConfigEditError, EntryPath, at_keys, entry_of};
use super::lines;
use crate::settings::values::{of_table, written, written_key};

/// The text with a key set to a value in TOML, or removed without one. `None` if something else is in the place of one of
/// its tables.
///
/// No comment line is ever removed. A comment at the end of a line is removed with the key of that line; one inside of a
/// value that is replaced becomes a line above the key.
pub(crate) fn edit(text: &str, parts: &[&str], value: Option<&str>) -> Option<String> {
    let (mark, text) = text.split_at_checked(lines::start(text))?;
    let document = Document::parse(text).ok()?;
    let after = match (find(&document, parts), value) {
        (None, None) => text.to_owned(),
        (None, Some(value)) => added(text, parts, value)?,
        (Some((key, Item::Value(old))), Some(value)) if !is_dotted(old) => {
            let (line, old) = (lines::line_start(text, key.span()?.start), old.span()?);
            spliced(&spliced(text, &old, value)?, &(line..line), &kept(text, &old, true))?
        }
        (Some(_), None) => without(text, parts, false)?,
        (Some(_), Some(value)) => added(&without(text, parts, true)?, parts, value)?,
    };
    Some(format!("{mark}{after}"))
}

/// The text without a key, with the comments of its lines in lines of their own. `None` if the key is not there.
#[cfg(feature = "install")]
pub(crate) fn without_key(text: &str, parts: &[&str]) -> Option<String> {
    let (mark, text) = text.split_at_checked(lines::start(text))?;
    Some(format!("{mark}{}", without(text, parts, true)?))
}

/// A key and what it is set to.
fn find<'d>(document: &'d Document<&str>, parts: &[&str]) -> Option<(&'d Key, &'d Item)> {
    let (last, above) = parts.split_last()?;
    let mut table: &dyn TableLike = document.as_table();
    for name in above {
        table = table.get(name)?.as_table_like()?;
    }
    table.get_key_value(last)
}

/// Whether a value is no value, but the table of keys with dots in a table in braces.
fn is_dotted(value: &Value) -> bool {
    value.as_inline_table().is_some_and(InlineTable::is_dotted)
}

/// The text without a key, in whatever form it is written. The comments of its lines stay if all are wanted.
fn without(text: &str, parts: &[&str], all: bool) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let (key, item) = find(&document, parts)?;
    if let Some(braces) = braces(&document, parts) {
        let kept = item.span().map(|value| kept(text, &value, all)).unwrap_or_default();
        let after = changed(text, braces, parts, |table, rest| removed(table, rest, &kept))?;
        // Those between the keys with dots of a table are not known here.
        let is_lost = comment_lines(&after).count() < comment_lines(text).count();
        return (!is_lost).then_some(after);
    }
    let mut after = text.to_owned();
    for lines in lines_of(text, key, item).iter().rev() {
        let mut kept = kept(text, lines, all);
        if lines.end == after.len() && !after.ends_with('\n') {
            kept.truncate(kept.trim_end_matches(['\r', '\n']).len());
        }
        after = spliced(&after, lines, &kept)?;
    }
    Some(after)
}

/// The lines of a key: those of its value, or of each header and value in its tables. In the order of the text.
fn lines_of(text: &str, key: &Key, item: &Item) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    places_of(key, item, &mut places);
    let lines =
        |place: Range<usize>| lines::line_start(text, place.start)..lines::end_of_line(text, place.end);
    let mut lines: Vec<_> = places.into_iter().map(lines).collect();
    lines.sort_unstable_by_key(|lines| lines.start);
    lines
}

fn places_of(key: &Key, item: &Item, places: &mut Vec<Range<usize>>) {
    let mut table = |table: &Table| {
        places.extend(table.span().filter(|_| !table.is_implicit()));
        for (name, item) in table {
            if let Some(key) = table.key(name) {
                places_of(key, item, places);
            }
        }
    };
    match item {
        Item::None => {}
        Item::Value(value) => {
            places.extend(key.span().zip(value.span()).map(|(key, value)| key.start..value.end));
        }
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => tables.iter().for_each(table),
    }
}

/// The text with a key that is not set.
fn added(text: &str, parts: &[&str], value: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    if let Some(braces) = braces(&document, parts) {
        return changed(text, braces, parts, |table, rest| inserted(table, rest, value));
    }
    // The innermost table above it with a header of its own, or with keys with dots.
    for depth in (0..parts.len()).rev() {
        let (above, rest) = parts.split_at_checked(depth)?;
        let table = match find(&document, above) {
            None if depth == 0 => document.as_table(),
            None => continue,
            Some((_, Item::Table(table))) => table,
            Some(_) => return None,
        };
        let beside = || rest.first().and_then(|name| table.get(name)?.as_table());
        if table.is_implicit() || rest.len() > 1 && !beside().is_some_and(Table::is_dotted) {
            continue;
        }
        let values = table.get_values();
        let last = values.iter().max_by_key(|(_, value)| value.span().map(|span| span.end));
        let key = last.and_then(|(keys, _)| keys.first()?.span());
        let end = last.and_then(|(_, value)| value.span()).or_else(|| table.span())?.end;
        let indentation = key.map_or("", |key| lines::indentation(text, key.start));
        let at = lines::end_of_line(text, end);
        let line = format!("{indentation}{} = {value}", dotted(rest));
        let end = lines::end(text);
        let is_open = at > 0 && !text.get(..at)?.ends_with('\n');
        let line = if is_open { format!("{end}{line}") } else { format!("{line}{end}") };
        return spliced(text, &(at..at), &line);
    }
    let (last, above) = parts.split_last()?;
    let block = format!("[{}]\n{} = {value}\n", dotted(above), written_key(last));
    Some(format!("{text}{}", lines::appended(text, &block, true)))
}

fn dotted(parts: &[&str]) -> String {
    parts.iter().map(|part| written_key(part)).collect::<Vec<_>>().join(".")
}

/// The table in braces that a key is inside of, and how many of the names lead to it.
fn braces(document: &Document<&str>, parts: &[&str]) -> Option<(usize, Range<usize>)> {
    (1..parts.len()).find_map(|depth| {
        let (_, item) = find(document, parts.get(..depth)?)?;
        Some((depth, item.as_inline_table()?.span()?))
    })
}

/// The text with a change in a table in braces.
fn changed(
    text: &str,
    (depth, span): (usize, Range<usize>),
    parts: &[&str],
    change: impl FnOnce(&mut InlineTable, &[&str]) -> Option<()>,
) -> Option<String> {
    let mut value: Value = text.get(span.clone())?.parse().ok()?;
    change(value.as_inline_table_mut()?, parts.get(depth..)?)?;
    spliced(text, &span, &value.to_string().replace('\n', lines::end(text)))
}

/// Removes a member. Comments before it stay, as do those that are kept of its value, and the last member keeps the space
/// before the brace.
fn removed(table: &mut InlineTable, rest: &[&str], kept: &str) -> Option<()> {
    let (name, below) = rest.split_first()?;
    if !below.is_empty() {
        return removed(table.get_mut(name)?.as_inline_table_mut()?, below, kept);
    }
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    let at = names.iter().position(|other| other == name)?;
    let (key, value) = table.remove_entry(name)?;
    let before = raw(key.leaf_decor().prefix());
    let before = match before.rsplit_once('\n') {
        _ if kept.is_empty() => before.to_owned(),
        Some((above, indentation)) => format!("{above}\n{kept}{indentation}"),
        None => format!("{before}\n{kept}"),
    };
    let previous = at.checked_sub(1).and_then(|at| names.get(at));
    if let Some(mut next) = names.get(at + 1).and_then(|next| table.key_mut(next)) {
        let after = joined(&before, raw(next.leaf_decor().prefix()));
        next.leaf_decor_mut().set_prefix(after);
    } else if table.trailing_comma() {
        table.set_trailing(joined(&before, raw(Some(table.trailing()))));
    } else if let Some(previous) = previous.and_then(|previous| table.get_mut(previous)) {
        previous.decor_mut().set_suffix(joined(&before, raw(value.decor().suffix())));
    } else {
        let after = joined(&before, raw(value.decor().suffix()));
        table.set_trailing(if after.contains('\n') { &after } else { "" });
    }
    Some(())
}

/// What is between two members after the one between them is removed: in lines of their own, comments of both sides stay.
fn joined(before: &str, after: &str) -> String {
    match before.rsplit_once('\n') {
        None => after.to_owned(),
        Some(_) if after.trim_start_matches([' ', '\t']).starts_with('#') => {
            format!("{before}{}", after.trim_start_matches([' ', '\t']))
        }
        Some((above, _)) => format!("{above}{after}"),
    }
}

/// Inserts a member at the end, in a line of its own if the last one has one.
fn inserted(table: &mut InlineTable, rest: &[&str], value: &str) -> Option<()> {
    let (name, below) = rest.split_first()?;
    if let Some(inner) = table.get_mut(name) {
        return inserted(inner.as_inline_table_mut()?, below, value);
    }
    let nested = |inner: String, name: &&str| format!("{{ {} = {inner} }}", written_key(name));
    let mut value: Value = below.iter().rev().fold(value.to_owned(), nested).parse().ok()?;
    let last = table.iter().last().map(|(name, _)| name.to_owned());
    let ends_open = last.as_ref().filter(|_| !table.trailing_comma());
    let after = match ends_open.and_then(|last| table.get(last)) {
        Some(last) => raw(last.decor().suffix()),
        None => raw(Some(table.trailing())),
    };
    let (before, after) = match after.rsplit_once('\n') {
        Some((comments, space)) => {
            let prefix = last.as_ref().and_then(|last| table.key(last)?.leaf_decor().prefix());
            let indentation = raw(prefix).rsplit_once('\n').map_or("", |(_, indentation)| indentation);
            (format!("{comments}\n{indentation}"), format!("\n{space}"))
        }
        None if last.is_some() => (" ".to_owned(), after.to_owned()),
        None => (" ".to_owned(), " ".to_owned()),
    };
    let (suffix, trailing) =
        if last.is_some() && table.trailing_comma() { ("", &*after) } else { (&*after, "") };
    value.decor_mut().set_prefix(" ");
    value.decor_mut().set_suffix(suffix);
    table.set_trailing(trailing);
    if let Some(last) = ends_open.and_then(|last| table.get_mut(last)) {
        last.decor_mut().set_suffix("");
    }
    table.insert(*name, value);
    table.key_mut(name)?.leaf_decor_mut().set_prefix(before);
    Some(())
}

/// Spaces and comments as they are written.
fn raw(text: Option<&RawString>) -> &str {
    text.and_then(RawString::as_str).unwrap_or_default()
}

/// The comments in a part of a text, each as a line of its own. Those that share their line with something else are left
/// out unless all are wanted.
fn kept(text: &str, part: &Range<usize>, all: bool) -> String {
    let mut lines = String::new();
    let part_text = text.get(part.clone()).unwrap_or_default();
    for comment in comments(part_text) {
        let start = part.start + comment.start;
        if all || lines::is_first(text, start) {
            lines.push_str(lines::indentation(text, start));
            lines.push_str(part_text.get(comment).unwrap_or_default());
            lines.push_str(lines::end(text));
        }
    }
    lines
}

/// The comments that have a line of their own.
fn comment_lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    comments(text).filter(|comment| lines::is_first(text, comment.start))
}

/// The comments of a text, without their line ends.
pub(super) fn comments(text: &str) -> impl Iterator<Item = Range<usize>> {
    let tokens = Source::new(text).lex().filter(|token| token.kind() == TokenKind::Comment);
    tokens.map(|token| token.span().start()..token.span().end())
}

fn spliced(text: &str, range: &Range<usize>, new: &str) -> Option<String> {
    Some(format!("{}{new}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// The whole text as a value.
pub(super) fn value(text: &str) -> Result<Json, ConfigEditError> {
    let start = lines::start(text);
    match DeTable::parse(text.get(start..).unwrap_or_default()) {
        Ok(table) => Ok(of_table(table.get_ref())),
        Err(error) => {
            let at = start + error.span().map_or(0, |span| span.start);
            Err(ConfigEditError::invalid(text, at, error.message()))
        }
    }
}

/// The change that appends the table of an entry, or replaces it.
pub(super) fn insert(text: &str, path: EntryPath<'_>, entry: &Json) -> Result<ConfigChange, ConfigEditError> {
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
    let parts: Vec<&str> = path.keys.iter().copied().chain([path.name]).collect();
    let start = lines::start(text);
    let body = text.get(start..).unwrap_or_default();
    let lines = Document::parse(body).ok().and_then(|document| match find(&document, &parts)? {
        (key, item @ Item::Table(table)) if !table.is_dotted() => Some(lines_of(body, key, item)),
        _ => None,
    });
    let lines = lines.unwrap_or_default();
    let Some(mut block) = lines.first().cloned() else {
        let what = format!("the entry is not written as a table of its own, [{}]", parts.join("."));
        return Err(ConfigEditError::Style { line: lines::of_key(text, path.name), what });
    };
    for lines in lines {
        if body.get(block.end..lines.start).is_some_and(has_other) {
            let what = format!("the tables of {} are not together", path.name);
            return Err(ConfigEditError::style(text, start + lines.start, what));
        }
        block.end = lines.end;
    }
    Ok(start + block.start..start + block.end)
}

/// Whether there is something else than blank lines and comments.
fn has_other(between: &str) -> bool {
    between.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

fn table(path: EntryPath<'_>, entry: &Json) -> String {
    let name: Vec<String> = path.keys.iter().chain([&path.name]).map(|key| written_key(key)).collect();
    let members = entry.as_object().into_iter().flatten();
    let lines: String =
        members.map(|(key, value)| format!("{} = {}\n", written_key(key), written(value))).collect();
    format!("[{}]\n{lines}", name.join("."))
}
