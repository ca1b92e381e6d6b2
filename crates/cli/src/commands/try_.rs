//! `prowess try`: one task through the stages that exist, with the built-in skills.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use prowess::builtin::BUILTINS;
use prowess::{Document, Entry, parse};
use serde_json::json;

use crate::Outcome;
use crate::args::Try;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, clean_lines, wrap};

/// Words that say nothing about a task.
const SMALL_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "for", "from", "get", "give", "help",
    "how", "i", "in", "is", "it", "its", "make", "me", "my", "of", "on", "or", "out", "please", "some",
    "that", "the", "this", "to", "up", "use", "user", "want", "wants", "we", "what", "when", "with", "you",
    "your",
];

/// How many lines of the instructions are shown.
const SHOWN_LINES: usize = 8;

struct Skill {
    entry: Entry,
    document: Document,
    /// The words of the task that were found.
    words: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Try, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let task = args.task.join(" ");
    let wanted = words(&task);
    let skills: Vec<Skill> = BUILTINS
        .iter()
        .map(|builtin| {
            let document = parse(builtin.text.as_bytes());
            let entry = document.entry(&builtin.origin());
            let known = words(&format!("{} {}", entry.name, entry.description));
            let words = wanted.iter().filter(|word| known.contains(*word)).cloned().collect();
            Skill { entry, document, words }
        })
        .collect();
    let mut matches: Vec<&Skill> = skills.iter().filter(|skill| !skill.words.is_empty()).collect();
    // The sort is stable: equal skills stay in the order of their names.
    matches.sort_by_key(|skill| std::cmp::Reverse(skill.words.len()));
    if json {
        ui.json(&envelope(&task, &skills, &matches))?;
    } else {
        ui.print(&transcript(&task, &wanted, &skills, &matches))?;
    }
    Ok(Outcome::Fine)
}

/// The distinct words of a text, in small letters, without small words and without the `s` of a plural.
fn words(text: &str) -> BTreeSet<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !SMALL_WORDS.contains(&word.as_str()))
        .map(|word| match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word,
        })
        .collect()
}

fn envelope(task: &str, skills: &[Skill], matches: &[&Skill]) -> serde_json::Value {
    let catalog: Vec<_> = skills
        .iter()
        .map(|skill| json!({ "name": skill.entry.name, "description": skill.entry.description }))
        .collect();
    let found: Vec<_> =
        matches.iter().map(|skill| json!({ "name": skill.entry.name, "words": skill.words })).collect();
    let loaded = matches.first().map(|skill| {
        let body = skill.document.body();
        json!({ "name": skill.entry.name, "bytes": body.len(), "tokens": body.len() / 4, "text": body })
    });
    json!({
        "version": VERSION,
        "task": task,
        "catalog": catalog,
        "method": "word-overlap",
        "matches": found,
        "loaded": loaded,
    })
}

fn transcript(task: &str, wanted: &BTreeSet<String>, skills: &[Skill], matches: &[&Skill]) -> String {
    let mut text = format!("task: {}\n\n", clean(task));
    let _ = writeln!(text, "{STRONG}1. What the agent sees of every skill{STRONG:#}");
    let mut catalog = 0;
    for skill in skills {
        catalog += skill.entry.name.len() + skill.entry.description.len();
        let _ = writeln!(text, "\n  {STRONG}{}{STRONG:#}", skill.entry.name);
        text.push_str(&wrap(&skill.entry.description, 76, "    "));
    }
    let _ = writeln!(text, "\n  {FAINT}about {} tokens for {} skills{FAINT:#}", catalog / 4, skills.len());
    let _ = writeln!(text, "\n{STRONG}2. Which skill fits{STRONG:#}\n");
    let Some(best) = matches.first() else {
        let listed: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let looked = if listed.is_empty() { "(none)".to_owned() } else { listed.join(", ") };
        let _ = writeln!(text, "  nothing fits: no skill has any of these words: {}", clean(&looked));
        return text;
    };
    for skill in matches {
        let (found, all) = (skill.words.len(), wanted.len());
        let _ = writeln!(text, "  {}: {found} of {all} words: {}", skill.entry.name, skill.words.join(", "));
    }
    let _ = writeln!(
        text,
        "\n  {FAINT}by plain word overlap with name and description; better selection is to come{FAINT:#}"
    );
    let body = best.document.body();
    let _ = writeln!(text, "\n{STRONG}3. What is loaded when it is used: {}{STRONG:#}\n", best.entry.name);
    for line in clean_lines(body).lines().take(SHOWN_LINES) {
        let _ = writeln!(text, "{}", format!("  | {line}").trim_end());
    }
    let rest = body.lines().count().saturating_sub(SHOWN_LINES);
    let _ = writeln!(
        text,
        "  {FAINT}and {rest} more lines: {} bytes, about {} tokens in all{FAINT:#}",
        body.len(),
        body.len() / 4
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_small_distinct_and_singular() {
        let found: Vec<String> = words("Fill in the PDF forms; fill FORM, pass!").into_iter().collect();
        assert_eq!(found, ["fill", "form", "pass", "pdf"]);
    }
}
