//! `prowess why`: why the skills with a name are offered or not.

mod page;

use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use prowess::install::Origins;
use prowess::library::views::Reach;
use prowess::select::Selector;
use prowess::session::Placement;
use prowess::settings::SessionConfig;
use prowess::{Catalog, Registry, Standing};
use serde::Serialize;
use serde_json::json;

use super::skill_arg::{Prefer, SkillArg};
use super::{seen, session_defaults};
use crate::Outcome;
use crate::args::{Places, Why};
use crate::error::{CommandError, Failure};
use crate::explain::missing::{Missing, join};
use crate::explain::needed::Needed;
use crate::explain::report::{Facets, SkillReport, Traced};
use crate::explain::unread::{Unread, answered, ended, say_beside};
use crate::explain::{clients_named, provenance};
use crate::prompt::asked::{AskedPrompt, code, is_there};
use crate::prompt::{ClientPrompt, is_not_read};
use crate::rank::{Rankings, search_index};
use crate::report::json::VERSION;
use crate::ui::{STRONG, ShortPaths, Text, Ui, clean};

/// Runs the command. With several clients, it is fine if one of them lists the skill and everything could be read.
pub(crate) fn run(args: &Why, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if args.filter.is_some() && !args.places.clients.is_empty() {
        let error = "--filter is about sessions of Prowess, and a client has none";
        return Err(Failure::new(error, "leave out --filter or --client").into());
    }
    let among = clients_named::are_several(&args.places);
    let clients = if among { clients_named::all(&args.places)? } else { Vec::new() };
    let asked = clients.iter().map(|client| {
        let places = Places { clients: vec![client.id.to_owned()], ..args.places.clone() };
        (Some(client.name), Why { places, ..args.clone() })
    });
    let asked: Vec<(Option<&str>, Why)> = asked.chain((!among).then(|| (None, args.clone()))).collect();
    let (mut outcomes, mut questions) = (Vec::new(), Vec::new());
    for (client, args) in &asked {
        if let Some(name) = client.filter(|_| !json) {
            ui.print(&format!("{STRONG}{name}{STRONG:#}\n"))?;
        }
        let question = Question::new(args, ui)?;
        if json {
            questions.push(question);
        } else {
            outcomes.push(question.say(among, ui)?);
        }
    }
    let answers = questions.iter().map(|question| question.answer(false));
    let answers: Vec<Answer<'_>> = answers.collect::<Result<_, _>>()?;
    outcomes.extend(answers.iter().map(|answer| answer.outcome));
    if let Some(answer) = answers.into_iter().reduce(Answer::and) {
        ui.json(&json!(answer))?;
    }
    let first = |wanted: &Outcome| outcomes.contains(wanted);
    Ok([Outcome::Incomplete, Outcome::Fine].into_iter().find(first).unwrap_or(Outcome::Problems))
}

/// The skills among which one is explained: all that Prowess finds, or those in the folders of a client.
struct Question<'a> {
    args: &'a Why,
    registry: Registry,
    catalog: Arc<Catalog>,
    session_config: SessionConfig,
    origins: Origins,
    client_prompt: Option<ClientPrompt>,
    /// What the ranked prompt has of the skills in it.
    shown: Arc<Catalog>,
}

/// What became of the skills with the name.
#[derive(Serialize)]
struct Answer<'o> {
    version: u32,
    name: &'o str,
    /// Whether one of them is offered.
    offered: bool,
    candidates: Vec<SkillReport<'o>>,
    similar: Vec<&'o str>,
    prompt: Option<&'static str>,
    unread: Vec<Unread>,
    #[serde(flatten)]
    missing: Missing,
    #[serde(skip)]
    outcome: Outcome,
}

impl Answer<'_> {
    /// Adds the answer about another client: lists are joined, and the skill is offered if one of them lists it.
    fn and(mut self, other: Self) -> Self {
        self.offered |= other.offered;
        self.candidates.extend(other.candidates);
        join(&mut self.similar, other.similar);
        self.prompt = self.prompt.or(other.prompt);
        join(&mut self.unread, other.unread);
        self.missing.add(other.missing);
        self
    }
}

