//! What a fix would change: a few lines below a problem, or a unified diff of a file.

use std::fmt::Write as _;
use std::path::Path;

use prowess::{Edit, Fix, LineIndex};
use similar::TextDiff;

use crate::ui::cells::{fit, width};
use crate::ui::{COME, GONE, HINT, clean, clean_lines};

/// The maximum number of lines shown of each side of a small patch.
const MAX_LINES: usize = 8;
/// The maximum number of cells, or of characters in a diff, that a line takes where no screen limits it.
const MAX_LINE: usize = 400;
/// How many characters are shown around the change of a line that is cut.
const MARGIN: usize = 20;

/// The lines that a fix would change, before and after it, with its title above. Lines that are too long for the columns
/// are cut around the change.
pub(crate) fn small(text: &str, lines: &LineIndex<'_>, fix: &Fix, columns: Option<usize>) -> Option<String> {
    let (first, last) = (fix.edits.first()?, fix.edits.last()?);
    let start = text.get(..first.span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(last.span.end..)?.find('\n').map_or(text.len(), |at| last.span.end + at + 1);
    let new = applied(text, start, end, &fix.edits)?;
    let number = lines.position(start).line;
    let (old, new): (Vec<&str>, Vec<&str>) = (text.get(start..end)?.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(same..)?, new.get(same..)?);
    let same_end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(..old.len() - same_end)?, new.get(..new.len() - same_end)?);
    let number = number + same;
    let digits = (number + old.len().max(new.len())).to_string().len();
    // The number, the sign and two spaces precede a line.
    let room = columns.map_or(MAX_LINE, |columns| columns.saturating_sub(digits + 3));
    let unsafely = if fix.safe { "" } else { " (unsafe; --unsafe-fixes applies it)" };
    let mut patch = format!("{HINT}help{HINT:#}: {}{unsafely}\n{:digits$} |", clean(&fix.title), "");
    for (sign, style, side, other) in [('-', GONE, old, new), ('+', COME, new, old)] {
        for (at, line) in side.iter().take(MAX_LINES).enumerate() {
            let line = format!("{sign} {}", cut(line, other.get(at).copied(), room));
            let _ = write!(patch, "\n{:digits$} {style}{}{style:#}", number + at, line.trim_end());
        }
        if let Some(more) = side.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            let _ = write!(patch, "\n{:digits$} {style}{sign}{style:#} and {more} more lines", "");
        }
    }
    Some(patch)
}

/// A line in visible form, in at most this many cells. If it or the line on the other side is longer, both begin shortly
/// before the first difference.
fn cut(line: &str, other: Option<&str>, room: usize) -> String {
    let visible = |line: &str| clean_lines(line.strip_suffix('\r').unwrap_or(line));
    let (line, other) = (visible(line), other.map(visible).unwrap_or_default());
    if width(&line).max(width(&other)) <= room {
        return line;
    }
    let same = common(line.chars(), other.chars());
    let before: String = line.chars().take(same).collect();
    if width(&before) <= room / 2 {
        return fit(&line, room);
    }
    let shown: String = line.chars().skip(same.saturating_sub(MARGIN.min(room / 4))).collect();
    format!("…{}", fit(&shown, room.saturating_sub(1)))
}

/// How many characters are the same, one after the other.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

/// The part of a text from `start` to `end`, with the edits in it applied.
fn applied(text: &str, start: usize, end: usize, edits: &[Edit]) -> Option<String> {
    let mut result = String::new();
    let mut from = start;
    for edit in edits {
        result.push_str(text.get(from..edit.span.start)?);
        result.push_str(&edit.replacement);
        from = edit.span.end;
    }
    result.push_str(text.get(from..end)?);
    Some(result)
}

/// A unified diff of one file, as `patch -p0` takes it.
pub(crate) fn unified(path: &Path, old: &str, new: &str) -> String {
    let path = header(path);
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(&path, &path).to_string()
}

/// A unified diff without the long parts of lines that did not change: a file without line breaks is one line, with the
/// secrets of every other program in it.
pub(crate) fn short_unified(path: &Path, old: &str, new: &str) -> String {
    let diff = unified(path, old, new);
    let lines: Vec<&str> = diff.lines().collect();
    let (header, hunks) = lines.split_at_checked(2).unwrap_or_default();
    let mut text: String = header.iter().flat_map(|line| [line, "\n"]).collect();
    let is_change = |line: &str| !line.starts_with([' ', '@']);
    for block in hunks.chunk_by(|one, next| is_change(one) == is_change(next)) {
        for line in block {
            let other = match line.as_bytes().first() {
                Some(b'-') => '+',
                Some(b'+') => '-',
                _ => '\0',
            };
            let others = block.iter().filter_map(|line| line.strip_prefix(other));
            text.push_str(&if is_long(line) { shortened(line, others) } else { (*line).to_owned() });
            text.push('\n');
        }
    }
    text
}

fn is_long(line: &str) -> bool {
    line.chars().nth(MAX_LINE).is_some()
}

/// A line of a diff around its change: the difference from the most similar of the lines on the other side.
fn shortened<'o>(line: &str, others: impl Iterator<Item = &'o str>) -> String {
    let (sign, rest) = line.split_at_checked(1).unwrap_or_default();
    let length = rest.chars().count();
    let ends = others.map(|other| {
        let start = common(rest.chars(), other.chars());
        (start, common(rest.chars().rev(), other.chars().rev()).min(length - start))
    });
    let (start, end) = ends.max_by_key(|(start, end)| start + end).unwrap_or_default();
    let (start, end) = (start.saturating_sub(MARGIN), end.saturating_sub(MARGIN));
    let shown: String = rest.chars().skip(start).take((length - start - end).min(MAX_LINE)).collect();
    format!("{sign}… {shown} …")
}

