//! The texts of active skills for a context that was compacted.

use crate::render::{Activation, Budget, compose};
use crate::session::Session;
use crate::session::interface::naming::Tool;

/// How much text goes back into a compacted context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReinjectBudget {
    /// The limit for one skill.
    pub each: Budget,
    /// The limit for all skills together.
    pub total: Budget,
}

with_methods! { ReinjectBudget:
    with_each each: Budget;
    with_total total: Budget;
}

impl Default for ReinjectBudget {
    fn default() -> Self {
        Self { each: Budget::Tokens(5_000), total: Budget::Tokens(25_000) }
    }
}

/// The text that goes back into a compacted context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reinjected {
    /// The text, the most recently activated skill first; empty when none is active.
    pub text: String,
    /// The skills in it, in that order.
    pub included: Vec<String>,
    /// The skills in it whose text is cut.
    pub cut: Vec<String>,
    /// The active skills that did not fit.
    pub omitted: Vec<String>,
}

impl Session {
    /// The texts of the active skills within a budget, as the model first got them. `tokens` counts tokens, such as
    /// [`crate::render::estimate_tokens`].
    pub fn reinject(&self, budget: ReinjectBudget, tokens: &dyn Fn(&str) -> usize) -> Reinjected {
        let mut again = Reinjected::default();
        let mut texts: Vec<String> = Vec::new();
        for active in self.state().active().iter().rev() {
            let room = |text: &str| {
                let mut all: Vec<&str> = texts.iter().map(String::as_str).collect();
                all.push(text);
                budget.each.fits(text, tokens) && budget.total.fits(&compose(&all), tokens)
            };
            let text = active.text();
            if room(&text) {
                texts.push(text);
            } else if let Some(part) =
                shortened(&active.activation, self.offered_name(Tool::Load).is_some(), &room)
            {
                texts.push(part);
                again.cut.push(active.key.clone());
            } else {
                again.omitted.push(active.key.clone());
                continue;
            }
            again.included.push(active.key.clone());
        }
        again.text = compose(&texts);
        again
    }
}

/// As much of an activation as fits, inside its wrapper: cut at the end of a line, else between two characters.
fn shortened(activation: &Activation, loadable: bool, room: &dyn Fn(&str) -> bool) -> Option<String> {
    let body = activation.instructions();
    let again = if loadable { "; load the skill again to see the rest" } else { "" };
    let note = format!("[cut here to save space{again}]");
    let ends: Vec<usize> = body.char_indices().map(|(at, _)| at).skip(1).collect();
    // The folder and the hint are kept if some of the instructions fit beside them.
    for details in [true, false] {
        let made = |end: usize| activation.cut_text(end, &note, details);
        let fitting = ends.partition_point(|end| made(*end).is_some_and(|text| room(&text)));
        let Some(end) = fitting.checked_sub(1).and_then(|at| ends.get(at)) else { continue };
        let line = body.get(..*end).and_then(|part| part.rfind('\n'));
        return made(line.filter(|line| *line > 0).unwrap_or(*end));
    }
    None
}
