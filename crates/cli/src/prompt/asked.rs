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

/// The prompt in which `prowess why` looks for skills: that of a client, or that of a session of Prowess.
pub(crate) struct AskedPrompt<'a> {
    pub(crate) args: &'a Why,
    pub(crate) client: Option<&'a ClientPrompt>,
    pub(crate) config: &'a SessionConfig,
    pub(crate) registry: &'a Registry,
    pub(crate) selector: &'a dyn Selector,
    /// Whether it also says in words what it does with a skill.
    pub(crate) in_words: bool,
}

/// What a prompt does with a skill.
pub(crate) struct InPrompt {
    pub(crate) placement: Placement,
    /// What is to be said about it, if that was asked for; nothing about a skill that is there as it is.
    pub(crate) words: Option<String>,
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

impl AskedPrompt<'_> {
    /// What the prompt does with a skill; nothing with one that is not offered.
    pub(crate) fn place(&self, skill: &Candidate, standing: &Standing) -> Option<InPrompt> {
        let key = &skill.entry.key;
        if *standing != Standing::Listed {
            return None;
        }
        let (placement, words) = match self.client {
            Some(_) if not_for_model(skill, self.registry).is_some() => {
                (Placement::Hidden(Hidden::NotForModel), None)
            }
            Some(client) => match client.place(key, &self.args.size) {
                (Placement::Whole, None) if self.args.query.is_some() => {
                    (Placement::Whole, Some("in its prompt: yes, whatever the query".to_owned()))
                }
                place => place,
            },
            None if !skill.is_usable() => return None,
            None => {
                let placement = self.ask(|session, options| session.placement(key, options));
                let placement = placement.unwrap_or(Placement::NotSelected);
                (placement, if self.in_words { self.words(placement) } else { None })
            }
        };
        Some(InPrompt { placement, words })
    }

    /// What is to be said about a placement in a session.
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
        let Self { args, config, registry, selector, .. } = self;
        let mut session = Session::new("why", registry.catalog(), config.policy(), config.options());
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let style = CatalogStyle::new(Shape::Xml);
        let select = SelectOptions::default().with_available_tools(config.tools.clone().unwrap_or_default());
        let options = PromptOptions::new(&style, args.size.budget()).with_query(&query, *selector, &select);
        ask(&mut session, &options)
    }
}
