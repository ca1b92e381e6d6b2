//! Rules about how well a skill is written: no placeholders, a description that says enough, paths that exist.

use crate::check::findings::Findings;
use crate::check::part_of;
use crate::document::Document;
use crate::files::manifest::Manifest;
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::path::RelPath;
use crate::span::Span;
use crate::text::inline;

rules! {
    DESCRIPTION_PLACEHOLDER = "description-placeholder" [I O I I O],
        "the description is a placeholder",
        "The text is that of a template, such as `TODO` or what `prowess new` writes. An agent would never choose the skill by it.\n\nSay what the skill does and when to use it.";
    DESCRIPTION_TOO_SHORT = "description-too-short" [I O I I O],
        "the description has fewer than 20 characters",
        "The description is all an agent sees of a skill before it decides to use it. A few words seldom say enough. Characters of Chinese, Japanese and Korean count twice.\n\nSay what the skill does and when to use it.";
    DESCRIPTION_WITHOUT_WHEN = "description-without-when" [I O I I O],
        "the description does not say when to use the skill",
        "The specification asks for what the skill does and when to use it. Agents choose by both. A description has to name an occasion in some words, such as `Use when the user …`; a field `when_to_use` counts too.";
    BODY_PLACEHOLDER = "body-placeholder" [I O I I O],
        "the instructions contain a placeholder",
        "A line is only `TODO`, begins with `[TODO`, or is what `prowess new` writes. An agent would read it as an instruction.\n\nWrite the text or remove the line.";
    PATH_MISSING = "path-missing" [I O O I O],
        "the instructions name a file that is not in the skill",
        "A path in backticks that begins with `references/`, `assets/` or `scripts/` is read as a file of the skill, and there is none. A path below `scripts/` counts only if the skill has such a folder, because many projects have one too.\n\nCorrect the path or add the file.";
}

/// The last sentence of the description of a new skill, until its author replaces it.
pub const TEMPLATE_WHEN: &str = "Use when the task calls for it.";
/// The first line of the instructions of a new skill, until its author replaces it.
pub const TEMPLATE_BODY: &str = "Say here what the agent should do, step by step.";

/// The fewest characters of a description that says enough.
const FEWEST: usize = 20;
/// The most paths of a file that are reported.
const MAX_PATHS: usize = 20;

/// What names an occasion, in the languages that skills are written in most: whole words between two spaces, and
/// beginnings of words after one.
#[rustfmt::skip]
const OCCASIONS: [&str; 52] = [
    " when ", " whenever ", " if ", " before ", " after ", " while ", " during ", " asks ", " asked ", " ask ",
    " use this ", " use it ", " use for ", " use to ", " use as ", " use in ", " use on ", " use with ",
    " use proactively ", " used for ", " used to ", " used by ", " used in ", " useful for ", " useful to ",
    " should be used ", " must be used ", " to be used ", " needs to ", " wants to ", " want to ", " need to ",
    " for any ", " load this ", " call this ", " run this ", " applies to ", " trigger", " invoke", " activat",
    // Other languages.
    " cuando ", " quando ", " wenn ", " falls ", " lorsqu", " quand ", " если ", " когда ", " khi ", " usar ",
    " utilis", " gdy ",
];

/// The same where words are not separated by spaces.
const UNSEPARATED_OCCASIONS: [&str; 12] =
    ["当", "當", "时", "時", "使用", "用于", "用於", "适用", "とき", "場合", "때", "경우"];

/// Checks the description.
pub(in crate::check) fn check_description(document: &Document, findings: &mut Findings<'_>) {
    if ![&DESCRIPTION_PLACEHOLDER, &DESCRIPTION_TOO_SHORT, &DESCRIPTION_WITHOUT_WHEN]
        .into_iter()
        .any(|rule| findings.wants(rule))
    {
        return;
    }
    let Some(node) = document.field("description") else { return };
    let Some(text) = node.said().filter(|text| !text.trim().is_empty()) else { return };
    // One note is enough: the worst comes first.
    let finding = if is_placeholder(text) {
        Finding::new(&DESCRIPTION_PLACEHOLDER, "the description is a placeholder")
    } else if length(text.trim()) < FEWEST {
        let message =
            format!("the description has {} characters, fewer than {FEWEST}", text.trim().chars().count());
        Finding::new(&DESCRIPTION_TOO_SHORT, message)
    } else if document.field("when_to_use").is_none() && !names_occasion(text) {
        Finding::new(&DESCRIPTION_WITHOUT_WHEN, "the description does not say when to use the skill")
    } else {
        return;
    };
    findings.push(
        finding
            .with_field("description")
            .with_span(part_of(document, node, 0..text.len()))
            .with_help("say what the skill does and when to use it"),
    );
}

