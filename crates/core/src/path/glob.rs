//! [`Glob`]: a pattern over paths, for configurations and for filters.

use std::fmt;

use crate::limits::MAX_GLOB_BYTES;

/// A pattern over paths with `/` between their segments.
///
/// `*` matches anything within a segment, `?` one character, `[a-z]` one of these characters, `[!a-z]` or `[^a-z]` any
/// other, and `**` any number of segments.
///
/// ```
/// use prowess_core::path::Glob;
///
/// let drafts = Glob::parse("drafts/*")?;
/// assert!(drafts.matches("drafts/a/SKILL.md"));
/// assert!(!drafts.matches("skills/drafts/a/SKILL.md"));
/// assert!(Glob::parse("**/drafts")?.matches("skills/drafts/a/SKILL.md"));
/// assert!(!drafts.matches_only("drafts/a/SKILL.md") && drafts.matches_only("drafts/a"));
/// # Ok::<(), prowess_core::path::GlobError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: Box<str>,
    segments: Vec<Segment>,
}

impl fmt::Display for Glob {
    /// Writes it as it was read.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`
    Any,
    /// Everything else.
    One(Vec<Sign>),
}

/// One element of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sign {
    /// `*`
    Star,
    /// `?`
    Question,
    /// A literal character.
    Plain(char),
    /// `[a-z]`, or `[!a-z]` for all others: the ranges, each with its last character.
    Class { others: bool, ranges: Vec<(char, char)> },
}

impl Sign {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Star | Self::Question => true,
            Self::Plain(wanted) => *wanted == character,
            Self::Class { others, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&character)) != *others
            }
        }
    }
}

/// Why a text is not a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GlobError {
    /// It is too long.
    #[error("a glob has at most {MAX_GLOB_BYTES} bytes")]
    TooLong,
    /// It is absolute, or has backslashes.
    #[error("a glob is relative and has / between its segments")]
    NotRelative,
    /// A segment is empty.
    #[error("a glob has no empty segment")]
    EmptySegment,
    /// A segment is `.` or `..`.
    #[error("a glob has no segments . and ..")]
    DotSegment,
    /// `**` is only part of a segment.
    #[error("** is a segment of its own")]
    PartialStars,
    /// A character has no meaning here.
    #[error("a glob has only *, ?, **, [a-z] and [!a-z]")]
    UnknownSign,
    /// A class has no end.
    #[error("a class ends with ], as in [a-z]")]
    OpenClass,
    /// A class has no characters.
    #[error("a class has a character, as in [a-z]")]
    EmptyClass,
    /// A range of a class goes backwards.
    #[error("a class goes from the lower character to the higher, as in [a-z]")]
    BackwardsClass,
}

impl Glob {
    /// Reads a pattern. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        // A comparison costs the product of both lengths, and a glob may come with a project that is not trusted.
        if text.len() > MAX_GLOB_BYTES {
            return Err(GlobError::TooLong);
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.starts_with('/') || text.contains('\\') {
            return Err(GlobError::NotRelative);
        }
        let mut segments = Vec::new();
        for segment in text.split('/') {
            match segment {
                "" => return Err(GlobError::EmptySegment),
                "." | ".." => return Err(GlobError::DotSegment),
                // Two in a row mean the same as one.
                "**" if segments.last() == Some(&Segment::Any) => {}
                "**" => segments.push(Segment::Any),
                _ if segment.contains("**") => return Err(GlobError::PartialStars),
                _ => segments.push(Segment::One(signs(segment)?)),
            }
        }
        Ok(Self { text: text.into(), segments })
    }

    /// Whether it matches a path or a folder above it.
    pub fn matches(&self, path: &str) -> bool {
        self.reaches(path, true)
    }

    /// Whether it matches a path itself.
    pub fn matches_only(&self, path: &str) -> bool {
        self.reaches(path, false)
    }

    /// Whether its last segment is a name without wildcards, which may be that of a folder.
    pub fn ends_with_name(&self) -> bool {
        match self.segments.last() {
            Some(Segment::One(signs)) => signs.iter().all(|sign| matches!(sign, Sign::Plain(_))),
            _ => false,
        }
    }

    fn reaches(&self, path: &str, above: bool) -> bool {
        // The positions in the pattern that the segments so far can have reached.
        let mut states = vec![false; self.segments.len() + 1];
        if let Some(first) = states.first_mut() {
            *first = true;
        }
        self.skip_any(&mut states);
        for segment in path.split('/') {
            let mut next = vec![false; states.len()];
            for (at, pattern) in self.segments.iter().enumerate() {
                if !states.get(at).copied().unwrap_or(false) {
                    continue;
                }
                let reached = match pattern {
                    Segment::Any => at,
                    Segment::One(pattern) if wildcard(pattern, segment) => at + 1,
                    Segment::One(_) => continue,
                };
                if let Some(state) = next.get_mut(reached) {
                    *state = true;
                }
            }
            self.skip_any(&mut next);
            states = next;
            if above && states.last() == Some(&true) {
                return true;
            }
        }
        states.last() == Some(&true)
    }

    /// `**` may match no segment.
    fn skip_any(&self, states: &mut [bool]) {
        for (at, pattern) in self.segments.iter().enumerate() {
            if *pattern == Segment::Any
                && states.get(at) == Some(&true)
                && let Some(next) = states.get_mut(at + 1)
            {
                *next = true;
            }
        }
    }
}

