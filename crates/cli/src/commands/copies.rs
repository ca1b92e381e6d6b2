//! Whether a shadowed skill is a copy of the one that is offered, and how much the two differ.

use std::collections::BTreeMap;

use prowess::{Candidate, Catalog, Location, Registry};
use serde::Serialize;

use crate::ui::count;

/// The largest SKILL.md whose lines are compared.
const MAX_COMPARED: usize = 256 * 1024;

/// How a skill differs from another with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Copy {
    /// Whether all files of the two are the same.
    pub(super) identical: bool,
    /// How many lines of SKILL.md only one of the two has; nothing when it is too large to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
    /// How many other files differ, or are in only one of the two.
    other_files: usize,
}

impl Copy {
    /// Compares a shadowed skill with the one at this location; `None` unless both are files on this machine.
    pub(super) fn of(
        skill: &Candidate,
        by: &Location,
        catalog: &Catalog,
        registry: &Registry,
    ) -> Option<Self> {
        let (winner, _) = catalog.all().find(|(other, _)| other.entry.origin.location == *by)?;
        Self::between(skill, winner, registry)
    }

    /// Compares two skills; `None` unless both are files on this machine.
    pub(super) fn between(skill: &Candidate, other: &Candidate, registry: &Registry) -> Option<Self> {
        let both = [skill, other];
        // Nothing is fetched to compare it.
        if both.iter().any(|skill| skill.entry.origin.location.path().is_none()) {
            return None;
        }
        let [own, other] = both.map(|skill| registry.manifest_of(skill).ok());
        let (own, other) = (own?, other?);
        let differing = own.files.iter().filter(|file| {
            other.get(&file.path).is_none_or(|other| file.digest.is_none() || other.digest != file.digest)
        });
        let missing = other.files.iter().filter(|file| own.get(&file.path).is_none());
        let is_skill_md = |path: &str| path.eq_ignore_ascii_case("SKILL.md");
        let differing: Vec<&str> = differing.chain(missing).map(|file| file.path.as_str()).collect();
        let other_files = differing.iter().filter(|path| !is_skill_md(path)).count();
        let lines = if differing.len() == other_files {
            Some(0)
        } else {
            let [own, other] = both.map(|skill| registry.head_of(skill).ok());
            lines(&own?.bytes, &other?.bytes)
        };
        Some(Self { identical: differing.is_empty(), lines, other_files })
    }

    /// In words before the place of the other skill.
    pub(super) fn words_before(self) -> String {
        format!("{} {}", self.words(), if self.identical { "of" } else { "from" })
    }

    /// In words.
    pub(super) fn words(self) -> String {
        if self.identical {
            return "identical copy".to_owned();
        }
        let files = match self.other_files {
            0 => String::new(),
            files => count(files, "other file"),
        };
        match self.lines {
            Some(0) => format!("differs in {files}"),
            Some(lines) if files.is_empty() => format!("differs in {}", count(lines, "line")),
            Some(lines) => format!("differs in {} and {files}", count(lines, "line")),
            None => "differs".to_owned(),
        }
    }
}

/// How many lines only one of two texts has: a line that was changed counts once, and one that moved does not count. The
/// texts are of others, so that this takes no longer than reading them.
fn lines(one: &[u8], other: &[u8]) -> Option<usize> {
    if one.len().max(other.len()) > MAX_COMPARED {
        return None;
    }
    let mut numbers: BTreeMap<&[u8], (usize, usize)> = BTreeMap::new();
    for line in one.split_inclusive(|byte| *byte == b'\n') {
        numbers.entry(line).or_default().0 += 1;
    }
    for line in other.split_inclusive(|byte| *byte == b'\n') {
        numbers.entry(line).or_default().1 += 1;
    }
    let gone: usize = numbers.values().map(|(one, other)| one.saturating_sub(*other)).sum();
    let come: usize = numbers.values().map(|(one, other)| other.saturating_sub(*one)).sum();
    // The same lines in another order differ, too.
    Some(gone.max(come).max(usize::from(one != other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_counts_once() {
        assert_eq!(lines(b"a\nb\nc\n", b"a\nB\nc\n"), Some(1));
        assert_eq!(lines(b"a\n", b"a\nb\nc\n"), Some(2));
        assert_eq!(lines(b"a\nb\n", b"b\na\n"), Some(1));
        assert_eq!(lines(&vec![b'a'; MAX_COMPARED + 1], b""), None);
    }

    #[test]
    fn texts_without_a_common_line_are_compared_in_linear_time() {
        // An edit script of these would take the product of their lines.
        let text = |begin: u32| (begin..begin + 30_000).map(|line| format!("{line}\n")).collect::<String>();
        let (one, other) = (text(100_000), text(200_000));
        assert_eq!(lines(one.as_bytes(), other.as_bytes()), Some(30_000));
    }

    #[test]
    fn a_difference_is_told_in_words() {
        let words = |lines, other_files| {
            Copy { identical: lines == Some(0) && other_files == 0, lines, other_files }.words()
        };
        assert_eq!(words(Some(0), 0), "identical copy");
        assert_eq!(words(Some(1), 0), "differs in 1 line");
        assert_eq!(words(Some(0), 1), "differs in 1 other file");
        assert_eq!(words(Some(3), 2), "differs in 3 lines and 2 other files");
        assert_eq!(words(None, 2), "differs");
    }
}
