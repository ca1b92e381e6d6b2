//! What a prompt does with one skill: by the limits of a client, or by the filter, the tools and the budget of a session.

use prowess::render::{BudgetReport, CatalogStyle, Shape};
use prowess::select::{Query, SelectOptions, Selector};
use prowess::session::{Hidden, Placement, PromptOptions, Session};
use prowess::settings::SessionConfig;
use prowess::{Candidate, Registry, Standing};

use super::{ClientPrompt, not_for_model};
use crate::args::Why;
use crate::commands::filter_place;
use crate::ui::{clean, count};

/// The prompt of a session, as the arguments of `prowess why` ask for it.
pub(crate) struct SessionPrompt<'a> {
    pub(crate) args: &'a Why,
    pub(crate) config: &'a SessionConfig,
    pub(crate) registry: &'a Registry,
    pub(crate) selector: &'a dyn Selector,
}

/// The prompt in which skills are looked for: that of a client, or that of a session of Prowess.
pub(crate) enum AskedPrompt<'a> {
    Client(&'a ClientPrompt, &'a Why, &'a Registry),
    Session(SessionPrompt<'a>),
}

impl AskedPrompt<'_> {
    /// What the prompt does with a skill; nothing with one that is not offered.
    pub(crate) fn place(&self, skill: &Candidate, standing: &Standing) -> Option<Placement> {
        let key = &skill.entry.key;
        match self {
            _ if *standing != Standing::Listed => None,
            Self::Client(_, _, registry) if not_for_model(skill, registry).is_some() => {
                Some(Placement::Hidden(Hidden::NotForModel))
            }
            Self::Client(prompt, args, _) => Some(prompt.place(key, &args.size).0),
            Self::Session(session) => skill.is_usable().then(|| session.place(key)),
        }
    }

    /// What is to be said about a skill with this placement.
    pub(crate) fn words(&self, skill: &Candidate, placement: Placement) -> Option<String> {
        match (self, placement) {
            (Self::Client(..), Placement::Hidden(_)) => None,
            (Self::Client(prompt, args, _), _) => {
                let words = prompt.place(&skill.entry.key, &args.size).1;
                let is_there = placement == Placement::Whole && args.query.is_some();
                words.or(is_there.then(|| "in its prompt: yes, whatever the query".to_owned()))
            }
            (Self::Session(session), _) => session.words(placement),
        }
    }
}

/// Whether a skill is in the prompt, or left out only because users alone may start it.
pub(crate) fn is_there(placement: Placement) -> bool {
    matches!(placement, Placement::Whole | Placement::Shortened | Placement::Hidden(Hidden::NotForModel))
}

/// The verdict about a skill that may be used.
pub(crate) fn verdict(placement: Placement) -> &'static str {
    match placement {
        Placement::Whole | Placement::Shortened => "offered",
        Placement::Hidden(Hidden::NotForModel) => "offered to users only",
        Placement::Hidden(_) => "hidden by a filter",
        _ => "not in the prompt",
    }
}

/// The code of a placement, in JSON.
pub(crate) fn code(placement: Placement) -> &'static str {
    match placement {
        Placement::LacksTools => "lacks-tools",
        Placement::Whole => "whole",
        Placement::Shortened => "shortened",
        Placement::Hidden(Hidden::NotForModel) => "not-for-model",
        Placement::Hidden(_) => "filtered",
        Placement::OverBudget => "cut",
        _ => "not-selected",
    }
}

impl SessionPrompt<'_> {
    /// What the prompt does with a skill that is offered.
    fn place(&self, key: &str) -> Placement {
        self.ask(|session, options| session.placement(key, options)).unwrap_or(Placement::NotSelected)
    }

    /// What is to be said about a placement; nothing about a skill that is there as it is.
    fn words(&self, placement: Placement) -> Option<String> {
        let size = &self.args.size;
        let sentence = match placement {
            Placement::Whole => return None,
            Placement::Shortened => {
                let most = self.report().and_then(|report| report.max_description);
                let how = if most.is_some_and(|most| most > 1) { "with a shorter" } else { "without its" };
                return Some(format!("in the prompt: {how} description, to fit into {}", size.words()));
            }
            Placement::Hidden(Hidden::NotForModel) => "in the prompt: no, only a user may start it",
            Placement::Hidden(_) => {
                let glob = self.config.filter.as_ref().map_or("", |filter| filter.as_str());
                let place = self.config.filter_file.as_ref();
                let place = place.map(|_| format!(" ({})", clean(&filter_place(self.config))));
                return Some(format!("filtered by: {}{}", clean(glob), place.unwrap_or_default()));
            }
            Placement::OverBudget => {
                let (left, all) = self.report().map_or((0, 0), |report| (report.omitted.len(), report.total));
                return Some(format!(
                    "in the prompt: no: {left} of {} do not fit into {}\n  \
                     hint: name the task with --query, or allow more with --budget",
                    count(all, "skill"),
                    size.words()
                ));
            }
            Placement::LacksTools => {
                "in the prompt: no, it asks for tools that are not in session.tools of prowess.toml"
            }
            _ => "in the prompt: no, other skills fit the task better",
        };
        Some(sentence.to_owned())
    }

    /// What the budget does to the prompt.
    fn report(&self) -> Option<BudgetReport> {
        self.ask(Session::prompt).ok().map(|prompt| prompt.report)
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut Session, &PromptOptions<'_>) -> T) -> T {
        let Self { args, config, registry, selector } = self;
        let mut session = Session::new("why", registry.catalog(), config.policy(), config.options());
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let style = CatalogStyle::new(Shape::Xml);
        let select = SelectOptions::default().with_available_tools(config.tools.clone().unwrap_or_default());
        let options = PromptOptions::new(&style, args.size.budget()).with_query(&query, *selector, &select);
        ask(&mut session, &options)
    }
}
