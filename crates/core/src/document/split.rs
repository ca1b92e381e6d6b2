//! Where the frontmatter begins and ends: a scanner of lines that finds the fences, one line at a time.
//!
//! A fence is a whole line of three dashes; spaces may follow it. The scanner sees each line once, so the
//! same code splits a file in memory and reads one from a stream without reading its body.

use crate::limits::{MAX_FRONTMATTER_BYTES, MAX_LEADING_BYTES};
use crate::span::Span;

/// The three bytes of a UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Where the parts of a SKILL.md are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fences {
    /// The opening fence without its line break.
    pub open: Span,
    /// The YAML between the fences.
    pub yaml: Span,
    /// The closing fence without its line break.
    pub close: Span,
    /// The first byte of the body.
    pub body: usize,
}

/// The result of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The bytes end too early to decide; only a prefix has this result.
    NeedMore,
    /// There is no opening fence.
    NoFrontmatter,
    /// There is an opening fence and no closing one.
    Unclosed {
        /// The opening fence.
        open: Span,
        /// All that follows it.
        yaml: Span,
    },
    /// The frontmatter is larger than [`MAX_FRONTMATTER_BYTES`].
    TooLarge {
        /// The opening fence.
        open: Span,
    },
    /// Both fences are present.
    Found(Fences),
}

/// The result of the scanner, and a line that may have been meant as the closing fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Where the parts are.
    pub split: Split,
    /// The first line that looks like a closing fence without being one, and where the body would begin.
    pub near_close: Option<(Span, usize)>,
}

/// Finds the fences of a whole file.
pub fn split(bytes: &[u8]) -> Outline {
    run(bytes, true)
}

/// Finds the fences in the first bytes of a file; [`Split::NeedMore`] when there are too few.
pub fn split_prefix(bytes: &[u8]) -> Outline {
    run(bytes, false)
}

fn run(bytes: &[u8], complete: bool) -> Outline {
    let mut scanner = Scanner::new();
    let mut rest = bytes;
    if !complete && bytes.len() < BOM.len() && BOM.starts_with(bytes) {
        return Outline { split: Split::NeedMore, near_close: None };
    }
    while !rest.is_empty() {
        let length = match memchr::memchr(b'\n', rest) {
            Some(at) => at + 1,
            None if complete || scanner.hopeless(rest) => rest.len(),
            None => return Outline { split: Split::NeedMore, near_close: scanner.near_close },
        };
        let (line, after) = rest.split_at(length);
        if scanner.line(line) == Flow::Stop {
            return scanner.outline();
        }
        rest = after;
    }
    if complete {
        scanner.finish()
    } else {
        Outline { split: Split::NeedMore, near_close: scanner.near_close }
    }
}

/// Whether the scanner wants the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Give it the next line.
    More,
    /// It has decided.
    Stop,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before the opening fence.
    Before,
    /// Before the opening fence, inside an HTML comment.
    InComment,
    /// After the opening fence.
    Inside { open: Span, yaml: usize },
    /// Decided.
    Done(Split),
}

/// The state machine that both ways of reading share.
#[derive(Debug)]
pub(crate) struct Scanner {
    state: State,
    offset: usize,
    near_close: Option<(Span, usize)>,
}

impl Scanner {
    pub(crate) const fn new() -> Self {
        Self { state: State::Before, offset: 0, near_close: None }
    }

    /// Whether an unfinished line is already too long to be anything but the end of the search.
    pub(crate) fn hopeless(&self, partial: &[u8]) -> bool {
        match self.state {
            State::Before | State::InComment => self.offset + partial.len() > MAX_LEADING_BYTES,
            State::Inside { yaml, .. } => self.offset + partial.len() - yaml > MAX_FRONTMATTER_BYTES,
            State::Done(_) => true,
        }
    }

    /// Takes the next line, with its line break.
    pub(crate) fn line(&mut self, line: &[u8]) -> Flow {
        let start = self.offset;
        self.offset += line.len();
        let (start, line) = match line.strip_prefix(BOM) {
            Some(after) if start == 0 => (BOM.len(), after),
            _ => (start, line),
        };
        let text = line.trim_ascii_end();
        let place = Span::new(start, start + text.len());
        match self.state {
            State::Before => self.line_before(text, place),
            State::InComment => {
                if contains(text, b"-->") {
                    self.state = State::Before;
                }
                self.check_leading()
            }
            State::Inside { open, yaml } => self.line_inside(text, place, open, yaml),
            State::Done(_) => Flow::Stop,
        }
    }

    fn line_before(&mut self, text: &[u8], place: Span) -> Flow {
        let bare = text.trim_ascii_start();
        if bare == b"---" {
            let open = Span::new(place.end - bare.len(), place.end);
            self.state = State::Inside { open, yaml: self.offset };
            return Flow::More;
        }
        if bare.starts_with(b"<!--") {
            if !contains(bare, b"-->") {
                self.state = State::InComment;
            }
        } else if !(bare.is_empty() || bare.starts_with(b"#") || bare.starts_with(b"```")) {
            return self.stop(Split::NoFrontmatter);
        }
        self.check_leading()
    }

