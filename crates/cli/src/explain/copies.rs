//! Whether a shadowed skill is a copy of the one that is offered, and how much the two differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess::client::Fact;
use prowess::internal::ExactDifference;
use prowess::{Candidate, Catalog, Location, Registry};
use serde::Serialize;

use crate::ui::command::quoted_word;
use crate::ui::{clean, count};

/// The largest SKILL.md whose lines are compared.
const MAX_COMPARED: usize = 256 * 1024;

/// How many of the entries in which two copies differ are named.
const MAX_NAMED: usize = 3;

/// The name of the two folders themselves among the entries in which they differ.
const FOLDERS: &str = ".";

/// How a skill differs from another with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Copy {
    /// Whether the folders of the two are the same in every entry, so that nothing is lost with one of them.
    pub(crate) identical: bool,
    /// How many lines of SKILL.md only one of the two has; nothing when it is too large to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<usize>,
    /// How many other files differ, or are in only one of the two.
    other_files: usize,
    /// If no file that agents get differs: the entries in which the folders differ nevertheless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    /// Whether there may be more of these.
    #[serde(rename = "except_more", skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

impl Copy {
    /// Compares a shadowed skill with the one at this location; `None` unless both are files on this machine.
    pub(crate) fn of(
        skill: &Candidate,
        by: &Location,
        catalog: &Catalog,
        registry: &Registry,
    ) -> Option<Self> {
        let (winner, _) = catalog.all().find(|(other, _)| other.entry.origin.location == *by)?;
        Self::between(skill, winner, registry)
    }

    /// Compares two skills; `None` unless both are files on this machine.
    pub(crate) fn between(skill: &Candidate, other: &Candidate, registry: &Registry) -> Option<Self> {
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
        let exact = match both.map(folder_of) {
            _ if !differing.is_empty() => ExactDifference::default(),
            [Some(own), Some(other)] => ExactDifference::between(own, other),
            // A folder has more than a SKILL.md that has none of its own.
            _ => ExactDifference { entries: vec![PathBuf::new()], more: false },
        };
        let name = |path: &PathBuf| match path.to_string_lossy() {
            path if path.is_empty() => FOLDERS.to_owned(),
            path => path.into_owned(),
        };
        Some(Self {
            identical: differing.is_empty() && exact.is_none(),
            lines,
            other_files,
            except: exact.entries.iter().map(name).collect(),
            more: exact.more,
        })
    }

    /// The entries in which two copies differ, if agents get the same files of both.
    pub(crate) fn besides(&self) -> Option<String> {
        if self.except.is_empty() && !self.more {
            return None;
        }
        let word = |name: &String| match name.as_str() {
            FOLDERS => "the folder itself".to_owned(),
            name => clean(&quoted_word(name)).into_owned(),
        };
        let mut names: Vec<String> = self.except.iter().take(MAX_NAMED).map(word).collect();
        let rest = self.except.len().saturating_sub(MAX_NAMED);
        names.extend(match (self.more, rest) {
            (true, _) => Some("more".to_owned()),
            (false, 0) => None,
            (false, rest) => Some(format!("{rest} more")),
        });
        let last = names.pop()?;
        Some(if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) })
    }

    /// In words before the place of the other skill.
    pub(crate) fn words_before(&self) -> String {
        let before = match self.besides() {
            Some(_) => "to",
            None if self.identical => "of",
            None => "from",
        };
        format!("{} {before}", self.words())
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        if self.identical {
            return "identical copy".to_owned();
        }
        if let Some(besides) = self.besides() {
            return format!("identical except for {besides}");
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

/// The folder of a skill on this machine. A SKILL.md directly in a folder of skills has none of its own: that folder
/// belongs to the other skills in it.
pub(crate) fn folder_of(skill: &Candidate) -> Option<&Path> {
    let is_root = skill.sighting.unwrap_or_default().facts.has(Fact::RootFile);
    Path::new(skill.entry.origin.location.path()?).parent().filter(|_| !is_root)
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
        let copy = |lines, other_files, except: &[&str], more: bool| Copy {
            identical: lines == Some(0) && other_files == 0 && except.is_empty() && !more,
            lines,
            other_files,
            except: except.iter().map(|name| (*name).to_owned()).collect(),
            more,
        };
        let words = |lines, other_files| copy(lines, other_files, &[], false).words();
        let except = |except, more| copy(Some(0), 0, except, more).words_before();
        assert_eq!(except(&[".git"], false), "identical except for .git to");
        assert_eq!(
            except(&["a", "b\u{1b}", "c", "d", "e"], false),
            "identical except for a, 'b\\u{1b}', c and 2 more to"
        );
        assert_eq!(except(&["a"], true), "identical except for a and more to");
        assert_eq!(except(&[], true), "identical except for more to");
        assert_eq!(except(&["."], false), "identical except for the folder itself to");
        assert_eq!(words(Some(0), 0), "identical copy");
        assert_eq!(words(Some(1), 0), "differs in 1 line");
        assert_eq!(words(Some(0), 1), "differs in 1 other file");
        assert_eq!(words(Some(3), 2), "differs in 3 lines and 2 other files");
        assert_eq!(words(None, 2), "differs");
    }
}
