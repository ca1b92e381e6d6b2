//! What the prompt of a host's session does with one skill: by its filter, its tools and its budget.

use prowess::Registry;
use prowess::render::{BudgetReport, CatalogStyle, Shape};
use prowess::select::{Query, SelectOptions, Selector};
use prowess::session::{Hidden, Placement, PromptOptions, Session};
use prowess::settings::SessionConfig;

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
    pub(crate) fn place(&self, key: &str) -> Placement {
        self.ask(|session, options| session.placement(key, options)).unwrap_or(Placement::NotSelected)
    }

    /// What is to be said about a placement; nothing about a skill that is there as it is.
    pub(crate) fn words(&self, placement: Placement) -> Option<String> {
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
