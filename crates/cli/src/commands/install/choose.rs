//! Which skills of a source are installed: those that were named, the only one, or those that the user picks.

use std::fmt::Write as _;

use prowess::install::{Available, InstallSpec};

use crate::args::Add;
use crate::error::{CommandError, Failure};
use crate::ui::{FAINT, STRONG, Ui, clean, count};

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

/// Reports which skills are not installed, since no agent would load them.
fn say_left_out(available: &Available, chosen: &[usize], ui: &mut Ui) {
    for (at, skill) in available.skills().enumerate() {
        if let Some(problem) = skill.problem.filter(|_| !chosen.contains(&at)) {
            ui.note(&format!("left out, since no agent would load it: {}: {problem}", skill.name));
        }
    }
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
    let answer = ui.ask("Which? (numbers such as 1,3-5, names, or all)")?;
    let named = |name: &str| available.choose(&[name.to_owned()], false).ok()?.pop();
    if answer.trim().eq_ignore_ascii_case("all") {
        let whole = available.choose(&[], true)?;
        say_left_out(available, &whole, ui);
        return Ok(whole);
    }
    numbers(&answer, most, named).ok_or_else(|| {
        Failure::new("nothing was chosen, so nothing was installed", "answer with numbers, names or all")
            .into()
    })
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
