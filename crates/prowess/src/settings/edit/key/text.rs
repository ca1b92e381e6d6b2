//! Sets and unsets a key in a TOML text. Nothing is written anew: a value is replaced where it is, and a new key is a line
//! of its own.
//!
//! No comment line is ever removed. A comment at the end of a line is removed with the key of that line; one inside of a
//! value that is replaced becomes a line above the key.

use std::ops::Range;

use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};

use super::comments::{Lexed, kept};
use crate::settings::edit::{lines, of_toml, toml_header, written_key};

/// The text with a key set to a value in TOML, or unset without one. `None` if the text has a form in which this cannot be
/// done without changing something else.
pub(super) fn edit(text: &str, parts: &[&str], value: Option<&str>) -> Option<String> {
    let start = lines::start(text);
    let (mark, body) = text.split_at_checked(start)?;
    let after = match value {
        Some(value) => with(body, parts, value)?,
        None => without(body.to_owned(), parts, false)?,
    };
    // The places are found by simple means, so the result is read and compared.
    (json_of(&after)? == expected(body, parts, value)?).then(|| format!("{mark}{after}"))
}

/// What the text must say after the edit.
fn expected(text: &str, parts: &[&str], value: Option<&str>) -> Option<Json> {
    let mut whole = json_of(text)?;
    let (last, above) = parts.split_last()?;
    let mut table = &mut whole;
    for name in above {
        let members = table.as_object_mut()?;
        table = members.entry(*name).or_insert_with(|| Json::Object(Map::new()));
    }
    match value {
        Some(value) => {
            let value = json_of(&format!("value = {value}"))?.get("value")?.clone();
            table.as_object_mut()?.insert((*last).to_owned(), value);
        }
        None => drop(table.as_object_mut()?.remove(*last)),
    }
    without_empty(&mut whole);
    Some(whole)
}

fn json_of(text: &str) -> Option<Json> {
    let mut whole = of_toml(&DeValue::Table(DeTable::parse(text).ok()?.into_inner()));
    without_empty(&mut whole);
    Some(whole)
}

/// Removes tables without keys, which say nothing.
fn without_empty(value: &mut Json) {
    let Json::Object(members) = value else { return };
    members.values_mut().for_each(without_empty);
    members.retain(|_, value| value.as_object().is_none_or(|members| !members.is_empty()));
}

fn with(text: &str, parts: &[&str], value: &str) -> Option<String> {
    match place_of(text, parts)? {
        Some(place) if place.is_value => {
            let line_end = lines::end(text);
            let above = kept(text, &place.value, true, line_end);
            let replaced = replaced(text, &place.value, value)?;
            Some(inserted(&replaced, lines::line_start(text, place.key.start), &above))
        }
        Some(_) => added(&without(text.to_owned(), parts, true)?, parts, value),
        None => added(text, parts, value),
    }
}

/// The text without a key, in whatever forms it is written. The comments of its lines stay if all are wanted.
fn without(mut text: String, parts: &[&str], all: bool) -> Option<String> {
    while let Some(place) = place_of(&text, parts)? {
        text = if place.is_value {
            removed(&text, &place, all)?
        } else if let Some(block) = headers(&text).into_iter().find(|header| header.is_of(parts)) {
            without_lines(&text, &block.says, all)?
        } else {
            // Keys with dots: each is removed by itself.
            let first = first_key(&text, parts)?;
            let inner: Vec<&str> = parts.iter().copied().chain([first.as_str()]).collect();
            without(text, &inner, all)?
        };
    }
    Some(text)
}

/// Where a key is in a text.
struct KeyPlace {
    key: Range<usize>,
    value: Range<usize>,
    /// Whether it is written as `key = value`, and not as a table with a header or with dots.
    is_value: bool,
}

/// Where a key is; `None` inside if it is not set, and outside if something else is in its place.
#[expect(clippy::option_option, reason = "the outer one is used with `?`")]
fn place_of(text: &str, parts: &[&str]) -> Option<Option<KeyPlace>> {
    let whole = DeTable::parse(text).ok()?;
    let (last, above) = parts.split_last()?;
    let mut table = whole.get_ref();
    for name in above {
        match table.get(*name) {
            Some(value) => table = value.get_ref().as_table()?,
            None => return Some(None),
        }
    }
    let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == *last) else {
        return Some(None);
    };
    let (key, value) = (key.span(), value.span());
    let between = text.get(key.end..value.start).unwrap_or_default();
    let is_value = key.end <= value.start && between.trim() == "=";
    Some(Some(KeyPlace { key, value, is_value }))
}

