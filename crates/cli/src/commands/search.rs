//! `prowess search`: the skills that fit a task, the best first, and why.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;

use anstyle::Style;
use prowess::library::views::Reach;
use prowess::select::{Field, Hit, HitReason, Query, TypedWords};
use prowess::text::collapse;
use prowess::{Candidate, Entry, Obstacle, Registry, Standing};
use serde::Serialize;

use super::seen;
use crate::Outcome;
use crate::args::Search;
use crate::error::{CommandError, Failure};
use crate::explain::left_out;
use crate::explain::report::{Facets, IN_CLIENT_BROKEN, IN_CLIENT_OFF, SkillReport};
use crate::explain::unread::{Unread, answered, ended, say_beside};
use crate::rank::rank;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, Table, Ui, clean, count};

/// The parts of a skill in which words are found.
const FIELDS: [Field; 5] = [Field::Name, Field::Description, Field::Body, Field::Tags, Field::Skill];

/// Runs the command.
pub(crate) fn run(args: &Search, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let query = Query::text(args.query.join(" "));
    if query.is_empty() {
        return Err(Failure::new("the query is empty", "say what the task is, in your own words").into());
    }
    ui.working("searching");
    let (registry, _) = seen(&args.places, Reach::Clients)?;
    say_beside(&registry, &args.places, ui);
    // The process ends after the search, and freeing every skill and term would take as long as finding them.
    let catalog = ManuallyDrop::new(registry.catalog());
    left_out::say_unmatched(&args.places, &registry, ui);
    let among: Vec<&Candidate> = catalog.iter().collect();
    let hits = rank(&registry, &among, &query, (&args.selection, &args.places))?;
    let nothing = hits.is_empty();
    let outcome = if nothing { ended(Outcome::Fine, &registry) } else { answered(&registry, &args.places) };
    if json {
        let found = (1..).zip(&hits).map(|(rank, (candidate, hit))| {
            let TypedWords { found, missing, .. } = TypedWords::of(&query.text, &hit.why);
            Found {
                skill: SkillReport::new(candidate, &Standing::Listed, &registry, &Facets::default()),
                rank,
                score: hit.score,
                words: Words { found, missing },
                why: (args.why > 0).then_some(hit.why.as_slice()),
            }
        });
        ui.json_of(&SearchReport {
            version: VERSION,
            query: &query.text,
            selector: args.selection.selector.name(),
            hits: found.collect(),
            unread: Unread::all(&registry),
            summary: SearchSummary { skills: among.len(), hits: hits.len() },
        })?;
        return Ok(outcome);
    }
    let mut text = String::new();
    if among.is_empty() {
        let _ = writeln!(text, "{}", left_out::nothing(&args.places, &registry));
    } else if hits.is_empty() {
        let options = args.places.options();
        let all = count(among.len(), "skill");
        let _ = writeln!(text, "no skill fits, of {all}; all of them: prowess list{}", clean(&options));
    } else {
        text = table(&hits, &query.text, args.why, &registry).page(ui.columns());
        let more = args.selection.limit.0 == Some(hits.len()) && hits.len() < among.len();
        let more = if more { "; more may fit: --limit all" } else { "" };
        let _ = writeln!(text, "\n{} of {}{more}", hits.len(), count(among.len(), "skill"));
    }
    ui.print(&text)?;
    Ok(outcome)
}

/// The hits as a table, with what `--why` says about each below it.
fn table(hits: &[(&Candidate, Hit)], query: &str, why: u8, registry: &Registry) -> Table {
    let mut table = Table::new(vec![
        Column::number("#"),
        Column::text("skill"),
        Column::number("score"),
        Column::text("words"),
        Column::text("description"),
    ]);
    for (rank, (skill, hit)) in (1..).zip(hits) {
        let entry = &skill.entry;
        // A client may show it under another name.
        let other = registry.client().filter(|_| entry.key != entry.name);
        let other = other.map(|_| format!(" ({})", entry.name)).unwrap_or_default();
        table.row(vec![
            Cell::new(&rank.to_string()),
            Cell::strong(&entry.key).and(FAINT, &other),
            Cell::new(&format!("{:.3}", hit.score)),
            Cell::new(&TypedWords::of(query, &hit.why).found.join(", ")),
            Cell::faint(mark(skill)).and(Style::new(), &collapse(&entry.description)),
        ]);
        match why {
            0 => {}
            1 => table.more(FAINT, &in_short(query, hit, entry)),
            _ => {
                for reason in &hit.why {
                    table.more(FAINT, &format!("{:>7.3}  {}", reason.score, because(reason, entry)));
                }
            }
        }
    }
    table
}

/// What is special about a skill that fits, before its description.
fn mark(skill: &Candidate) -> &'static str {
    match skill.obstacle {
        None => "",
        // A client lists these too.
        Some(Obstacle::Broken { .. }) => IN_CLIENT_BROKEN,
        Some(Obstacle::Disabled { .. }) => IN_CLIENT_OFF,
        Some(Obstacle::Untrusted) => "not trusted: ",
    }
}

/// Where the words of a query were found, and which were not, as they were typed.
fn in_short(query: &str, hit: &Hit, entry: &Entry) -> String {
    let mut parts: Vec<String> = Vec::new();
    for field in FIELDS {
        let why: Vec<HitReason> = hit.why.iter().filter(|reason| reason.field == field).cloned().collect();
        let found = TypedWords::of(query, &why).found;
        if !found.is_empty() {
            parts.push(format!("{}: {}", place(field, entry), found.join(", ")));
        }
    }
    let missing = TypedWords::of(query, &hit.why).missing;
    if !missing.is_empty() {
        parts.push(format!("nowhere: {}", missing.join(", ")));
    }
    parts.join("; ")
}

/// The words for a part of a skill.
fn place(field: Field, entry: &Entry) -> &'static str {
    match field {
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
    }
}

/// One part of a score, in words.
fn because(reason: &HitReason, entry: &Entry) -> String {
    let place = place(reason.field, entry);
    let instead = reason.instead_of.as_ref().map(|word| format!(", for {word}")).unwrap_or_default();
    format!("{} {place}{instead}", reason.term)
}

#[derive(Serialize)]
struct SearchReport<'r> {
    version: u32,
    query: &'r str,
    selector: &'static str,
    hits: Vec<Found<'r>>,
    unread: Vec<Unread>,
    summary: SearchSummary,
}

#[derive(Serialize)]
struct SearchSummary {
    skills: usize,
    hits: usize,
}

/// A skill that fits.
#[derive(Serialize)]
struct Found<'r> {
    #[serde(flatten)]
    skill: SkillReport<'r>,
    /// Its place, from 1.
    rank: usize,
    score: f32,
    words: Words<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'r [HitReason]>,
}

/// The words of a query as they were typed: those that a skill was found by, and those that it lacks.
#[derive(Serialize)]
struct Words<'r> {
    found: Vec<&'r str>,
    missing: Vec<&'r str>,
}
