//! The part of a prompt that lists the skills for a model.

use crate::catalog::{Candidate, Catalog, is_below};
use crate::render::{Budget, BudgetReport, CatalogStyle, compose, estimate_tokens, render_within};
use crate::select::{self, Narrowed, NotNarrowed, Query, SelectError, Selector, narrow};
use crate::session::Session;
use crate::session::event::{Actor, EventKind};
use crate::session::interface::naming::Tool;
use crate::session::policy::{Act, Hidden};
use crate::session::state::Active;
use crate::skill::Entry;

/// Options of a prompt.
#[non_exhaustive]
pub struct PromptOptions<'p> {
    /// The layout of the catalog.
    pub style: &'p CatalogStyle,
    /// The budget of the catalog.
    pub budget: Budget,
    /// The function that counts tokens.
    pub tokens: &'p dyn Fn(&str) -> usize,
    /// The query, the selector that ranks skills for it, and its options. They may differ in every turn.
    pub narrow: Option<(&'p Query, &'p dyn Selector, &'p select::SelectOptions)>,
    /// Only skills in or below this virtual folder; all when empty.
    pub folder: &'p str,
    /// Whether the texts of preloaded skills follow the catalog.
    pub preloaded: bool,
}

impl<'p> PromptOptions<'p> {
    /// Every visible skill in this style, within this budget, and the texts of the preloaded ones.
    pub fn new(style: &'p CatalogStyle, budget: Budget) -> Self {
        Self { style, budget, tokens: &estimate_tokens, narrow: None, folder: "", preloaded: true }
    }

    /// Sets the function that counts tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: &'p dyn Fn(&str) -> usize) -> Self {
        self.tokens = tokens;
        self
    }

    /// Shows the skills that fit a query, as a selector ranks them. An empty query shows every skill, and the selector is
    /// not called.
    #[must_use]
    pub fn with_query(
        mut self,
        query: &'p Query,
        selector: &'p dyn Selector,
        options: &'p select::SelectOptions,
    ) -> Self {
        self.narrow = Some((query, selector, options));
        self
    }

    /// Shows the skills in or below a virtual folder; all when it is empty.
    #[must_use]
    pub fn with_folder(mut self, folder: &'p str) -> Self {
        self.folder = folder;
        self
    }

    /// Sets whether the texts of preloaded skills follow.
    #[must_use]
    pub fn with_preloaded(mut self, preloaded: bool) -> Self {
        self.preloaded = preloaded;
        self
    }
}

/// The part of a prompt about skills.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prompt {
    /// The text; empty when no skill is visible and none is preloaded.
    pub text: String,
    /// The keys of the skills in the catalog, in its order.
    pub skills: Vec<String>,
    /// What the budget cut.
    pub report: BudgetReport,
    /// Why the query did not narrow the skills, if it did not.
    pub not_narrowed: Option<NotNarrowed>,
}

/// What a prompt does with one skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// It is in the prompt with its whole description.
    Whole,
    /// It is in the prompt with a shorter description, to fit the budget.
    Shortened,
    /// The policy hides it.
    Hidden(Hidden),
    /// It asks for tools that the host does not have.
    LacksTools,
    /// The query or the folder selects other skills.
    NotSelected,
    /// The budget has no room for it.
    OverBudget,
}

impl Session {
    /// What a prompt with these options does with one skill, by its key.
    ///
    /// An error is one of the selector, and only when the options ask for it.
    pub fn placement(&self, key: &str, options: &PromptOptions<'_>) -> Result<Placement, SelectError> {
        if let Some(hidden) = self.why_hidden(key, Act::See, Actor::Model) {
            return Ok(Placement::Hidden(hidden));
        }
        let skills = self.selected(self.catalog(), options)?.skills;
        let Some(entry) = skills.iter().find(|entry| entry.key == key) else {
            let tools = self.catalog().get(key).and_then(|skill| skill.entry.allowed_tools.as_ref());
            let lacks_tools = options.narrow.is_some_and(|(.., asked)| !asked.available_tools.suffice(tools));
            return Ok(if lacks_tools { Placement::LacksTools } else { Placement::NotSelected });
        };
        let report = render_within(&skills, options.style, options.budget, options.tokens).report;
        let too_long = |most: usize| entry.description.chars().count() > most;
        Ok(if report.omitted.iter().any(|omitted| omitted == key) {
            Placement::OverBudget
        } else if report.max_description.is_some_and(too_long) {
            Placement::Shortened
        } else {
            Placement::Whole
        })
    }

    /// The part of a prompt about skills: an instruction, the visible skills, and the texts of preloaded ones.
    ///
    /// An error is one of the selector, and only when the options ask for it.
    pub fn prompt(&mut self, options: &PromptOptions<'_>) -> Result<Prompt, SelectError> {
        let catalog = self.shared_catalog();
        let Narrowed { skills, not_narrowed } = self.selected(&catalog, options)?;
        let mut shown = render_within(&skills, options.style, options.budget, options.tokens);
        let keys: Vec<String> =
            skills.iter().take(shown.report.included).map(|entry| entry.key.clone()).collect();
        let mut parts: Vec<String> = Vec::new();
        if !skills.is_empty() {
            let instruction = self.options().instruction.clone().unwrap_or_else(|| self.instruction());
            parts.extend(Some(instruction).filter(|text| !text.is_empty()));
            parts.push(std::mem::take(&mut shown.text));
            self.record(EventKind::Offered { keys: keys.clone(), omitted: shown.report.omitted.len() });
        }
        let preloaded = self.state().active().iter().filter(|active| active.preloaded && options.preloaded);
        parts.extend(preloaded.map(Active::text));
        Ok(Prompt { text: compose(&parts), skills: keys, report: shown.report, not_narrowed })
    }

    /// The skills that a prompt with these options shows, before its budget.
    pub(in crate::session) fn selected<'c>(
        &self,
        catalog: &'c Catalog,
        options: &PromptOptions<'_>,
    ) -> Result<Narrowed<'c>, SelectError> {
        let inside = |candidate: &&&Candidate| is_below(&candidate.virtual_path, options.folder);
        let visible = self.visible_in(catalog, Actor::Model, self.filter());
        let among: Vec<&Entry> = visible.iter().filter(inside).map(|candidate| &candidate.entry).collect();
        match options.narrow {
            None => Ok(Narrowed { skills: among, not_narrowed: None }),
            Some((query, selector, asked)) => narrow(Some(selector), query, &among, asked),
        }
    }

    fn instruction(&self) -> String {
        let before = match self.offered_name(Tool::Load) {
            Some(load) => format!("call {load} with its name before you begin, and follow what it says."),
            None => "follow what it says.".to_owned(),
        };
        format!(
            "Skills hold instructions for particular tasks. When a task is what a skill below is for, {before}"
        )
    }
}