    fn line_inside(&mut self, text: &[u8], place: Span, open: Span, yaml: usize) -> Flow {
        if text == b"---" {
            let yaml = Span::new(yaml, place.start);
            return self.stop(Split::Found(Fences { open, yaml, close: place, body: self.offset }));
        }
        if self.near_close.is_none()
            && let Some(dashes) = near_fence(text)
        {
            // What follows the dashes on their line is the first text of the body.
            let close = Span::new(place.start, place.start + dashes);
            let body = if close.end == place.end { self.offset } else { close.end };
            self.near_close = Some((close, body));
        }
        if self.offset - yaml > MAX_FRONTMATTER_BYTES {
            return self.stop(Split::TooLarge { open });
        }
        Flow::More
    }

    /// Stops when too much precedes the opening fence.
    fn check_leading(&mut self) -> Flow {
        if self.offset > MAX_LEADING_BYTES { self.stop(Split::NoFrontmatter) } else { Flow::More }
    }

    fn stop(&mut self, split: Split) -> Flow {
        self.state = State::Done(split);
        Flow::Stop
    }

    /// The answer after [`Flow::Stop`].
    pub(crate) fn outline(&self) -> Outline {
        let split = match self.state {
            State::Done(split) => split,
            State::Before | State::InComment | State::Inside { .. } => Split::NeedMore,
        };
        Outline { split, near_close: self.near_close }
    }

    /// The answer at the end of the file.
    pub(crate) fn finish(&self) -> Outline {
        let split = match self.state {
            State::Before | State::InComment => Split::NoFrontmatter,
            State::Inside { open, yaml } => Split::Unclosed { open, yaml: Span::new(yaml, self.offset) },
            State::Done(split) => split,
        };
        Outline { split, near_close: self.near_close }
    }
}

/// The number of bytes that look like a mistyped closing fence: indented dashes, too many of them, dashes with text
/// after them, or the dots that end a YAML document.
fn near_fence(text: &[u8]) -> Option<usize> {
    let bare = text.trim_ascii_start();
    let indent = text.len() - bare.len();
    let dashes = bare.iter().take_while(|byte| **byte == b'-').count();
    let is_fence = if indent == 0 { dashes >= 3 } else { indent < 4 && dashes >= 3 && dashes == bare.len() };
    if is_fence { Some(indent + dashes) } else { (text == b"...").then_some(text.len()) }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (&str, &str) {
        match split(text.as_bytes()).split {
            Split::Found(fences) => (fences.yaml.slice(text).unwrap(), text.get(fences.body..).unwrap()),
            other => panic!("{other:?} for {text:?}"),
        }
    }

    #[test]
    fn fences_are_whole_lines() {
        assert_eq!(found("---\na: b\n---\nbody"), ("a: b\n", "body"));
        assert_eq!(found("---  \r\na: b\r\n---\t\r\nbody"), ("a: b\r\n", "body"));
        assert_eq!(found("\u{feff}---\na: b\n---"), ("a: b\n", ""));
        assert_eq!(found("---\n---\nbody"), ("", "body"));
        assert_eq!(found("---\na: |\n  ---\n---\n---\n"), ("a: |\n  ---\n", "---\n"));
        assert_eq!(found("---\na: x --- y\n---\n"), ("a: x --- y\n", ""));
    }

    #[test]
    fn blank_lines_comments_and_a_code_fence_may_precede() {
        assert_eq!(found("\n \n---\na: b\n---\n"), ("a: b\n", ""));
        assert_eq!(found("<!-- by\nhand -->\n# more\n---\na: b\n---\n"), ("a: b\n", ""));
        assert_eq!(found("```skill\n---\na: b\n---\n"), ("a: b\n", ""));
        assert_eq!(split(b"text\n---\na: b\n---\n").split, Split::NoFrontmatter);
        assert_eq!(split(b"").split, Split::NoFrontmatter);
    }

    #[test]
    fn four_dashes_do_not_close_and_are_noted() {
        let text = "---\na: b\n----\nx\n---\nrest";
        let outline = split(text.as_bytes());
        assert_eq!(found(text).1, "rest");
        assert_eq!(
            outline.near_close.map(|(span, body)| (span.slice(text).unwrap(), body)),
            Some(("----", 14))
        );
        let glued = split(b"---\na: b\n---# Title\n");
        assert!(matches!(glued.split, Split::Unclosed { .. }));
        assert_eq!(glued.near_close.map(|(_, body)| body), Some(12));
    }

    #[test]
    fn a_prefix_needs_more_until_the_body_begins() {
        let text = "\u{feff}---\nname: a\n---\r\nbody\n";
        let whole = split(text.as_bytes());
        let Split::Found(fences) = whole.split else { panic!() };
        for end in 0..=text.len() {
            let outline = split_prefix(&text.as_bytes()[..end]);
            if end < fences.body {
                assert_eq!(outline.split, Split::NeedMore, "{end}");
            } else {
                assert_eq!(outline, whole, "{end}");
            }
        }
        assert_eq!(split_prefix(b"# no fence here\n\ntext\n").split, Split::NoFrontmatter);
    }

    #[test]
    fn frontmatter_without_end_is_too_large() {
        let text = format!("---\n{}", "k: v\n".repeat(20_000));
        assert!(matches!(split_prefix(text.as_bytes()).split, Split::TooLarge { .. }));
        let one_line = format!("---\na: {}", "x".repeat(70_000));
        assert!(matches!(split_prefix(one_line.as_bytes()).split, Split::TooLarge { .. }));
    }
}
