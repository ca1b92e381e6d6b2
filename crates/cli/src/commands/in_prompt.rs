//! What a host's filter and its prompt make of one skill, for those who ask why it is not there.

use prowess::render::{CatalogStyle, Shape, estimate_tokens, render_within};
use prowess::select::{self, Narrowed, Query, Selector, narrow};
use prowess::session::{self, Act, Actor, Hidden, Policy, Session};
use prowess::{Entry, Registry};

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
    pub(super) fn of(key: &str, args: &Why, registry: &Registry) -> Self {
        let policy = Policy { filter: args.filter.clone(), ..Policy::default() };
        let session = Session::new("why", registry.catalog(), policy, session::Options::default());
        match session.why_hidden(key, Act::See, Actor::Model) {
            Some(Hidden::NotForModel) => return Self::NotForModel,
            Some(_) => return Self::Filtered,
            None => {}
        }
        let catalog = registry.catalog();
        let among: Vec<&Entry> =
            session.visible(Actor::Model, &args.filter).into_iter().map(|skill| &skill.entry).collect();
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        // Without a task nothing is ranked, and no body need be read.
        let index = (!query.is_empty()).then(|| search_index(&args.places, registry));
        let selector = index.as_ref().map(|index| index as &dyn Selector);
        let skills: Vec<&Entry> = match narrow(selector, &query, &among, &select::Options::default()) {
            Ok(Narrowed::Hits(hits)) => {
                hits.iter().filter_map(|hit| catalog.get(&hit.key)).map(|c| &c.entry).collect()
            }
            _ => among,
        };
        let Some(entry) = skills.iter().find(|entry| entry.key == key) else {
            return Self::NotSelected;
        };
        let style = CatalogStyle::new(Shape::Xml);
        let report = render_within(&skills, &style, args.budget.of(args.window), &estimate_tokens).report;
        if report.omitted.contains(&entry.key) {
            Self::Cut
        } else if report.max_description.is_some_and(|most| entry.description.chars().count() > most) {
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

    pub(super) fn sentence(self, args: &Why) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Shortened => {
                Some("in the prompt: with a shorter description, to fit the budget".to_owned())
            }
            Self::NotForModel => Some("in the prompt: no, only a user may start it".to_owned()),
            Self::Filtered => Some(format!("filtered by: {}", clean(args.filter.as_str()))),
            Self::NotSelected => Some("in the prompt: no, other skills fit the task better".to_owned()),
            Self::Cut => Some("in the prompt: no, the budget is too small for all".to_owned()),
        }
    }
}
