//! The block of a prompt that tells a model which skills there are.

use super::Session;
use super::event::{Actor, What};
use super::naming::Tool;
use crate::catalog::Candidate;
use crate::render::{Budget, BudgetReport, CatalogStyle, compose, estimate_tokens, render_within};
use crate::select::{self, Narrowed, Query, SelectError, Selector, Whole, narrow};
use crate::skill::Entry;

/// What a prompt shows.
pub struct PromptOptions<'p> {
    /// The layout of the catalog.
    pub style: &'p CatalogStyle,
    /// How long the catalog may be.
    pub budget: Budget,
    /// What counts tokens.
    pub tokens: &'p dyn Fn(&str) -> usize,
    /// What the prompt is about, what ranks skills for it, and how many: another selector each turn, if you like.
    pub narrow: Option<(&'p Query, &'p dyn Selector, &'p select::Options)>,
    /// Only skills in or below this virtual folder; all when empty.
    pub folder: &'p str,
}

impl<'p> PromptOptions<'p> {
    /// Every visible skill in this style, within this budget.
    pub fn new(style: &'p CatalogStyle, budget: Budget) -> Self {
        Self { style, budget, tokens: &estimate_tokens, narrow: None, folder: "" }
    }
}

/// The block of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The text; empty when no skill is visible and none is preloaded.
    pub text: String,
    /// What the budget cut.
    pub report: BudgetReport,
    /// Why the skills were not narrowed down to those that fit, when they were to be.
    pub whole: Option<Whole>,
}

impl Session {
    /// The block of a prompt: an instruction, the skills that are visible, and the text of the preloaded ones.
    ///
    /// An error is one of the selector, and only when the options ask for it.
    pub fn prompt(&mut self, options: &PromptOptions<'_>) -> Result<Prompt, SelectError> {
        let catalog = self.shared_catalog();
        let filter = self.filter().clone();
        let visible = self.visible_in(&catalog, Actor::Model, &filter);
        let inside =
            |candidate: &&&Candidate| crate::catalog::is_below(&candidate.virtual_path, options.folder);
        let among: Vec<&Entry> = visible.iter().filter(inside).map(|candidate| &candidate.entry).collect();
        let (entries, whole) = match options.narrow {
            None => (among, None),
            Some((query, selector, asked)) => match narrow(Some(selector), query, &among, asked)? {
                Narrowed::Hits(hits) => {
                    // A selector of the host may return anything; only what the policy let through is shown.
                    let found = |hit: &select::Hit| among.iter().find(|entry| entry.key == hit.key).copied();
                    (hits.iter().filter_map(found).collect(), None)
                }
                Narrowed::All(why) => (among, Some(why)),
                Narrowed::None(why) => (Vec::new(), Some(why)),
            },
        };
        let mut shown = render_within(&entries, options.style, options.budget, options.tokens);
        let mut parts: Vec<String> = Vec::new();
        if !entries.is_empty() {
            let instruction = self.options().instruction.clone().unwrap_or_else(|| self.instruction());
            parts.extend(Some(instruction).filter(|text| !text.is_empty()));
            parts.push(std::mem::take(&mut shown.text));
            let keys = entries.iter().take(shown.report.included).map(|entry| entry.key.clone()).collect();
            self.note(What::Offered { keys, omitted: shown.report.omitted.len() });
        }
        parts.extend(self.state().active().iter().filter(|a| a.preloaded).map(|active| active.text.clone()));
        Ok(Prompt { text: compose(&parts), report: shown.report, whole })
    }

    fn instruction(&self) -> String {
        let naming = &self.options().naming;
        format!(
            "Skills hold instructions for particular tasks. When a task is what a skill below is for, call {} with \
             its name before you begin, and follow what it says.",
            naming.tool_name(Tool::Load)
        )
    }
}
