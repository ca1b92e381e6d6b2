//! Applying fixes in rounds, until nothing more can be fixed.

use std::collections::BTreeMap;

use crate::check::fixes::is_writable;
use crate::check::profile::Profile;
use crate::document::{Document, parse, repair};
use crate::files::manifest::Manifest;
use crate::finding::{Edit, Fix, Problem, Severity};
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
    let mut problems = profile.check(document, files, at);
    for _ in 0..MAX_ROUNDS {
        // Each fix was tried alone. If all together lead to a new error, the first goes alone.
        let round = [usize::MAX, 1].into_iter().find_map(|most| {
            let edits = choose(&problems, mode, most);
            if edits.is_empty() {
                return None;
            }
            let next = parse(repair::apply(fixed.document.text(), &edits).as_bytes());
            let left = profile.check(&next, files, at);
            (most == 1 || !has_new_error(&problems, &left)).then_some((next, left))
        });
        let Some((next, left)) = round else { break };
        if mode == FixMode::Safe && !same_skill(&fixed.document, &next, at) {
            break;
        }
        fixed.document = next;
        fixed.applied.extend(resolved(&problems, &left, mode));
        problems = left;
    }
    fixed
}

/// Whether there is an error of a rule that was not broken before.
fn has_new_error(before: &[Problem], after: &[Problem]) -> bool {
    let errors = after.iter().filter(|problem| problem.severity == Severity::Error);
    errors.into_iter().any(|error| before.iter().all(|problem| problem.code != error.code))
}

/// The problems with a fix that are gone: one fix may resolve several.
fn resolved(before: &[Problem], after: &[Problem], mode: FixMode) -> Vec<Problem> {
    fn about(problem: &Problem) -> (&'static str, Option<String>) {
        (problem.code, problem.field.as_ref().map(ToString::to_string))
    }
    let mut left: BTreeMap<_, usize> = BTreeMap::new();
    for problem in after {
        *left.entry(about(problem)).or_default() += 1;
    }
    let is_gone = |problem: &&Problem| match left.get_mut(&about(problem)) {
        Some(number) if *number > 0 => {
            *number -= 1;
            false
        }
        _ => fix_of(problem, mode).is_some(),
    };
    before.iter().rev().filter(is_gone).cloned().collect::<Vec<_>>().into_iter().rev().collect()
}

fn fix_of(problem: &Problem, mode: FixMode) -> Option<&Fix> {
    problem.fix.as_ref().filter(|fix| fix.safe || mode == FixMode::All)
}

