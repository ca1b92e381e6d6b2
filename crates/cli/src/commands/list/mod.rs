//! `prowess list`: the skills an agent would be offered.

mod clients;
mod page;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;

use prowess::internal::{STATES, state_of};
use prowess::library::views::Reach;
use prowess::session::{Act, Actor, Filter, Hidden, Session};
use prowess::{Candidate, HostTools, Standing};
use serde::Serialize;

use self::page::ListPage;
use super::seen;
use crate::Outcome;
use crate::args::{List, Sort};
use crate::error::CommandError;
use crate::explain::report::{Facets, SkillReport, Traced};
use crate::explain::unread::{Unread, ended, say_problems};
use crate::explain::{clients_named, left_out, provenance};
use crate::prompt::{Cost, Prompts};
use crate::report::json::VERSION;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &List, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if args.installed {
        return super::install::installed::run(args.user, json, ui);
    }
    if clients_named::are_several(&args.places) {
        return clients::run(args, json, ui);
    }
    let reach = if args.all { Reach::Everywhere } else { Reach::Clients };
    let (registry, session_config) = seen(&args.places, reach)?;
    // The process ends after the list, and freeing every skill would take as long as finding it.
    let catalog = ManuallyDrop::new(registry.catalog());
    say_problems(&registry, ui);
    left_out::say_unmatched(&args.places, &registry, ui);
    let origins = provenance::origins(ui);
    let outcome = ended(Outcome::Fine, &registry);
    let wanted = Wanted::of(args);
    let with_cost = args.cost || args.sort == Some(Sort::Cost);
    let prompts = with_cost.then(|| Prompts::new(&registry, &session_config));
    let listed: Vec<&Candidate> = catalog.iter().filter(|candidate| wanted.has(candidate)).collect();
    let mut left_out: Vec<(&Candidate, &Standing)> = catalog
        .all()
        .filter(|(candidate, standing)| **standing != Standing::Listed && wanted.has(candidate))
        // A copy that Prowess made for a client is no second skill.
        .filter(|(candidate, standing)| match standing {
            Standing::Shadowed { by } => args.all || !provenance::is_own_copy(candidate, by, &origins),
            _ => true,
        })
        .collect();
    left_out.sort_by(|a, b| a.0.entry.key.cmp(&b.0.entry.key));
    let others = left_out.iter().filter(|_| args.all).copied();
    let shown = listed.iter().map(|candidate| (*candidate, &Standing::Listed)).chain(others);
    let facets = Facets {
        cost: prompts.as_ref(),
        copy: Some(&**catalog),
        provenance: Traced::Recorded(&origins),
        ..Facets::default()
    };
    let mut rows: Vec<SkillReport<'_>> =
        shown.map(|(skill, standing)| SkillReport::new(skill, standing, &registry, &facets)).collect();
    let columns = ui.columns().filter(|_| !json);
    let by_folder = columns.is_some().then_some(Sort::Folder);
    sort(&mut rows, args.sort.or(by_folder));
    // Without a filter there is nothing to ask about thousands of skills.
    let filtered = session_config.filter.as_ref().map_or(0, |_| {
        let session =
            Session::new("list", registry.catalog(), session_config.policy(), session_config.options());
        let why = |skill: &&Candidate| session.why_hidden(&skill.entry.key, Act::See, Actor::Model);
        listed.iter().copied().filter(|skill| why(skill) == Some(Hidden::Filtered)).count()
    });
    let prompt_tokens = prompts.as_ref().map(|prompts| prompts.tokens(&listed));
    let mut left_out_states: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (candidate, standing) in &left_out {
        *left_out_states.entry(state_of(candidate, standing)).or_default() += 1;
    }
    if json {
        let mut states = left_out_states;
        for candidate in &listed {
            *states.entry(state_of(candidate, &Standing::Listed)).or_default() += 1;
        }
        ui.json_of(&ListReport {
            version: VERSION,
            skills: rows,
            unread: Unread::all(&registry),
            summary: ListSummary {
                counts: Counts {
                    skills: listed.len(),
                    left_out: left_out.len(),
                    left_out_at_least: registry.passed_over(),
                    filtered,
                },
                prompt_tokens: prompt_tokens.as_ref().map(|tokens| tokens.all),
                uncut_tokens: prompt_tokens.and_then(|tokens| Some(tokens.cut?.uncut)),
                states,
            },
        })?;
        return Ok(outcome);
    }
    let (rows, registry, left_out) = (&rows, &registry, left_out_states);
    let (session_config, origins) = (&session_config, &origins);
    let page =
        ListPage { args, rows, registry, listed, left_out, filtered, prompt_tokens, session_config, origins };
    ui.print(&(page.rows(columns) + &page.foot(columns).on(columns)))?;
    Ok(outcome)
}

/// Sorts rows that are in the order of a catalog: the offered ones by key, then the others by key.
fn sort(rows: &mut [SkillReport<'_>], by: Option<Sort>) {
    match by {
        None => {}
        Some(Sort::Name) => rows.sort_by(|one, other| one.key.cmp(other.key)),
        Some(Sort::Folder) => {
            rows.sort_by(|one, other| (one.layer, one.source).cmp(&(other.layer, other.source)));
        }
        Some(Sort::Cost) => rows.sort_by_key(|row| {
            let first = |cost: &Cost| cost.uncut.unwrap_or(cost.catalog);
            Reverse(row.cost.map(|cost| (first(&cost), cost.catalog, cost.instructions, cost.resources)))
        }),
        Some(Sort::State) => {
            rows.sort_by_key(|row| STATES.iter().position(|state| *state == row.state));
        }
    }
}

/// Which skills the options select.
pub(super) struct Wanted<'w> {
    folder: &'w str,
    filter: Option<&'w Filter>,
    tools: HostTools,
}

impl<'w> Wanted<'w> {
    pub(super) fn of(args: &'w List) -> Self {
        Self {
            folder: &args.subset.folder,
            filter: args.subset.filter.as_ref(),
            tools: args.tools.as_deref().map(HostTools::parse).unwrap_or_default(),
        }
    }

    pub(super) fn has(&self, candidate: &Candidate) -> bool {
        candidate.is_in(self.folder)
            && self.filter.is_none_or(|filter| filter.passes(&candidate.virtual_path))
            && self.tools.suffice(candidate.entry.allowed_tools.as_ref())
    }
}

#[derive(Serialize)]
struct ListReport<'r> {
    version: u32,
    skills: Vec<SkillReport<'r>>,
    unread: Vec<Unread>,
    summary: ListSummary,
}

/// How many skills are listed and not listed.
#[derive(Serialize)]
pub(super) struct Counts {
    pub(super) skills: usize,
    pub(super) left_out: usize,
    /// Whether there may be more that are not listed, which only `--all` finds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) left_out_at_least: bool,
    /// The number of skills that the filter of a configuration hides from sessions.
    pub(super) filtered: usize,
}

#[derive(Serialize)]
struct ListSummary {
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<usize>,
    /// The same before the budget of the prompt, if that cuts something.
    #[serde(skip_serializing_if = "Option::is_none")]
    uncut_tokens: Option<usize>,
    /// How many skills are in each state, left out or not.
    states: BTreeMap<&'static str, usize>,
}