/// The elements of one segment.
fn signs(segment: &str) -> Result<Vec<Sign>, GlobError> {
    let mut signs = Vec::new();
    let mut rest = segment.chars();
    while let Some(character) = rest.next() {
        signs.push(match character {
            '*' => Sign::Star,
            '?' => Sign::Question,
            '[' => class(&mut rest)?,
            ']' | '{' | '}' | '!' => return Err(GlobError::UnknownSign),
            plain => Sign::Plain(plain),
        });
    }
    Ok(signs)
}

/// The rest of a class, after its opening bracket.
fn class(rest: &mut std::str::Chars<'_>) -> Result<Sign, GlobError> {
    let others = rest.as_str().starts_with(['!', '^']);
    if others {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next() {
            None => return Err(GlobError::OpenClass),
            Some(']') if ranges.is_empty() => return Err(GlobError::EmptyClass),
            Some(']') => return Ok(Sign::Class { others, ranges }),
            Some(first) => first,
        };
        // A hyphen at the end is literal.
        let mut ahead = rest.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) if last != ']' => {
                *rest = ahead;
                last
            }
            _ => first,
        };
        if last < first {
            return Err(GlobError::BackwardsClass);
        }
        ranges.push((first, last));
    }
}

/// Whether a segment matches a pattern; linear in their product.
fn wildcard(pattern: &[Sign], text: &str) -> bool {
    let mut row = vec![false; pattern.len() + 1];
    let star = |row: &mut Vec<bool>| {
        for (at, wanted) in pattern.iter().enumerate() {
            if *wanted == Sign::Star && row.get(at) == Some(&true) {
                set(row, at + 1);
            }
        }
    };
    set(&mut row, 0);
    star(&mut row);
    for character in text.chars() {
        let mut next = vec![false; row.len()];
        for (at, wanted) in pattern.iter().enumerate() {
            if row.get(at) == Some(&true) && wanted.takes(character) {
                set(&mut next, if *wanted == Sign::Star { at } else { at + 1 });
            }
        }
        star(&mut next);
        row = next;
    }
    row.last() == Some(&true)
}

fn set(row: &mut [bool], at: usize) {
    if let Some(state) = row.get_mut(at) {
        *state = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_their_segments() {
        let matches = |glob: &str, path: &str| Glob::parse(glob).unwrap().matches(path);
        for (glob, path) in [
            ("vendor/**", "vendor/a/SKILL.md"),
            ("vendor", "vendor/a/SKILL.md"),
            ("./vendor/", "vendor/SKILL.md"),
            ("**/SKILL.md", "SKILL.md"),
            ("**/SKILL.md", "a/b/SKILL.md"),
            ("a/**/z", "a/z/x"),
            ("a/**/z", "a/b/c/z"),
            ("*-draft", "my-draft/SKILL.md"),
            ("a?c*", "abcdef"),
            ("**", "anything"),
            ("caf?", "café"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in [
            ("vendor/**", "vendors/a"),
            ("a/*", "a"),
            ("*/b", "x/y/b"),
            ("SKILL.md", "a/SKILL.md"),
            ("a?", "a"),
        ] {
            assert!(!matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn an_invalid_glob_is_an_error() {
        for glob in [
            "", "/abs", "a//b", "../x", "a**b", "{a,b}", "!a", "a\\b", ".", "[", "[]", "[]a]", "[!]", "[a",
            "a]", "[a/b]", "[z-a]",
        ] {
            assert!(Glob::parse(glob).is_err(), "{glob}");
        }
        assert!(Glob::parse(&"*a".repeat(MAX_GLOB_BYTES / 2)).is_ok());
        assert!(Glob::parse(&"*a".repeat(MAX_GLOB_BYTES / 2 + 1)).is_err());
    }

    #[test]
    fn classes_match_one_character_and_may_be_negated() {
        let matches = |glob: &str, path: &str| Glob::parse(glob).unwrap().matches_only(path);
        for (glob, yes, no) in [
            ("[a-c]x", "bx", "dx"),
            ("[!a-c]x", "dx", "bx"),
            ("[^ab]", "c", "a"),
            ("v[0-9][0-9]", "v42", "v4"),
            ("[a-]", "-", "b"),
            ("[-a]", "-", "b"),
            ("[*?!]", "*", "a"),
            ("[à-é]t*", "été", "ete"),
            ("skills/[a-m]*", "skills/billing", "skills/zoo"),
        ] {
            assert!(matches(glob, yes) && !matches(glob, no), "{glob} {yes} {no}");
        }
    }

    #[test]
    fn matching_only_a_path_leaves_out_what_is_below_it() {
        let only = |glob: &str, path: &str| Glob::parse(glob).unwrap().matches_only(path);
        assert!(
            only("skills/*", "skills/a") && !only("skills/*", "skills/a/b") && !only("skills/*", "skills")
        );
        assert!(only("skills/**", "skills/a/b") && only("skills/**", "skills") && only("**/b", "a/b"));
        let named = |glob: &str| Glob::parse(glob).unwrap().ends_with_name();
        assert!(named("skills/billing") && named("*/billing") && !named("skills/*") && !named("a/**"));
        assert!(!named("skills/[b]"));
    }

    #[test]
    fn many_stars_take_at_most_pattern_times_text_steps() {
        let glob = Glob::parse(&format!("{}b", "a*".repeat(500))).unwrap();
        assert!(!glob.matches(&"a".repeat(5_000)));
    }
}
