//! Widths on a terminal, counted in cells: a CJK character takes two, a combining mark none.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The most characters without a width of their own in a row, such as the marks on one letter. A flag of a region has seven.
const MAX_MARKS: usize = 8;
/// The sign at the end of a text that was cut.
const CUT: &str = "…";

/// The number of cells that a text takes.
pub(crate) fn width(text: &str) -> usize {
    // Most text is of this kind, and tables ask often. Without an early end, the compiler checks many bytes at once.
    let other = text.bytes().fold(false, |other, byte| other | !matches!(byte, b' '..=b'~'));
    if other { text.width() } else { text.len() }
}

/// A text that takes at most this many cells. What is cut ends with `…`.
pub(crate) fn fit(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(width(CUT));
    let mut taken = 0;
    let end = text
        .char_indices()
        .find(|(_, character)| {
            taken += character.width().unwrap_or(0);
            taken > room
        })
        .map_or(text.len(), |(at, _)| at);
    let mut cut = text.get(..end).unwrap_or_default().trim_end().to_owned();
    if most > 0 {
        cut.push_str(CUT);
    }
    cut
}

/// A text without the marks on a letter that would cover the lines above and below.
pub(super) fn with_few_marks(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut marks = 0;
    let shown = text.chars().filter(|character| {
        marks = if character.width().unwrap_or(0) == 0 { marks + 1 } else { 0 };
        marks <= MAX_MARKS
    });
    Cow::Owned(shown.collect())
}

/// A text with spaces after it, so that it takes this many cells.
pub(crate) fn pad(text: &str, cells: usize) -> String {
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', cells.saturating_sub(width(text))));
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_and_not_characters() {
        assert_eq!([width("minutes"), width("議事録"), width("e\u{301}")], [7, 6, 1]);
        assert_eq!(fit("議事録を書く", 7), "議事録…");
        assert_eq!(fit("議事録を書く", 6), "議事…");
        assert_eq!([fit("abc", 3), fit("abcd", 3), fit("ab", 1), fit("ab", 0)], ["abc", "ab…", "…", ""]);
        assert_eq!(pad("議事", 6), "議事  ");
    }
}
