//! What a host's filter and prompt do with one skill, for `prowess why`.

use prowess::Registry;
use prowess::render::{CatalogStyle, Shape};
use prowess::select::{self, Query};
use prowess::session::{self, Filter, Hidden, Placement, Policy, PromptOptions, Session};

use super::search_index;
use crate::args::Why;
use crate::ui::clean;

/// What the prompt of a host with this filter does with a skill that is offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct InPrompt(Placement);

impl InPrompt {
    pub(super) fn of(key: &str, args: &Why, filter: &Filter, registry: &Registry) -> Self {
        let policy = Policy::default().with_filter(filter.clone());
        let session = Session::new("why", registry.catalog(), policy, session::Options::default());
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let selector = search_index(&args.places, registry);
        let (style, select) = (CatalogStyle::new(Shape::Xml), select::Options::default());
        let asked =
            PromptOptions::new(&style, args.budget.of(args.window)).with_query(&query, &selector, &select);
        Self(session.placement(key, &asked).unwrap_or(Placement::NotSelected))
    }

    pub(super) fn is_there(self) -> bool {
        matches!(self.0, Placement::Whole | Placement::Shortened | Placement::Hidden(Hidden::NotForModel))
    }

    pub(super) fn word(self) -> &'static str {
        match self.0 {
            Placement::Whole => "whole",
            Placement::Shortened => "shortened",
            Placement::Hidden(Hidden::NotForModel) => "not-for-model",
            Placement::Hidden(_) => "filtered",
            Placement::OverBudget => "cut",
            _ => "not-selected",
        }
    }

    pub(super) fn sentence(self, filter: &Filter) -> Option<String> {
        let sentence = match self.0 {
            Placement::Whole => return None,
            Placement::Shortened => "in the prompt: with a shorter description, to fit the budget",
            Placement::Hidden(Hidden::NotForModel) => "in the prompt: no, only a user may start it",
            Placement::Hidden(_) => return Some(format!("filtered by: {}", clean(filter.as_str()))),
            Placement::OverBudget => "in the prompt: no, the budget is too small for all",
            _ => "in the prompt: no, other skills fit the task better",
        };
        Some(sentence.to_owned())
    }
}
