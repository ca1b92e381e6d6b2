//! Applying fixes in rounds, until nothing more can be fixed.

use std::collections::BTreeMap;

use crate::check::fixes::is_writable;
use crate::check::profile::Profile;
use crate::document::{Document, parse, repair};
use crate::files::manifest::Manifest;
use crate::finding::{Edit, Problem};
use crate::skill::location::Origin;

/// Which fixes to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixMode {
    /// Fixes that write what the lenient reader reads anyway.
    Safe,
    /// All fixes, also those that rename or remove something.
    All,
}

/// The result of fixing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The fixed document.
    pub document: Document,
    /// The problems that were fixed, in order.
    pub applied: Vec<Problem>,
}

/// The most rounds. Each round applies every fix that does not touch the bytes of another, and the next one checks the
/// result. The longest useful chain is a repair, then the fields, then what these reveal.
const MAX_ROUNDS: usize = 50;

/// Fixes the problems that a profile reports. No file is changed; write [`Document::raw`] of the result.
///
/// ```
/// use prowess_core::{FixMode, Origin, Profile, fix, parse};
///
/// let document = parse(b"---\nname: tidy\ndescription: Use when: asked\nallowed-tools: Read, Grep\n---\n");
/// let at = Origin::at("tidy/SKILL.md");
/// let fixed = fix(&document, None, &at, &Profile::spec(), FixMode::Safe);
/// assert_eq!(
///     fixed.document.text(),
///     "---\nname: tidy\ndescription: 'Use when: asked'\nallowed-tools: Read Grep\n---\n"
/// );
/// ```
pub fn fix(
    document: &Document,
    files: Option<&Manifest>,
    at: &Origin,
    profile: &Profile,
    mode: FixMode,
) -> Fixed {
    let mut fixed = Fixed { document: document.clone(), applied: Vec::new() };
    if !is_writable(document) {
        return fixed;
    }
    for _ in 0..MAX_ROUNDS {
        let (edits, applied) = choose(&profile.check(&fixed.document, files, at), mode);
        if edits.is_empty() {
            break;
        }
        let next = parse(repair::apply(fixed.document.text(), &edits).as_bytes());
        if mode == FixMode::Safe && !same_identity(&fixed.document, &next, at) {
            break;
        }
        fixed.document = next;
        fixed.applied.extend(applied);
    }
    fixed
}

/// The edits of as many fixes as fit together, the first problem first.
fn choose(problems: &[Problem], mode: FixMode) -> (Vec<Edit>, Vec<Problem>) {
    let mut edits: Vec<Edit> = Vec::new();
    let mut applied = Vec::new();
    // The starts and ends of the chosen edits. They are disjoint, so only the last one before a place can touch it.
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for problem in problems {
        let Some(fix) = problem.fix.as_ref().filter(|fix| fix.safe || mode == FixMode::All) else { continue };
        // Two insertions at one place would depend on their order, so the second waits for the next round.
        let touches_taken = |new: &Edit| {
            let before = taken.range(..=new.span.end).next_back();
            before.is_some_and(|(_, end)| *end >= new.span.start)
        };
        if !fix.edits.iter().any(touches_taken) {
            taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
            edits.extend(fix.edits.iter().cloned());
            applied.push(problem.clone());
        }
    }
    edits.sort_by_key(|edit| edit.span);
    (edits, applied)
}

/// Whether both have the same name and description; a description may come to be where there was none.
fn same_identity(before: &Document, after: &Document, at: &Origin) -> bool {
    let described = before.description();
    before.name(at) == after.name(at) && (described.is_none() || described == after.description())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rule::Preset;

    fn fixed(text: &str, mode: FixMode, preset: Preset) -> String {
        let at = Origin::at("x/demo/SKILL.md");
        fix(&parse(text.as_bytes()), None, &at, &Profile::new(preset), mode).document.text().to_owned()
    }

    #[test]
    fn safe_fixes_write_what_the_lenient_reader_reads() {
        let text = "\u{feff}\n---\ndescription: Use when: asked\ncompatibility: ''\nallowed-tools: [Read, 'Bash(git:*)']\n----\nB\n";
        assert_eq!(
            fixed(text, FixMode::Safe, Preset::Spec),
            "---\nname: demo\ndescription: 'Use when: asked'\nallowed-tools: Read Bash(git:*)\n---\nB\n"
        );
    }

    #[test]
    fn all_hidden_characters_of_a_body_are_removed_in_one_round() {
        let text =
            format!("---\nname: demo\ndescription: d\n---\n{}end\n", "a\u{200b}\u{202e}".repeat(5_000));
        let expected = format!("---\nname: demo\ndescription: d\n---\n{}end\n", "a".repeat(5_000));
        assert_eq!(fixed(&text, FixMode::All, Preset::Spec), expected);
        assert_eq!(fixed(&text, FixMode::Safe, Preset::Spec), text);
    }

    #[test]
    fn renaming_is_not_safe() {
        let text = "---\nname: My_Demo\ndescription: d\n---\n";
        assert_eq!(fixed(text, FixMode::Safe, Preset::Spec), text);
        assert_eq!(fixed(text, FixMode::All, Preset::Spec), "---\nname: demo\ndescription: d\n---\n");
        assert_eq!(
            fixed("---\nname: demo\ndescription: a\u{200b}b\n---\n", FixMode::All, Preset::Spec),
            "---\nname: demo\ndescription: ab\n---\n"
        );
    }

    #[test]
    fn brackets_become_lines_for_readers_that_want_them() {
        let text = "---\nname: demo\ndescription: d\nmetadata: {a: b, v: '1.0'}\n---\n";
        assert_eq!(fixed(text, FixMode::Safe, Preset::Spec), text);
        assert_eq!(
            fixed(text, FixMode::Safe, Preset::SkillsRef),
            "---\nname: demo\ndescription: d\nmetadata:\n  a: b\n  v: '1.0'\n---\n"
        );
        // Writing it again could change the spelling of a number, and would lose a comment.
        for kept in ["metadata: {v: 1.10}", "allowed-tools:\n  - Read # why\n  - Grep"] {
            let text = format!("---\nname: demo\ndescription: d\n{kept}\n---\n");
            assert_eq!(fixed(&text, FixMode::Safe, Preset::SkillsRef), text);
            assert_eq!(fixed(&text, FixMode::Safe, Preset::Spec), text);
        }
    }

    #[test]
    fn a_file_that_is_not_text_is_not_changed() {
        let at = Origin::at("x/demo/SKILL.md");
        let document = parse(b"\xEF\xBB\xBF---\nname: demo\ndescription: \xff\n---\n");
        assert!(fix(&document, None, &at, &Profile::spec(), FixMode::All).applied.is_empty());
        assert!(Profile::spec().check(&document, None, &at).iter().all(|problem| problem.fix.is_none()));
        // Only the beginning of a file beyond the limit is known.
        let large = crate::parse_head(b"\xEF\xBB\xBF---\nname: demo\ndescription: d\n---\n", 2 << 20);
        assert!(fix(&large, None, &at, &Profile::spec(), FixMode::All).applied.is_empty());
        assert!(Profile::spec().check(&large, None, &at).iter().all(|problem| problem.fix.is_none()));
    }
}