/// The first key of a table.
fn first_key(text: &str, parts: &[&str]) -> Option<String> {
    let whole = DeTable::parse(text).ok()?;
    let mut table = whole.get_ref();
    for name in parts {
        table = table.get(*name)?.get_ref().as_table()?;
    }
    table.iter().next().map(|(key, _)| key.get_ref().to_string())
}

/// The text without a key and its value: without its lines, or as a member of a table in braces.
fn removed(text: &str, place: &KeyPlace, all: bool) -> Option<String> {
    let start = lines::line_start(text, place.key.start);
    let end = end_of_line(text, place.value.end);
    let before = text.get(start..place.key.start)?;
    let after = text.get(place.value.end..end)?.trim();
    let is_first = before.trim().is_empty() || is_dotted(before);
    if is_first && (after.is_empty() || after.starts_with('#')) {
        return without_lines(text, &(start..end), all);
    }
    let kept = kept(text, &place.value, true, lines::end(text));
    let member = member(text, place)?;
    Some(inserted(&replaced(text, &member, "")?, start, &kept))
}

/// A member of a table in braces, with one of the commas around it.
fn member(text: &str, place: &KeyPlace) -> Option<Range<usize>> {
    let start = text.get(..place.key.start)?.rfind([',', '{', '\n'])? + 1;
    let first = start + leading(text.get(start..)?);
    let after = text.get(place.value.end..)?;
    let rest = after.get(leading(after)..)?;
    if let Some(rest) = rest.strip_prefix(',') {
        let end = text.len() - rest.len() + leading(rest);
        // A line that has nothing else goes as a whole.
        let is_line = text.get(..start)?.ends_with('\n') && text.get(end..)?.starts_with(['\n', '\r']);
        return Some(if is_line { start..end_of_line(text, end) } else { first..end });
    }
    match text.as_bytes().get(start - 1) {
        Some(b',') => Some(start - 1..place.value.end),
        Some(b'{') => Some(start..text.len() - rest.len()),
        _ => Some(first..place.value.end),
    }
}

