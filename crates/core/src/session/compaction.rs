//! What of the active skills goes back into a context after it was compacted.

use crate::render::{Budget, compose};
use crate::session::Session;
use crate::session::interface::naming::Tool;
use crate::session::state::Active;

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
            } else if let Some(part) = shortened(active, self.offered(Tool::Load).is_some(), &room) {
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

/// As much of an activation as there is room for, still inside its wrapper: cut at a line, else at a character.
fn shortened(active: &Active, loadable: bool, room: &dyn Fn(&str) -> bool) -> Option<String> {
    let (head, rest) = active.text.split_at_checked(active.body_end)?;
    let (opened, close) = if active.plain { (0, "") } else { (head.find('\n')? + 1, CLOSE) };
    let again = if loadable { "; load the skill again to see the rest" } else { "" };
    // The list of files is not worth its place, and half of it would leave its wrapper open.
    let directory = rest.split("\n<skill_resources>").next()?.split(CLOSE).next()?.trim_end();
    let hint = rest.rfind(CLOSE).and_then(|at| rest.get(at + CLOSE.len()..)).unwrap_or_default();
    // Where the files lie and how to read them is kept if anything of the instructions can stand beside it.
    for (directory, hint) in [(directory, hint), ("", "")] {
        let made = |end: usize| {
            let start = head.get(..end)?.trim_end();
            Some(format!("{start}\n[cut here to save space{again}]{directory}{close}{hint}"))
        };
        let ends: Vec<usize> = head.char_indices().map(|(at, _)| at).skip_while(|at| *at <= opened).collect();
        let fitting = ends.partition_point(|end| made(*end).is_some_and(|text| room(&text)));
        let Some(end) = fitting.checked_sub(1).and_then(|at| ends.get(at)) else { continue };
        let line = head.get(opened..*end).and_then(|part| part.rfind('\n')).map(|at| opened + at);
        return made(line.filter(|line| *line > opened).unwrap_or(*end));
    }
    None
}
