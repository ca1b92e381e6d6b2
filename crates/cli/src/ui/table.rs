//! [`Table`]: rows in aligned columns, fitted to the screen. All text in it is cleaned.

use std::fmt::Write as _;

use anstyle::Style;

use super::cells::{fit, pad, width, with_few_marks};
use super::{FAINT, STRONG, clean, wrap};

/// The cells between two columns.
const GAP: usize = 2;
/// The narrowest last column; on a narrower screen, the cells of a row follow each other in lines.
const MIN_LAST: usize = 20;
/// The narrowest other column of text, whatever the screen.
const MIN_TEXT: usize = 16;

/// Rows with the same columns, and titles between them. The last column takes the rest of the screen.
pub(crate) struct Table {
    columns: Vec<Column>,
    lines: Vec<TableLine>,
    /// How far rows are indented, below their titles.
    indent: usize,
}

/// A column; without a title it has none on the screen.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    /// Numbers are at the right of their column, and never cut.
    number: bool,
}

enum TableLine {
    Title(Cell),
    Row(Vec<Cell>),
    /// Belongs to the row above it, and is never cut.
    More(Style, String),
}

/// Text in one place of a row, in parts with their own style.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    parts: Vec<CellPart>,
}

#[derive(Clone)]
struct CellPart {
    style: Style,
    text: String,
    /// The cells that the text takes. A layout asks several times.
    width: usize,
}

impl Column {
    /// A column of text.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, number: false }
    }

    /// A column of numbers.
    pub(crate) const fn number(title: &'static str) -> Self {
        Self { title, number: true }
    }
}

impl Cell {
    /// Plain text.
    pub(crate) fn new(text: &str) -> Self {
        Self::default().and(Style::new(), text)
    }

    /// Text that matters most.
    pub(crate) fn strong(text: &str) -> Self {
        Self::default().and(STRONG, text)
    }

    /// Text that matters least.
    pub(crate) fn faint(text: &str) -> Self {
        Self::default().and(FAINT, text)
    }

    /// The same with more text.
    pub(crate) fn and(mut self, style: Style, text: &str) -> Self {
        if !text.is_empty() {
            let text = clean(text).into_owned();
            self.parts.push(CellPart { style, width: width(&with_few_marks(&text)), text });
        }
        self
    }

    fn width(&self) -> usize {
        self.parts.iter().map(|part| part.width).sum()
    }

    /// The text as it is, for files and programs.
    fn plain(&self) -> String {
        self.parts.iter().map(|CellPart { style, text, .. }| format!("{style}{text}{style:#}")).collect()
    }

    /// The text in at most this many cells.
    fn fitted(&self, most: usize) -> String {
        let mut left = if self.width() <= most { usize::MAX } else { most };
        let mut fitted = String::new();
        for CellPart { style, text, width } in &self.parts {
            let text = with_few_marks(text);
            if *width >= left {
                // The space makes sure that the cut is shown, even where this part alone would fit.
                let _ = write!(fitted, "{style}{}{style:#}", fit(&format!("{text} "), left));
                break;
            }
            let _ = write!(fitted, "{style}{text}{style:#}");
            left -= width;
        }
        fitted
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self { columns, lines: Vec::new(), indent: 0 }
    }

    /// Begins a group of rows with a title.
    pub(crate) fn title(&mut self, title: Cell) {
        self.indent = GAP;
        self.lines.push(TableLine::Title(title));
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.lines.push(TableLine::Row(cells));
    }

    /// Adds a line below the last row. It is broken into several rather than cut.
    pub(crate) fn more(&mut self, style: Style, text: &str) {
        self.lines.push(TableLine::More(style, clean(text).into_owned()));
    }

    /// The table for a screen with this many columns, or as lines.
    pub(crate) fn page(&self, columns: Option<usize>) -> String {
        columns.map_or_else(|| self.plain(), |columns| self.screen(columns))
    }

    /// The table as lines for files and programs, without the titles of its columns: nothing is cut or aligned.
    pub(crate) fn plain(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            match line {
                TableLine::Title(title) => text.push_str(&title.plain()),
                TableLine::Row(cells) => {
                    let cells = cells.iter().filter(|cell| !cell.parts.is_empty());
                    let cells: Vec<String> = cells.map(Cell::plain).collect();
                    text.push_str(&cells.join("  "));
                }
                TableLine::More(_, more) => text.extend(["  ", more]),
            }
            text.push('\n');
        }
        text
    }

    /// The table for a screen with this many columns.
    pub(crate) fn screen(&self, screen: usize) -> String {
        let layout = Layout::of(self, screen);
        let mut text = String::new();
        if !layout.flows && self.columns.iter().any(|column| !column.title.is_empty()) {
            let titles: Vec<Cell> = self.columns.iter().map(|column| Cell::faint(column.title)).collect();
            layout.row(&titles, &mut text);
        }
        for (at, line) in self.lines.iter().enumerate() {
            match line {
                TableLine::Title(title) => {
                    text.push_str(if at == 0 { "" } else { "\n" });
                    text.push_str(&title.fitted(screen));
                    text.push('\n');
                }
                TableLine::Row(cells) => layout.row(cells, &mut text),
                TableLine::More(style, more) => layout.more(*style, more, &mut text),
            }
        }
        text
    }
}

/// How wide each column is on a screen.
struct Layout<'t> {
    columns: &'t [Column],
    /// The widths of all columns but the last.
    widths: Vec<usize>,
    last: usize,
    /// Whether the screen is too narrow for columns.
    flows: bool,
    screen: usize,
    indent: usize,
}

