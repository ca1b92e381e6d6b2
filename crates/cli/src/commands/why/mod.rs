//! `prowess why`: why the skills with a name are offered or not.

mod page;

use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use prowess::env;
use prowess::install::Origins;
use prowess::library::views::Reach;
use prowess::session::{Hidden, Placement};
use prowess::{Candidate, Location, Problem, Registry, Standing, internal};
use serde::Serialize;
use serde_json::{Value, json};

use super::client_prompt::{ClientPrompt, is_not_read};
use super::copies::Copy;
use super::elsewhere::Elsewhere;
use super::in_prompt::{self, InPrompt};
use super::install::scope_option;
use super::near_miss::{NearMiss, built_in, near_built_in};
use super::needed::Needed;
use super::provenance::{self, Provenance};
use super::ranked::{Ranked, notes_on_description};
use super::row::{Row, not_for_model};
use super::settings::LeftOutBy;
use super::short_path::ShortPaths;
use super::skill_arg::{Prefer, SkillArg};
use super::unread::{Unread, answered, ended, say_beside};
use super::{clients_named, search, search_index, seen, session_defaults};
use crate::Outcome;
use crate::args::{Places, Why};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{STRONG, Text, Ui, clean};

/// A skill, and what keeps it from being published.
#[derive(Serialize)]
struct Explained<'c> {
    #[serde(flatten)]
    row: Row<'c>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_published: Option<String>,
    /// Its place in the ranking for the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked: Option<&'c Ranked<'c>>,
    /// Its place by what the prompts of agents have, if `ranked` counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked_in_prompts: Option<&'c Ranked<'c>>,
    /// With a query: what `check` says about its description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    description_notes: Vec<Note>,
}

/// A problem of a description.
#[derive(Serialize)]
struct Note {
    code: &'static str,
    severity: &'static str,
    message: String,
}

impl Note {
    fn of(problem: &Problem) -> Self {
        let (code, severity) = (problem.code, problem.severity.name());
        Self { code, severity, message: problem.message.clone() }
    }
}

/// The places of a skill in the rankings for a query.
struct Ranks<'q> {
    prompt: Ranked<'q>,
    /// By the search of Prowess; none for a client.
    search: Option<Ranked<'q>>,
}

impl<'q> Ranks<'q> {
    fn first(&self) -> &Ranked<'q> {
        self.search.as_ref().unwrap_or(&self.prompt)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.first().place()];
        let other = self.search.as_ref().filter(|search| search.rank() != self.prompt.rank());
        lines.extend(other.map(|_| self.prompt.place()));
        lines.extend(self.prompt.words());
        lines
    }
}

/// Runs the command.
pub(crate) fn run(args: &Why, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if args.filter.is_some() && !args.places.clients.is_empty() {
        let error = "--filter is about sessions of Prowess, and a client has none";
        return Err(Failure::new(error, "leave out --filter or --client").into());
    }
    if clients_named::are_several(&args.places) {
        return for_each_client(args, json, ui);
    }
    let (outcome, report) = one(args, json, false, ui)?;
    if let Some(report) = report {
        ui.json(&report)?;
    }
    Ok(outcome)
}

/// Explains a skill for each of several clients. It is fine if one of them lists it and everything could be read.
fn for_each_client(args: &Why, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let mut merged: Option<Value> = None;
    let mut outcomes = Vec::new();
    for client in clients_named::all(&args.places)? {
        let places = Places { clients: vec![client.id.to_owned()], ..args.places.clone() };
        if !json {
            ui.print(&format!("{STRONG}{}{STRONG:#}\n", client.name))?;
        }
        let (outcome, report) = one(&Why { places, ..args.clone() }, json, true, ui)?;
        outcomes.push(outcome);
        match (&mut merged, report) {
            (Some(merged), Some(report)) => merge(merged, report),
            (merged, report) => *merged = merged.take().or(report),
        }
    }
    if let Some(merged) = merged {
        ui.json(&merged)?;
    }
    let first = |wanted: &Outcome| outcomes.contains(wanted);
    Ok([Outcome::Incomplete, Outcome::Fine].into_iter().find(first).unwrap_or(Outcome::Problems))
}

