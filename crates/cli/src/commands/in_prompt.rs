//! What a host's filter and its prompt make of one skill, for those who ask why it is not there.

use prowess::Registry;
use prowess::render::{CatalogStyle, Shape};
use prowess::select::{self, Query};
use prowess::session::{self, Act, Actor, Filter, Hidden, Policy, PromptOptions, Session};

use super::search_index;
use crate::args::Why;
use crate::ui::clean;

/// What a host's filter and its prompt make of a skill that is offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InPrompt {
    Whole,
    Shortened,
    /// Only a user may start it.
    NotForModel,
    Filtered,
    /// Other skills fit the task better.
    NotSelected,
    /// The budget was too small.
    Cut,
}

impl InPrompt {
    pub(super) fn of(key: &str, args: &Why, filter: &Filter, registry: &Registry) -> Self {
        let policy = Policy { filter: filter.clone(), ..Policy::default() };
        let mut session = Session::new("why", registry.catalog(), policy, session::Options::default());
        match session.why_hidden(key, Act::See, Actor::Model) {
            Some(Hidden::NotForModel) => return Self::NotForModel,
            Some(_) => return Self::Filtered,
            None => {}
        }
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let selector = search_index(&args.places, registry);
        let style = CatalogStyle::new(Shape::Xml);
        let asked = PromptOptions {
            narrow: Some((&query, &selector, &select::Options::default())),
            ..PromptOptions::new(&style, args.budget.of(args.window))
        };
        let Ok(prompt) = session.prompt(&asked) else { return Self::NotSelected };
        let report = &prompt.report;
        let has = |keys: &[String]| keys.iter().any(|known| known == key);
        let described = session.catalog().get(key).map_or(0, |skill| skill.entry.description.chars().count());
        if has(&report.omitted) {
            Self::Cut
        } else if !has(&prompt.skills) {
            Self::NotSelected
        } else if report.max_description.is_some_and(|most| described > most) {
            Self::Shortened
        } else {
            Self::Whole
        }
    }

    pub(super) fn is_there(self) -> bool {
        matches!(self, Self::Whole | Self::Shortened | Self::NotForModel)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Shortened => "shortened",
            Self::NotForModel => "not-for-model",
            Self::Filtered => "filtered",
            Self::NotSelected => "not-selected",
            Self::Cut => "cut",
        }
    }

    pub(super) fn sentence(self, filter: &Filter) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Shortened => {
                Some("in the prompt: with a shorter description, to fit the budget".to_owned())
            }
            Self::NotForModel => Some("in the prompt: no, only a user may start it".to_owned()),
            Self::Filtered => Some(format!("filtered by: {}", clean(filter.as_str()))),
            Self::NotSelected => Some("in the prompt: no, other skills fit the task better".to_owned()),
            Self::Cut => Some("in the prompt: no, the budget is too small for all".to_owned()),
        }
    }
}