/// How descriptions begin that only say what belongs there.
const PLACEHOLDER_STARTS: [&str; 9] = [
    "[todo",
    "todo:",
    "tbd:",
    "fixme:",
    "lorem ipsum",
    "describe what the skill does",
    "describe what this skill does",
    "replace with description",
    "replace with a description",
];

/// Whether a text begins as a reminder to its author does: `TODO describe`, but not `TODO comments are listed`.
fn is_reminder(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().trim_end_matches(['.', ':', '!', '-']);
    let then = words.next().unwrap_or_default().trim_end_matches(['.', ',', ':']);
    let acts = ["add", "complete", "describe", "explain", "fill", "replace", "say", "update", "write"];
    ["TODO", "FIXME", "TBD"].contains(&first) && acts.contains(&then)
}

/// Whether a text is a slot to be filled in, as `<description>`.
fn is_in_angle_brackets(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|inner| inner.contains(' ') && !inner.contains(['<', '>', '/', '=']))
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let is_word = ["todo", "tbd", "todo.", "tbd.", "..."].contains(&&*lower);
    is_word
        || PLACEHOLDER_STARTS.iter().any(|start| lower.starts_with(start))
        || is_reminder(text.trim())
        || is_in_angle_brackets(text.trim())
        || text.trim().ends_with(TEMPLATE_WHEN)
        || ["what this skill does and when to use it", "your description here"]
            .iter()
            .any(|said| lower.contains(said))
}

/// The number of characters, where those that stand for a syllable or a word count twice.
fn length(text: &str) -> usize {
    text.chars()
        .map(|character| if character >= '\u{1100}' && character.is_alphabetic() { 2 } else { 1 })
        .sum()
}

/// Whether some words of a text name an occasion.
fn names_occasion(text: &str) -> bool {
    // Words in lower case, each between two spaces.
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for word in text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words.push_str(&word.to_lowercase());
        words.push(' ');
    }
    OCCASIONS.iter().chain(&UNSEPARATED_OCCASIONS).any(|said| words.contains(said))
}

/// Checks the instructions; `files` are the files of the skill's folder, if they are known.
pub(in crate::check) fn check_body(
    document: &Document,
    files: Option<&Manifest>,
    findings: &mut Findings<'_>,
) {
    let placeholders = findings.wants(&BODY_PLACEHOLDER);
    let files = files.filter(|_| findings.wants(&PATH_MISSING));
    let body = document.body_raw();
    let (mut placeholder, mut named): (Option<Span>, Vec<&str>) = (None, Vec::new());
    let (mut at, mut fence) = (document.body_offset(), None);
    for line in body.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let line = line.trim();
        let opens = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
        match (fence, opens) {
            (None, Some(_)) => fence = opens,
            (Some(open), Some(close)) if open == close => fence = None,
            _ => {}
        }
        if fence.is_some() || opens.is_some() {
            continue;
        }
        if placeholders && placeholder.is_none() && is_placeholder_line(line) {
            placeholder = Some(Span::new(start, start + line.len()));
        }
        if let Some(files) = files {
            for (place, path) in missing_paths(line, files) {
                if named.len() < MAX_PATHS && !named.contains(&path) {
                    named.push(path);
                    let message = format!("there is no such file in the skill: {}", inline(path));
                    let span = Span::new(start + place, start + place + path.len());
                    findings.push(Finding::new(&PATH_MISSING, message).with_span(span));
                }
            }
        }
    }
    if let Some(span) = placeholder {
        let finding = Finding::new(&BODY_PLACEHOLDER, "the instructions contain a placeholder");
        findings.push(finding.with_span(span).with_help("write the text or remove the line"));
    }
}

