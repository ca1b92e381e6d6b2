//! `prowess why`: what became of the skills of one name.

use std::fmt::Write as _;

use prowess::render::{CatalogStyle, Shape, estimate_tokens, render_within};
use prowess::select::{self, Narrowed, Query, narrow};
use prowess::session::{self, Act, Actor, Hidden, Policy, Session};
use prowess::{Candidate, Entry, Obstacle, Registry, Standing};
use serde_json::json;

use super::list::{Row, Unread};
use super::{registry, say_problems, search_index};
use crate::Outcome;
use crate::args::Why;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{STRONG, Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &Why, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    let catalog = registry.catalog();
    let found = catalog.why(&args.name);
    let usable = catalog.get(&args.name).is_some_and(Candidate::is_usable);
    let place = usable.then(|| InPrompt::of(args, &registry));
    let offered = place.is_some_and(InPrompt::is_there);
    let outcome = if offered { Outcome::Fine } else { Outcome::Problems };
    if json {
        let candidates: Vec<Row<'_>> =
            found.iter().map(|(candidate, standing)| Row::new(candidate, standing)).collect();
        let similar = catalog.similar(&args.name);
        ui.json(&json!({"version": VERSION, "name": args.name, "offered": offered, "candidates": candidates, "similar": similar, "prompt": place.map(InPrompt::word), "unread": Unread::all(&registry)}))?;
        return Ok(outcome);
    }
    if found.is_empty() {
        say_problems(&registry, ui);
        let similar = catalog.similar(&args.name).join(", ");
        let hint = if similar.is_empty() {
            "a skill is a folder with a SKILL.md in a place where agents look; --in names another".to_owned()
        } else {
            format!("there is {similar}")
        };
        ui.failure(&Failure::new(format!("no skill of this name was found: {}", clean(&args.name)), hint));
        return Ok(Outcome::Problems);
    }
    let mut text = String::new();
    for (candidate, standing) in found {
        page(&mut text, candidate, standing);
        let listed = *standing == Standing::Listed;
        if let Some(words) = place.filter(|_| listed).and_then(|place| place.sentence(args)) {
            let _ = writeln!(text, "  {words}");
        }
    }
    ui.print(&text)?;
    Ok(outcome)
}

/// What a host's filter and its prompt make of a skill that is offered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InPrompt {
    Whole,
    Shortened,
    /// Only a user may start it.
    NotForModel,
    Filtered,
    /// Other skills fit the task better.
    NotSelected,
    /// The budget was too small.
    Cut,
}

impl InPrompt {
    fn of(args: &Why, registry: &Registry) -> Self {
        let policy = Policy { filter: args.filter.clone(), ..Policy::default() };
        let session = Session::new("why", registry.catalog(), policy, session::Options::default());
        match session.why_hidden(&args.name, Act::See, Actor::Model) {
            Some(Hidden::NotForModel) => return Self::NotForModel,
            Some(_) => return Self::Filtered,
            None => {}
        }
        let catalog = registry.catalog();
        let among: Vec<&Entry> =
            session.visible(Actor::Model, &args.filter).into_iter().map(|skill| &skill.entry).collect();
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let index = search_index(&args.places, registry);
        let skills: Vec<&Entry> = match narrow(Some(&index), &query, &among, &select::Options::default()) {
            Ok(Narrowed::Hits(hits)) => {
                hits.iter().filter_map(|hit| catalog.get(&hit.key)).map(|c| &c.entry).collect()
            }
            _ => among,
        };
        let Some(entry) = skills.iter().find(|entry| entry.key == args.name) else {
            return Self::NotSelected;
        };
        let style = CatalogStyle::new(Shape::Xml);
        let report = render_within(&skills, &style, args.budget.of(args.window), &estimate_tokens).report;
        if report.omitted.contains(&entry.key) {
            Self::Cut
        } else if report.max_description.is_some_and(|most| entry.description.chars().count() > most) {
            Self::Shortened
        } else {
            Self::Whole
        }
    }

    fn is_there(self) -> bool {
        matches!(self, Self::Whole | Self::Shortened | Self::NotForModel)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Shortened => "shortened",
            Self::NotForModel => "not-for-model",
            Self::Filtered => "filtered",
            Self::NotSelected => "not-selected",
            Self::Cut => "cut",
        }
    }

    fn sentence(self, args: &Why) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Shortened => {
                Some("in the prompt: with a shorter description, to fit the budget".to_owned())
            }
            Self::NotForModel => Some("in the prompt: no, only a user may start it".to_owned()),
            Self::Filtered => Some(format!("filtered by: {}", clean(args.filter.as_str()))),
            Self::NotSelected => Some("in the prompt: no, other skills fit the task better".to_owned()),
            Self::Cut => Some("in the prompt: no, the budget is too small for all".to_owned()),
        }
    }
}

fn page(text: &mut String, candidate: &Candidate, standing: &Standing) {
    let entry = &candidate.entry;
    let untrusted = candidate.obstacle == Some(Obstacle::Untrusted);
    let verdict = match Row::new(candidate, standing).state {
        "active" => "offered",
        "untrusted" => "seen, not trusted",
        "disabled" => "turned off",
        other => other,
    };
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}: {verdict}", clean(&entry.key));
    let _ = writeln!(text, "  found: {}", clean(&entry.origin.location));
    if !candidate.readers.is_empty() {
        let _ = writeln!(text, "  read by: {}", candidate.readers.join(", "));
    }
    for problem in candidate.problems.iter().flat_map(|problems| problems.iter()) {
        let _ =
            writeln!(text, "  {}[{}]: {}", problem.severity.name(), problem.code, clean(&problem.message));
    }
    if entry.repaired {
        text.push_str("  parsed: after a repair of its YAML; prowess check says what is wrong\n");
    }
    match standing {
        Standing::Listed if untrusted => {
            let _ = writeln!(text, "  hint: agents may use it after: prowess trust {}", clean(&entry.key));
        }
        Standing::Shadowed { by } => {
            let _ = writeln!(text, "  shadowed by: {}", clean(by));
            if untrusted {
                let _ = writeln!(text, "  hint: it is not trusted; prowess trust {}", clean(&entry.key));
            }
        }
        Standing::Hindered { obstacle: Obstacle::Disabled { by } } => {
            let _ = writeln!(text, "  turned off by: {}", clean(by));
        }
        Standing::Hindered { obstacle: Obstacle::Broken { problems } } => {
            for problem in problems {
                let _ = writeln!(
                    text,
                    "  {}[{}]: {}",
                    problem.severity.name(),
                    problem.code,
                    clean(&problem.message)
                );
            }
        }
        Standing::Listed | Standing::Hindered { obstacle: Obstacle::Untrusted } => {}
    }
}
