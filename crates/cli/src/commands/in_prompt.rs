//! What a host's filter, tools and prompt do with one skill, for `prowess why`.

use prowess::Registry;
use prowess::library::config::SessionConfig;
use prowess::render::{CatalogStyle, Shape};
use prowess::select::{self, Query};
use prowess::session::{Hidden, Placement, PromptOptions, Session};

use super::{filter_place, search_index};
use crate::args::Why;
use crate::ui::clean;

/// What the prompt of a host does with a skill that is offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InPrompt {
    /// It asks for tools that the host does not have.
    LacksTools,
    /// This.
    At(Placement),
}

impl InPrompt {
    pub(super) fn of(key: &str, args: &Why, said: &SessionConfig, registry: &Registry) -> Self {
        let session = Session::new("why", registry.catalog(), said.policy(), said.options());
        let query = Query::text(args.query.as_deref().unwrap_or_default());
        let selector = search_index(&args.places, registry);
        let available_tools = said.tools.clone().unwrap_or_default();
        let tools = session.catalog().get(key).and_then(|skill| skill.entry.allowed_tools.as_ref());
        let lacks_tools = !available_tools.suffice(tools);
        let style = CatalogStyle::new(Shape::Xml);
        let select = select::SelectOptions { available_tools, ..select::SelectOptions::default() };
        let asked =
            PromptOptions::new(&style, args.budget.of(args.window)).with_query(&query, &selector, &select);
        match session.placement(key, &asked).unwrap_or(Placement::NotSelected) {
            Placement::NotSelected if lacks_tools => Self::LacksTools,
            placement => Self::At(placement),
        }
    }

    pub(super) fn is_there(self) -> bool {
        matches!(
            self,
            Self::At(Placement::Whole | Placement::Shortened | Placement::Hidden(Hidden::NotForModel))
        )
    }

    /// What to say first of a skill that may be used.
    pub(super) fn verdict(self) -> &'static str {
        match self {
            Self::At(Placement::Whole | Placement::Shortened) => "offered",
            Self::At(Placement::Hidden(Hidden::NotForModel)) => "offered to users only",
            Self::At(Placement::Hidden(_)) => "hidden by a filter",
            Self::At(_) | Self::LacksTools => "not in the prompt",
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::LacksTools => "lacks-tools",
            Self::At(Placement::Whole) => "whole",
            Self::At(Placement::Shortened) => "shortened",
            Self::At(Placement::Hidden(Hidden::NotForModel)) => "not-for-model",
            Self::At(Placement::Hidden(_)) => "filtered",
            Self::At(Placement::OverBudget) => "cut",
            Self::At(_) => "not-selected",
        }
    }

    pub(super) fn sentence(self, said: &SessionConfig) -> Option<String> {
        let sentence = match self {
            Self::At(Placement::Whole) => return None,
            Self::At(Placement::Shortened) => "in the prompt: with a shorter description, to fit the budget",
            Self::At(Placement::Hidden(Hidden::NotForModel)) => "in the prompt: no, only a user may start it",
            Self::At(Placement::Hidden(_)) => {
                let glob = said.filter.as_ref().map_or("", |filter| filter.as_str());
                let place = said.filter_file.as_ref().map(|_| format!(" ({})", clean(&filter_place(said))));
                return Some(format!("filtered by: {}{}", clean(glob), place.unwrap_or_default()));
            }
            Self::At(Placement::OverBudget) => "in the prompt: no, the budget is too small for all",
            Self::At(_) => "in the prompt: no, other skills fit the task better",
            Self::LacksTools => {
                "in the prompt: no, it asks for tools that are not in session.tools of prowess.toml"
            }
        };
        Some(sentence.to_owned())
    }
}
