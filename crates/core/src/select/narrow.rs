//! The options of every selector, and what happens without a query or a hit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Hit, Query, SelectError, Selector, in_given_order};
use crate::skill::Entry;
use crate::skill::tool_list::HostTools;

/// What happens when a selector finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnEmpty {
    /// Every skill is shown.
    #[default]
    All,
    /// None is shown.
    None,
}

/// What happens when a selector fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnSelectError {
    /// Every skill is shown, and the failure is reported.
    #[default]
    All,
    /// None is shown, and the failure is reported.
    None,
    /// The failure is returned as an error.
    Fail,
}

/// The options of every selector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SelectOptions {
    /// The most skills; none for all that fit.
    pub top_k: Option<usize>,
    /// The lowest score that counts. Each selector has its own scale, some below 0, so by default every hit counts.
    pub min_score: Option<f32>,
    /// The available tools. Skills that ask for another are left out, whatever the query.
    pub available_tools: HostTools,
    /// What happens when nothing is found.
    pub on_empty: OnEmpty,
    /// What happens on a failure.
    pub on_error: OnSelectError,
}

impl Default for SelectOptions {
    fn default() -> Self {
        Self {
            top_k: Some(5),
            min_score: None,
            available_tools: HostTools::default(),
            on_empty: OnEmpty::default(),
            on_error: OnSelectError::default(),
        }
    }
}

with_methods! { SelectOptions:
    with_top_k top_k: Option<usize>;
    with_min_score min_score: Option<f32>;
    with_available_tools available_tools: HostTools;
    with_on_empty on_empty: OnEmpty;
    with_on_error on_error: OnSelectError;
}

/// Why a query did not narrow the skills. Exhaustive, so that a host explains every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotNarrowed {
    /// There is no selector.
    NoSelector,
    /// The query is empty.
    EmptyQuery,
    /// Nothing was found.
    NothingFound,
    /// The selector failed.
    Failed(SelectError),
}

/// The skills that are selected from a catalog. No others may be shown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Narrowed<'e> {
    /// The skills: the best first, or in their own order when the query did not narrow them.
    pub skills: Vec<&'e Entry>,
    /// Why the query did not narrow them. They are then all whose tools are available, or none if the options say
    /// so.
    pub not_narrowed: Option<NotNarrowed>,
}

impl SelectOptions {
    /// The skills whose tools are available.
    fn equipped<'e>(&self, among: &[&'e Entry]) -> Vec<&'e Entry> {
        let tools = &self.available_tools;
        among.iter().copied().filter(|entry| tools.suffice(entry.allowed_tools.as_ref())).collect()
    }

    /// The hits among skills whose tools are available.
    fn hits(
        &self,
        selector: &dyn Selector,
        query: &Query,
        equipped: &[&Entry],
    ) -> Result<Vec<Hit>, SelectError> {
        let limit = self.top_k.unwrap_or(usize::MAX);
        let mut hits = selector.select(query, equipped, limit)?;
        // A selector of the host may return anything; a score that is not a number is dropped.
        hits.retain(|hit| !hit.score.is_nan() && self.min_score.is_none_or(|least| hit.score >= least));
        if hits.len() > limit {
            // What it was not given takes no place of what it was.
            let known: BTreeSet<String> =
                entries(&hits, equipped).iter().map(|entry| entry.key.clone()).collect();
            hits.retain(|hit| known.contains(&hit.key));
        }
        Ok(in_given_order(hits, limit))
    }
}

/// The skills that a prompt shows.
///
/// Without a selector, with an empty query, when nothing is found or on a failure these are all skills, unless the
/// options say otherwise: a prompt must not lose its skills because a search found none. Skills whose tools are not
/// available are left out in every case.
pub fn narrow<'e>(
    selector: Option<&dyn Selector>,
    query: &Query,
    among: &[&'e Entry],
    options: &SelectOptions,
) -> Result<Narrowed<'e>, SelectError> {
    let equipped = options.equipped(among);
    let Some(selector) = selector else {
        return Ok(Narrowed { skills: equipped, not_narrowed: Some(NotNarrowed::NoSelector) });
    };
    if query.is_empty() {
        return Ok(Narrowed { skills: equipped, not_narrowed: Some(NotNarrowed::EmptyQuery) });
    }
    let (all, why) = match options.hits(selector, query, &equipped) {
        Ok(hits) => {
            let skills = entries(&hits, &equipped);
            if !skills.is_empty() {
                return Ok(Narrowed { skills, not_narrowed: None });
            }
            (options.on_empty == OnEmpty::All, NotNarrowed::NothingFound)
        }
        Err(error) => match options.on_error {
            OnSelectError::Fail => return Err(error),
            on_error => (on_error == OnSelectError::All, NotNarrowed::Failed(error)),
        },
    };
    Ok(Narrowed { skills: if all { equipped } else { Vec::new() }, not_narrowed: Some(why) })
}

