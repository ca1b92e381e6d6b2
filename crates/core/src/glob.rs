//! [`Glob`]: a pattern over paths, for configurations and for filters.

/// A pattern over paths with `/` between their segments.
///
/// `*` stands for anything within a segment, `?` for one character, `**` for any number of segments. A
/// pattern that matches a folder matches everything below it.
///
/// ```
/// use prowess_core::glob::Glob;
///
/// let drafts = Glob::parse("drafts/*")?;
/// assert!(drafts.matches("drafts/a/SKILL.md"));
/// assert!(!drafts.matches("skills/drafts/a/SKILL.md"));
/// assert!(Glob::parse("**/drafts")?.matches("skills/drafts/a/SKILL.md"));
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`
    Any,
    /// Everything else.
    One(Vec<char>),
}

impl Glob {
    /// Reads a pattern; what it could not mean is an error that says so.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.starts_with('/') || text.contains('\\') {
            return Err("a glob is relative and has / between its segments");
        }
        if text.contains(['[', ']', '{', '}', '!']) {
            return Err("a glob knows *, ? and ** only");
        }
        let mut segments = Vec::new();
        for segment in text.split('/') {
            match segment {
                "" => return Err("a glob has no empty segment"),
                "." | ".." => return Err("a glob has no segments . and .."),
                // Two in a row say no more than one.
                "**" if segments.last() == Some(&Segment::Any) => {}
                "**" => segments.push(Segment::Any),
                _ if segment.contains("**") => return Err("** is a segment of its own"),
                _ => segments.push(Segment::One(segment.chars().collect())),
            }
        }
        Ok(Self { segments })
    }

    /// Whether it matches a path or a folder above it.
    pub fn matches(&self, path: &str) -> bool {
        // The positions in the pattern that the segments so far can have led to.
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
            if states.last() == Some(&true) {
                return true;
            }
        }
        false
    }

    /// `**` may stand for no segment at all.
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

/// Whether a segment matches a pattern with `*` and `?`; linear in their product.
fn wildcard(pattern: &[char], text: &str) -> bool {
    let mut row = vec![false; pattern.len() + 1];
    let star = |row: &mut Vec<bool>| {
        for (at, wanted) in pattern.iter().enumerate() {
            if *wanted == '*' && row.get(at) == Some(&true) {
                set(row, at + 1);
            }
        }
    };
    set(&mut row, 0);
    star(&mut row);
    for character in text.chars() {
        let mut next = vec![false; row.len()];
        for (at, wanted) in pattern.iter().enumerate() {
            if row.get(at) == Some(&true) {
                match wanted {
                    '*' => set(&mut next, at),
                    '?' => set(&mut next, at + 1),
                    wanted if *wanted == character => set(&mut next, at + 1),
                    _ => {}
                }
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
    fn what_a_glob_cannot_mean_is_an_error() {
        for glob in ["", "/abs", "a//b", "../x", "a**b", "[ab]", "{a,b}", "!a", "a\\b", "."] {
            assert!(Glob::parse(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn many_stars_cost_no_more_than_their_product() {
        let glob = Glob::parse(&format!("{}b", "a*".repeat(500))).unwrap();
        assert!(!glob.matches(&"a".repeat(5_000)));
    }
}
