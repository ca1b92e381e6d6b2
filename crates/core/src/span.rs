//! Places in a file: [`Span`] in bytes, and [`LineIndex`] that turns a byte into line and column.

use serde::{Deserialize, Serialize};

/// A half-open range of bytes in the file a finding is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`; an inverted range becomes empty.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// The empty span at one place.
    pub const fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// How many bytes it covers.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether it covers nothing.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The same range moved `by` bytes towards the end of the file.
    #[must_use]
    pub const fn shift(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// The text it covers, or nothing when it does not lie on character boundaries of `text`.
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }
}

/// A line and a column, both counted from one; the column counts characters, as editors show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

/// Where the lines of a text begin, so that many offsets can be turned into positions cheaply.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Finds the line starts of `text`; a line ends with `\n`.
    pub fn new(text: &'t str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        Self { text, starts }
    }

    /// How many lines the text has; an empty text has one.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The position of a byte; beyond the end it is the end, inside a character that character.
    pub fn position(&self, offset: usize) -> Position {
        let (line, before) = self.line_before(offset);
        Position { line, column: before.chars().count() + 1 }
    }

    /// The position as editors that count UTF-16 units want it (LSP): both numbers from zero.
    pub fn position_utf16(&self, offset: usize) -> (usize, usize) {
        let (line, before) = self.line_before(offset);
        (line - 1, before.chars().map(char::len_utf16).sum())
    }

    /// The line number of an offset and the text of that line before the offset.
    fn line_before(&self, offset: usize) -> (usize, &'t str) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= end);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        (line, self.text.get(start..end).unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_clamp() {
        let index = LineIndex::new("ab\né😀x\n");
        assert_eq!(index.position(0), Position { line: 1, column: 1 });
        assert_eq!(index.position(2), Position { line: 1, column: 3 });
        assert_eq!(index.position(3), Position { line: 2, column: 1 });
        assert_eq!(index.position(9), Position { line: 2, column: 3 });
        assert_eq!(index.position(6), index.position(5), "inside a character is that character");
        assert_eq!(index.position_utf16(9), (1, 3));
        assert_eq!(index.position(999), Position { line: 3, column: 1 });
    }
}
