//! `prowess why`: why the skills with a name are offered or not.

mod page;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::install::Origins;
use prowess::library::views::Reach;
use prowess::select::Selector;
use prowess::session::Placement;
use prowess::settings::SessionConfig;
use prowess::{Catalog, Registry, Standing, env};
use serde::Serialize;
use serde_json::json;

use super::install::scope_option;
use super::skill_arg::{Prefer, SkillArg};
use super::{seen, session_defaults};
use crate::Outcome;
use crate::args::{Places, Why};
use crate::error::{CommandError, Failure};
use crate::explain::left_out::LeftOutBy;
use crate::explain::missing::{Elsewhere, Link, NearMiss, built_in, join, near_built_in};
use crate::explain::needed::Needed;
use crate::explain::report::{Facets, SkillReport, Traced};
use crate::explain::unread::{Unread, answered, ended, say_beside};
use crate::explain::{clients_named, provenance};
use crate::prompt::session::{AskedPrompt, SessionPrompt, code, is_there};
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
    let several = clients_named::are_several(&args.places);
    let clients = if several { clients_named::all(&args.places)? } else { Vec::new() };
    let mut questions = Vec::new();
    for client in &clients {
        let places = Places { clients: vec![client.id.to_owned()], ..args.places.clone() };
        questions.push((Some(client.name), Why { places, ..args.clone() }));
    }
    if !several {
        questions.push((None, args.clone()));
    }
    let (mut outcomes, mut asked) = (Vec::new(), Vec::new());
    for (client, args) in &questions {
        if let Some(name) = client.filter(|_| !json) {
            ui.print(&format!("{STRONG}{name}{STRONG:#}\n"))?;
        }
        let question = Question::new(args, ui)?;
        if json {
            asked.push(question);
        } else {
            outcomes.push(question.say(several, ui)?);
        }
    }
    let mut merged: Option<Explanation<'_>> = None;
    for question in &asked {
        let (outcome, report) = question.report()?;
        outcomes.push(outcome);
        match &mut merged {
            Some(merged) => merged.add(report),
            None => merged = Some(report),
        }
    }
    if let Some(report) = &merged {
        ui.json(&json!(report))?;
    }
    let first = |wanted: &Outcome| outcomes.contains(wanted);
    Ok([Outcome::Incomplete, Outcome::Fine].into_iter().find(first).unwrap_or(Outcome::Problems))
}

/// The skills among which one is explained: all that Prowess finds, or those in the folders of a client.
struct Question<'a> {
    args: &'a Why,
    arg: SkillArg<'a>,
    registry: Registry,
    catalog: Arc<Catalog>,
    session_config: SessionConfig,
    origins: Origins,
    client_prompt: Option<ClientPrompt>,
    /// What the ranked prompt has of the skills in it.
    shown: Arc<Catalog>,
}

/// What became of the skills with the name.
struct Answer<'o> {
    skills: Vec<Explained<'o>>,
    /// What the prompt does with the one that is nearest to it.
    placement: Option<Placement>,
    /// Whether one of them is offered.
    offered: bool,
    outcome: Outcome,
}

/// A skill, and what the prompt does with it, as data and in words.
struct Explained<'o> {
    report: SkillReport<'o>,
    placement: Option<Placement>,
    words: Option<String>,
}

/// What is where a skill was looked for that was not found.
#[derive(Default)]
struct Missing {
    near_miss: Option<NearMiss>,
    elsewhere: Elsewhere,
    left_out_by: Option<LeftOutBy>,
}

/// The answer as JSON.
#[derive(Serialize)]
struct Explanation<'o> {
    version: u32,
    name: &'o str,
    offered: bool,
    candidates: Vec<SkillReport<'o>>,
    similar: Vec<&'o str>,
    prompt: Option<&'static str>,
    unread: Vec<Unread>,
    #[serde(flatten)]
    elsewhere: Elsewhere,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_by: Option<LeftOutBy>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    built_in: bool,
}

