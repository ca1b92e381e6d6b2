//! Problems as rustc shows them: the message, the place in the file, and what to do.

use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use prowess::text::hidden;
use prowess::{LineIndex, Position, Problem, Severity, Span};

use super::{Checked, Reporter, Summary, patch};
use crate::error::CommandError;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// The maximum number of problems shown per file.
const MAX_SHOWN: usize = 100;
/// The maximum number of fields named for one code in the line of notes.
const MAX_FIELDS: usize = 5;
/// The maximum number of bytes of a file shown for one problem.
const MAX_EXCERPT: usize = 16 * 1024;
/// How much of a very long line is shown before and after a place.
const MAX_AROUND: usize = 400;

/// Writes problems as they come.
pub(crate) struct Human {
    /// How notes are shown.
    pub(crate) notes: Notes,
}

/// How notes, which are problems of severity info, are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    /// Each is shown at its place.
    Whole,
    /// Those of a file share one line.
    Folded,
    /// They are not shown.
    Hidden,
}

impl Reporter for Human {
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError> {
        let lines = LineIndex::new(file.document.text());
        let (notes, mut problems): (Vec<&Problem>, Vec<&Problem>) =
            file.problems.iter().partition(|problem| problem.severity == Severity::Info);
        if self.notes == Notes::Whole {
            problems = file.problems.iter().collect();
        }
        let shown = most_severe(&problems);
        for block in blocks(&shown) {
            let text = render(&file.path, file.document.text(), &lines, &block, ui.columns());
            ui.print(&format!("{text}\n\n"))?;
        }
        let more = problems.len() - shown.len();
        if more > 0 {
            ui.print(&format!(
                "{} more in {}; --format json lists every one\n\n",
                count(more, "problem"),
                clean(&file.path)
            ))?;
        }
        if self.notes == Notes::Folded && !notes.is_empty() {
            ui.print(&format!(
                "{}\n{}",
                folded(&file.path, &notes),
                if problems.is_empty() { "" } else { "\n" }
            ))?;
        }
        Ok(())
    }

    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        ui.print(&format!("{STRONG}{}{STRONG:#}\n", summary.line(self.notes == Notes::Hidden)))
    }
}

/// The most severe problems, up to the maximum, in the order of the file.
fn most_severe<'a>(problems: &[&'a Problem]) -> Vec<&'a Problem> {
    let mut places: Vec<usize> = (0..problems.len()).collect();
    places.sort_by_key(|at| problems.get(*at).map(|problem| std::cmp::Reverse(problem.severity)));
    places.truncate(MAX_SHOWN);
    places.sort_unstable();
    places.into_iter().filter_map(|at| problems.get(at).copied()).collect()
}

/// Problems that are shown together: those of one field, which often have one cause and one fix.
fn blocks<'a>(problems: &[&'a Problem]) -> Vec<Vec<&'a Problem>> {
    let mut blocks: Vec<Vec<&Problem>> = Vec::new();
    for problem in problems {
        let same = |block: &&mut Vec<&Problem>| {
            block.first().is_some_and(|first| {
                first.field.is_some() && first.field == problem.field && touch(first.span, problem.span)
            })
        };
        match blocks.iter_mut().find(same) {
            Some(block) => block.push(problem),
            None => blocks.push(vec![problem]),
        }
    }
    for block in &mut blocks {
        block.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    }
    blocks
}

/// Whether two places are about the same text: one is in the other.
fn touch(one: Option<Span>, other: Option<Span>) -> bool {
    let is_in = |one: Span, other: Span| one.start >= other.start && one.end <= other.end;
    match (one, other) {
        (Some(one), Some(other)) => is_in(one, other) || is_in(other, one),
        (one, other) => one == other,
    }
}