/// Adds the report about another client: lists are joined, and the skill is offered if one of them lists it.
fn merge(merged: &mut Value, other: Value) {
    match (merged, other) {
        (Value::Object(merged), Value::Object(other)) => {
            for (member, value) in other {
                merge(merged.entry(member).or_insert(Value::Null), value);
            }
        }
        (Value::Array(merged), Value::Array(other)) => {
            for value in other {
                if !merged.contains(&value) {
                    merged.push(value);
                }
            }
        }
        (Value::Bool(merged), Value::Bool(other)) => *merged |= other,
        (merged @ Value::Null, other) => *merged = other,
        _ => {}
    }
}

/// Explains a skill; gives the report if it is to be JSON. Among several clients, what one does not see is part of the
/// answer.
fn one(args: &Why, json: bool, among: bool, ui: &mut Ui) -> Result<(Outcome, Option<Value>), CommandError> {
    let (registry, session_config) = seen(&args.places, Reach::Everywhere)?;
    say_beside(&registry, &args.places, ui);
    let origins = provenance::origins(ui);
    let catalog = registry.catalog();
    let arg = SkillArg::read(Path::new(&args.name), Prefer::Name);
    let found = arg.matching(&catalog);
    let file = arg.file().filter(|_| found.is_empty());
    let session_config = session_defaults(session_config, args.filter.as_ref(), None);
    let selector = search_index(&args.places, &registry);
    let client_prompt = ClientPrompt::of(&registry, &args.size);
    // The model of a client sees what is in its prompt. A search of Prowess also reads the instructions.
    let prompt = match &client_prompt {
        Some(prompt) => prompt.as_shown(),
        None => Arc::clone(&catalog),
    };
    let mut ranked: Vec<(&Location, Ranks<'_>)> = Vec::new();
    if let Some(query) = args.query.as_deref().filter(|query| !query.trim().is_empty()) {
        let among = catalog.list();
        for (candidate, _) in found.iter().filter(|(_, standing)| **standing == Standing::Listed) {
            let by_prompt = Ranked::by_prompt(candidate, query, &registry, &prompt);
            let by_search = match client_prompt {
                Some(_) => None,
                None => Some(Ranked::by_search(&candidate.entry.key, query, &selector, &among)),
            };
            let ranks = by_prompt.and_then(|prompt| Ok(Ranks { prompt, search: by_search.transpose()? }));
            let ranks = ranks.map_err(|error| search::failed(&error))?;
            ranked.push((&candidate.entry.origin.location, ranks));
        }
    }
    let ranks_of = |candidate: &Candidate, standing: &Standing| {
        let mut ranked = ranked.iter().filter(|_| *standing == Standing::Listed);
        ranked.find(|(place, _)| **place == candidate.entry.origin.location).map(|(_, ranks)| ranks)
    };
    let copy_of = |candidate: &Candidate, standing: &Standing| match standing {
        Standing::Shadowed { by } => Copy::of(candidate, by, &catalog, &registry),
        _ => None,
    };
    // Several, if several keys have this name.
    let places: Vec<(&str, InPrompt)> = found
        .iter()
        .filter(|(candidate, standing)| **standing == Standing::Listed && candidate.is_usable())
        // What a client shows its model does not depend on our prompt.
        .filter(|_| registry.client().is_none())
        .map(|(candidate, _)| &*candidate.entry.key)
        .map(|key| (key, InPrompt::of(key, args, &session_config, &registry, &selector)))
        .collect();
    let place_of = |key: &str| places.iter().find(|(other, _)| *other == key).map(|(_, place)| *place);
    let best = places.iter().find(|(_, place)| place.is_there()).or(places.first()).map(|(_, place)| *place);
    let listed =
        || found.iter().any(|(skill, standing)| **standing == Standing::Listed && !is_not_read(skill));
    let offered = if registry.client().is_some() { listed() } else { best.is_some_and(InPrompt::is_there) };
    let in_client = |candidate: &Candidate, standing: &Standing| {
        let prompt = client_prompt.as_ref().filter(|_| *standing == Standing::Listed)?;
        Some(match not_for_model(candidate, &registry) {
            Some(_) => (Placement::Hidden(Hidden::NotForModel), None),
            None => prompt.place(&candidate.entry.key, &args.size),
        })
    };
    // A client that lists a skill may have no room for it in its prompt.
    let fits = |(candidate, standing): &(&Candidate, &Standing)| {
        in_client(candidate, standing).is_some_and(|(place, _)| place != Placement::OverBudget)
    };
    let offered = offered && (registry.client().is_none() || found.iter().any(fits));
    let in_its_prompt = || found.iter().find_map(|(candidate, standing)| in_client(candidate, standing));
    // A skill that is not offered may be in what could not be read.
    let outcome =
        if offered { answered(&registry, &args.places) } else { ended(Outcome::Problems, &registry) };
    let near_miss = match found.as_slice() {
        [] => NearMiss::of(&args.name, &args.places, &registry),
        _ => None,
    };
    // A path names the skill in its folder.
    let folder = file.as_deref().and_then(Path::parent).map(env::absolute);
    let folder = folder.as_deref().and_then(Path::file_name);
    let name = folder.map_or(args.name.as_str().into(), |folder| folder.to_string_lossy());
    let elsewhere = match (found.as_slice(), &near_miss) {
        ([], None) => Elsewhere::of(&name, &args.places, &origins)?,
        _ => Elsewhere::default(),
    };
    let left_out_by = match (found.as_slice(), &near_miss) {
        // What a client lists does not depend on our settings.
        ([], None) if args.places.clients.is_empty() => LeftOutBy::of(&arg, &args.places),
        _ => None,
    };
    if json {
        let candidates: Vec<Explained<'_>> = found
            .iter()
            .map(|(candidate, standing)| {
                let mut row = Row::new(candidate, standing, &registry);
                row.installed = Provenance::compared(candidate, &origins);
                row.copy = copy_of(candidate, standing);
                let ranks = ranks_of(candidate, standing);
                let description = if ranks.is_some() {
                    notes_on_description(candidate, &registry).iter().map(Note::of).collect()
                } else {
                    Vec::new()
                };
                Explained {
                    row,
                    not_published: withheld(&registry, candidate, standing),
                    ranked: ranks.map(Ranks::first),
                    ranked_in_prompts: ranks
                        .filter(|ranks| ranks.search.is_some())
                        .map(|ranks| &ranks.prompt),
                    description_notes: description,
                }
            })
            .collect();
        let is_found = |key: &&str| found.iter().any(|(candidate, _)| candidate.entry.key == *key);
        let similar: Vec<&str> =
            catalog.similar(&args.name).into_iter().filter(|key| !is_found(key)).collect();
        let mut unread = Unread::all(&registry);
        if let Some(NearMiss::Unreadable(error)) = &near_miss {
            unread.push(Unread::of(error));
        }
        let mut report = json!({"version": VERSION, "name": args.name, "offered": offered, "candidates": candidates, "similar": similar, "prompt": best.or(in_its_prompt().map(|(place, _)| InPrompt(place))).map(InPrompt::word), "unread": unread});
        if let (Some(report), Ok(serde_json::Value::Object(elsewhere))) =
            (report.as_object_mut(), serde_json::to_value(&elsewhere))
        {
            report.extend(elsewhere);
            if let Some(NearMiss::Link(link)) = &near_miss {
                report.insert("link".to_owned(), json!(link));
            }
            if let Some(left_out) = &left_out_by {
                report.insert("left_out_by".to_owned(), json!(left_out));
            }
            if found.is_empty() && built_in(&args.name, &args.places).is_some() {
                report.insert("built_in".to_owned(), true.into());
            }
        }
        return Ok((outcome, Some(report)));
    }
    if found.is_empty() {
        if let Some(failure) = missing(&args.name, &origins) {
            say(&failure, among, ui)?;
            return Ok((outcome, None));
        }
        let near_miss = near_miss.map(|near_miss| near_miss.failure(&args.name, &args.places));
        let near_miss = near_miss.or_else(|| left_out_by.map(|left_out| left_out.failure(&args.name)));
        if let Some(failure) = near_miss.or_else(|| elsewhere.failure(&name)) {
            say(&failure, among, ui)?;
            return Ok((outcome, None));
        }
        let mut similar = catalog.similar(&args.name);
        similar.extend(near_built_in(&args.name, &args.places));
        let similar = similar.join(", ");
        let here = file.as_deref().and_then(Path::parent).filter(|_| args.places.options().is_empty());
        if let Some(failure) = built_in(&args.name, &args.places).filter(|_| here.is_none()) {
            say(&failure, among, ui)?;
            return Ok((outcome, None));
        }
        let hint = if let Some(here) = here {
            let add = super::new::add_command(here);
            format!("a folder of this name is here, where no agent looks; install it for them with: {add}")
        } else if similar.is_empty() {
            "a skill is a folder with a SKILL.md in a place where agents look; --in names another".to_owned()
        } else {
            format!("there is {similar}")
        };
        let failure = Failure::new(format!("no skill of this name was found: {}", clean(&args.name)), hint);
        say(&failure, among, ui)?;
        return Ok((outcome, None));
    }
    let around = page::Around {
        places: &args.places,
        origins: &origins,
        needed: LazyCell::new(Box::new(|| Needed::of(registry.client(), &catalog))),
        screen: ui.columns().map(|columns| (columns, ShortPaths::new())),
    };
    let report = || in_prompt::report(args, &session_config, &registry, &selector);
    let mut text = Text::default();
    for (candidate, standing) in found {
        let place = place_of(&candidate.entry.key).filter(|_| *standing == Standing::Listed);
        let copy = copy_of(candidate, standing);
        let in_its = in_client(candidate, standing).map(|(place, _)| InPrompt(place));
        page::page(&mut text, candidate, standing, &registry, place.or(in_its), copy, &around);
        if let Some(ranks) = ranks_of(candidate, standing) {
            for line in ranks.lines() {
                let _ = writeln!(text, "  {}", clean(&line));
            }
            for problem in notes_on_description(candidate, &registry) {
                let (severity, code) = (problem.severity.name(), problem.code);
                let _ = writeln!(text, "  {severity}[{code}]: {}", clean(&problem.message));
            }
        }
        if let Some(words) = place.and_then(|place| place.sentence(&session_config, &args.size, report)) {
            let _ = writeln!(text, "  {words}");
        }
        match in_client(candidate, standing) {
            Some((_, Some(words))) => {
                let _ = writeln!(text, "  {words}");
            }
            Some((Placement::Whole, None)) if args.query.is_some() => {
                let _ = writeln!(text, "  in its prompt: yes, whatever the query");
            }
            _ => {}
        }
        if let Some(reason) = withheld(&registry, candidate, standing) {
            let _ = writeln!(
                text,
                "  not in the list of skills over MCP: {}; its tools offer it",
                clean(&reason)
            );
        }
        let origin = Provenance::compared(candidate, &origins);
        for line in origin.iter().flat_map(Provenance::lines) {
            text.push(Text::from("  ").and(line.cleaned()).words("\n"));
        }
        for sentence in page::about_files(&registry, candidate) {
            let _ = writeln!(text, "  {sentence}");
        }
    }
    ui.print(&around.fitted(&text))?;
    Ok((outcome, None))
}

/// Says why a skill was not found: as an error, or below the name of one of several clients.
fn say(failure: &Failure, among: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if !among {
        ui.failure(failure);
        return Ok(());
    }
    let mut text = format!("  {}\n", clean(&failure.error));
    let hints: Vec<String> = failure.hints.iter().map(ToString::to_string).collect();
    for (word, lines) in [("cause", &failure.causes), ("hint", &hints)] {
        for line in lines {
            let _ = writeln!(text, "  {word}: {}", clean(line));
        }
    }
    ui.print(&text)
}

/// The error for a skill that the lock names and whose folder is gone.
fn missing(name: &str, origins: &Origins) -> Option<Failure> {
    let origin = origins.named(name).find(|origin| origin.path.symlink_metadata().is_err())?;
    let error = format!(
        "this skill is installed, and its folder is missing: {}",
        clean(&origin.path.to_string_lossy())
    );
    let sync = format!("prowess sync{}", scope_option(origin.scope));
    Some(Failure::new(error, format!("restore it with: {sync}")))
}

/// Why `prowess serve` does not publish an offered skill over the extension; its tools still offer it.
fn withheld(registry: &Registry, candidate: &Candidate, standing: &Standing) -> Option<String> {
    if !candidate.is_usable() || *standing != Standing::Listed {
        return None;
    }
    let document = match &candidate.announced {
        // Its files must not be read just to explain it.
        Some(said) => prowess::parse(prowess::document::markdown(&said.frontmatter, "").as_bytes()),
        None => registry.head_of(candidate).ok()?.document(),
    };
    internal::withheld(&document, &candidate.entry.name).map(|reason| reason.to_string())
}