impl Explanation<'_> {
    /// Adds the report about another client: lists are joined, and the skill is offered if one of them lists it.
    fn add(&mut self, other: Self) {
        self.offered |= other.offered;
        self.candidates.extend(other.candidates);
        join(&mut self.similar, other.similar);
        self.prompt = self.prompt.or(other.prompt);
        join(&mut self.unread, other.unread);
        self.elsewhere.add(other.elsewhere);
        self.link = self.link.take().or(other.link);
        self.left_out_by = self.left_out_by.take().or(other.left_out_by);
        self.built_in |= other.built_in;
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
        let arg = SkillArg::read(Path::new(&args.name), Prefer::Name);
        let session_config = session_defaults(session_config, args.filter.as_ref(), None);
        Ok(Self { args, arg, registry, catalog, session_config, origins, client_prompt, shown })
    }

    /// Explains the skills that the argument names, and if asked for, also says in words what the prompt does with them.
    fn answer(&self, in_words: bool) -> Result<Answer<'_>, CommandError> {
        let Self { args, registry, catalog, origins, .. } = self;
        let found = self.arg.matching(catalog);
        let selector = search_index(&args.places, registry);
        let is_ranked = found.iter().any(|(_, standing)| **standing == Standing::Listed);
        let query = args.query.as_deref().filter(|query| is_ranked && !query.trim().is_empty());
        // A search of Prowess also reads the instructions.
        let by_search = self.client_prompt.is_none().then_some(&selector as &dyn Selector);
        let rankings =
            query.map(|query| Rankings::new(query, registry, &self.shown, by_search)).transpose()?;
        let facets = Facets {
            copy: Some(catalog),
            provenance: Traced::Compared(origins),
            rank: rankings.as_ref(),
            published: true,
            ..Facets::default()
        };
        let prompt = match &self.client_prompt {
            Some(prompt) => AskedPrompt::Client(prompt, args, registry),
            None => AskedPrompt::Session(SessionPrompt {
                args,
                config: &self.session_config,
                registry,
                selector: &selector,
            }),
        };
        let explained = found.into_iter().map(|(skill, standing)| {
            let placement = prompt.place(skill, standing);
            let words = placement.filter(|_| in_words).and_then(|placement| prompt.words(skill, placement));
            Explained { report: SkillReport::new(skill, standing, registry, &facets), placement, words }
        });
        let skills: Vec<Explained<'_>> = explained.collect();
        let placements = || skills.iter().filter_map(|skill| skill.placement);
        let (placement, offered) = if registry.client().is_some() {
            let listed = |skill: &Explained<'_>| {
                *skill.report.standing == Standing::Listed && !is_not_read(skill.report.skill)
            };
            // A client that lists a skill may have no room for it in its prompt.
            let fits = placements().any(|placement| placement != Placement::OverBudget);
            (placements().next(), fits && skills.iter().any(listed))
        } else {
            // Several, if several keys have this name.
            let best = placements().find(|placement| is_there(*placement)).or(placements().next());
            (best, best.is_some_and(is_there))
        };
        // A skill that is not offered may be in what could not be read.
        let outcome =
            if offered { answered(registry, &args.places) } else { ended(Outcome::Problems, registry) };
        Ok(Answer { skills, placement, offered, outcome })
    }

    /// The folder of the argument, if it is a path that no agent looks at.
    fn folder(&self) -> Option<PathBuf> {
        self.arg.file()?.parent().map(Path::to_owned)
    }

    /// Looks for a skill that was not found.
    fn missing(&self) -> Result<Missing, CommandError> {
        let Self { args: Why { name, places, .. }, registry, origins, .. } = self;
        if let Some(near_miss) = NearMiss::of(name, places, registry) {
            return Ok(Missing { near_miss: Some(near_miss), ..Missing::default() });
        }
        // What a client lists does not depend on our settings.
        let is_ours = places.clients.is_empty();
        Ok(Missing {
            near_miss: None,
            elsewhere: Elsewhere::of(&self.name(), places, origins)?,
            left_out_by: if is_ours { LeftOutBy::of(&self.arg, places) } else { None },
        })
    }

    /// The name of the skill: a path names the skill in its folder.
    fn name(&self) -> String {
        let folder = self.folder().map(|folder| env::absolute(&folder));
        let name = folder.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
        name.map_or_else(|| self.args.name.clone(), Cow::into_owned)
    }

    /// The answer as JSON.
    fn report(&self) -> Result<(Outcome, Explanation<'_>), CommandError> {
        let Self { args: Why { name, places, .. }, registry, catalog, .. } = self;
        let Answer { skills, placement, offered, outcome } = self.answer(false)?;
        let Missing { near_miss, elsewhere, left_out_by } =
            if skills.is_empty() { self.missing()? } else { Missing::default() };
        let is_found = |key: &&str| skills.iter().any(|skill| skill.report.key == *key);
        let similar = catalog.similar(name).into_iter().filter(|key| !is_found(key)).collect();
        let mut unread = Unread::all(registry);
        let mut link = None;
        match near_miss {
            Some(NearMiss::Unreadable(error)) => unread.push(Unread::of(&error)),
            Some(NearMiss::Link(found)) => link = Some(found),
            _ => {}
        }
        let built_in = skills.is_empty() && built_in(name, places).is_some();
        let candidates = skills.into_iter().map(|skill| skill.report).collect();
        let prompt = placement.map(code);
        let report = Explanation {
            version: VERSION,
            name,
            offered,
            candidates,
            similar,
            prompt,
            unread,
            elsewhere,
            link,
            left_out_by,
            built_in,
        };
        Ok((outcome, report))
    }

    /// Writes the answer. Among several clients, what one does not see is part of it.
    fn say(&self, among: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
        let Answer { skills, outcome, .. } = self.answer(true)?;
        if skills.is_empty() {
            let failure = self.failure(self.missing()?);
            if among {
                ui.print(&lines_of(&failure))?;
            } else {
                ui.failure(&failure);
            }
            return Ok(outcome);
        }
        let Self { args: Why { places, .. }, registry, catalog, origins, .. } = self;
        let context = page::PageContext {
            places,
            origins,
            registry,
            needed: LazyCell::new(Box::new(|| Needed::of(registry.client(), catalog))),
            columns: ui.columns(),
            paths: ShortPaths::on(ui.columns()),
        };
        let mut text = Text::default();
        for skill in &skills {
            page::page(&mut text, skill, &context);
        }
        ui.print(&context.fitted(&text))?;
        Ok(outcome)
    }

    /// The failure of a skill that was not found.
    fn failure(&self, Missing { near_miss, elsewhere, left_out_by }: Missing) -> Failure {
        let Why { name, places, .. } = self.args;
        let here = self.folder().filter(|_| places.options().is_empty());
        gone(name, &self.origins)
            .or_else(|| near_miss.map(|near_miss| near_miss.failure(name, places)))
            .or_else(|| left_out_by.map(|left_out| left_out.failure(name)))
            .or_else(|| elsewhere.failure(&self.name()))
            .or_else(|| built_in(name, places).filter(|_| here.is_none()))
            .unwrap_or_else(|| {
                let mut similar = self.catalog.similar(name);
                similar.extend(near_built_in(name, places));
                let hint = match here {
                    Some(here) => format!(
                        "a folder of this name is here, where no agent looks; install it for them with: {}",
                        super::new::add_command(&here)
                    ),
                    None if similar.is_empty() => {
                        "a skill is a folder with a SKILL.md in a place where agents look; --in names another"
                            .to_owned()
                    }
                    None => format!("there is {}", similar.join(", ")),
                };
                Failure::new(format!("no skill of this name was found: {}", clean(name)), hint)
            })
    }
}

/// The failure of a skill that the lock names and whose folder is gone.
fn gone(name: &str, origins: &Origins) -> Option<Failure> {
    let origin = origins.named(name).find(|origin| origin.path.symlink_metadata().is_err())?;
    let error = format!(
        "this skill is installed, and its folder is missing: {}",
        clean(&origin.path.to_string_lossy())
    );
    let sync = format!("prowess sync{}", scope_option(origin.scope));
    Some(Failure::new(error, format!("restore it with: {sync}")))
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
