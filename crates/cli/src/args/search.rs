//! The grammar of `search` and `prompt`: what is looked for, what ranks, and how long a catalog may be.

use prowess::render::{Budget, Shape};
use prowess::session::Filter;

use super::Places;
use crate::selector::{SelectorName, SelectorParser};

/// Find the skills that fit a task
///
/// Ranks the skills that list shows by the words of the query in name, description and instructions. A skill that
/// is not trusted is marked, and its instructions are not read. Nothing leaves the machine, unless a program
/// that was named sends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// What is looked for, in plain words; for the selector tags, a list with commas
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Show what made each score
    #[arg(long)]
    pub(crate) why: bool,
}

/// What ranks skills, and which of them count.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// The most skills, or all
    #[arg(long, value_name = "K", default_value = "5", value_parser = limit)]
    pub(crate) limit: Limit,
    /// What ranks the skills
    #[arg(long, value_name = "SELECTOR", default_value = "bm25", value_parser = SelectorParser::without_vectors())]
    pub(crate) selector: SelectorName,
    /// Leave out skills with a lower score; each selector has a scale of its own
    #[arg(long, value_name = "X", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) min_score: Option<f32>,
    /// Leave out skills that ask for other tools than these, with or without a query; "" when there are none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
}

/// A number that others can be compared with.
fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| "not a finite number".to_owned())
}

/// The most skills; none for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<usize>);

/// Write the catalog that an agent would see in its prompt
///
/// Only skills that the model may use are in it. With a query, those that fit best come first, and only they; when
/// none fits, or the selector fails, all of them. What does not fit into the budget is shortened: first the
/// longest descriptions, and only when not even the names fit are skills left out. What was cut is told on
/// standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct Prompt {
    /// The task, in plain words
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// How long it may be: a number of tokens, of characters as in 8000c, a share of the window as in 1%, or none
    #[arg(long, value_name = "N", default_value = "2%", value_parser = share)]
    pub(crate) budget: Share,
    /// The tokens of the context window, for a budget in percent
    #[arg(long, value_name = "TOKENS", default_value_t = 200_000)]
    pub(crate) window: usize,
    /// The layout
    #[arg(long, value_name = "FORMAT", default_value = "xml", value_parser = shapes())]
    pub(crate) format: Shape,
    /// Show where the SKILL.md of each skill lies
    #[arg(long)]
    pub(crate) location: bool,
    /// Only skills in or below this folder, as filters see it
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub(crate) folder: String,
    /// Only skills that this filter lets through, as for replay
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// How long a catalog may be, before the window is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    /// So long.
    Fixed(Budget),
    /// So much of the window, in percent.
    Percent(u8),
}

impl Share {
    /// The budget in a window of so many tokens.
    pub(crate) fn of(self, window: usize) -> Budget {
        match self {
            Self::Fixed(budget) => budget,
            Self::Percent(percent) => Budget::Tokens(window.saturating_mul(percent.into()) / 100),
        }
    }
}

/// A number, or all.
fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "all" => Ok(Limit(None)),
        number => match number.parse() {
            Ok(0) | Err(_) => Err("give a number from 1 on, or all".to_owned()),
            Ok(number) => Ok(Limit(Some(number))),
        },
    }
}

/// A number of tokens or characters, a share of the window, or no limit.
pub(super) fn share(text: &str) -> Result<Share, String> {
    let wrong = |_| "give tokens as in 4000, characters as in 8000c, a share as in 1%, or none".to_owned();
    if text == "none" {
        return Ok(Share::Fixed(Budget::Unlimited));
    }
    if let Some(percent) = text.strip_suffix('%') {
        let percent: u8 = percent.parse().map_err(wrong)?;
        return if percent <= 100 { Ok(Share::Percent(percent)) } else { Err("at most 100%".to_owned()) };
    }
    match text.strip_suffix('c') {
        Some(characters) => characters.parse().map(|n| Share::Fixed(Budget::Characters(n))).map_err(wrong),
        None => text.parse().map(|n| Share::Fixed(Budget::Tokens(n))).map_err(wrong),
    }
}

/// The layouts of a catalog, from the one table.
fn shapes() -> impl clap::builder::TypedValueParser<Value = Shape> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Shape::ALL.map(Shape::name))
        .map(|name| Shape::ALL.into_iter().find(|shape| shape.name() == name).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_tokens_characters_a_share_or_none() {
        let of = |text: &str| share(text).map(|share| share.of(200_000));
        assert_eq!(of("4000"), Ok(Budget::Tokens(4_000)));
        assert_eq!(of("8000c"), Ok(Budget::Characters(8_000)));
        assert_eq!((of("1%"), of("2%")), (Ok(Budget::Tokens(2_000)), Ok(Budget::Tokens(4_000))));
        assert_eq!(of("none"), Ok(Budget::Unlimited));
        for wrong in ["", "c", "%", "-1", "1.5%", "101%", "many"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!((limit("all"), limit("3")), (Ok(Limit(None)), Ok(Limit(Some(3)))));
        assert!(limit("few").is_err() && limit("0").is_err());
    }
}
