//! What a host's filter, tools and prompt do with one skill, for `prowess why`.

use prowess::Registry;
use prowess::render::{BudgetReport, CatalogStyle, Shape};
use prowess::select::{self, Query, Selector};
use prowess::session::{Hidden, Placement, PromptOptions, Session};
use prowess::settings::SessionConfig;

use super::filter_place;
use crate::args::{CatalogSize, Why};
use crate::ui::{clean, count};

/// What the prompt of a host does with a skill that is offered.
#[derive(Clone, Copy)]
pub(super) struct InPrompt(pub(super) Placement);

impl InPrompt {
    pub(super) fn of(
        key: &str,
        args: &Why,
        session_config: &SessionConfig,
        registry: &Registry,
        selector: &dyn Selector,
    ) -> Self {
        asked(args, session_config, registry, selector, |session, options| {
            Self(session.placement(key, options).unwrap_or(Placement::NotSelected))
        })
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

    /// What is to be said about it; `report` returns what the budget did.
    pub(super) fn sentence(
        self,
        session_config: &SessionConfig,
        size: &CatalogSize,
        report: impl FnOnce() -> Option<BudgetReport>,
    ) -> Option<String> {
        let sentence = match self.0 {
            Placement::Whole => return None,
            Placement::Shortened => {
                let most = report().and_then(|report| report.max_description);
                let how = if most.is_some_and(|most| most > 1) { "with a shorter" } else { "without its" };
                return Some(format!("in the prompt: {how} description, to fit into {}", size.words()));
            }
            Placement::Hidden(Hidden::NotForModel) => "in the prompt: no, only a user may start it",
            Placement::Hidden(_) => {
                let glob = session_config.filter.as_ref().map_or("", |filter| filter.as_str());
                let place = session_config
                    .filter_file
                    .as_ref()
                    .map(|_| format!(" ({})", clean(&filter_place(session_config))));
                return Some(format!("filtered by: {}{}", clean(glob), place.unwrap_or_default()));
            }
            Placement::OverBudget => {
                let (left, all) = report().map_or((0, 0), |report| (report.omitted.len(), report.total));
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
}

/// What the budget does to the prompt.
pub(super) fn report(
    args: &Why,
    session_config: &SessionConfig,
    registry: &Registry,
    selector: &dyn Selector,
) -> Option<BudgetReport> {
    asked(args, session_config, registry, selector, |session, options| {
        Some(session.prompt(options).ok()?.report)
    })
}

/// Asks a session for its prompt as the arguments say.
fn asked<T>(
    args: &Why,
    session_config: &SessionConfig,
    registry: &Registry,
    selector: &dyn Selector,
    ask: impl FnOnce(&mut Session, &PromptOptions<'_>) -> T,
) -> T {
    let mut session =
        Session::new("why", registry.catalog(), session_config.policy(), session_config.options());
    let query = Query::text(args.query.as_deref().unwrap_or_default());
    let available_tools = session_config.tools.clone().unwrap_or_default();
    let style = CatalogStyle::new(Shape::Xml);
    let select = select::SelectOptions::default().with_available_tools(available_tools);
    ask(&mut session, &PromptOptions::new(&style, args.size.budget()).with_query(&query, selector, &select))
}