/// The notes of a file in one line: each code with the fields that it is about, or how often it occurs.
fn folded(path: &str, notes: &[&Problem]) -> String {
    let mut codes: BTreeMap<&str, Vec<Option<&str>>> = BTreeMap::new();
    for note in notes {
        codes.entry(note.code).or_default().push(note.field.as_deref());
    }
    let codes: Vec<String> = codes
        .into_iter()
        .map(|(code, fields)| {
            let named: Vec<_> = fields.iter().flatten().take(MAX_FIELDS).map(|field| clean(field)).collect();
            match (fields.len(), named.len()) {
                (1, 0) => code.to_owned(),
                (all, 0) => format!("{code} ({all})"),
                (all, shown) if shown < all => {
                    format!("{code} ({} and {} more)", named.join(", "), all - shown)
                }
                _ => format!("{code} ({})", named.join(", ")),
            }
        })
        .collect();
    format!("{FAINT}note{FAINT:#}: {}: {}", clean(path), codes.join(", "))
}

/// The problems of one block as text, with colours: the first at its place, the others as notes below it. Lines of the file
/// are cut to the width of the screen.
fn render(
    path: &str,
    text: &str,
    lines: &LineIndex<'_>,
    block: &[&Problem],
    columns: Option<usize>,
) -> String {
    let Some((problem, others)) = block.split_first() else { return String::new() };
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let codes: Vec<&str> = block.iter().map(|problem| problem.code).collect();
    let title = level.primary_title(clean(&problem.message)).id(codes.join(", "));
    let mut group = Group::with_title(title);
    let path = clean(path);
    let mut place = None;
    match problem.span {
        None => group = group.element(Origin::path(path.as_ref())),
        Some(span) => {
            let (snippet, drawn) = snippet(text, lines, span, problem);
            place = Some((drawn, lines.position(span.start)));
            group = group.element(snippet.path(path.as_ref()));
        }
    }
    for other in others {
        let also = match other.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Info => Level::INFO,
        };
        group = group.element(also.message(clean(&other.message).into_owned()));
    }
    let fix = block.iter().find_map(|problem| problem.fix.as_ref());
    // A fix that says the same as the help replaces it, and one help is enough for problems with one cause.
    let mut helps: Vec<&str> = block.iter().filter_map(|problem| problem.help.as_deref()).collect();
    helps.dedup();
    for help in helps.iter().filter(|help| fix.is_none_or(|fix| fix.title != help.replace('`', ""))) {
        group = group.element(Level::HELP.message(clean(help).into_owned()));
    }
    let renderer = match columns {
        Some(columns) => Renderer::styled().term_width(columns),
        None => Renderer::styled(),
    };
    let rendered = renderer.render(&[group]);
    let rendered = match place {
        Some((drawn, there)) if drawn != there => correct(&rendered, &path, drawn, there),
        _ => rendered,
    };
    match fix.and_then(|fix| patch::small(text, lines, fix, columns)) {
        Some(change) => format!("{rendered}\n{change}"),
        None => rendered,
    }
}

/// Replaces the position in the cleaned excerpt, which the renderer wrote, with the position in the file.
fn correct(rendered: &str, path: &str, drawn: Position, there: Position) -> String {
    let (title, rest) = rendered.split_once('\n').unwrap_or((rendered, ""));
    let place = |position: Position| format!("{path}:{}:{}", position.line, position.column);
    format!("{title}\n{}", rest.replacen(&place(drawn), &place(there), 1))
}

/// The lines a problem is about, cleaned, with the places marked, and the position the renderer will see.
fn snippet<'a>(
    text: &str,
    lines: &LineIndex<'_>,
    span: Span,
    problem: &'a Problem,
) -> (Snippet<'a, annotate_snippets::Annotation<'a>>, Position) {
    let mut places: Vec<(Span, Option<&str>)> = vec![(span, None)];
    places.extend(problem.related.iter().map(|related| (related.span, Some(related.message.as_str()))));
    let mut window = whole_lines(text, &places);
    if window.len() > MAX_EXCERPT {
        // The message names other places and the rest of a long one; the excerpt shows the start.
        places.truncate(1);
        if let Some(first) = places.first_mut() {
            let line_end = text.get(span.start..).and_then(|rest| rest.find('\n'));
            first.0.end = span.end.min(line_end.map_or(text.len(), |length| span.start + length));
            window = around(text, first.0);
            first.0.end = first.0.end.min(window.end);
        }
    }
    let first_line = lines.position(window.start).line;
    let marks: Vec<Range<usize>> = places.iter().map(|(span, _)| span.start..span.end).collect();
    let (source, marks) = cleaned(text, window, &marks);
    let mut drawn = LineIndex::new(&source).position(marks.first().map_or(0, |mark| mark.start));
    drawn.line += first_line - 1;
    let annotations = marks.into_iter().zip(&places).map(|(mark, (_, label))| match label {
        None => AnnotationKind::Primary.span(mark),
        Some(label) => AnnotationKind::Context.span(mark).label(clean(label).into_owned()),
    });
    let annotations: Vec<_> = annotations.collect();
    (Snippet::source(source).line_start(first_line).annotations(annotations), drawn)
}

