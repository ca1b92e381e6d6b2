//! Lines of a text: their ends, their indentation, and the number of a place.

/// The byte order mark, which some editors write first.
const BOM: &str = "\u{feff}";

/// Where the text begins, after a byte order mark.
pub(super) fn start(text: &str) -> usize {
    if text.starts_with(BOM) { BOM.len() } else { 0 }
}

/// The number of the line of a place, starting at one.
pub(super) fn number(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The number of the first line that contains a key; for messages.
pub(super) fn of_key(text: &str, key: &str) -> usize {
    text.find(key).map_or(1, |at| number(text, at))
}

/// Where the line of a place ends, with its line end.
pub(super) fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// How the lines of a text end.
pub(super) fn end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|before| before.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Where the line of a place begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let begin = start(text).min(at);
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(begin, |newline| newline + 1)
}

/// The spaces and tabs at the beginning of the line of a place.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let width = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    line.get(..width).unwrap_or_default()
}

/// Whether only spaces and tabs precede a place in its line.
pub(super) fn is_first(text: &str, at: usize) -> bool {
    line_start(text, at) + indentation(text, at).len() == at
}

/// Where the line before that of a place ends, without its line end; `None` in the first line.
pub(super) fn previous_end(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..line_start(text, at))?.strip_suffix('\n')?;
    Some(before.strip_suffix('\r').unwrap_or(before).len())
}

/// A text that is appended as lines of its own. The last line ends as the last line of the text does.
pub(super) fn appended(text: &str, block: &str, blank_line: bool) -> String {
    let end = end(text);
    let block = block.replace('\n', end);
    let body = text.get(start(text)..).unwrap_or_default();
    if body.is_empty() {
        return block;
    }
    let has_end = body.ends_with('\n');
    let mut new = if has_end { String::new() } else { end.to_owned() };
    let has_blank = body.strip_suffix('\n').is_some_and(|body| {
        let body = body.strip_suffix('\r').unwrap_or(body);
        body.is_empty() || body.ends_with('\n')
    });
    if blank_line && !has_blank {
        new.push_str(end);
    }
    new.push_str(&block);
    if !has_end {
        new.truncate(new.trim_end_matches(['\r', '\n']).len());
    }
    new
}
