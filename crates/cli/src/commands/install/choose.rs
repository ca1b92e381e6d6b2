//! Which skills of a source are installed: those that were named, the only one, or those that the user picks.

use std::fmt::Write as _;

use prowess::install::{Available, InstallSpec};
use serde_json::{Value, json};

use crate::args::Add;
use crate::error::{CommandError, Failure};
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How often the user is asked, when an answer names no skill.
const MAX_ANSWERS: usize = 3;

/// The indexes of the chosen skills.
pub(super) fn chosen(
    available: &Available,
    spec: &InstallSpec,
    args: &Add,
    ui: &mut Ui,
) -> Result<Vec<usize>, CommandError> {
    let several = available.skills().len() > 1;
    if several
        && ui.can_ask()
        && !args.all
        && !args.installing.yes
        && args.skill.is_empty()
        && spec.skill.is_none()
    {
        // A source that names one of its skills leaves no choice.
        return available.choose(&[], false).or_else(|_| pick(available, ui));
    }
    let chosen = available.choose(&args.skill, args.all)?;
    if args.all {
        say_left_out(available, &chosen, ui);
    }
    Ok(chosen)
}

/// The skills that are not installed because no agent would load them, each with the reason.
fn not_loadable<'a>(
    available: &'a Available,
    chosen: &'a [usize],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = available.skills().enumerate().filter(|(at, _)| !chosen.contains(at));
    all.filter_map(|(_, skill)| Some((skill.name, skill.problem?)))
}

/// Reports which skills are not installed, since no agent would load them.
fn say_left_out(available: &Available, chosen: &[usize], ui: &mut Ui) {
    for (name, problem) in not_loadable(available, chosen) {
        ui.note(&format!("left out, since no agent would load it: {name}: {problem}"));
    }
}

/// Which skills are not installed, since no agent would load them, as JSON.
pub(super) fn left_out(available: &Available, chosen: &[usize]) -> Value {
    let left_out = not_loadable(available, chosen);
    left_out.map(|(name, reason)| json!({"name": name, "reason": reason})).collect()
}

/// Asks the user which skills to install.
fn pick(available: &Available, ui: &mut Ui) -> Result<Vec<usize>, CommandError> {
    let most = available.skills().len();
    let mut text = format!("{} in this source:\n", count(most, "skill"));
    for (at, skill) in available.skills().enumerate() {
        let description = prowess::text::cut(skill.description.unwrap_or_default(), Some(70));
        let _ = writeln!(
            text,
            "{:>4}  {STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}",
            at + 1,
            clean(skill.name),
            clean(&description)
        );
    }
    ui.tell(&text);
    let named = |name: &str| available.choose(&[name.to_owned()], false).ok()?.pop();
    for _ in 0..MAX_ANSWERS {
        let answer = ui.ask("Which? (numbers such as 1,3-5, names, or all)")?;
        if answer.trim().eq_ignore_ascii_case("all") {
            let whole = available.choose(&[], true)?;
            say_left_out(available, &whole, ui);
            return Ok(whole);
        }
        if let Some(chosen) = numbers(&answer, most, named) {
            return Ok(chosen);
        }
        if answer.trim().is_empty() {
            break;
        }
        ui.note(&format!(
            "this is none of them: {}; answer with numbers from 1 to {most}, names or all",
            clean(answer.trim())
        ));
    }
    let hint = "answer with numbers, names or all";
    Err(Failure::new("nothing was chosen, so nothing was installed", hint).into())
}

/// The indexes that an answer names by numbers and names; none when it is invalid or chooses nothing.
fn numbers(answer: &str, most: usize, named: impl Fn(&str) -> Option<usize>) -> Option<Vec<usize>> {
    let mut chosen = Vec::new();
    for word in answer.split([',', ' ']).filter(|word| !word.is_empty()) {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=most).contains(number));
        match word.split_once('-').and_then(|(from, to)| Some((number(from)?, number(to)?))) {
            Some((from, to)) => chosen.extend(from - 1..to),
            None => chosen.push(number(word).map(|number| number - 1).or_else(|| named(word))?),
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Some(chosen).filter(|chosen| !chosen.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_numbers_ranges_or_names() {
        let read = |answer: &str| numbers(answer, 5, |name| (name == "pdf").then_some(4));
        assert_eq!(read("1,3-4"), Some(vec![0, 2, 3]));
        assert_eq!(read(" 2 2 pdf "), Some(vec![1, 4]));
        for nothing in ["", "0", "6", "x", "1,x", "2-9"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }
}