/// A diff for a screen: each line in visible form, and what comes and goes in colours.
pub(crate) fn coloured(diff: &str) -> String {
    let mut text = String::new();
    for line in diff.lines() {
        let line = clean_lines(line.strip_suffix('\r').unwrap_or(line));
        let style = match line.as_bytes().first() {
            Some(b'+') => COME,
            Some(b'-') => GONE,
            _ => anstyle::Style::new(),
        };
        let _ = writeln!(text, "{style}{line}{style:#}");
    }
    text
}

/// A path in the header of a diff, written as git does: a tab ends a name with spaces, and a name that is not plain text
/// is quoted.
fn header(path: &Path) -> String {
    let text = path.to_string_lossy();
    let bytes = path.as_os_str().as_encoded_bytes();
    let plain = clean(&text) == text && !text.contains(['"', '\\', '\t']) && text.as_bytes() == bytes;
    if plain {
        return if text.contains(' ') { format!("{text}\t") } else { text.into_owned() };
    }
    let mut quoted = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            _ => _ = write!(quoted, "\\{byte:03o}"),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess::Span;

    #[test]
    fn a_patch_shows_only_lines_that_differ() {
        let text = "a\nb\nc\n";
        let edits = vec![Edit { span: Span::new(0, 4), replacement: "a\nB\nb2\n".to_owned() }];
        let fix = Fix { title: "do".to_owned(), edits, safe: false };
        let patch = small(text, &LineIndex::new(text), &fix, None).unwrap();
        let plain = anstream::adapter::strip_str(&patch).to_string();
        assert_eq!(plain, "help: do (unsafe; --unsafe-fixes applies it)\n  |\n2 - b\n2 + B\n3 + b2");
    }

    #[test]
    fn lines_too_long_for_the_screen_are_cut_around_their_difference() {
        let text = format!("a: {}bad{}\n", "議x ".repeat(150), " z".repeat(150));
        let at = text.find("bad").unwrap();
        let edits = vec![Edit { span: Span::new(at, at + 3), replacement: "good".to_owned() }];
        let fix = Fix { title: "do".to_owned(), edits, safe: true };
        for columns in [Some(40), Some(80), None] {
            let patch = small(&text, &LineIndex::new(&text), &fix, columns).unwrap();
            let plain = anstream::adapter::strip_str(&patch).to_string();
            let lines: Vec<&str> = plain.lines().skip(2).collect();
            assert!(lines[0].starts_with("1 - …") && lines[0].contains(" bad z"), "{plain}");
            assert!(lines[1].starts_with("1 + …") && lines[1].contains(" good z"), "{plain}");
            assert!(lines.iter().all(|line| width(line) <= columns.unwrap_or(MAX_LINE + 4)), "{plain}");
        }
    }

    #[test]
    fn long_lines_that_change_together_are_each_cut_around_their_own_change() {
        let line = |name: &str, change: &str| {
            let (before, after) = ("x ".repeat(250), " z".repeat(250));
            format!("{name} secret {before}{change}{after} secret {name}")
        };
        let old = format!("{}\n{}\n", line("a", "old"), line("b", "old"));
        let [a, b] = ["a", "b"].map(|name| line(name, "new"));
        for new in [
            format!("{a}\n{b}\n"),
            format!("short\n{a}\n{b}"),
            format!("{a}\n{}\n{b}\n", "y".repeat(MAX_LINE)),
        ] {
            let diff = short_unified(Path::new("x"), &old, &new);
            assert!(diff.starts_with("--- x\n+++ x\n@@ "), "{diff}");
            for change in [" old z", " new z"] {
                assert_eq!(diff.matches(change).count(), 2, "{diff}");
            }
            assert!(!diff.contains("secret"), "{diff}");
        }
        assert_eq!(short_unified(Path::new("x"), &old, &old), "");
    }

    #[test]
    fn a_tab_becomes_spaces_and_a_backslash_stays() {
        let shown = coloured("+a\tb\n-c:\\temp\r\n \u{1b}[2J\n");
        assert!(shown.contains(&format!("{COME}+a    b{COME:#}\n")), "{shown:?}");
        assert!(shown.contains(&format!("{GONE}-c:\\temp{GONE:#}\n")), "{shown:?}");
        assert!(shown.contains(" \\u{1b}[2J\n"), "{shown:?}");
        let text = "a: c:\\temp\n";
        let edits = vec![Edit { span: Span::new(0, 1), replacement: "b".to_owned() }];
        let fix = Fix { title: "do".to_owned(), edits, safe: true };
        assert!(small(text, &LineIndex::new(text), &fix, None).unwrap().contains("b: c:\\temp"));
    }

    #[test]
    fn a_name_in_a_header_is_written_as_git_writes_it() {
        for (path, written) in [
            ("a/SKILL.md", "a/SKILL.md"),
            ("a b/SKILL.md", "a b/SKILL.md\t"),
            ("grün/SKILL.md", "grün/SKILL.md"),
            ("a\tb/SKILL.md", r#""a\011b/SKILL.md""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\u{202e}x", r#""\342\200\256x""#),
        ] {
            assert_eq!(header(Path::new(path)), written, "{path:?}");
        }
    }

    #[test]
    fn a_diff_keeps_line_ends_and_says_where_the_last_is_missing() {
        assert_eq!(
            unified(Path::new("x"), "a\r\nb", "a\r\nc"),
            "--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
    }
}
