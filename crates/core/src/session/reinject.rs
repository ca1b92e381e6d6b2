//! What of the active skills goes back into a context after it was compacted.

use super::Session;
use crate::render::{Budget, compose};

/// How much goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReinjectBudget {
    /// The most of one skill.
    pub each: Budget,
    /// The most of all together.
    pub total: Budget,
}

impl Default for ReinjectBudget {
    fn default() -> Self {
        Self { each: Budget::Tokens(5_000), total: Budget::Tokens(25_000) }
    }
}

/// What goes back into a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reinjected {
    /// The text, the most recently activated skill first; empty when none is active.
    pub text: String,
    /// The skills in it, in that order.
    pub included: Vec<String>,
    /// Those of them that are cut.
    pub cut: Vec<String>,
    /// The active skills that found no place.
    pub omitted: Vec<String>,
}

/// The end of an activation.
const CLOSE: &str = "\n</skill_content>";

impl Session {
    /// The texts of the active skills, as the model was given them, within a budget. `tokens` counts tokens;
    /// [`crate::render::estimate_tokens`] will do.
    pub fn reinject(&self, budget: ReinjectBudget, tokens: &dyn Fn(&str) -> usize) -> Reinjected {
        let mut again = Reinjected::default();
        let mut texts: Vec<String> = Vec::new();
        for active in self.state().active().iter().rev() {
            let room = |text: &str| {
                let mut all: Vec<&str> = texts.iter().map(String::as_str).collect();
                all.push(text);
                fits(text, budget.each, tokens) && fits(&compose(&all), budget.total, tokens)
            };
            if room(&active.text) {
                texts.push(active.text.clone());
            } else if let Some(part) = shortened(&active.text, &room) {
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

fn fits(text: &str, budget: Budget, tokens: &dyn Fn(&str) -> usize) -> bool {
    match budget {
        Budget::Tokens(most) => tokens(text) <= most,
        Budget::Characters(most) => text.chars().count() <= most,
        Budget::Unlimited => true,
    }
}

/// As many lines of an activation as there is room for, still inside their wrapper.
fn shortened(text: &str, room: &dyn Fn(&str) -> bool) -> Option<String> {
    // The list of files is not worth its place, and half of it would leave its wrapper open.
    let whole = text.split("\n<skill_resources>").next().and_then(|text| text.split(CLOSE).next())?;
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at).chain([whole.len()]).collect();
    let made = |count: usize| {
        let end = count.checked_sub(1).and_then(|at| ends.get(at))?;
        let start = whole.get(..*end)?.trim_end();
        Some(format!("{start}\n[cut here to save space; load the skill again to see the rest]{CLOSE}"))
    };
    // The first line opens the wrapper; with nothing more, the skill is better left out.
    let (mut low, mut high) = (1, ends.len());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if made(middle).is_some_and(|text| room(&text)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    if low < 2 { None } else { made(low).filter(|text| room(text)) }
}
