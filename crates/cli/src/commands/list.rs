//! `prowess list`: the skills an agent would be offered.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use prowess::catalog::WhyNot;
use prowess::library::config::SessionConfig;
use prowess::render::{CatalogStyle, Shape, collapse, cut, estimate_tokens, render_catalog};
use prowess::session::Filter;
use prowess::{Candidate, Entry, HostTools, Location, Obstacle, Registry, Scope, SourceError, Standing};
use serde::Serialize;

use super::hints::trust_commands;
use super::{advice, ended, filter_place, opened, say_problems};
use crate::Outcome;
use crate::args::List;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How much of a description is shown.
const SHOWN: usize = 100;

/// Runs the command.
pub(crate) fn run(args: &List, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, said) = opened(&args.places)?;
    // The command ends with the list: giving back skill by skill would cost as much as finding them did.
    let catalog = ManuallyDrop::new(registry.catalog());
    say_problems(&registry, ui);
    let outcome = ended(Outcome::Fine, &registry);
    let wanted = Wanted::of(args);
    let in_prompt = Sessions::new(said);
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
            row.cost = args.cost.then(|| Cost::of(candidate, &registry, &in_prompt));
            row
        })
        .collect();
    let filtered = listed.iter().filter(|skill| in_prompt.filters_out(skill)).count();
    let prompt_tokens = args.cost.then(|| in_prompt.tokens(&listed));
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
        let _ = writeln!(text, "no skill is left of {}", count(catalog.len(), "skill"));
    } else {
        let _ = write!(text, "\n{}", count(listed.len(), "skill"));
        if let Some(tokens) = prompt_tokens {
            let _ = write!(text, ", about {tokens} tokens in every prompt");
        }
        let (never, untrusted): (Vec<&Candidate>, Vec<&Candidate>) = listed
            .iter()
            .copied()
            .filter(|candidate| !candidate.is_usable())
            .partition(|candidate| advice::never(candidate, &registry).is_some());
        if !untrusted.is_empty() {
            let of_projects = untrusted.iter().copied().filter(|skill| !skill.wants_approval);
            // Trust in a folder has nothing to do with a server.
            let trust = match trust_commands(of_projects) {
                none if none.is_empty() => format!("prowess trust NAME{options}"),
                commands => commands,
            };
            let _ = write!(text, "; {} not trusted: {}", untrusted.len(), clean(&trust));
        }
        if !never.is_empty() {
            let _ = write!(text, "; {} that cannot be trusted: prowess why NAME{options}", never.len());
        }
        text.push('\n');
    }
    if filtered > 0 {
        let place = filter_place(&in_prompt.said);
        let _ = writeln!(text, "{filtered} hidden from agents by {}", clean(&place));
    }
    if !left_out.is_empty() && !args.all {
        let count = left_out.len();
        let _ = writeln!(text, "{count} left out: prowess list --all{options}, prowess why NAME{options}");
    }
    ui.print(&text)?;
    Ok(outcome)
}

/// Which skills the prompts of sessions have, as the configurations say it.
struct Sessions {
    said: SessionConfig,
    style: CatalogStyle,
}

impl Sessions {
    fn new(said: SessionConfig) -> Self {
        let mut style = CatalogStyle::new(Shape::Xml);
        style.location |= said.location.unwrap_or_default();
        Self { said, style }
    }

    /// Whether a skill that may be used is hidden by the filter.
    fn filters_out(&self, skill: &Candidate) -> bool {
        skill.is_usable()
            && self.said.filter.as_ref().is_some_and(|filter| !filter.passes(&skill.virtual_path))
    }

    /// Whether a skill is in prompts, if it is trusted.
    fn shows(&self, skill: &Candidate) -> bool {
        let tools = self.said.tools.as_ref();
        skill.entry.invocation.model
            && !self.filters_out(skill)
            && tools.is_none_or(|tools| tools.suffice(skill.entry.allowed_tools.as_ref()))
    }

    /// About how many tokens the skills that may be used have in a prompt, as `prompt` writes and counts them.
    fn tokens(&self, skills: &[&Candidate]) -> usize {
        let shown = skills.iter().filter(|skill| skill.is_usable() && self.shows(skill));
        let entries: Vec<&Entry> = shown.map(|skill| &skill.entry).collect();
        estimate_tokens(&render_catalog(&entries, &self.style))
    }

    /// How many more tokens a prompt has with a skill than without it.
    fn tokens_more(&self, skill: &Candidate) -> u64 {
        if !self.shows(skill) {
            return 0;
        }
        let tokens = |skills: &[&Entry]| estimate_tokens(&render_catalog(skills, &self.style));
        (tokens(&[&skill.entry, &skill.entry]) - tokens(&[&skill.entry])) as u64
    }
}

/// Which of the skills are wanted.
struct Wanted<'w> {
    folder: &'w str,
    filter: &'w Filter,
    tools: HostTools,
}

impl<'w> Wanted<'w> {
    fn of(args: &'w List) -> Self {
        Self {
            folder: &args.folder,
            filter: &args.filter,
            tools: args.tools.as_deref().map(HostTools::parse).unwrap_or_default(),
        }
    }

    fn has(&self, candidate: &Candidate) -> bool {
        candidate.is_in(self.folder)
            && self.filter.passes(&candidate.virtual_path)
            && self.tools.suffice(candidate.entry.allowed_tools.as_ref())
    }
}

