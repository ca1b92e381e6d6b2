//! `prowess why`: why the skills with a name are offered or not.

mod page;

use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use prowess::env;
use prowess::install::Origins;
use prowess::library::views::Reach;
use prowess::select::Selector;
use prowess::session::{Hidden, Placement};
use prowess::{Candidate, Preset, Problem, Profile, Registry, Standing, internal};
use serde::Serialize;
use serde_json::{Value, json};

use super::copies::Copy;
use super::elsewhere::Elsewhere;
use super::install::scope_option;
use super::near_miss::{NearMiss, built_in, near_built_in};
use super::needed::Needed;
use super::provenance::{self, Provenance};
use super::row::{Brief, Row};
use super::settings::LeftOutBy;
use super::skill_arg::{Prefer, SkillArg};
use super::unread::{Unread, answered, ended, say_beside};
use super::{clients_named, seen, session_defaults};
use crate::Outcome;
use crate::args::{Places, Why};
use crate::error::{CommandError, Failure};
use crate::prompt::session::{self, SessionPrompt};
use crate::prompt::{ClientPrompt, is_not_read, not_for_model};
use crate::rank::{Rankings, Ranks, search_index};
use crate::report::json::VERSION;
use crate::ui::{STRONG, ShortPaths, Text, Ui, clean};

/// A skill, and what keeps it from being published.
#[derive(Serialize)]
struct Explained<'c> {
    #[serde(flatten)]
    row: Row<'c>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_published: Option<String>,
    /// Its places in the rankings for the query.
    #[serde(flatten)]
    ranks: Option<Ranks<'c>>,
    /// With a query: what `check` says about its description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    description_notes: Vec<Brief<'c>>,
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
    let is_ranked = found.iter().any(|(_, standing)| **standing == Standing::Listed);
    let query = args.query.as_deref().filter(|query| is_ranked && !query.trim().is_empty());
    let by_search = client_prompt.is_none().then_some(&selector as &dyn Selector);
    let rankings = query.map(|query| Rankings::new(query, &registry, &prompt, by_search)).transpose()?;
    let ranks_of = |candidate: &Candidate, standing: &Standing| {
        rankings.as_ref().filter(|_| *standing == Standing::Listed).map(|rankings| rankings.of(candidate))
    };
    let copy_of = |candidate: &Candidate, standing: &Standing| match standing {
        Standing::Shadowed { by } => Copy::of(candidate, by, &catalog, &registry),
        _ => None,
    };
    // Several, if several keys have this name.
    let session = SessionPrompt { args, config: &session_config, registry: &registry, selector: &selector };
    let places: Vec<(&str, Placement)> = found
        .iter()
        .filter(|(candidate, standing)| **standing == Standing::Listed && candidate.is_usable())
        // What a client shows its model does not depend on our prompt.
        .filter(|_| registry.client().is_none())
        .map(|(candidate, _)| &*candidate.entry.key)
        .map(|key| (key, session.place(key)))
        .collect();
    let place_of = |key: &str| places.iter().find(|(other, _)| *other == key).map(|(_, place)| *place);
    let is_there = |(_, place): &&(&str, Placement)| session::is_there(*place);
    let best = places.iter().find(is_there).or(places.first()).map(|(_, place)| *place);
    let listed =
        || found.iter().any(|(skill, standing)| **standing == Standing::Listed && !is_not_read(skill));
    let offered = if registry.client().is_some() { listed() } else { best.is_some_and(session::is_there) };
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
                let notes = ranks.is_some().then(|| notes_on_description(candidate, &registry));
                let not_published = withheld(&registry, candidate, standing);
                Explained { row, not_published, ranks, description_notes: notes.unwrap_or_default() }
            })
            .collect();
        let is_found = |key: &&str| found.iter().any(|(candidate, _)| candidate.entry.key == *key);
        let similar: Vec<&str> =
            catalog.similar(&args.name).into_iter().filter(|key| !is_found(key)).collect();
        let mut unread = Unread::all(&registry);
        if let Some(NearMiss::Unreadable(error)) = &near_miss {
            unread.push(Unread::of(error));
        }
        let mut report = json!({"version": VERSION, "name": args.name, "offered": offered, "candidates": candidates, "similar": similar, "prompt": best.or(in_its_prompt().map(|(place, _)| place)).map(session::code), "unread": unread});
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
    let context = page::PageContext {
        places: &args.places,
        origins: &origins,
        needed: LazyCell::new(Box::new(|| Needed::of(registry.client(), &catalog))),
        columns: ui.columns(),
        paths: ShortPaths::on(ui.columns()),
    };
    let mut text = Text::default();
    for (candidate, standing) in found {
        let place = place_of(&candidate.entry.key).filter(|_| *standing == Standing::Listed);
        let copy = copy_of(candidate, standing);
        let in_its = in_client(candidate, standing).map(|(place, _)| place);
        page::page(&mut text, candidate, standing, &registry, place.or(in_its), copy, &context);
        if let Some(ranks) = ranks_of(candidate, standing) {
            for line in ranks.lines() {
                let _ = writeln!(text, "  {}", clean(&line));
            }
            for note in notes_on_description(candidate, &registry) {
                let _ = writeln!(text, "  {note}");
            }
        }
        if let Some(words) = place.and_then(|place| session.words(place)) {
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
    ui.print(&context.fitted(&text))?;
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

/// What `prowess check` says about the description of a skill, which is all that most models choose it by.
fn notes_on_description(skill: &Candidate, registry: &Registry) -> Vec<Brief<'static>> {
    // The files of a skill on a server must not be read just to explain it.
    let Some(head) = registry.head_of(skill).ok().filter(|_| skill.announced.is_none()) else {
        return Vec::new();
    };
    let problems = Profile::new(Preset::Spec).check(&head.document(), None, &skill.entry.origin);
    let is_known =
        |problem: &Problem| skill.problems.iter().flatten().any(|other| other.code == problem.code);
    let is_meant = |problem: &Problem| problem.code.starts_with("description-") && !is_known(problem);
    problems.into_iter().filter(is_meant).map(Brief::owned).collect()
}
