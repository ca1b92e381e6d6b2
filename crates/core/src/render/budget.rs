//! A catalog within a budget: descriptions are shortened before a skill is dropped, and a report says what was cut.

use serde::{Deserialize, Serialize};

use super::catalog::{CatalogStyle, Shape, render_catalog};
use crate::skill::Entry;

/// How long a catalog may be. Exhaustive, so that a host that reports a budget names every unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// A number of tokens.
    Tokens(usize),
    /// A number of characters.
    Characters(usize),
    /// No limit.
    Unlimited,
}

impl Budget {
    /// Two percent of a context window: the usual share.
    pub const fn two_percent(window: usize) -> Self {
        Self::Tokens(window / 50)
    }

    /// The size of a text in the unit of the budget; in characters when it is unlimited.
    fn size(self, text: &str, tokens: &dyn Fn(&str) -> usize) -> usize {
        match self {
            Self::Tokens(_) => tokens(text),
            Self::Characters(_) | Self::Unlimited => text.chars().count(),
        }
    }

    /// Whether a text fits. `tokens` counts tokens.
    pub(crate) fn fits(self, text: &str, tokens: &dyn Fn(&str) -> usize) -> bool {
        match self {
            Self::Tokens(limit) | Self::Characters(limit) => self.size(text, tokens) <= limit,
            Self::Unlimited => true,
        }
    }
}

/// An estimate of the tokens of a text: one for four ASCII characters, and one for every other character.
pub fn estimate_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(4) + text.chars().filter(|character| !character.is_ascii()).count()
}

/// What a budget did to a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BudgetReport {
    /// The budget.
    pub budget: Budget,
    /// The size of the text, in the unit of the budget; in characters when it is unlimited.
    pub used: usize,
    /// How many skills there are.
    pub total: usize,
    /// How many are in the text.
    pub included: usize,
    /// The keys of those that are not, the best first.
    pub omitted: Vec<String>,
    /// How many of those in the text have a shortened description.
    pub shortened: usize,
    /// The limit for descriptions in characters, when any was shortened.
    pub max_description: Option<usize>,
    /// Whether the text fits; false when not even one name does.
    pub within: bool,
}

/// A catalog and what the budget did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budgeted {
    /// The catalog.
    pub text: String,
    /// What was cut.
    pub report: BudgetReport,
}

/// The catalog of these skills within a budget, in this order: the best first.
///
/// All descriptions get the same limit, as high as the budget allows, so that long ones are cut first. Only when the
/// names do not fit are skills dropped, from the end, and the text says how many. `tokens` counts tokens, such as
/// [`estimate_tokens`].
///
/// ```
/// use prowess_core::render::{Budget, CatalogStyle, Shape, estimate_tokens, render_within};
/// use prowess_core::{Origin, parse};
///
/// let document = parse(b"---\nname: pdf\ndescription: Fills forms, reads tables and joins pages.\n---\n");
/// let entry = document.skill(&Origin::at("pdf/SKILL.md")).unwrap();
/// let style = CatalogStyle::new(Shape::Markdown);
/// let catalog = render_within(&[&entry], &style, Budget::Tokens(12), &estimate_tokens);
/// assert!(catalog.report.within && catalog.report.shortened == 1);
/// assert!(catalog.text.contains("pdf"));
/// ```
pub fn render_within(
    skills: &[&Entry],
    style: &CatalogStyle,
    budget: Budget,
    tokens: &dyn Fn(&str) -> usize,
) -> Budgeted {
    let fits = |text: &str| budget.fits(text, tokens);
    let longest = style.max_description.unwrap_or(usize::MAX);
    let length = |entry: &Entry| entry.description.chars().count().min(longest);
    let report = |text: &str, included: usize, cap: Option<usize>| BudgetReport {
        budget,
        used: budget.size(text, tokens),
        total: skills.len(),
        included,
        omitted: skills.iter().skip(included).map(|entry| entry.key.clone()).collect(),
        shortened: cap
            .map_or(0, |cap| skills.iter().take(included).filter(|entry| length(entry) > cap).count()),
        max_description: cap,
        within: fits(text),
    };
    let whole = render_catalog(skills, style);
    if fits(&whole) {
        let report = report(&whole, skills.len(), None);
        return Budgeted { text: whole, report };
    }
    let capped = |included: usize, cap: usize| {
        let style = CatalogStyle { max_description: Some(cap), ..style.clone() };
        let mut text = match included {
            // There are skills, so the text for an empty catalog would be wrong.
            0 if !skills.is_empty() && style.shape != Shape::Json => String::new(),
            _ => render_catalog(skills.get(..included).unwrap_or_default(), &style),
        };
        // JSON has no place for a note; there only the report has the number.
        if let Some(note) = note(skills.len() - included, included).filter(|_| style.shape != Shape::Json) {
            text.push_str(if text.is_empty() { "" } else { "\n\n" });
            text.push_str(&note);
        }
        text
    };
    let all = skills.len();
    if fits(&capped(all, 0)) {
        let top = skills.iter().map(|entry| length(entry)).max().unwrap_or(0);
        // A cut adds a character, so a higher limit may need fewer. Check the result.
        let mut cap = most(top, |cap| fits(&capped(all, cap)));
        while cap > 0 && !fits(&capped(all, cap)) {
            cap -= 1;
        }
        let text = capped(all, cap);
        let report = report(&text, all, Some(cap));
        return Budgeted { text, report };
    }
    let mut included = most(all.saturating_sub(1), |included| fits(&capped(included, 0)));
    while included > 0 && !fits(&capped(included, 0)) {
        included -= 1;
    }
    let text = capped(included, 0);
    let report = report(&text, included, Some(0));
    Budgeted { text, report }
}