/// The number of spaces at the beginning.
fn leading(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Whether a key comes after others with dots, as in `scan.depth`.
fn is_dotted(before: &str) -> bool {
    before.trim_end().ends_with('.') && !before.contains(['{', '=', ','])
}

/// The text with a new key.
fn added(text: &str, parts: &[&str], value: &str) -> Option<String> {
    for depth in 1..parts.len() {
        let (above, rest) = parts.split_at_checked(depth)?;
        if let Some(table) = place_of(text, above)?.filter(|place| place.is_value) {
            return in_braces(text, &table.value, above, &nested(rest, value)?);
        }
    }
    let headers = headers(text);
    let (last, above) = parts.split_last()?;
    // The innermost table above it with a header of its own, and otherwise the top of the file.
    for depth in (0..parts.len()).rev() {
        let (names, rest) = parts.split_at_checked(depth)?;
        let says = match headers.iter().find(|header| !header.is_list && header.names == names) {
            Some(header) => header.says.clone(),
            None if depth == 0 => 0..headers.first().map_or(text.len(), |header| header.says.start),
            None => continue,
        };
        if rest.len() == 1 || has_dotted(text, &says, rest) {
            return Some(line_added(text, &says, depth > 0, &format!("{} = {value}", dotted(rest))));
        }
    }
    let block = format!("[{}]\n{} = {value}\n", dotted(above), written_key(last));
    Some(format!("{text}{}", lines::appended(text, &block, true)))
}

/// A value inside of tables in braces.
fn nested(parts: &[&str], value: &str) -> Option<String> {
    let (first, rest) = parts.split_first()?;
    let value = if rest.is_empty() { value.to_owned() } else { format!("{{ {} }}", nested(rest, value)?) };
    Some(format!("{} = {value}", written_key(first)))
}

fn dotted(parts: &[&str]) -> String {
    parts.iter().map(|part| written_key(part)).collect::<Vec<_>>().join(".")
}

/// Whether the lines of a table have a key with dots that begins with the first of these.
fn has_dotted(text: &str, says: &Range<usize>, rest: &[&str]) -> bool {
    let lines = text.get(says.clone()).unwrap_or_default().lines();
    let first = |line: &str| {
        let key = line.split_once('=').map_or("", |(key, _)| key);
        key.split_once('.').map(|(first, _)| first.trim().trim_matches(['"', '\'']).to_owned())
    };
    lines.map(first).any(|first| first.as_deref() == rest.first().copied())
}

/// The text with a line after the last key of a table.
fn line_added(text: &str, says: &Range<usize>, has_header: bool, line: &str) -> String {
    let block = text.get(says.clone()).unwrap_or_default();
    let first = block.split_inclusive('\n').nth(usize::from(has_header)).unwrap_or(block);
    let indentation = first.get(..leading(first)).unwrap_or_default();
    // The top of the file ends where its last key does, not with the comments above the first header.
    let at = if has_header { says.end } else { last_says(text, says) };
    let end = lines::end(text);
    let is_open = text.get(..at).is_some_and(|before| !before.is_empty() && !before.ends_with('\n'));
    let line =
        if is_open { format!("{end}{indentation}{line}") } else { format!("{indentation}{line}{end}") };
    inserted(text, at, &line)
}

/// The text with a member added to a table in braces.
fn in_braces(text: &str, braces: &Range<usize>, path: &[&str], member: &str) -> Option<String> {
    let whole = DeTable::parse(text).ok()?;
    let mut table = whole.get_ref();
    for name in path {
        table = table.get(*name)?.get_ref().as_table()?;
    }
    let inner = text.get(braces.start + 1..braces.end.checked_sub(1)?)?;
    if table.is_empty() {
        let new = if inner.contains('\n') { format!("\n{member}") } else { format!(" {member} ") };
        return replaced(text, &(braces.start + 1..braces.start + 1 + leading(inner)), &new);
    }
    if !inner.contains('\n') {
        let end = braces.start + 1 + inner.trim_end().trim_end_matches(',').trim_end().len();
        return Some(inserted(text, end, &format!(", {member}")));
    }
    // Before the first one, so that the comments of the others stay in their lines.
    let first = braces.start + 1 + inner.len() - first_member(inner)?.len();
    let is_first = text.get(lines::line_start(text, first)..first)?.trim().is_empty();
    let between = if is_first {
        format!("{}{}", lines::end(text), lines::indentation(text, first))
    } else {
        " ".to_owned()
    };
    Some(inserted(text, first, &format!("{member},{between}")))
}

/// What follows the spaces and comments at the beginning of a table in braces.
fn first_member(mut inner: &str) -> Option<&str> {
    loop {
        inner = inner.trim_start();
        match inner.strip_prefix('#') {
            Some(comment) => inner = comment.split_once('\n')?.1,
            None => return Some(inner),
        }
    }
}

/// A table with a header.
struct Header {
    names: Vec<String>,
    /// Whether it has double brackets.
    is_list: bool,
    /// Its lines, from the header to the last one with a key.
    says: Range<usize>,
}

impl Header {
    /// Whether it is this table, or inside of it.
    fn is_of(&self, parts: &[&str]) -> bool {
        self.names.len() >= parts.len() && self.names.iter().zip(parts).all(|(name, part)| name == part)
    }
}

/// The tables with headers, in their order.
fn headers(text: &str) -> Vec<Header> {
    let lexed = Lexed::of(text);
    let mut starts: Vec<(usize, Vec<String>, bool)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(names) = toml_header(line).filter(|_| !lexed.is_quoted(at)) {
            starts.push((at, names, line.trim_start().starts_with("[[")));
        }
        at += line.len();
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(at, ..)| *at).chain([text.len()]).collect();
    let whole = |((start, names, is_list), end): ((usize, Vec<String>, bool), usize)| Header {
        names,
        is_list,
        says: start..last_says(text, &(start..end)),
    };
    starts.into_iter().zip(ends).map(whole).collect()
}

/// Where the last line with something else than a comment ends.
fn last_says(text: &str, range: &Range<usize>) -> usize {
    let lexed = Lexed::of(text);
    let (mut at, mut end) = (range.start, range.start);
    for line in text.get(range.clone()).unwrap_or_default().split_inclusive('\n') {
        let first = at + line.len() - line.trim_start().len();
        at += line.len();
        if !line.trim().is_empty() && !lexed.is_comment(first) {
            end = at;
        }
    }
    end
}

fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// The text without these lines, except their comments.
fn without_lines(text: &str, range: &Range<usize>, all: bool) -> Option<String> {
    let mut kept = kept(text, range, all, lines::end(text));
    if range.end == text.len() && !text.ends_with('\n') {
        kept.truncate(kept.trim_end_matches(['\r', '\n']).len());
    }
    replaced(text, range, &kept)
}

fn replaced(text: &str, range: &Range<usize>, new: &str) -> Option<String> {
    Some(format!("{}{new}{}", text.get(..range.start)?, text.get(range.end..)?))
}

fn inserted(text: &str, at: usize, new: &str) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    format!("{before}{new}{after}")
}
