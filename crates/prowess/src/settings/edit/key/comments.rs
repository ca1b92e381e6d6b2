//! The comments of a TOML text, which an edit of its keys must not lose.

use std::ops::Range;

/// What in a TOML text is neither a key nor a plain value.
pub(super) struct Lexed {
    /// The comments, without their line ends.
    pub(super) comments: Vec<Range<usize>>,
    /// The texts in quotes.
    quoted: Vec<Range<usize>>,
}

impl Lexed {
    pub(super) fn of(text: &str) -> Self {
        let mut lexed = Self { comments: Vec::new(), quoted: Vec::new() };
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes));
            at += match quotes {
                Some(quotes) => {
                    let length = quoted(rest, quotes);
                    lexed.quoted.push(at..at + length);
                    length
                }
                None if rest.starts_with('#') => {
                    let length = rest.find('\n').unwrap_or(rest.len());
                    let comment = rest.get(..length).unwrap_or_default().trim_end_matches('\r');
                    lexed.comments.push(at..at + comment.len());
                    length
                }
                None => rest.chars().next().map_or(1, char::len_utf8),
            };
        }
        lexed
    }

    /// Whether a place is inside of a text in quotes.
    pub(super) fn is_quoted(&self, at: usize) -> bool {
        self.quoted.iter().any(|quoted| quoted.start < at && at < quoted.end)
    }

    /// Whether a comment begins at a place.
    pub(super) fn is_comment(&self, at: usize) -> bool {
        self.comments.iter().any(|comment| comment.start == at)
    }
}

/// The length of a text in quotes at the beginning.
fn quoted(rest: &str, quotes: &str) -> usize {
    let mut at = quotes.len();
    while let Some(inner) = rest.get(at..).filter(|inner| !inner.is_empty()) {
        if inner.starts_with(quotes) {
            // Quotes directly before the last ones belong to the text.
            let more =
                inner.bytes().skip(3).take(2).take_while(|byte| quotes.as_bytes().first() == Some(byte));
            return at + quotes.len() + if quotes.len() == 3 { more.count() } else { 0 };
        }
        let is_escape = quotes.starts_with('"') && inner.starts_with('\\');
        at += inner.chars().take(if is_escape { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
    }
    rest.len()
}

/// The comments in a part of a text, each as a line of its own. Those that share their line with something else are left
/// out unless all are wanted.
pub(super) fn kept(text: &str, range: &Range<usize>, all: bool, line_end: &str) -> String {
    let mut lines = String::new();
    for comment in Lexed::of(text).comments {
        if comment.start < range.start || comment.end > range.end {
            continue;
        }
        let before = text.get(..comment.start).unwrap_or_default();
        let indentation = before.rsplit('\n').next().unwrap_or_default();
        let is_alone = indentation.trim().is_empty();
        if is_alone || all {
            let width = indentation.len() - indentation.trim_start().len();
            lines.push_str(indentation.get(..width).unwrap_or_default());
            lines.push_str(text.get(comment).unwrap_or_default());
            lines.push_str(line_end);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_in_a_text_is_no_comment() {
        let text = "# a\r\n'#' = \"\\\"#\" # b\nx = \"\"\"\n# no\n\"\"\"\"\" # c\ny = '''#''''# d";
        let found: Vec<&str> =
            Lexed::of(text).comments.into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, ["# a", "# b", "# c", "# d"]);
    }
}
