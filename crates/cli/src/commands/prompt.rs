//! `prowess prompt`: the catalog that an agent would see, within a budget, the best for a query first.

use std::sync::Arc;

use prowess::drive::{Performer, preload};
use prowess::library::views::Reach;
use prowess::render::{Budget, BudgetReport, CatalogStyle, Shape, render_catalog};
use prowess::select::{All, NotNarrowed, Query};
use prowess::session::{PromptOptions, Session};
use prowess::settings::SessionConfig;
use prowess::{Candidate, Catalog, Obstacle, Registry};
use serde_json::{Value, json};

use super::{seen, session_defaults};
use crate::Outcome;
use crate::args::{Places, Prompt};
use crate::error::CommandError;
use crate::explain::trust::trust_hint;
use crate::explain::unread::{Unread, answered, say_beside};
use crate::explain::{left_out, provenance};
use crate::prompt::{ClientPrompt, not_for_model};
use crate::rank::{Ranking, failed, has_namesakes, options, rank, selector};
use crate::report::json::VERSION;
use crate::ui::{Ui, count};

/// The maximum number of left out skills that are named.
const NAMED: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &Prompt, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, session_config) = seen(&args.places, Reach::Clients)?;
    say_beside(&registry, &args.places, ui);
    let catalog = registry.catalog();
    left_out::say_unmatched(&args.places, &registry, ui);
    let outcome = answered(&registry, &args.places);
    // What a client shows depends on no configuration of Prowess.
    let client = ClientPrompt::of(&registry, &args.size);
    let query = Query::text(args.query.as_deref().unwrap_or_default());
    let mut ranking = selector(&args.selection, &args.places, &registry);
    let (shown, session_config) = match &client {
        Some(client) => {
            let mut shown = Arc::clone(&client.catalog);
            let all: Vec<&Candidate> = client.catalog.iter().collect();
            // A client may list two skills under one name, of which only one fits.
            if !query.is_empty() && has_namesakes(&all) {
                let hits = rank(&registry, &all, &query, (&args.selection, &args.places))?;
                if !hits.is_empty() {
                    shown = Arc::new(Catalog::apart(
                        hits.iter().map(|(skill, _)| Arc::new((*skill).clone())).collect(),
                    ));
                }
                ranking = Box::new(Ranking(hits.into_iter().map(|(_, hit)| hit).collect()));
            }
            (shown, SessionConfig::default())
        }
        None => (registry.catalog(), session_config),
    };
    // The command shows the catalog alone, without the instruction for a model.
    let session_config = session_defaults(session_config, args.subset.filter.as_ref(), None);
    let bare = session_config.options().with_instruction(Some(String::new()));
    let mut session = Session::new("prompt", shown, session_config.policy(), bare);
    let preloaded = preload(&mut session, &Performer::new(&registry, &All));
    let mut select = options(&args.selection);
    if args.selection.tools.is_none() {
        select.available_tools = session_config.tools.clone().unwrap_or_default();
    }
    let mut style = CatalogStyle::new(args.format);
    style.location |= args.location || session_config.location.unwrap_or_default();
    let mut budget = args.size.budget();
    if let Some(client) = &client {
        (style, budget) = (client.style(style), ClientPrompt::budget(&args.size));
    }
    let asked = PromptOptions::new(&style, budget)
        .with_query(&query, &*ranking, &select)
        .with_folder(&args.subset.folder)
        // Text after a JSON list would not be JSON.
        .with_preloaded(!json && args.format != Shape::Json);
    let mut prompt = session.prompt(&asked).map_err(|error| failed(&error))?;
    if let Some(report) = client.as_ref().and_then(|client| client.fitted.clone()) {
        prompt.report = report;
    }
    if prompt.text.is_empty() && prompt.report.total == 0 {
        // A host would leave it out; this command shows the layout without skills.
        prompt.text = render_catalog(&[], &style);
    }
    let for_model = |skill: &Candidate| match registry.client() {
        Some(_) => not_for_model(skill, &registry).is_none(),
        None => skill.entry.invocation.model,
    };
    // Trust is a matter of Prowess, not of the client.
    let is_usable = |skill: &&Candidate| registry.client().is_some() || skill.is_usable();
    let usable = catalog.iter().filter(is_usable);
    let (usable, for_models) =
        usable.fold((0, 0), |(all, seen), skill| (all + 1, seen + usize::from(for_model(skill))));
    let untrusted = catalog.len() - usable;
    // A client shows its model what Prowess would withhold.
    let shown_untrusted: Vec<&str> = catalog
        .iter()
        .filter(|skill| registry.client().is_some() && skill.obstacle == Some(Obstacle::Untrusted))
        .filter(|skill| for_model(skill) && prompt.skills.contains(&skill.entry.key))
        .map(|skill| skill.entry.key.as_str())
        .collect();
    if json {
        let (narrowed, error) = described(prompt.not_narrowed.as_ref());
        let active = session.state().active().iter();
        ui.json(&json!({
            "version": VERSION,
            "query": args.query,
            "selector": args.query.as_ref().map(|_| args.selection.selector.name()),
            "narrowed": narrowed,
            "error": error,
            "format": args.format.name(),
            "text": prompt.text,
            "skills": prompt.skills,
            "preloaded": active.map(|skill| json!({"key": skill.key, "text": skill.text()})).collect::<Vec<_>>(),
            "report": report_json(&prompt.report),
            "summary": {
                "offered": catalog.len(),
                "untrusted": untrusted,
                "not_for_models": usable - for_models,
                "shown_untrusted": shown_untrusted,
            },
            "limits": client.as_ref().map(ClientPrompt::json),
            "unread": Unread::all(&registry),
        }))?;
        return Ok(outcome);
    }
    if !prompt.text.is_empty() {
        ui.raw(format!("{}\n", prompt.text).as_bytes())?;
    }
    match &prompt.not_narrowed {
        Some(NotNarrowed::Failed(error)) => {
            ui.failure(&failed(error));
            ui.note("the selector failed: all skills are shown");
        }
        Some(NotNarrowed::NothingFound) if prompt.report.total > 0 => {
            ui.note("no skill fits the query: all are shown");
        }
        _ => {}
    }
    if prompt.report.total == 0 {
        ui.note(&nothing(&registry, &args.places));
    }
    let of_client = client.as_ref().map(ClientPrompt::notes);
    for note in of_client.into_iter().flatten().chain(notes(&prompt.report)) {
        ui.note(&note);
    }
    for (name, result) in preloaded.iter().filter(|(_, result)| !result.is_ok()) {
        ui.note(&format!("not preloaded: {name}: {}", result.text));
    }
    let active = session.state().active().len();
    if active > 0 && args.format == Shape::Json {
        ui.note(&format!(
            "{} preloaded; the text is in the other formats, and in --json",
            count(active, "skill")
        ));
    }
    let (for_users, without_query) = (usable - for_models, args.query.is_none());
    if for_users > 0 && without_query {
        ui.note(&format!("left out {} that only a user may start", count(for_users, "skill")));
    }
    if let (Some(client), [_, ..]) = (registry.client(), shown_untrusted.as_slice()) {
        ui.note(&format!(
            "not trusted, and {} shows it to its model: {}; this text is for reading, not for following",
            client.name,
            shown_untrusted.join(", ")
        ));
    }
    if untrusted > 0 {
        let origins = provenance::origins(ui);
        let withheld = catalog.iter().filter(|skill| !skill.is_usable());
        let trust = trust_hint(withheld, &registry, &origins, &args.places);
        ui.note(&format!("{} not trusted and left out: {}", count(untrusted, "skill"), trust.text()));
    }
    Ok(outcome)
}