/// The largest number up to `top` for which `will_do` is true, if it is true for every smaller one.
fn most(top: usize, will_do: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, top);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if will_do(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The note about skills that are not in the text.
fn note(omitted: usize, included: usize) -> Option<String> {
    let more = if included > 0 { "more " } else { "" };
    match omitted {
        0 => None,
        1 => Some(format!("1 {more}skill is not shown here.")),
        number => Some(format!("{number} {more}skills are not shown here.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;

    fn skills() -> Vec<Entry> {
        let lengths = [10, 200, 40, 400, 80];
        lengths
            .iter()
            .enumerate()
            .map(|(at, length)| entry(&format!("skill-{at}"), &"abcd ".repeat(length / 5)))
            .collect()
    }

    #[test]
    fn long_descriptions_are_cut_before_short_ones_and_before_any_skill_is_dropped() {
        let skills = skills();
        let skills: Vec<&Entry> = skills.iter().collect();
        let style = CatalogStyle::new(Shape::Compact);
        let full = render_catalog(&skills, &style);
        let length = full.chars().count();
        let within = |limit| render_within(&skills, &style, Budget::Characters(limit), &estimate_tokens);
        let all = within(length);
        assert_eq!(
            (all.text.as_str(), all.report.shortened, all.report.max_description),
            (full.as_str(), 0, None)
        );
        let mut last = usize::MAX;
        for limit in (1..=length).rev().step_by(7) {
            let cut = within(limit);
            assert!(cut.report.included <= last, "{limit}");
            assert!(cut.report.within == (cut.text.chars().count() <= limit));
            assert_eq!(cut.report.included + cut.report.omitted.len(), 5);
            if cut.report.included < 5 {
                assert_eq!(cut.report.max_description, Some(0), "names are dropped last");
                assert!(cut.report.included == 0 || cut.text.contains("not shown here."), "{}", cut.text);
            }
            last = cut.report.included;
        }
        let half = within(length / 2).report;
        assert_eq!((half.included, half.shortened), (5, 2));
    }

    #[test]
    fn tokens_are_counted_by_the_function_of_the_host() {
        assert_eq!([estimate_tokens(""), estimate_tokens("abcde"), estimate_tokens("表单a")], [0, 2, 3]);
        assert_eq!(Budget::two_percent(200_000), Budget::Tokens(4_000));
        let skills = skills();
        let skills: Vec<&Entry> = skills.iter().collect();
        let words = |text: &str| text.split_whitespace().count();
        for &shape in Shape::ALL {
            let style = CatalogStyle::new(shape);
            let catalog = render_within(&skills, &style, Budget::Tokens(60), &words);
            assert!(words(&catalog.text) <= 60 && catalog.report.within, "{shape:?}");
            let none = render_within(&skills, &style, Budget::Unlimited, &words);
            assert_eq!((none.report.shortened, none.report.omitted.len()), (0, 0));
        }
        assert!(render_within(&[], &CatalogStyle::default(), Budget::Tokens(0), &words).report.within);
    }
}