/// Whether a line, without its mark as a heading, list or quotation, is a placeholder.
fn is_placeholder_line(line: &str) -> bool {
    let text = line.trim_start_matches(['#', '-', '*', '>', ' ', '_']);
    // Cheap tests first: nearly every line fails them.
    match text.as_bytes().first() {
        Some(b'T' | b't' | b'[' | b'L') => {
            let lower = text.to_lowercase();
            let word = lower.trim_end_matches(['.', ':', '*', '_', ' ', '…']);
            ["todo", "tbd"].contains(&word) || lower.starts_with("[todo") || lower.starts_with("lorem ipsum")
        }
        Some(b'S') => text == TEMPLATE_BODY,
        _ => false,
    }
}

/// The paths in backticks on a line that should be files of the skill and are not, each with its place in the line.
fn missing_paths<'l>(line: &'l str, files: &Manifest) -> Vec<(usize, &'l str)> {
    let mut missing = Vec::new();
    let mut at = 0;
    for (number, part) in line.split('`').enumerate() {
        if number % 2 == 1 && is_missing(part, files) {
            missing.push((at, part));
        }
        at += part.len() + 1;
    }
    missing
}

fn is_missing(text: &str, files: &Manifest) -> bool {
    let path = text.strip_prefix("./").unwrap_or(text);
    let Some((top, rest)) = path.split_once('/') else { return false };
    let counts = match top {
        "references" | "assets" => true,
        // A project may have such a folder too.
        "scripts" => files.files.iter().any(|file| file.path.as_str().starts_with("scripts/")),
        _ => false,
    };
    let last = rest.rsplit('/').next().unwrap_or(rest);
    let is_file = last.rsplit_once('.').is_some_and(|(stem, kind)| {
        !stem.is_empty()
            && !kind.is_empty()
            && kind.chars().all(|character| character.is_ascii_alphanumeric())
    });
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '/' | '.' | '-' | '_');
    if !counts || !is_file || !path.chars().all(is_name) || is_example(last) {
        return false;
    }
    RelPath::parse(path).is_ok_and(|path| !files.contains(&path) && !files.may_contain(&path))
}

/// Whether a file name stands for any file, such as `XXX.md` or `your-file.md`.
fn is_example(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["xxx", "your", "example", "foo", "...", "name.", "my-", "my_"].iter().any(|said| lower.contains(said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::manifest::FileEntry;

    #[test]
    fn occasions_are_named_in_many_ways() {
        for text in
            ["Use when asked.", "Fills forms (if there are any)", "会议结束后使用", "Cuando el usuario pide"]
        {
            assert!(names_occasion(text), "{text}");
        }
        for text in ["Fills in PDF forms.", "Reuse of code", "Verify users using SQL"] {
            assert!(!names_occasion(text), "{text}");
        }
        assert_eq!([length("forms"), length("議事録")], [5, 6]);
    }

    #[test]
    fn placeholders_are_lines_of_their_own_and_not_words() {
        for line in ["TODO", "- TODO:", "## [TODO: Structuring]", "> tbd", TEMPLATE_BODY] {
            assert!(is_placeholder_line(line), "{line}");
        }
        for line in ["TODO comments are listed", "Look for TODO", "The todo list", "Say here what"] {
            assert!(!is_placeholder_line(line), "{line}");
        }
    }

    #[test]
    fn descriptions_that_only_say_what_belongs_there_are_placeholders() {
        for text in [
            "TODO describe",
            "FIXME write this later, before it is published",
            "Describe what the skill does and when to use it.",
            "Replace with description of the skill and when Claude should use it.",
            "<description of the skill, when to use>",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "TODO comments are listed and sorted. Use when code has many.",
            "Describe what changed between two releases.",
            "Say in a description what the skill does and when to use it. Use when writing skills.",
            "<details> of HTML are folded </details>",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }

    #[test]
    fn only_paths_that_can_only_be_files_of_the_skill_are_missing() {
        let file = |path: &str| FileEntry::new(RelPath::parse(path).unwrap(), 1);
        let files = Manifest::new(vec![file("references/a.md"), file("scripts/run.sh")]);
        let line = "`references/a.md` `references/b.md` `./scripts/x.py` `references/{name}.md` `src/x.rs` `assets/`";
        let found: Vec<&str> = missing_paths(line, &files).into_iter().map(|(_, path)| path).collect();
        assert_eq!(found, ["references/b.md", "./scripts/x.py"]);
        let none = Manifest::new(Vec::new());
        assert!(missing_paths("run `scripts/build.sh`", &none).is_empty());
        assert_eq!(missing_paths("see `references/b.md`", &none).len(), 1);
    }
}
