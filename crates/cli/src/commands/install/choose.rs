//! Which skills of a source are installed: those that were named, the only one, or those that the user picks.

use std::fmt::Write as _;

use prowess::install::{Available, AvailableSkill, InstallSpec, SkippedSkill};

use crate::args::Add;
use crate::error::{CommandError, Failure};
use crate::ui::cells::{fit, width};
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How often the user is asked, when an answer names no skill.
const MAX_ANSWERS: usize = 3;
/// The width of a menu on a screen whose width is not known.
const COLUMNS: usize = 80;

/// The chosen skills.
pub(super) struct Chosen {
    /// Their indexes.
    pub(super) skills: Vec<usize>,
    /// Whether all were chosen, so that one that cannot be installed stops no other.
    pub(super) all: bool,
}

/// Which skills are chosen, by the options or by the user.
pub(super) fn chosen(
    available: &Available,
    spec: &InstallSpec,
    args: &Add,
    ui: &mut Ui,
) -> Result<Chosen, CommandError> {
    let several = available.skills().len() > 1;
    let may_pick = several && ui.can_ask() && !args.all && !args.installing.yes;
    let chosen = if may_pick && args.skill.is_empty() && spec.skill.is_none() {
        // A source that names one of its skills leaves no choice.
        match available.choose(&[], false) {
            Ok(skills) => Chosen { skills, all: false },
            // To choose nothing is to decline.
            Err(_) => pick(available, ui)?,
        }
    } else {
        Chosen { skills: available.choose(&args.skill, args.all)?, all: args.all }
    };
    say_copies(available, &chosen.skills, ui);
    Ok(chosen)
}

/// Reports which of the chosen skills are in the source more than once.
fn say_copies(available: &Available, chosen: &[usize], ui: &mut Ui) {
    for at in chosen {
        let Some(skill) = available.skills().get(*at) else { continue };
        let copies = available.skills().iter().filter(|other| other.copy_of == Some(*at));
        let copies: Vec<&str> = copies.map(AvailableSkill::path).collect();
        if !copies.is_empty() {
            let (name, path) = (&skill.name, skill.path());
            ui.note(&format!(
                "one skill, since its copies are identical: {name}: {path} = {}",
                copies.join(" = ")
            ));
        }
    }
}

/// Reports which skills are not installed, and why.
pub(super) fn say_left_out(left_out: &[SkippedSkill], ui: &mut Ui) {
    for SkippedSkill { name, reason, limit, .. } in left_out {
        let hint = limit.and_then(super::option_of).map(|hint| format!("; {hint}")).unwrap_or_default();
        ui.note(&format!("left out: {name}: {reason}{hint}"));
    }
}

/// Asks the user which skills to install.
fn pick(available: &Available, ui: &mut Ui) -> Result<Chosen, CommandError> {
    let offered: Vec<(usize, &AvailableSkill)> =
        available.skills().iter().enumerate().filter(|(_, skill)| skill.copy_of.is_none()).collect();
    let most = offered.len();
    let mut text = format!("{} in this source:\n", count(most, "skill"));
    let columns = ui.columns().unwrap_or(COLUMNS);
    for (number, (_, skill)) in offered.iter().enumerate() {
        text.push_str(&menu_line(number + 1, (&skill.name, skill.description.as_deref()), columns));
    }
    ui.tell(&text);
    let named = |name: &str| {
        let at = available.choose(&[name.to_owned()], false).ok()?.pop()?;
        offered.iter().position(|(offered, _)| *offered == at)
    };
    for _ in 0..MAX_ANSWERS {
        let answer = ui.ask("Which? (numbers such as 1,3-5, names, or all)")?;
        if answer.trim().eq_ignore_ascii_case("all") {
            return Ok(Chosen { skills: available.choose(&[], true)?, all: true });
        }
        if let Some(chosen) = numbers(&answer, most, named) {
            let skills = chosen.into_iter().filter_map(|number| Some(offered.get(number)?.0)).collect();
            return Ok(Chosen { skills, all: false });
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

/// A line of the menu that fits the screen.
fn menu_line(number: usize, (name, description): (&str, Option<&str>), columns: usize) -> String {
    let number = format!("{number:>4}  ");
    let name = fit(&clean(name), columns.saturating_sub(number.len()));
    let left = columns.saturating_sub(number.len() + width(&name) + 2);
    let description = prowess::text::collapse(description.unwrap_or_default());
    let mut line = format!("{number}{STRONG}{name}{STRONG:#}");
    if left > 1 && !description.is_empty() {
        let _ = write!(line, "  {FAINT}{}{FAINT:#}", fit(&clean(&description), left));
    }
    line.push('\n');
    line
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
    fn a_line_of_the_menu_fits_the_screen_in_cells() {
        let skill = ("議事録", Some("会議の\n記録を作る。 Writes it down."));
        for columns in [20, 40, 80] {
            let line = menu_line(7, skill, columns);
            let plain = anstream::adapter::strip_str(line.trim_end()).to_string();
            assert!(width(&plain) <= columns && plain.starts_with("   7  議事録"), "{plain}");
            assert!(!plain.contains('\n'));
        }
    }

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
