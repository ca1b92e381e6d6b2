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

    /// The number of bytes it covers.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The same range moved `by` bytes towards the end of the file.
    #[must_use]
    pub const fn shift(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// The text it covers; none when it does not begin and end between characters of `text`.
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

/// The line starts of a text, for turning many offsets into positions.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    marks: Vec<Mark>,
    lines: usize,
}

/// A place whose position is known: the start of a line, or one of several inside a long line.
#[derive(Clone, Copy, Debug)]
struct Mark {
    offset: usize,
    line: usize,
    chars: usize,
    utf16: usize,
}

/// The distance between known places of a long line, so that a long line is not counted again for each offset.
const MARK_DISTANCE: usize = 1024;

impl<'t> LineIndex<'t> {
    /// Finds the line starts of `text`; a line ends with `\n`.
    pub fn new(text: &'t str) -> Self {
        let mut marks = Vec::new();
        let mut lines = 0;
        let mut start = 0;
        for line in text.split('\n') {
            lines += 1;
            let mut mark = Mark { offset: start, line: lines, chars: 0, utf16: 0 };
            marks.push(mark);
            let mut rest = line;
            while rest.len() > MARK_DISTANCE {
                let (piece, behind) = rest.split_at(boundary(rest, MARK_DISTANCE));
                mark.offset += piece.len();
                mark.chars += piece.chars().count();
                mark.utf16 += utf16_len(piece);
                marks.push(mark);
                rest = behind;
            }
            start += line.len() + 1;
        }
        Self { text, marks, lines }
    }

    /// The number of lines; an empty text has one.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The position of a byte. Beyond the end it is the end; inside a character it is that character.
    pub fn position(&self, offset: usize) -> Position {
        let (mark, behind) = self.nearest(offset);
        Position { line: mark.line, column: mark.chars + behind.chars().count() + 1 }
    }

    /// The position for editors that count UTF-16 units (LSP): both numbers from zero.
    pub fn position_utf16(&self, offset: usize) -> (usize, usize) {
        let (mark, behind) = self.nearest(offset);
        (mark.line - 1, mark.utf16 + utf16_len(behind))
    }

    /// The last known place before an offset, and the text between the two.
    fn nearest(&self, offset: usize) -> (Mark, &'t str) {
        let end = boundary(self.text, offset);
        let after = self.marks.partition_point(|mark| mark.offset <= end);
        let first = Mark { offset: 0, line: 1, chars: 0, utf16: 0 };
        let mark = self.marks.get(after.wrapping_sub(1)).copied().unwrap_or(first);
        (mark, self.text.get(mark.offset..end).unwrap_or(""))
    }
}

/// The nearest character boundary at or before an offset.
pub(crate) fn boundary(text: &str, offset: usize) -> usize {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
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

    #[test]
    fn positions_in_long_lines_are_exact() {
        let text = format!("x\n{}\ny{}", "é😀a".repeat(2_000), "b".repeat(3_000));
        let index = LineIndex::new(&text);
        assert_eq!((index.lines(), LineIndex::new("").lines()), (3, 1));
        let (mut line, mut column, mut units) = (1, 1, 0);
        for (at, character) in text.char_indices() {
            assert_eq!(index.position(at), Position { line, column }, "{at}");
            assert_eq!(index.position_utf16(at), (line - 1, units), "{at}");
            column += 1;
            units += character.len_utf16();
            if character == '\n' {
                (line, column, units) = (line + 1, 1, 0);
            }
        }
    }
}
