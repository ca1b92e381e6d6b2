//! What every selector has in common: options, and what happens when there is nothing to go by.

use serde::{Deserialize, Serialize};

use super::{Hit, Query, SelectError, Selector};
use crate::skill::Entry;

/// What happens when a selector finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnEmpty {
    /// Every skill is shown.
    #[default]
    All,
    /// None is.
    None,
}

/// What happens when a selector fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Every skill is shown, and the failure is told.
    #[default]
    All,
    /// None is shown, and the failure is told.
    None,
    /// The failure is the result.
    Fail,
}

/// Options of every selector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The most skills; none for all that fit.
    pub top_k: Option<usize>,
    /// The lowest score. A score of 0 or less never counts.
    pub min_score: f32,
    /// The tools at hand: skills that ask for another are left out. By base name, whatever the case.
    pub available_tools: Option<Vec<String>>,
    /// What happens when nothing is found.
    pub on_empty: OnEmpty,
    /// What happens on a failure.
    pub on_error: OnError,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top_k: Some(5),
            min_score: 0.0,
            available_tools: None,
            on_empty: OnEmpty::default(),
            on_error: OnError::default(),
        }
    }
}

/// Why nothing was narrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole {
    /// There is no selector.
    NoSelector,
    /// The query is empty.
    EmptyQuery,
    /// Nothing was found.
    NothingFound,
    /// The selector failed.
    Failed(SelectError),
}

/// What is left of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub enum Narrowed {
    /// These, the best first.
    Hits(Vec<Hit>),
    /// Every skill that may be shown, for this reason.
    All(Whole),
    /// None, for this reason.
    None(Whole),
}

impl Options {
    /// Whether the tools that a skill asks for are at hand.
    fn equipped(&self, entry: &Entry) -> bool {
        let Some(available) = &self.available_tools else { return true };
        let available: Vec<&str> = available.iter().map(String::as_str).collect();
        entry.allowed_tools.as_ref().is_none_or(|tools| tools.missing_from(&available).is_empty())
    }

    fn hits(
        &self,
        selector: &dyn Selector,
        query: &Query,
        among: &[&Entry],
    ) -> Result<Vec<Hit>, SelectError> {
        let limit = self.top_k.unwrap_or(usize::MAX);
        let equipped: Vec<&Entry>;
        let among = if self.available_tools.is_some() {
            equipped = among.iter().copied().filter(|entry| self.equipped(entry)).collect();
            &equipped
        } else {
            among
        };
        let mut hits = selector.select(query, among, limit)?;
        // A selector of the host may return anything; a score that is no number fits nothing.
        hits.retain(|hit| hit.score > 0.0 && hit.score >= self.min_score);
        hits.truncate(limit);
        Ok(hits)
    }
}

/// The skills that a prompt shows.
///
/// Without a selector, with an empty query, when nothing is found or on a failure these are all skills, unless the
/// options say otherwise: a prompt must not lose its skills because a search found none.
pub fn narrow(
    selector: Option<&dyn Selector>,
    query: &Query,
    among: &[&Entry],
    options: &Options,
) -> Result<Narrowed, SelectError> {
    let Some(selector) = selector else { return Ok(Narrowed::All(Whole::NoSelector)) };
    if query.is_empty() {
        return Ok(Narrowed::All(Whole::EmptyQuery));
    }
    match options.hits(selector, query, among) {
        Ok(hits) if !hits.is_empty() => Ok(Narrowed::Hits(hits)),
        Ok(_) => Ok(match options.on_empty {
            OnEmpty::All => Narrowed::All(Whole::NothingFound),
            OnEmpty::None => Narrowed::None(Whole::NothingFound),
        }),
        Err(error) => match options.on_error {
            OnError::All => Ok(Narrowed::All(Whole::Failed(error))),
            OnError::None => Ok(Narrowed::None(Whole::Failed(error))),
            OnError::Fail => Err(error),
        },
    }
}

/// The skills that a search finds: none for an empty query, and a failure is a failure.
pub fn search(
    selector: &dyn Selector,
    query: &Query,
    among: &[&Entry],
    options: &Options,
) -> Result<Vec<Hit>, SelectError> {
    if query.is_empty() { Ok(Vec::new()) } else { options.hits(selector, query, among) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;
    use crate::select::{All, Keyword};
    use crate::tools::ToolList;

    struct Broken;

    impl Selector for Broken {
        fn select(&self, _: &Query, _: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
            Err(SelectError::NotFinite)
        }
    }

    #[test]
    fn a_prompt_never_loses_its_skills_by_accident_and_a_search_finds_none_for_nothing() {
        let one = entry("one", "pdf forms");
        let (among, options) = ([&one], Options::default());
        let narrowed = |selector: Option<&dyn Selector>, text: &str, options: &Options| {
            narrow(selector, &Query::text(text), &among, options)
        };
        let keyword = Keyword::default();
        assert_eq!(narrowed(None, "pdf", &options), Ok(Narrowed::All(Whole::NoSelector)));
        assert_eq!(narrowed(Some(&keyword), " ", &options), Ok(Narrowed::All(Whole::EmptyQuery)));
        assert_eq!(narrowed(Some(&keyword), "bread", &options), Ok(Narrowed::All(Whole::NothingFound)));
        let failed = Whole::Failed(SelectError::NotFinite);
        assert_eq!(narrowed(Some(&Broken), "pdf", &options), Ok(Narrowed::All(failed.clone())));
        assert!(
            matches!(narrowed(Some(&keyword), "pdf", &options), Ok(Narrowed::Hits(hits)) if hits.len() == 1)
        );
        let strict = Options { on_empty: OnEmpty::None, on_error: OnError::None, ..Options::default() };
        assert_eq!(narrowed(Some(&keyword), "bread", &strict), Ok(Narrowed::None(Whole::NothingFound)));
        assert_eq!(narrowed(Some(&Broken), "pdf", &strict), Ok(Narrowed::None(failed)));
        let fail = Options { on_error: OnError::Fail, ..Options::default() };
        assert_eq!(narrowed(Some(&Broken), "pdf", &fail), Err(SelectError::NotFinite));
        assert_eq!(search(&All, &Query::text(""), &among, &options), Ok(Vec::new()));
        assert_eq!(search(&Broken, &Query::text("pdf"), &among, &options), Err(SelectError::NotFinite));
    }

    #[test]
    fn options_limit_what_is_found() {
        let mut skills: Vec<Entry> = (0..9).map(|number| entry(&format!("s{number}"), "pdf")).collect();
        skills[0].description = "pdf forms".to_owned();
        skills[1].allowed_tools = Some(ToolList::parse("Bash(git:*) Read"));
        let among: Vec<&Entry> = skills.iter().collect();
        let keys = |options: &Options| -> Vec<String> {
            let hits = search(&Keyword::default(), &Query::text("pdf forms"), &among, options).unwrap();
            hits.into_iter().map(|hit| hit.key).collect()
        };
        assert_eq!(keys(&Options::default()), ["s0", "s1", "s2", "s3", "s4"]);
        assert_eq!(keys(&Options { top_k: None, ..Options::default() }).len(), 9);
        assert_eq!(keys(&Options { min_score: 0.6, ..Options::default() }), ["s0"]);
        let tools = |tools: &[&str]| Options {
            available_tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
            top_k: Some(2),
            ..Options::default()
        };
        assert_eq!(keys(&tools(&["read"])), ["s0", "s2"]);
        assert_eq!(keys(&tools(&["read", "BASH"])), ["s0", "s1"]);
        assert_eq!(keys(&Options { top_k: Some(0), ..Options::default() }), [""; 0]);
    }
}
