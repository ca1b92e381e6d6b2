//! `prowess list`: the skills an agent would be offered.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;

use prowess::library::views::Reach;
use prowess::session::{Act, Actor, Filter, Hidden, Session};
use prowess::text::{collapse, cut};
use prowess::{Candidate, HostTools, Obstacle, Standing};
use serde::Serialize;

use super::cost::{Cost, Prompts};
use super::hints::trust_hint;
use super::provenance::{self, Provenance};
use super::row::Row;
use super::unread::{Unread, ended, say_problems};
use super::{advice, clients_named, filter_place, seen, side_by_side};
use crate::Outcome;
use crate::args::List;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How much of a description is shown.
const SHOWN: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &List, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if args.installed {
        return super::install::installed::run(json, ui);
    }
    if clients_named::are_several(&args.places) {
        return side_by_side::run(args, json, ui);
    }
    let reach = if args.all { Reach::Everywhere } else { Reach::Clients };
    let (registry, said) = seen(&args.places, reach)?;
    // The process ends after the list, and freeing every skill would take as long as finding it.
    let catalog = ManuallyDrop::new(registry.catalog());
    say_problems(&registry, ui);
    let origins = provenance::origins(ui);
    let outcome = ended(Outcome::Fine, &registry);
    let wanted = Wanted::of(args);
    let prompts = args.cost.then(|| Prompts::new(registry.catalog(), &said));
    let listed: Vec<&Candidate> = catalog.iter().filter(|candidate| wanted.has(candidate)).collect();
    let mut left_out: Vec<(&Candidate, &Standing)> = catalog
        .all()
        .filter(|(candidate, standing)| **standing != Standing::Listed && wanted.has(candidate))
        .collect();
    left_out.sort_by(|a, b| a.0.entry.key.cmp(&b.0.entry.key));
    let others = left_out.iter().filter(|_| args.all).copied();
    let shown = listed.iter().map(|candidate| (*candidate, &Standing::Listed)).chain(others);
    let rows: Vec<Row<'_>> = shown
        .map(|(candidate, standing)| {
            let mut row = Row::new(candidate, standing, &registry);
            row.installed = Provenance::of(candidate, &origins);
            row.cost = prompts.as_ref().map(|prompts| Cost::of(candidate, standing, &registry, prompts));
            row
        })
        .collect();
    // Without a filter there is nothing to ask about thousands of skills.
    let filtered = said.filter.as_ref().map_or(0, |_| {
        let session = Session::new("list", registry.catalog(), said.policy(), said.options());
        let why = |skill: &&Candidate| session.why_hidden(&skill.entry.key, Act::See, Actor::Model);
        listed.iter().copied().filter(|skill| why(skill) == Some(Hidden::Filtered)).count()
    });
    let prompt_tokens = prompts.as_ref().map(|prompts| prompts.tokens(&listed));
    if json {
        ui.json_of(&Report {
            version: VERSION,
            skills: rows,
            unread: Unread::all(&registry),
            summary: Summary { skills: listed.len(), left_out: left_out.len(), filtered, prompt_tokens },
        })?;
        return Ok(outcome);
    }
    let options = args.places.options();
    let options = clean(&options);
    let mut text = String::new();
    if args.cost && !rows.is_empty() {
        let _ = writeln!(text, "{FAINT}prompt   used   files  tokens, about{FAINT:#}");
    }
    for row in &rows {
        line(&mut text, row);
    }
    if catalog.is_empty() {
        text.push_str("no skills here\n");
    } else if listed.is_empty() {
        let _ = writeln!(text, "no skill matches, of {}", count(catalog.len(), "skill"));
    } else {
        let _ = write!(text, "\n{}", count(listed.len(), "skill"));
        if let Some(tokens) = prompt_tokens {
            let _ = write!(text, ", about {tokens} tokens in every prompt");
        }
        let (never, untrusted): (Vec<&Candidate>, Vec<&Candidate>) = listed
            .iter()
            .copied()
            .filter(|candidate| candidate.obstacle == Some(Obstacle::Untrusted))
            .partition(|candidate| advice::never(candidate, &registry).is_some());
        if !untrusted.is_empty() {
            let trust = trust_hint(untrusted.iter().copied(), &args.places);
            let _ = match registry.client() {
                Some(_) => write!(text, "; prowess serve withholds {} not trusted: ", untrusted.len()),
                None => write!(text, "; {} not trusted: ", untrusted.len()),
            };
            text.push_str(&clean(&trust));
        }
        if !never.is_empty() {
            let _ = write!(text, "; {} that cannot be trusted: prowess why NAME{options}", never.len());
        }
        text.push('\n');
    }
    if filtered > 0 {
        let place = filter_place(&said);
        let _ = writeln!(text, "{filtered} hidden from agents by {}", clean(&place));
    }
    if !left_out.is_empty() && !args.all {
        let count = left_out.len();
        let _ = writeln!(text, "{count} left out: prowess list --all{options}, prowess why NAME{options}");
    }
    ui.print(&text)?;
    Ok(outcome)
}

