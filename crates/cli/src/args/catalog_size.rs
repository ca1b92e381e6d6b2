//! How long the catalog in a prompt may be.

use prowess::render::Budget;

use crate::ui::number;

/// The usual size of a context window, in tokens.
const WINDOW: usize = 200_000;

/// How long the catalog in a prompt may be.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CatalogSize {
    /// How long the catalog may be: a number of tokens, of characters as in 8000c, a share of the window as in 1%, or none;
    /// if it is not given, 2%, or with --client what is known of the client
    #[arg(long = "budget", value_name = "N", value_parser = share)]
    share: Option<Share>,
    /// The size of the context window in tokens, for a budget in percent
    #[arg(long, value_name = "TOKENS", default_value_t = WINDOW)]
    window: usize,
}

impl Default for CatalogSize {
    fn default() -> Self {
        Self { share: None, window: WINDOW }
    }
}

impl CatalogSize {
    /// The budget for the catalog.
    pub(crate) fn budget(&self) -> Budget {
        self.given().unwrap_or_else(|| self.percent(2))
    }

    /// The budget that was given.
    pub(crate) fn given(&self) -> Option<Budget> {
        self.share.map(|share| share.of(self.window))
    }

    /// The budget in words, with its share of the window if none was given.
    pub(crate) fn words(&self) -> String {
        let words = match self.budget() {
            Budget::Tokens(1) => "1 token".to_owned(),
            Budget::Tokens(tokens) => format!("{} tokens", number(tokens as u64)),
            Budget::Characters(1) => "1 character".to_owned(),
            Budget::Characters(characters) => format!("{} characters", number(characters as u64)),
            Budget::Unlimited => "any prompt".to_owned(),
        };
        match self.share {
            None => format!("{words} (2 % of a window of {})", number(self.window as u64)),
            Some(_) => words,
        }
    }

    /// This part of the window.
    pub(crate) fn percent(&self, percent: u8) -> Budget {
        Share::Percent(percent).of(self.window)
    }
}

/// How long a catalog may be, before the window is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Share {
    /// This budget.
    Fixed(Budget),
    /// This part of the window, in percent.
    Percent(u8),
}

impl Share {
    /// The budget in a window of this many tokens.
    fn of(self, window: usize) -> Budget {
        match self {
            Self::Fixed(budget) => budget,
            Self::Percent(percent) => Budget::Tokens(window.saturating_mul(percent.into()) / 100),
        }
    }
}

/// Parses a number of tokens or characters, a share of the window, or no limit.
fn share(text: &str) -> Result<Share, String> {
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
    }
}
