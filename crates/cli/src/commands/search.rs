//! `prowess search`: the skills that fit a task, the best first, and why.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;

use anstyle::Style;
use prowess::library::views::Reach;
use prowess::select::{Field, Hit, HitReason, Query, SelectError, SelectOptions, Selector, TypedWords};
use prowess::text::collapse;
use prowess::{Candidate, Entry, HostTools, Obstacle, Registry, Standing};
use serde::Serialize;

use super::row::{IN_CLIENT_BROKEN, IN_CLIENT_OFF, Row};
use super::unread::{Unread, answered, ended, say_beside};
use super::{by_place, search_index, seen, unmatched};
use crate::Outcome;
use crate::args::{Places, Search, Selection};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, STRONG, Table, Ui, clean, count};

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
    unmatched::say(&args.places, &registry, ui);
    let among: Vec<&Candidate> = catalog.iter().collect();
    let how = (&args.selection, &args.places);
    let hits = by_place::ranked(&registry, &among, &query, how).map_err(|error| failed(&error))?;
    let nothing = hits.is_empty();
    let outcome = if nothing { ended(Outcome::Fine, &registry) } else { answered(&registry, &args.places) };
    let found: Vec<(&Candidate, &Hit)> = hits.iter().map(|(skill, hit)| (*skill, hit)).collect();
    if json {
        let hits = (1..).zip(&found).map(|(rank, (candidate, hit))| {
            let TypedWords { found, missing, .. } = TypedWords::of(&query.text, &hit.why);
            Found {
                skill: Row::new(candidate, &Standing::Listed, &registry),
                rank,
                score: hit.score,
                words: Words { found, missing },
                why: (args.why > 0).then_some(hit.why.as_slice()),
            }
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
    let hits: Vec<ShownHit<'_>> = (1..)
        .zip(&found)
        .map(|(rank, (skill, hit))| {
            ShownHit::new(rank, skill, hit, &query.text, args.why).in_client(&registry)
        })
        .collect();
    let mut text = match ui.columns() {
        Some(columns) => screen(&hits, columns),
        None => hits.iter().map(ShownHit::lines).collect(),
    };
    if among.is_empty() {
        let _ = writeln!(text, "{}", unmatched::nothing(&args.places, &registry));
    } else if found.is_empty() {
        let options = args.places.options();
        let all = count(among.len(), "skill");
        let _ = writeln!(text, "no skill fits, of {all}; all of them: prowess list{}", clean(&options));
    } else {
        let more = args.selection.limit.0 == Some(found.len()) && found.len() < among.len();
        let more = if more { "; more may fit: --limit all" } else { "" };
        let _ = writeln!(text, "\n{} of {}{more}", found.len(), count(among.len(), "skill"));
    }
    ui.print(&text)?;
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

/// A skill that fits, in words.
struct ShownHit<'h> {
    rank: usize,
    skill: &'h Candidate,
    score: f32,
    /// The words of the query that it was found by, as they were typed.
    words: String,
    description: String,
    /// The name in its file, if a client shows it under another.
    other_name: String,
    /// What `--why` says about it.
    more: Vec<String>,
}

impl<'h> ShownHit<'h> {
    fn new(rank: usize, skill: &'h Candidate, hit: &Hit, query: &str, why: u8) -> Self {
        let entry = &skill.entry;
        let more = match why {
            0 => Vec::new(),
            1 => vec![in_short(query, hit, entry)],
            _ => hit
                .why
                .iter()
                .map(|reason| format!("{:>7.3}  {}", reason.score, because(reason, entry)))
                .collect(),
        };
        let words = TypedWords::of(query, &hit.why).found.join(", ");
        let description = collapse(&entry.description).into_owned();
        Self { rank, skill, score: hit.score, words, description, other_name: String::new(), more }
    }

    /// The same in the view of a client, which may show it under another name.
    fn in_client(mut self, registry: &Registry) -> Self {
        let entry = &self.skill.entry;
        if registry.client().is_some() && entry.key != entry.name {
            self.other_name = format!(" ({})", entry.name);
        }
        self
    }

    fn mark(&self) -> &'static str {
        match self.skill.obstacle {
            None => "",
            // A client lists these too.
            Some(Obstacle::Broken { .. }) => IN_CLIENT_BROKEN,
            Some(Obstacle::Disabled { .. }) => IN_CLIENT_OFF,
            Some(Obstacle::Untrusted) => "not trusted: ",
        }
    }

    /// For files and programs: a line, and what `--why` adds below it.
    fn lines(&self) -> String {
        let (key, score) = (clean(&self.skill.entry.key), self.score);
        let other = clean(&self.other_name);
        let mut text = format!("{}  {STRONG}{key}{STRONG:#}{FAINT}{other}{FAINT:#}  {score:.3}  ", self.rank);
        if !self.words.is_empty() {
            let _ = write!(text, "{}  ", clean(&self.words));
        }
        let _ = writeln!(text, "{FAINT}{}{FAINT:#}{}", self.mark(), clean(&self.description));
        for line in &self.more {
            let _ = writeln!(text, "  {}", clean(line));
        }
        text
    }
}

/// The hits as a table for a terminal.
fn screen(hits: &[ShownHit<'_>], columns: usize) -> String {
    if hits.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        Column::number("#"),
        Column::text("skill"),
        Column::number("score"),
        Column::text("words"),
        Column::text("description"),
    ]);
    for hit in hits {
        table.row(vec![
            Cell::new(&hit.rank.to_string()),
            Cell::strong(&hit.skill.entry.key).and(FAINT, &hit.other_name),
            Cell::new(&format!("{:.3}", hit.score)),
            Cell::new(&hit.words),
            Cell::faint(hit.mark()).and(Style::new(), &hit.description),
        ]);
        for line in &hit.more {
            table.more(FAINT, line);
        }
    }
    table.screen(columns)
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
