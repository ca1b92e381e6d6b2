//! `prowess search`: the skills that fit a task, the best first, and why.

use std::fmt::Write as _;

use prowess::library::views::Reach;
use prowess::select::{Field, Hit, HitReason, Query, SelectError, SelectOptions, Selector, search};
use prowess::text::{collapse, cut};
use prowess::{Candidate, Entry, HostTools, Registry, Standing};
use serde::Serialize;

use super::row::Row;
use super::unread::{Unread, ended, say_problems};
use super::{search_index, seen};
use crate::Outcome;
use crate::args::{Places, Search, Selection};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How much of a description is shown.
const SHOWN: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &Search, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, _) = seen(&args.places, Reach::Clients)?;
    say_problems(&registry, ui);
    let outcome = ended(Outcome::Fine, &registry);
    let query = Query::text(args.query.join(" "));
    let catalog = registry.catalog();
    let among = catalog.list();
    let hits = if query.is_empty() {
        Vec::new()
    } else {
        let selector = selector(&args.selection, &args.places, &registry);
        search(&*selector, &query, &among, &options(&args.selection)).map_err(|error| failed(&error))?
    };
    let found: Vec<(&Candidate, &Hit)> =
        hits.iter().filter_map(|hit| Some((catalog.get(&hit.key)?, hit))).collect();
    if json {
        let hits = found.iter().map(|(candidate, hit)| Found {
            skill: Row::new(candidate, &Standing::Listed, &registry),
            score: hit.score,
            why: args.why.then_some(hit.why.as_slice()),
        });
        ui.json_of(&Report {
            version: VERSION,
            query: &query.text,
            selector: args.selection.selector.name(),
            hits: hits.collect(),
            unread: Unread::all(&registry),
            summary: Summary { skills: among.len(), hits: found.len() },
        })?;
        return Ok(outcome);
    }
    ui.print(&page(args, &among, &found))?;
    Ok(outcome)
}

/// What all selectors have in common, as the command line says it.
pub(super) fn options(selection: &Selection) -> SelectOptions {
    SelectOptions::default()
        .with_top_k(selection.limit.0)
        .with_min_score(selection.min_score)
        .with_available_tools(selection.tools.as_deref().map_or(HostTools::Unlimited, HostTools::parse))
}

/// The selector that the command line names. It reads no body before it is asked for something.
pub(super) fn selector<'r>(
    selection: &Selection,
    places: &Places,
    registry: &'r Registry,
) -> Box<dyn Selector + 'r> {
    selection.selector.without_index().unwrap_or_else(|| Box::new(search_index(places, registry)))
}

/// A selector that failed, in words.
pub(super) fn failed(error: &SelectError) -> Failure {
    Failure::new(error.to_string(), "correct the program, or take another selector: prowess help search")
}

fn page(args: &Search, among: &[&Entry], found: &[(&Candidate, &Hit)]) -> String {
    let mut text = String::new();
    for (candidate, hit) in found {
        let entry = &candidate.entry;
        let mark = if candidate.is_usable() { "" } else { "not trusted: " };
        let description = cut(&collapse(&entry.description), Some(SHOWN)).into_owned();
        let _ = writeln!(
            text,
            "{:>7.3}  {STRONG}{}{STRONG:#}  {FAINT}{mark}{FAINT:#}{}",
            hit.score,
            clean(&entry.key),
            clean(&description)
        );
        for reason in hit.why.iter().filter(|_| args.why) {
            let _ = writeln!(text, "  {:>7.3}  {}", reason.score, because(reason, entry));
        }
    }
    if found.is_empty() {
        let _ = writeln!(text, "no skill fits, of {}", count(among.len(), "skill"));
    } else {
        let _ = writeln!(text, "\n{} of {}", found.len(), count(among.len(), "skill"));
    }
    text
}

/// One part of a score, in words.
fn because(reason: &HitReason, entry: &Entry) -> String {
    let place = match reason.field {
        Field::Name => "in the name",
        // They are one field of the index.
        Field::Description => match (entry.tags.is_empty(), entry.client.when_to_use.is_none()) {
            (true, true) => "in the description",
            (false, true) => "in the description or tags",
            (true, false) => "in the description or when_to_use",
            (false, false) => "in the description, when_to_use or tags",
        },
        Field::Body => "in the instructions",
        Field::Tags => "in the tags",
        Field::Skill => "as a whole",
    };
    let instead = reason.instead_of.as_ref().map(|word| format!(", for {}", clean(word))).unwrap_or_default();
    format!("{} {place}{instead}", clean(&reason.term))
}

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    query: &'r str,
    selector: &'static str,
    hits: Vec<Found<'r>>,
    unread: Vec<Unread>,
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    skills: usize,
    hits: usize,
}

/// A skill that fits.
#[derive(Serialize)]
struct Found<'r> {
    #[serde(flatten)]
    skill: Row<'r>,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'r [HitReason]>,
}
