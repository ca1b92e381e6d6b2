//! `prowess try`: how a skill is found and loaded for a task, with the built-in skills.

use std::fmt::Write as _;

use prowess::library::builtin::BUILTINS;
use prowess::search;
use prowess::select::{Bm25, Hit, Settings, Texts};
use prowess::{Document, Entry, parse};
use serde_json::json;

use crate::Outcome;
use crate::args::Try;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, clean_lines, wrap};

/// How many lines of the instructions are shown.
const SHOWN_LINES: usize = 8;

struct Skill {
    entry: Entry,
    document: Document,
}

/// A skill that fits, and how well.
struct Match<'s> {
    skill: &'s Skill,
    hit: Hit,
}

impl Match<'_> {
    /// The words that were found, those that count most first.
    fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = Vec::new();
        for reason in &self.hit.why {
            if !words.contains(&reason.term.as_str()) {
                words.push(&reason.term);
            }
        }
        words
    }
}

/// Runs the command.
pub(crate) fn run(args: &Try, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let task = args.task.join(" ");
    let skills: Vec<Skill> = BUILTINS
        .iter()
        .map(|builtin| {
            let document = parse(builtin.text.as_bytes());
            Skill { entry: document.entry(&builtin.origin()), document }
        })
        .collect();
    let texts: Vec<Texts<'_>> =
        skills.iter().map(|skill| Texts::of(&skill.entry, Some(skill.document.body()))).collect();
    let keys = skills.iter().map(|skill| skill.entry.key.clone()).collect();
    let selector = Bm25::new(keys, search::analyse(&texts, 1), Settings::default());
    let hits = selector.search(&task, usize::MAX, None);
    let matches: Vec<Match<'_>> = hits
        .into_iter()
        .filter_map(|hit| {
            let skill = skills.iter().find(|skill| skill.entry.key == hit.key)?;
            Some(Match { skill, hit })
        })
        .collect();
    if json {
        ui.json(&envelope(&task, &skills, &matches))?;
    } else {
        ui.print(&transcript(&task, &skills, &matches))?;
    }
    Ok(Outcome::Fine)
}

fn envelope(task: &str, skills: &[Skill], matches: &[Match<'_>]) -> serde_json::Value {
    let catalog: Vec<_> = skills
        .iter()
        .map(|skill| json!({ "name": skill.entry.name, "description": skill.entry.description }))
        .collect();
    let found: Vec<_> = matches
        .iter()
        .map(|found| {
            json!({ "name": found.skill.entry.name, "score": found.hit.score, "words": found.words() })
        })
        .collect();
    let loaded = matches.first().map(|found| {
        let body = found.skill.document.body();
        json!({ "name": found.skill.entry.name, "bytes": body.len(), "tokens": body.len() / 4, "text": body })
    });
    json!({
        "version": VERSION,
        "task": task,
        "catalog": catalog,
        "method": "bm25",
        "matches": found,
        "loaded": loaded,
    })
}

fn transcript(task: &str, skills: &[Skill], matches: &[Match<'_>]) -> String {
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
        text.push_str("  nothing fits: no skill has a word of the task that says what it is about\n");
        return text;
    };
    for found in matches {
        let words = found.words().join(", ");
        let _ = writeln!(text, "  {:.3}  {}: {}", found.hit.score, found.skill.entry.name, clean(&words));
    }
    let _ = writeln!(
        text,
        "\n  {FAINT}by the words in name, description and instructions; prowess search does it with your skills{FAINT:#}"
    );
    let best = best.skill;
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