/// The whole lines from the first to the last of some places.
fn whole_lines(text: &str, places: &[(Span, Option<&str>)]) -> Range<usize> {
    let start = places.iter().map(|(span, _)| span.start).min().unwrap_or(0).min(text.len());
    let end = places.iter().map(|(span, _)| span.end).max().unwrap_or(0).clamp(start, text.len());
    let start = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    // A place that ends with a line end does not reach into the next line.
    let from = if end > start && text.as_bytes().get(end - 1) == Some(&b'\n') { end - 1 } else { end };
    let end = text.get(from..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| from + length);
    start..end
}

/// Part of one line around the start of a place.
fn around(text: &str, span: Span) -> Range<usize> {
    let line = whole_lines(text, &[(Span::at(span.start), None)]);
    let mut start = span.start.saturating_sub(MAX_AROUND).max(line.start);
    let mut end = span.start.saturating_add(MAX_AROUND).min(line.end);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end
}

/// A part of the text in visible form, and where some places of the text are in it.
fn cleaned(text: &str, window: Range<usize>, places: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let excerpt = text.get(window.clone()).unwrap_or("");
    let mut source = String::with_capacity(excerpt.len());
    let mut marks = vec![usize::MAX..usize::MAX; places.len()];
    let set = |at: usize, length: usize, marks: &mut Vec<Range<usize>>| {
        for (mark, place) in marks.iter_mut().zip(places) {
            if mark.start == usize::MAX && at >= place.start {
                mark.start = length;
            }
            if mark.end == usize::MAX && at >= place.end {
                mark.end = length;
            }
        }
    };
    let mut characters = excerpt.char_indices().peekable();
    let mut hidden = hidden(excerpt).peekable();
    while let Some((at, character)) = characters.next() {
        set(window.start + at, source.len(), &mut marks);
        match character {
            '\n' => source.push('\n'),
            '\t' => source.push_str("    "),
            '\r' if characters.peek().is_none_or(|(_, next)| *next == '\n') => {}
            '\r' => source.push_str("\\r"),
            other if hidden.next_if(|(place, ..)| *place == at).is_some() => {
                source.extend(other.escape_unicode());
            }
            other => source.push(other),
        }
    }
    set(usize::MAX, source.len(), &mut marks);
    (source, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_their_text_through_the_cleaning() {
        let text = "a\u{1b}b\tc\r\nd";
        let at = |needle: &str| text.find(needle).unwrap();
        let (source, marks) = cleaned(text, 0..text.len(), &[at("b")..at("b") + 1, at("c")..at("c") + 1]);
        assert_eq!(source, "a\\u{1b}b    c\nd");
        assert_eq!(
            marks.iter().map(|mark| source.get(mark.clone())).collect::<Vec<_>>(),
            [Some("b"), Some("c")]
        );
    }

    #[test]
    fn places_beyond_the_text_are_its_end() {
        let (source, marks) = cleaned("ab", 0..2, &[5..9, 1..9]);
        assert_eq!((source.as_str(), marks), ("ab", vec![2..2, 1..2]));
        assert_eq!(whole_lines("ab\ncd\nef", &[(Span::new(1, 6), None)]), 0..5);
        assert_eq!(whole_lines("ab", &[(Span::new(7, 9), None)]), 0..2);
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_place() {
        let text = "é".repeat(20_000);
        let window = around(&text, Span::new(20_000, 20_002));
        assert!(window.len() <= 2 * MAX_AROUND && text.get(window).is_some());
    }
}
