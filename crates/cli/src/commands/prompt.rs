//! `prowess prompt`: the catalog that an agent would see, within a budget, the best for a query first.

use prowess::render::{Budget, BudgetReport, CatalogStyle, estimate_tokens, render_within};
use prowess::select::{Narrowed, Query, Whole, narrow};
use prowess::{Candidate, Entry};
use serde_json::{Value, json};

use super::list::Unread;
use super::search::{failed, options, selector};
use super::{registry, say_problems};
use crate::Outcome;
use crate::args::Prompt;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Ui, count};

/// How many names of skills that were left out are told.
const NAMED: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &Prompt, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    say_problems(&registry, ui);
    let outcome = if registry.problems().is_empty() { Outcome::Fine } else { Outcome::Incomplete };
    let catalog = registry.catalog();
    let usable: Vec<&Candidate> = catalog.iter().filter(|skill| skill.is_usable()).collect();
    let shown: Vec<&Entry> =
        usable.iter().map(|skill| &skill.entry).filter(|entry| entry.invocation.model).collect();
    let query = Query::text(args.query.as_deref().unwrap_or_default());
    let selector = (!query.is_empty()).then(|| selector(&args.selection, &args.places, &registry));
    let narrowed = narrow(selector.as_deref(), &query, &shown, &options(&args.selection))
        .map_err(|error| failed(&error))?;
    let skills: Vec<&Entry> = match &narrowed {
        Narrowed::Hits(hits) => {
            hits.iter().filter_map(|hit| catalog.get(&hit.key)).map(|skill| &skill.entry).collect()
        }
        Narrowed::All(_) => shown.clone(),
        Narrowed::None(_) => Vec::new(),
    };
    let style = CatalogStyle::new(args.format);
    let budgeted = render_within(&skills, &style, args.budget.of(args.window), &estimate_tokens);
    let untrusted = catalog.len() - usable.len();
    if json {
        let report = &budgeted.report;
        let keys: Vec<&str> = skills.iter().take(report.included).map(|entry| entry.key.as_str()).collect();
        let (narrowed, error) = described(&narrowed);
        ui.json(&json!({
            "version": VERSION,
            "query": args.query,
            "selector": args.query.as_ref().map(|_| args.selection.selector.name()),
            "narrowed": narrowed,
            "error": error,
            "format": args.format.name(),
            "text": budgeted.text,
            "skills": keys,
            "report": told(report),
            "summary": {
                "offered": catalog.len(),
                "untrusted": untrusted,
                "not_for_models": usable.len() - shown.len(),
            },
            "unread": Unread::all(&registry),
        }))?;
        return Ok(outcome);
    }
    if !budgeted.text.is_empty() {
        ui.raw(format!("{}\n", budgeted.text).as_bytes())?;
    }
    match &narrowed {
        Narrowed::All(Whole::Failed(error)) => {
            ui.failure(&failed(error));
            ui.note("the selector failed: all skills are shown");
        }
        Narrowed::All(Whole::NothingFound) => ui.note("no skill fits the query: all are shown"),
        _ => {}
    }
    for note in notes(&budgeted.report) {
        ui.note(&note);
    }
    if untrusted > 0 {
        ui.note(&format!("{} not trusted and left out: prowess trust", count(untrusted, "skill")));
    }
    Ok(outcome)
}

/// What became of the query, and what the selector said when it failed.
fn described(narrowed: &Narrowed) -> (&'static str, Option<String>) {
    match narrowed {
        Narrowed::Hits(_) => ("hits", None),
        Narrowed::All(whole) | Narrowed::None(whole) => match whole {
            Whole::NoSelector | Whole::EmptyQuery => ("no-query", None),
            Whole::NothingFound => ("nothing-found", None),
            Whole::Failed(error) => ("failed", Some(error.to_string())),
        },
    }
}

/// What the budget did, as data.
fn told(report: &BudgetReport) -> Value {
    let (unit, limit) = match report.budget {
        Budget::Tokens(limit) => ("tokens", Some(limit)),
        Budget::Characters(limit) => ("characters", Some(limit)),
        Budget::Unlimited => ("characters", None),
    };
    json!({
        "unit": unit,
        "limit": limit,
        "used": report.used,
        "within": report.within,
        "total": report.total,
        "included": report.included,
        "omitted": report.omitted,
        "shortened": report.shortened,
        "max_description": report.max_description,
    })
}

/// What the budget did, in words.
fn notes(report: &BudgetReport) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(most) = report.max_description.filter(|_| report.shortened > 0) {
        let shortened = count(report.shortened, "description");
        notes.push(format!("shortened {shortened} to {} or less", count(most, "character")));
    }
    if !report.omitted.is_empty() {
        let mut names: Vec<&str> = report.omitted.iter().map(String::as_str).take(NAMED).collect();
        if report.omitted.len() > NAMED {
            names.push("and more, which --json lists");
        }
        notes.push(format!("left out {}: {}", count(report.omitted.len(), "skill"), names.join(", ")));
    }
    if !report.within {
        notes.push("the budget is too small for any skill".to_owned());
    }
    notes
}
