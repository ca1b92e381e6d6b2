//! Text for a terminal: cleaned, wrapped, and numbers with their nouns and units.

use std::borrow::Cow;

use prowess::text;

use super::cells;

/// Text from a skill on one line, with every control or hidden character escaped.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    text::inline(text)
}

/// The same for text of several lines: line ends stay, and tabs become spaces.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = if end.is_empty() { line } else { line.strip_suffix('\r').unwrap_or(line) };
        for (at, part) in line.split('\t').enumerate() {
            cleaned.push_str(if at == 0 { "" } else { "    " });
            cleaned.push_str(&clean(part));
        }
        cleaned.push_str(end);
    }
    cleaned
}

/// Breaks text at spaces into lines of at most `width` cells, as long as words allow.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = cells::width(word);
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        }
        if column == 0 {
            lines.push_str(indent);
        } else {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

/// Breaks lines that are too wide between words, and leaves their spaces.
pub(super) fn wrap_lines(text: &str, width: usize) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split(' ') {
            let length = cells::width(word);
            if column > 0 && column + 1 + length > width {
                lines.push('\n');
                column = 0;
            } else if column > 0 {
                lines.push(' ');
                column += 1;
            }
            lines.push_str(word);
            column += length;
        }
        lines.push('\n');
    }
    lines
}

/// A number with a comma at each thousand.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number and its noun: `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The first of some names, and how many more there are: `a, b and 2 more`.
pub(crate) fn few(names: &[impl AsRef<str>], most: usize) -> String {
    let first = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// A size with its unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        1_000_000..1_000_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
        1_000_000_000..1_000_000_000_000 => {
            format!("{}.{} GB", bytes / 1_000_000_000, bytes % 1_000_000_000 / 100_000_000)
        }
        _ => format!("{}.{} TB", bytes / 1_000_000_000_000, bytes % 1_000_000_000_000 / 100_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_and_invisible_character_becomes_visible() {
        for code in 0..=0x10_FFFF_u32 {
            let Some(character) = char::from_u32(code) else { continue };
            let cleaned = clean(&character.to_string()).into_owned();
            assert!(!cleaned.chars().any(|c| c.is_control() || text::unseen(c).is_some()), "U+{code:04X}");
            if text::unseen(character).is_some() {
                assert!(cleaned.starts_with('\\') && cleaned.is_ascii(), "U+{code:04X}");
            }
        }
        assert_eq!(clean("a\u{1b}[31m\u{202e}\n"), "a\\u{1b}[31m\\u{202e}\\n");
        assert_eq!(clean_lines("a\tb\r\nc\rd"), "a    b\nc\\rd");
        assert!(matches!(clean("plain é 日本 😀"), Cow::Borrowed(_)));
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        assert_eq!(wrap("aa bb  ccccccc d", 5, "> "), "> aa bb\n> ccccccc\n> d\n");
        assert_eq!([count(1, "file"), count(0, "file")], ["1 file", "0 files"]);
        assert_eq!([few(&["a", "b"], 2), few(&["a", "b", "c"], 2)], ["a, b", "a, b and 1 more"]);
        assert_eq!([size(999), size(1_234), size(52_428_800)], ["999 B", "1.2 KB", "52.4 MB"]);
        assert_eq!([size(1_500_000_000), size(3_298_534_883_328)], ["1.5 GB", "3.2 TB"]);
    }
}