/// Which skills the options select.
struct Wanted<'w> {
    folder: &'w str,
    filter: Option<&'w Filter>,
    tools: HostTools,
}

impl<'w> Wanted<'w> {
    fn of(args: &'w List) -> Self {
        Self {
            folder: &args.subset.folder,
            filter: args.subset.filter.as_ref(),
            tools: args.tools.as_deref().map(HostTools::parse).unwrap_or_default(),
        }
    }

    fn has(&self, candidate: &Candidate) -> bool {
        candidate.is_in(self.folder)
            && self.filter.is_none_or(|filter| filter.passes(&candidate.virtual_path))
            && self.tools.suffice(candidate.entry.allowed_tools.as_ref())
    }
}

fn line(text: &mut String, row: &Row<'_>) {
    let mut mark = row.why_not.as_ref().map_or_else(String::new, |why| match row.state {
        // Its own description may be what is wrong with it.
        "broken" => format!("broken: {}", clean(&why.reason)),
        _ => format!("{} {}: ", why.state, clean(&why.reason)),
    });
    match row.state {
        "broken" if row.shown_as.is_some() => mark.push_str("prowess cannot load it: "),
        "disabled" if row.shown_as.is_some() => mark.push_str("turned off in prowess: "),
        _ => {}
    }
    if row.not_for_model.is_some() {
        mark.push_str("not for the model: ");
    }
    if row.never_trusted.is_some() {
        mark.push_str("cannot be trusted: ");
    } else if row.changed_since_trusted {
        mark.push_str("changed since it was trusted: ");
    } else if !row.trusted {
        mark.push_str("not trusted: ");
    }
    let said = if row.state == "broken" && row.shown_as.is_none() { "" } else { row.description };
    let description = cut(&collapse(said), Some(SHOWN)).into_owned();
    if let Some(Cost { catalog, instructions, resources }) = row.cost {
        let known = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
        let (instructions, resources) = (known(instructions), known(resources));
        let _ = write!(text, "{catalog:>6} {instructions:>6} {resources:>7}  ");
    }
    let _ = write!(text, "{STRONG}{}{STRONG:#}  ", clean(row.key));
    if row.shown_as.is_some_and(|shown| shown != row.name) {
        let _ = write!(text, "{FAINT}({}){FAINT:#}  ", clean(row.name));
    }
    let _ = write!(text, "{FAINT}{mark}{FAINT:#}{}", clean(&description));
    if let Some(origin) = &row.installed {
        let _ = write!(text, "  {FAINT}(from {}){FAINT:#}", clean(&origin.short()));
    }
    text.push('\n');
}

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    skills: Vec<Row<'r>>,
    unread: Vec<Unread>,
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    skills: usize,
    left_out: usize,
    /// The number of skills that the filter of a configuration hides from sessions.
    filtered: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<usize>,
}
