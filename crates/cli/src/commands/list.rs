//! `prowess list`: the skills an agent would be offered.

use std::fmt::Write as _;

use prowess::render::{collapse, cut};
use prowess::{Candidate, Obstacle, Standing};
use serde_json::{Value, json};

use super::registry;
use crate::Outcome;
use crate::args::List;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How much of a description is shown.
const SHOWN: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &List, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places, ui)?;
    let catalog = registry.catalog();
    let outcome = if registry.problems().is_empty() { Outcome::Fine } else { Outcome::Incomplete };
    let mut left_out: Vec<(&Candidate, &Standing)> =
        catalog.all().filter(|(_, standing)| **standing != Standing::Listed).collect();
    left_out.sort_by(|a, b| a.0.entry.key.cmp(&b.0.entry.key));
    if json {
        let skills: Vec<Value> = catalog.iter().map(|candidate| row(candidate, &Standing::Listed)).collect();
        let others: Vec<Value> = left_out
            .iter()
            .filter(|_| args.all)
            .map(|(candidate, standing)| row(candidate, standing))
            .collect();
        let problems: Vec<Value> =
            registry.problems().iter().map(|p| json!({"error": p.to_string(), "hint": p.hint()})).collect();
        ui.json(&json!({
            "version": VERSION,
            "skills": skills,
            "left_out": others,
            "problems": problems,
            "summary": {"skills": catalog.len(), "left_out": left_out.len(), "cost": catalog.iter().map(cost).sum::<usize>()},
        }))?;
        return Ok(outcome);
    }
    let mut text = String::new();
    for candidate in catalog.iter() {
        line(&mut text, candidate, "", args.cost);
    }
    for (candidate, standing) in left_out.iter().filter(|_| args.all) {
        line(&mut text, candidate, &format!("{}: ", why(standing)), args.cost);
    }
    if catalog.is_empty() {
        text.push_str("no skills here\n");
    } else {
        let _ = write!(text, "\n{}", count(catalog.len(), "skill"));
        if args.cost {
            let _ =
                write!(text, ", about {} tokens in every prompt", catalog.iter().map(cost).sum::<usize>());
        }
        let untrusted = catalog.iter().filter(|candidate| !candidate.is_usable()).count();
        if untrusted > 0 {
            let _ = write!(text, "; {untrusted} not trusted: prowess trust");
        }
        text.push('\n');
    }
    if !left_out.is_empty() && !args.all {
        let _ = writeln!(text, "{} left out: prowess list --all, prowess why NAME", left_out.len());
    }
    ui.print(&text)?;
    Ok(outcome)
}

fn line(text: &mut String, candidate: &Candidate, mark: &str, with_cost: bool) {
    let entry = &candidate.entry;
    let trust = if candidate.obstacle == Some(Obstacle::Untrusted) { "not trusted: " } else { "" };
    let description = cut(&collapse(&entry.description), Some(SHOWN)).into_owned();
    let tokens = if with_cost { format!("{:>5}  ", cost(candidate)) } else { String::new() };
    let _ = writeln!(
        text,
        "{tokens}{STRONG}{}{STRONG:#}  {FAINT}{mark}{trust}{FAINT:#}{}",
        clean(&entry.key),
        clean(&description)
    );
}

/// About how many tokens a skill costs in every prompt: its name and description, four bytes a token.
fn cost(candidate: &Candidate) -> usize {
    (candidate.entry.key.len() + candidate.entry.description.len()).div_ceil(4)
}

/// What became of a candidate, in a word or two.
pub(super) fn why(standing: &Standing) -> &'static str {
    match standing {
        Standing::Listed => "offered",
        Standing::Shadowed { .. } => "shadowed",
        Standing::Hindered { obstacle: Obstacle::Broken { .. } } => "broken",
        Standing::Hindered { obstacle: Obstacle::Disabled { .. } } => "turned off",
        Standing::Hindered { obstacle: Obstacle::Untrusted } => "not trusted",
    }
}

/// A candidate as JSON.
pub(super) fn row(candidate: &Candidate, standing: &Standing) -> Value {
    let entry = &candidate.entry;
    json!({
        "key": entry.key,
        "name": entry.name,
        "description": entry.description,
        "location": entry.origin.location,
        "scope": entry.origin.scope,
        "standing": why(standing),
        "trusted": candidate.obstacle != Some(Obstacle::Untrusted),
        "preload": candidate.preload,
        "repaired": entry.repaired,
        "readers": candidate.readers,
    })
}