impl<'t> Layout<'t> {
    fn of(table: &'t Table, screen: usize) -> Self {
        let (columns, indent) = (table.columns.as_slice(), table.indent);
        let mut widths: Vec<usize> = columns.iter().map(|column| width(column.title)).collect();
        for line in &table.lines {
            let TableLine::Row(cells) = line else { continue };
            for (wide, cell) in widths.iter_mut().zip(cells) {
                *wide = cell.width().max(*wide);
            }
        }
        let wanted = widths.pop().unwrap_or(0);
        for (wide, column) in widths.iter_mut().zip(columns) {
            if !column.number {
                *wide = (*wide).min(MIN_TEXT.max(screen / 3));
            }
        }
        let taken = |widths: &[usize]| indent + widths.iter().map(|wide| wide + GAP).sum::<usize>();
        let needed = MIN_LAST.min(wanted);
        // Columns of text give way to the last one, the widest first.
        while screen < taken(&widths) + needed {
            let texts = widths.iter_mut().zip(columns).filter(|(_, column)| !column.number);
            match texts.map(|(wide, _)| wide).max().filter(|wide| **wide > MIN_TEXT) {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        let last = screen.saturating_sub(taken(&widths));
        let flows = last < needed;
        Self { columns, widths, last, flows, screen, indent }
    }

    fn row(&self, cells: &[Cell], text: &mut String) {
        if self.flows {
            return self.flow(cells, text);
        }
        let mut line = " ".repeat(self.indent);
        for ((cell, column), wide) in cells.iter().zip(self.columns).zip(&self.widths) {
            let spaces = " ".repeat(wide.saturating_sub(cell.width()));
            let cell = cell.fitted(*wide);
            line.push_str(&if column.number { spaces + &cell } else { cell + &spaces });
            line.push_str(&pad("", GAP));
        }
        if let Some(cell) = cells.get(self.widths.len()) {
            line.push_str(&cell.fitted(self.last));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }

    /// Writes cells after each other; one that does not fit into the line begins the next, indented further.
    fn flow(&self, cells: &[Cell], text: &mut String) {
        let (mut taken, mut begins) = (self.indent, true);
        text.push_str(&" ".repeat(self.indent));
        for cell in cells.iter().filter(|cell| !cell.parts.is_empty()) {
            if begins {
                text.push_str(&cell.fitted(self.screen.saturating_sub(taken)));
                taken += cell.width();
            } else if taken + GAP + cell.width() <= self.screen {
                text.push_str(&pad("", GAP));
                text.push_str(&cell.fitted(cell.width()));
                taken += GAP + cell.width();
            } else {
                text.push('\n');
                self.below(cell, text);
                text.pop();
                taken = self.indent + GAP + cell.width();
            }
            begins = false;
        }
        text.push('\n');
    }

    fn more(&self, style: Style, more: &str, text: &mut String) {
        let room = self.screen.saturating_sub(self.indent + GAP);
        let wrapped = if width(more) <= room { more.to_owned() } else { wrap(more, room, "") };
        for line in wrapped.lines() {
            let part = CellPart { style, text: line.to_owned(), width: width(line) };
            self.below(&Cell { parts: vec![part] }, text);
        }
    }

    fn below(&self, cell: &Cell, text: &mut String) {
        let indent = self.indent + GAP;
        text.push_str(&" ".repeat(indent));
        text.push_str(&cell.fitted(self.screen.saturating_sub(indent)));
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(vec![Column::number("tokens"), Column::text("skill"), Column::text("")]);
        table.title(Cell::strong("~/skills"));
        let words = Cell::faint("broken: ").and(Style::new(), "a description that is long enough to be cut");
        table.row(vec![Cell::new("12"), Cell::strong("議事録"), words]);
        table.row(vec![Cell::new("1 234"), Cell::strong("pdf"), Cell::new("Reads \u{1b}[2J files.")]);
        table.more(FAINT, "in the name: pdf, and in the description");
        table
    }

    fn on(screen: usize) -> String {
        let text = anstream::adapter::strip_str(&table().screen(screen)).to_string();
        assert!(text.lines().all(|line| width(line) <= screen), "{text}");
        text
    }

    #[test]
    fn columns_are_aligned_in_cells_and_the_last_one_is_cut() {
        insta::assert_snapshot!(on(44), @r"
          tokens  skill
        ~/skills
              12  議事録  broken: a description tha…
           1 234  pdf     Reads \u{1b}[2J files.
            in the name: pdf, and in the description
        ");
        insta::assert_snapshot!(on(80), @r"
          tokens  skill
        ~/skills
              12  議事録  broken: a description that is long enough to be cut
           1 234  pdf     Reads \u{1b}[2J files.
            in the name: pdf, and in the description
        ");
    }

    #[test]
    fn on_a_narrow_screen_cells_follow_each_other_in_lines() {
        insta::assert_snapshot!(on(20), @r"
        ~/skills
          12  議事録
            broken: a descr…
          1 234  pdf
            Reads \u{1b}[2J…
            in the name:
            pdf, and in the
            description
        ");
    }

    #[test]
    fn files_and_programs_get_the_whole_text_of_each_cell() {
        insta::assert_snapshot!(anstream::adapter::strip_str(&table().page(None)), @r"
        ~/skills
        12  議事録  broken: a description that is long enough to be cut
        1 234  pdf  Reads \u{1b}[2J files.
          in the name: pdf, and in the description
        ");
        let marks = format!("e{}", "\u{301}".repeat(20));
        assert_eq!([Cell::new(&marks).plain(), Cell::default().plain()], [marks, String::new()]);
    }

    #[test]
    fn a_part_that_ends_where_the_room_ends_is_still_marked_as_cut() {
        let cell = Cell::new("abc").and(Style::new(), "def");
        assert_eq!([cell.fitted(3), cell.fitted(4), cell.fitted(6)], ["ab…", "abc…", "abcdef"]);
    }
}