/// The note when no skill is in the prompt.
fn nothing(registry: &Registry, places: &Places) -> String {
    let catalog = registry.catalog();
    let (offered, found, options) = (catalog.len(), catalog.all().count(), places.options());
    match (offered, found) {
        (0, 0) => left_out::nothing(places, registry),
        (0, found) => {
            let nothing = left_out::nothing(places, registry);
            format!("{nothing}; {found} left out: prowess list --all{options}")
        }
        _ => format!(
            "no skill is in the prompt, of {}; see why with: prowess why NAME{options}",
            count(offered, "skill")
        ),
    }
}

/// The outcome of the query, and the error of the selector.
fn described(whole: Option<&NotNarrowed>) -> (&'static str, Option<String>) {
    match whole {
        None => ("hits", None),
        Some(NotNarrowed::NoSelector | NotNarrowed::EmptyQuery) => ("no-query", None),
        Some(NotNarrowed::NothingFound) => ("nothing-found", None),
        Some(NotNarrowed::Failed(error)) => ("failed", Some(error.to_string())),
    }
}

/// What the budget did, as data.
fn report_json(report: &BudgetReport) -> Value {
    let (unit, limit) = match report.budget {
        Budget::Tokens(limit) => ("tokens", Some(limit)),
        Budget::Characters(limit) => ("characters", Some(limit)),
        Budget::Unlimited => ("characters", None),
    };
    json!({
        "unit": unit,
        "limit": limit,
        "used": report.used,
        "within": report.within,
        "total": report.total,
        "included": report.included,
        "omitted": report.omitted,
        "shortened": report.shortened,
        "max_description": report.max_description,
    })
}

/// What the budget did, in words.
fn notes(report: &BudgetReport) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(most) = report.max_description.filter(|_| report.shortened > 0) {
        let shortened = count(report.shortened, "description");
        notes.push(match most {
            // One character is the sign for a cut text.
            0 | 1 => format!("left out {shortened}: only names fit into the budget"),
            _ => format!("shortened {shortened} to {} or less", count(most, "character")),
        });
    }
    if !report.omitted.is_empty() {
        let mut names: Vec<&str> = report.omitted.iter().map(String::as_str).take(NAMED).collect();
        if report.omitted.len() > NAMED {
            names.push("and more, which --json lists");
        }
        notes.push(format!("left out {}: {}", count(report.omitted.len(), "skill"), names.join(", ")));
    }
    if !report.within {
        notes.push("the budget is too small for any skill".to_owned());
    }
    notes
}