impl<'a> Question<'a> {
    fn new(args: &'a Why, ui: &mut Ui) -> Result<Self, CommandError> {
        let (registry, session_config) = seen(&args.places, Reach::Everywhere)?;
        say_beside(&registry, &args.places, ui);
        let origins = provenance::origins(ui);
        let catalog = registry.catalog();
        let client_prompt = ClientPrompt::of(&registry, &args.size);
        // The model of a client sees what is in its prompt.
        let shown = client_prompt.as_ref().map_or_else(|| Arc::clone(&catalog), ClientPrompt::as_shown);
        let session_config = session_defaults(session_config, args.filter.as_ref(), None);
        Ok(Self { args, registry, catalog, session_config, origins, client_prompt, shown })
    }

    /// Explains the skills that the argument names, and if asked for, also says in words what the prompt does with them.
    fn answer(&self, in_words: bool) -> Result<Answer<'_>, CommandError> {
        let Self { args, registry, catalog, origins, .. } = self;
        let Why { name, places, .. } = args;
        let arg = SkillArg::read(Path::new(name), Prefer::Name);
        let found = arg.matching(catalog);
        let selector = search_index(places, registry);
        let is_ranked = found.iter().any(|(_, standing)| **standing == Standing::Listed);
        let query = args.query.as_deref().filter(|query| is_ranked && !query.trim().is_empty());
        // A search of Prowess also reads the instructions.
        let by_search = self.client_prompt.is_none().then_some(&selector as &dyn Selector);
        let rankings =
            query.map(|query| Rankings::new(query, registry, &self.shown, by_search)).transpose()?;
        let (client, config) = (self.client_prompt.as_ref(), &self.session_config);
        let prompt = AskedPrompt { args, client, config, registry, selector: &selector, in_words };
        let facets = Facets {
            copy: Some(catalog),
            provenance: Traced::Compared(origins),
            prompt: Some(&prompt),
            rank: rankings.as_ref(),
            published: true,
            ..Facets::default()
        };
        let reports =
            found.into_iter().map(|(skill, standing)| SkillReport::new(skill, standing, registry, &facets));
        let candidates: Vec<SkillReport<'_>> = reports.collect();
        let placements = || candidates.iter().filter_map(|report| Some(report.in_prompt.as_ref()?.placement));
        let (placement, offered) = if client.is_some() {
            let is_listed =
                |report: &SkillReport<'_>| *report.standing == Standing::Listed && !is_not_read(report.skill);
            // A client that lists a skill may have no room for it in its prompt.
            let fits = placements().any(|placement| placement != Placement::OverBudget);
            (placements().next(), fits && candidates.iter().any(is_listed))
        } else {
            // Several, if several keys have this name.
            let best = placements().find(|placement| is_there(*placement)).or(placements().next());
            (best, best.is_some_and(is_there))
        };
        // A skill that is not offered may be in what could not be read.
        let outcome = if offered { answered(registry, places) } else { ended(Outcome::Problems, registry) };
        let is_missing = candidates.is_empty();
        let missing =
            if is_missing { Missing::of(&arg, name, places, registry, origins)? } else { Missing::default() };
        let is_found = |key: &&str| candidates.iter().any(|report| report.key == *key);
        let similar = catalog.similar(name).into_iter().filter(|key| !is_found(key)).collect();
        let mut unread = Unread::all(registry);
        unread.extend(missing.unread());
        let (version, prompt) = (VERSION, placement.map(code));
        Ok(Answer { version, name, offered, candidates, similar, prompt, unread, missing, outcome })
    }

    /// Writes the answer. Among several clients, what one does not see is part of it.
    fn say(&self, among: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
        let Answer { candidates, missing, outcome, .. } = self.answer(true)?;
        match &missing.failure {
            Some(failure) if among => ui.print(&lines_of(failure))?,
            Some(failure) => ui.failure(failure),
            None => {
                let context = page::PageContext {
                    places: &self.args.places,
                    origins: &self.origins,
                    registry: &self.registry,
                    needed: LazyCell::new(Box::new(|| Needed::of(self.registry.client(), &self.catalog))),
                    columns: ui.columns(),
                    paths: ShortPaths::on(ui.columns()),
                };
                let mut text = Text::default();
                for report in &candidates {
                    page::page(&mut text, report, &context);
                }
                ui.print(&context.fitted(&text))?;
            }
        }
        Ok(outcome)
    }
}

/// A failure in lines, for the place below the name of one of several clients.
fn lines_of(failure: &Failure) -> String {
    let mut text = format!("  {}\n", clean(&failure.error));
    let hints: Vec<String> = failure.hints.iter().map(ToString::to_string).collect();
    for (word, lines) in [("cause", &failure.causes), ("hint", &hints)] {
        for line in lines {
            let _ = writeln!(text, "  {word}: {}", clean(line));
        }
    }
    text
}