/// The edits of as many fixes as fit together, the first problem first, and at most this many.
fn choose(problems: &[Problem], mode: FixMode, most: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut chosen = 0;
    // The starts and ends of the chosen edits. They are disjoint, so only the last one before a place can touch it.
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for problem in problems {
        let Some(fix) = fix_of(problem, mode).filter(|_| chosen < most) else { continue };
        // Two insertions at one place would depend on their order, so the second waits for the next round.
        let touches_taken = |new: &Edit| {
            let before = taken.range(..=new.span.end).next_back();
            before.is_some_and(|(_, end)| *end >= new.span.start)
        };
        if !fix.edits.iter().any(touches_taken) {
            taken.extend(fix.edits.iter().map(|edit| (edit.span.start, edit.span.end)));
            edits.extend(fix.edits.iter().cloned());
            chosen += 1;
        }
    }
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// Whether both have the same name, description and body; a description may come to be where there was none.
fn same_skill(before: &Document, after: &Document, at: &Origin) -> bool {
    let described = before.description();
    before.name(at) == after.name(at)
        && (described.is_none() || described == after.description())
        && body(before) == body(after)
}

/// The body. Without frontmatter it begins where the file begins, and a byte order mark is no part of it.
fn body(document: &Document) -> &str {
    document.body_raw().trim_start_matches('\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::finding::rule::Preset;
    use crate::text::testing::many;

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
    fn all_hidden_characters_of_a_field_and_of_the_frontmatter_are_removed_in_one_round() {
        let many = "a\u{200b}\u{202e}".repeat(100);
        let text = format!("---\nname: demo\ndescription: {many}\nlicense: {many}\n---\nend\n");
        let at = Origin::at("x/demo/SKILL.md");
        let fixed = fix(&parse(text.as_bytes()), None, &at, &Profile::spec(), FixMode::All);
        assert_eq!(fixed.document.text(), text.replace(['\u{200b}', '\u{202e}'], ""));
        assert_eq!(fixed.applied.len(), 4, "{:?}", fixed.applied);
    }

    #[test]
    fn a_fence_is_not_written_into_a_list_that_a_fix_joins() {
        let text = "---\nname: demo\nallowed-tools:\n- Read\n- Grep\n\n- one\n| a | b |\n";
        assert_eq!(fixed(text, FixMode::Safe, Preset::Spec), text);
    }

    /// Frontmatter, and a body that begins below a blank line, with what bodies begin with.
    fn parts() -> impl Strategy<Value = (String, String)> {
        let field = prop::sample::select(vec![
            "license: MIT",
            "description: >-\n  Folded text.\n\n  More of it.",
            "description: Use when: asked",
            "description: \"In quotes\"",
            "metadata:\n  a: b\n\n  c: d",
            "metadata: {a: b,\n  c: d}",
            "allowed-tools:\n- Read\n- Grep",
            "x-own: 1",
            "# a comment",
        ]);
        let line = prop::sample::select(vec![
            "# Title",
            "## Next",
            "Do it.",
            "- one",
            "1. one",
            "Note: this",
            "usage: that",
            "```sh",
            "    code",
            "a: b",
            "| a | b |",
            "[link](x)",
            "\"quoted\"",
            "{{x}}",
            "> said",
            "",
            "",
            "*bold*",
            "  - two",
        ]);
        let fields = prop::collection::vec(field, 0..4);
        let lines = prop::collection::vec(line, 1..8);
        (fields, lines, any::<bool>()).prop_map(|(fields, lines, rule)| {
            let head = format!("---\nname: demo\n{}\n", fields.join("\n"));
            let rule = if rule { "\n---\nmore\n" } else { "" };
            (head, format!("\n{}\n{rule}", lines.join("\n")))
        })
    }

    /// Lines of a file after its opening fence in any order, and where the first one begins that is no frontmatter.
    fn muddled() -> impl Strategy<Value = (String, Option<usize>)> {
        let line = prop::sample::select(vec![
            ("license: MIT", true),
            ("description: Parses files. Use when asked.", true),
            ("description: Use when: asked", true),
            ("description: |\n  One.\n\n  Two.", true),
            ("allowed-tools:\n- Read", true),
            ("metadata:\n\ta: b", true),
            ("", true),
            ("# Title", true),
            ("---", false),
            ("***", false),
            ("___", false),
            ("===", false),
            ("--", false),
            ("```", false),
            ("Always ask.", false),
            ("**Bold** text", false),
            ("> quote", false),
            ("<!-- x -->", false),
            ("| a | b |", false),
            ("said \"so\"", false),
        ]);
        let newline = prop::sample::select(vec!["\n", "\r\n"]);
        (prop::collection::vec(line, 1..10), newline).prop_map(|(lines, newline)| {
            let mut text = "---\nname: demo\n".to_owned();
            let mut body = None;
            for (line, frontmatter) in lines {
                if !frontmatter {
                    body.get_or_insert(text.len());
                }
                text.push_str(line);
                text.push('\n');
            }
            let body = body.and_then(|at| text.get(..at)).map(|head| head.replace('\n', newline).len());
            (text.replace('\n', newline), body)
        })
    }

    proptest! {
        #![proptest_config(many())]

        #[test]
        fn a_safe_fix_changes_nothing_from_the_first_line_on_that_is_no_frontmatter((text, body) in muddled()) {
            let after = fixed(&text, FixMode::Safe, Preset::Spec);
            let rest = body.and_then(|at| text.get(at..)).unwrap_or("");
            prop_assert!(after.ends_with(rest), "{text}\nbecame\n{after}");
        }

        #[test]
        fn a_missing_fence_is_written_before_the_first_word_of_the_body_or_not_at_all((head, body) in parts()) {
            let text = format!("{head}{body}");
            let irregular = |document: &Document| {
                document.findings().iter().any(|finding| finding.code() == "fence-irregular")
            };
            let after = parse(fixed(&text, FixMode::Safe, Preset::Spec).as_bytes());
            if irregular(&parse(text.as_bytes())) && !irregular(&after) {
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                // A comment below the last key may be the title of the body, and becomes part of it.
                prop_assert!(words(after.body_raw()).ends_with(&words(&body)), "{}", after.text());
            }
        }

        #[test]
        fn a_safe_fix_changes_no_byte_of_the_body((head, body) in parts(), close in prop::sample::select(vec!["---\n", "----\n", " ---\n", "...\n", "---", ""])) {
            let text = format!("{head}{close}{body}");
            let before = parse(text.as_bytes());
            let after = parse(fixed(&text, FixMode::Safe, Preset::Spec).as_bytes());
            prop_assert_eq!(before.body_raw(), after.body_raw());
        }
    }

    #[test]
    fn a_comment_that_a_repair_would_lose_is_left_to_the_author() {
        let text = "---\nname: demo\ndescription: Use when: a\n  # why\n  and: b\n---\nB\n";
        assert_eq!(fixed(text, FixMode::Safe, Preset::Spec), text);
    }

    #[test]
    fn text_at_the_margin_that_may_be_the_body_is_left_to_the_author() {
        for below in ["Always ask.", "**Bold** text", "> quote", "Always ask.\n\n# Steps"] {
            let text = format!("---\nname: demo\ndescription: Parses.\n{below}\n\n---\n\nMore.\n");
            for text in [text.clone(), text.replace('\n', "\r\n")] {
                assert_eq!(fixed(&text, FixMode::Safe, Preset::Spec), text);
                assert_ne!(fixed(&text, FixMode::All, Preset::Spec), text);
            }
        }
        for text in [
            "---\nname: demo\ndescription: d\nNote: this is body text.\n\nMore.\n",
            "--- \n***\nkey: value\nkey2: value\n<!-- x -->\n",
            "---\nname: demo\ndescription: Use when: x\n\n    code\n\n---\nMore.\n",
            "---\nname: demo\ndescription: |\n  lit\n\n  lit2\n- item\n---\n",
        ] {
            assert_eq!(fixed(text, FixMode::Safe, Preset::Spec), text);
        }
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
    fn no_fix_leads_to_an_error_of_another_kind() {
        let errors = |document: &Document, at: &Origin| -> Vec<&'static str> {
            let problems = Profile::spec().check(document, None, at);
            problems.iter().filter(|p| p.severity == Severity::Error).map(|p| p.code).collect()
        };
        let long = format!("compatability: {}", "x".repeat(600));
        for (folder, fields) in [
            ("ok_one", "name: ok_one"),
            ("Bad", "name: Bad"),
            ("Bad", ""),
            ("Big-Name", "name: Big Name"),
            ("demo", "name: demo\nlicence: [MIT]"),
            ("demo", "name: demo\nlicence: MIT\nlicens: MIT"),
            ("demo", "name: demo\nmetadta: text"),
            ("demo", &*format!("name: demo\n{long}")),
            ("demo", "name: Demo One\nlicence: MIT"),
        ] {
            let at = Origin::at(format!("x/{folder}/SKILL.md"));
            let document = parse(format!("---\n{fields}\ndescription: d\n---\n").as_bytes());
            let before = errors(&document, &at);
            for mode in [FixMode::Safe, FixMode::All] {
                let promised = Profile::spec().check(&document, None, &at);
                let promised = promised.iter().filter(|problem| fix_of(problem, mode).is_some()).count();
                let fixed = fix(&document, None, &at, &Profile::spec(), mode);
                let after = errors(&fixed.document, &at);
                assert!(after.iter().all(|code| before.contains(code)), "{fields}: {after:?}");
                assert_eq!(fixed.applied.len(), promised, "{fields}: {:?}", fixed.document.text());
            }
        }
        // What can be fixed is.
        assert!(
            fixed("---\nname: Demo\ndescription: d\n---\n", FixMode::All, Preset::Spec)
                .contains("name: demo")
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
    fn a_byte_order_mark_is_removed_from_a_file_without_frontmatter() {
        assert_eq!(fixed("\u{feff}# Title\n", FixMode::Safe, Preset::Spec), "# Title\n");
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
