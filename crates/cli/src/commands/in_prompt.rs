//! What a host's filter, tools and prompt do with one skill, for `prowess why`.

use prowess::Registry;
use prowess::library::config::SessionConfig;
use prowess::render::{CatalogStyle, Shape};
use prowess::select::{self, Query, Selector};
use prowess::session::{Hidden, Placement, PromptOptions, Session};

use super::filter_place;
use crate::args::Why;
use crate::ui::clean;

/// What the prompt of a host does with a skill that is offered.
#[derive(Clone, Copy)]
pub(super) struct InPrompt(pub(super) Placement);

impl InPrompt {
    pub(super) fn of(
        key: &str,
        args: &Why,
        said: &SessionConfig,
        registry: &Registry,
        selector: &dyn Selector,
    ) -> Self {
        let session = Session::new("why", registry.catalog(), said.policy(), said.options());
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let available_tools = said.tools.clone().unwrap_or_default();
        let style = CatalogStyle::new(Shape::Xml);
        let select = select::SelectOptions::default().with_available_tools(available_tools);
        let asked = PromptOptions::new(&style, args.size.budget()).with_query(&query, selector, &select);
        Self(session.placement(key, &asked).unwrap_or(Placement::NotSelected))
    }

    pub(super) fn is_there(self) -> bool {
        matches!(self.0, Placement::Whole | Placement::Shortened | Placement::Hidden(Hidden::NotForModel))
    }

    /// The verdict about a skill that may be used.
    pub(super) fn verdict(self) -> &'static str {
        match self.0 {
            Placement::Whole | Placement::Shortened => "offered",
            Placement::Hidden(Hidden::NotForModel) => "offered to users only",
            Placement::Hidden(_) => "hidden by a filter",
            _ => "not in the prompt",
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self.0 {
            Placement::LacksTools => "lacks-tools",
            Placement::Whole => "whole",
            Placement::Shortened => "shortened",
            Placement::Hidden(Hidden::NotForModel) => "not-for-model",
            Placement::Hidden(_) => "filtered",
            Placement::OverBudget => "cut",
            _ => "not-selected",
        }
    }

    pub(super) fn sentence(self, said: &SessionConfig) -> Option<String> {
        let sentence = match self.0 {
            Placement::Whole => return None,
            Placement::Shortened => "in the prompt: with a shorter description, to fit the budget",
            Placement::Hidden(Hidden::NotForModel) => "in the prompt: no, only a user may start it",
            Placement::Hidden(_) => {
                let glob = said.filter.as_ref().map_or("", |filter| filter.as_str());
                let place = said.filter_file.as_ref().map(|_| format!(" ({})", clean(&filter_place(said))));
                return Some(format!("filtered by: {}{}", clean(glob), place.unwrap_or_default()));
            }
            Placement::OverBudget => "in the prompt: no, the budget is too small for all",
            Placement::LacksTools => {
                "in the prompt: no, it asks for tools that are not in session.tools of prowess.toml"
            }
            _ => "in the prompt: no, other skills fit the task better",
        };
        Some(sentence.to_owned())
    }
}