fn line(text: &mut String, row: &Row<'_>) {
    let mut mark = row.why_not.as_ref().map_or_else(String::new, |why| match row.state {
        // What it says of itself may be what is wrong with it.
        "broken" => format!("broken: {}", clean(&why.reason)),
        _ => format!("{} {}: ", why.state, clean(&why.reason)),
    });
    if row.never_trusted.is_some() {
        mark.push_str("cannot be trusted: ");
    } else if row.changed_since_trusted {
        mark.push_str("changed since it was trusted: ");
    } else if !row.trusted {
        mark.push_str("not trusted: ");
    }
    let said = if row.state == "broken" { "" } else { row.description };
    let description = cut(&collapse(said), Some(SHOWN)).into_owned();
    if let Some(Cost { catalog, instructions, resources }) = row.cost {
        let known = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
        let (instructions, resources) = (known(instructions), known(resources));
        let _ = write!(text, "{catalog:>6} {instructions:>6} {resources:>7}  ");
    }
    let _ =
        writeln!(text, "{STRONG}{}{STRONG:#}  {FAINT}{mark}{FAINT:#}{}", clean(row.key), clean(&description));
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
    /// How many of the skills the filter of a configuration hides from sessions.
    filtered: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens: Option<usize>,
}

/// A file or folder that could not be read.
#[derive(Serialize)]
pub(super) struct Unread {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    hint: String,
}

impl Unread {
    /// What could not be read at the last look.
    pub(super) fn all(registry: &Registry) -> Vec<Self> {
        let problems = registry.problems();
        let unread = |problem: &Arc<SourceError>| Self {
            error: problem.to_string(),
            cause: std::error::Error::source(&**problem).map(ToString::to_string),
            hint: Failure::from(&**problem).hints.join("; "),
        };
        problems.iter().map(unread).collect()
    }
}

/// A skill and what became of it.
#[derive(Serialize)]
pub(super) struct Row<'r> {
    name: &'r str,
    key: &'r str,
    description: &'r str,
    path: &'r Location,
    source: &'r str,
    virtual_path: &'r str,
    scope: Scope,
    pub(super) state: &'static str,
    trusted: bool,
    /// Whether it was, and changed since then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) changed_since_trusted: bool,
    /// Why it can never be.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_trusted: Option<String>,
    preload: bool,
    repaired: bool,
    readers: &'r [&'static str],
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    also_at: &'r [Location],
    problems: Vec<Brief<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<&'r Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_by: Option<&'r str>,
    #[serde(skip)]
    why_not: Option<WhyNot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

/// A problem in short.
#[derive(Serialize)]
struct Brief<'r> {
    code: &'static str,
    severity: &'static str,
    message: &'r str,
}

/// About how many tokens a skill costs at each level: in a prompt as that is counted, of files four bytes a token.
#[derive(Clone, Copy, Serialize)]
struct Cost {
    catalog: u64,
    /// Nothing where the sizes of files are not known without fetching them.
    instructions: Option<u64>,
    resources: Option<u64>,
}

impl Cost {
    fn of(candidate: &Candidate, registry: &Registry, in_prompt: &Sessions) -> Self {
        let entry = &candidate.entry;
        let tokens = |bytes: u64| bytes.div_ceil(4);
        let files = registry.files_of(candidate).unwrap_or_default();
        let own = entry.origin.file.as_deref().unwrap_or("SKILL.md");
        let names = [own, "SKILL.md"];
        let catalog = in_prompt.tokens_more(candidate);
        if files.files.iter().any(|file| file.unmeasured) {
            return Self { catalog, instructions: None, resources: None };
        }
        let own =
            files.files.iter().find(|file| names.contains(&file.path.as_str())).map_or(0, |file| file.size);
        Self {
            catalog,
            instructions: Some(tokens(own.saturating_sub(entry.body_offset as u64))),
            resources: Some(tokens(files.total_size().saturating_sub(own))),
        }
    }
}

impl<'r> Row<'r> {
    pub(super) fn new(candidate: &'r Candidate, standing: &'r Standing, registry: &Registry) -> Self {
        let entry = &candidate.entry;
        let untrusted = candidate.obstacle == Some(Obstacle::Untrusted);
        let brief = |problem: &'r prowess::Problem| Brief {
            code: problem.code,
            severity: problem.severity.name(),
            message: &problem.message,
        };
        let mut problems: Vec<Brief<'r>> =
            candidate.problems.iter().flat_map(|problems| problems.iter()).map(brief).collect();
        let (mut shadowed_by, mut disabled_by) = (None, None);
        let state = match standing {
            Standing::Listed if untrusted => "untrusted",
            Standing::Listed => "active",
            Standing::Shadowed { by } => {
                shadowed_by = Some(by);
                "shadowed"
            }
            Standing::Blocked { obstacle: Obstacle::Broken { problems: why, .. } } => {
                problems = why.iter().map(brief).collect();
                "broken"
            }
            Standing::Blocked { obstacle: Obstacle::Disabled { by } } => {
                disabled_by = Some(by.as_str());
                "disabled"
            }
            Standing::Blocked { obstacle: Obstacle::Untrusted } => "untrusted",
        };
        Self {
            name: &entry.name,
            key: &entry.key,
            description: &entry.description,
            path: &entry.origin.location,
            source: &candidate.source,
            virtual_path: &candidate.virtual_path,
            scope: entry.origin.scope,
            state,
            trusted: !untrusted,
            changed_since_trusted: registry.changed_since_approval(candidate),
            never_trusted: advice::never(candidate, registry),
            preload: candidate.preload,
            repaired: entry.repaired,
            readers: &candidate.readers,
            also_at: &candidate.also_at,
            problems,
            shadowed_by,
            disabled_by,
            why_not: standing.why_not(),
            cost: None,
        }
    }
}