/// The skills of some hits. A selector of the host may return anything; keys that it was not given are ignored.
fn entries<'e>(hits: &[Hit], among: &[&'e Entry]) -> Vec<&'e Entry> {
    // There are few hits and many skills, so go through the skills once.
    let places: BTreeMap<&str, usize> =
        hits.iter().enumerate().rev().map(|(at, hit)| (hit.key.as_str(), at)).collect();
    let mut found: Vec<(usize, &Entry)> =
        among.iter().filter_map(|entry| Some((*places.get(entry.key.as_str())?, *entry))).collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// The skills that a search finds: none for an empty query. An error of the selector is returned.
pub fn search(
    selector: &dyn Selector,
    query: &Query,
    among: &[&Entry],
    options: &SelectOptions,
) -> Result<Vec<Hit>, SelectError> {
    if query.is_empty() {
        return Ok(Vec::new());
    }
    if options.available_tools == HostTools::Unlimited {
        return options.hits(selector, query, among);
    }
    options.hits(selector, query, &options.equipped(among))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;
    use crate::select::{All, Keyword};
    use crate::skill::tool_list::ToolList;

    struct Broken;

    impl Selector for Broken {
        fn select(&self, _: &Query, _: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
            Err(SelectError::NotFinite)
        }
    }

    /// The keys that are left and why nothing was narrowed.
    fn narrowed(
        selector: Option<&dyn Selector>,
        text: &str,
        among: &[&Entry],
        options: &SelectOptions,
    ) -> Result<(Vec<String>, Option<NotNarrowed>), SelectError> {
        let left = narrow(selector, &Query::text(text), among, options)?;
        Ok((left.skills.iter().map(|entry| entry.key.clone()).collect(), left.not_narrowed))
    }

    #[test]
    fn the_order_of_a_selector_is_kept_whatever_it_returns_beside_it() {
        struct Host;
        impl Selector for Host {
            fn select(&self, _: &Query, _: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
                let scored = [("gone", 9.0), ("c", 0.1), ("c", 0.9), ("a", f32::NAN), ("b", 0.5), ("a", 7.0)];
                Ok(scored.map(|(key, score)| Hit::new(key, score, Vec::new())).to_vec())
            }
        }
        let skills = ["a", "b", "c"].map(|name| entry(name, "d"));
        let among = skills.each_ref();
        for (top_k, expected) in
            [(Some(2), &["c", "b"][..]), (Some(3), &["c", "b", "a"]), (None, &["c", "b", "a"])]
        {
            let options = SelectOptions { top_k, ..SelectOptions::default() };
            let found = search(&Host, &Query::text("q"), &among, &options).unwrap();
            let found: Vec<&str> =
                found.iter().map(|hit| hit.key.as_str()).filter(|key| *key != "gone").collect();
            assert_eq!(found, expected);
            assert_eq!(narrowed(Some(&Host), "q", &among, &options).unwrap().0, expected);
        }
    }

    #[test]
    fn a_prompt_keeps_its_skills_without_hits_and_a_search_without_query_finds_none() {
        let (one, two) = (entry("one", "pdf forms"), entry("two", "mail"));
        let (among, options) = ([&one, &two], SelectOptions::default());
        let (all, none) = (|| vec!["one".to_owned(), "two".to_owned()], Vec::new);
        let narrowed = |selector: Option<&dyn Selector>, text: &str, options: &SelectOptions| {
            narrowed(selector, text, &among, options)
        };
        let keyword = Keyword::default();
        assert_eq!(narrowed(None, "pdf", &options), Ok((all(), Some(NotNarrowed::NoSelector))));
        assert_eq!(narrowed(Some(&keyword), " ", &options), Ok((all(), Some(NotNarrowed::EmptyQuery))));
        assert_eq!(narrowed(Some(&keyword), "bread", &options), Ok((all(), Some(NotNarrowed::NothingFound))));
        let failed = || Some(NotNarrowed::Failed(SelectError::NotFinite));
        assert_eq!(narrowed(Some(&Broken), "pdf", &options), Ok((all(), failed())));
        assert_eq!(narrowed(Some(&keyword), "pdf", &options), Ok((vec!["one".to_owned()], None)));
        let strict = SelectOptions {
            on_empty: OnEmpty::None,
            on_error: OnSelectError::None,
            ..SelectOptions::default()
        };
        assert_eq!(narrowed(Some(&keyword), "bread", &strict), Ok((none(), Some(NotNarrowed::NothingFound))));
        assert_eq!(narrowed(Some(&Broken), "pdf", &strict), Ok((none(), failed())));
        let fail = SelectOptions { on_error: OnSelectError::Fail, ..SelectOptions::default() };
        assert_eq!(narrowed(Some(&Broken), "pdf", &fail), Err(SelectError::NotFinite));
        assert_eq!(search(&All, &Query::text(""), &among, &options), Ok(Vec::new()));
        assert_eq!(search(&Broken, &Query::text("pdf"), &among, &options), Err(SelectError::NotFinite));
    }

    #[test]
    fn a_skill_whose_tools_are_not_available_is_always_left_out() {
        let (mut one, two) = (entry("one", "pdf forms"), entry("two", "mail"));
        one.allowed_tools = Some(ToolList::parse("Bash(git:*)"));
        let keyword = Keyword::default();
        let options =
            SelectOptions { available_tools: HostTools::only(["Read"]), ..SelectOptions::default() };
        let ways: [(Option<&dyn Selector>, &str); 5] = [
            (None, "pdf"),
            (Some(&keyword), ""),
            (Some(&keyword), "pdf"),
            (Some(&Broken), "pdf"),
            (Some(&All), "pdf"),
        ];
        for (selector, text) in ways {
            let (keys, whole) = narrowed(selector, text, &[&one, &two], &options).unwrap();
            assert_eq!(keys, ["two"], "{text}: {whole:?}");
        }
        let hits = search(&All, &Query::text("pdf"), &[&one, &two], &options).unwrap();
        assert_eq!(hits.len(), 1);
    }

    #[test]
    fn scores_of_zero_and_below_count_unless_min_score_says_otherwise() {
        struct Logits;
        impl Selector for Logits {
            fn select(&self, _: &Query, among: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
                let scores = [0.0, -2.5, f32::NAN];
                let hit =
                    |(entry, score): (&&Entry, f32)| Hit { key: entry.key.clone(), score, why: Vec::new() };
                Ok(among.iter().zip(scores).map(hit).collect())
            }
        }
        let skills = ["a", "b", "c"].map(|name| entry(name, "d"));
        let among = skills.each_ref();
        let keys = |min_score: Option<f32>| {
            let options = SelectOptions { min_score, on_empty: OnEmpty::None, ..SelectOptions::default() };
            let hits = search(&Logits, &Query::text("x"), &among, &options).unwrap();
            let left = narrow(Some(&Logits), &Query::text("x"), &among, &options).unwrap();
            let found: Vec<String> = hits.into_iter().map(|hit| hit.key).collect();
            assert_eq!(found, left.skills.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>());
            found.join(" ")
        };
        assert_eq!(
            [keys(None), keys(Some(-5.0)), keys(Some(-1.0)), keys(Some(1.0))],
            ["a b", "a b", "a", ""]
        );
    }

    #[test]
    fn options_limit_what_is_found() {
        let mut skills: Vec<Entry> = (0..9).map(|number| entry(&format!("s{number}"), "pdf")).collect();
        skills[0].description = "pdf forms".to_owned();
        skills[1].allowed_tools = Some(ToolList::parse("Bash(git:*) Read"));
        let among: Vec<&Entry> = skills.iter().collect();
        let keys = |options: &SelectOptions| -> Vec<String> {
            let hits = search(&Keyword::default(), &Query::text("pdf forms"), &among, options).unwrap();
            hits.into_iter().map(|hit| hit.key).collect()
        };
        assert_eq!(keys(&SelectOptions::default()), ["s0", "s1", "s2", "s3", "s4"]);
        assert_eq!(keys(&SelectOptions { top_k: None, ..SelectOptions::default() }).len(), 9);
        assert_eq!(keys(&SelectOptions { min_score: Some(0.6), ..SelectOptions::default() }), ["s0"]);
        let tools = |tools: &[&str]| SelectOptions {
            available_tools: HostTools::only(tools.iter().copied()),
            top_k: Some(2),
            ..SelectOptions::default()
        };
        assert_eq!(keys(&tools(&["read"])), ["s0", "s2"]);
        assert_eq!(keys(&tools(&["read", "BASH"])), ["s0", "s1"]);
        assert_eq!(keys(&SelectOptions { top_k: Some(0), ..SelectOptions::default() }), [""; 0]);
    }
}
