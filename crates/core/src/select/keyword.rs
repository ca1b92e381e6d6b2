//! The selectors `all`, `keyword` and `tags`, without an index or a model.

use std::collections::BTreeSet;

use super::analyse::{fold, is_stop};
use super::{Field, Hit, HitReason, Query, SelectError, Selector, best};
use crate::skill::Entry;

/// The selector `all`: every skill, in the order of the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct All;

impl Selector for All {
    fn select(&self, _: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let why =
            || vec![HitReason { term: "all".to_owned(), instead_of: None, field: Field::Skill, score: 1.0 }];
        let hits = among.iter().map(|entry| Hit { key: entry.key.clone(), score: 1.0, why: why() });
        Ok(best(hits.collect(), limit))
    }
}

/// The selector `keyword`: the share of the query's distinct words that name or description have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// Whether words such as `the` and `with` are left out of the query.
    pub stop_words: bool,
}

impl Default for Keyword {
    fn default() -> Self {
        Self { stop_words: true }
    }
}

/// The distinct words of a text: letters, digits and `_`, without accents, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let folded = fold(text).to_lowercase();
    let split = folded.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    split.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Selector for Keyword {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let mut wanted = words(&query.text);
        if self.stop_words {
            wanted.retain(|word| !is_stop(word));
        }
        let count = u16::try_from(wanted.len()).unwrap_or(u16::MAX);
        let each = 1.0 / f32::from(count.max(1));
        let hit = |entry: &&Entry| {
            let (name, about) = (words(&entry.name), words(&entry.description));
            let field = |word: &String| match (name.contains(word), about.contains(word)) {
                (true, _) => Some(Field::Name),
                (false, true) => Some(Field::Description),
                (false, false) => None,
            };
            let found = wanted.iter().filter_map(|word| Some((word, field(word)?)));
            let why: Vec<HitReason> = found
                .map(|(word, field)| HitReason { term: word.clone(), instead_of: None, field, score: each })
                .collect();
            let score = f32::from(u16::try_from(why.len()).unwrap_or(u16::MAX)) / f32::from(count.max(1));
            (score > 0.0).then(|| Hit { key: entry.key.clone(), score, why })
        };
        Ok(best(among.iter().filter_map(hit).collect(), limit))
    }
}

/// The selector `tags`: skills with any of the query's tags. A skill without tags is never selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags;

impl Selector for Tags {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        // Without tags of its own, the query's text is read as a list of them.
        let listed = query.text.split(',').map(str::to_owned);
        let asked: Vec<String> = if query.tags.is_empty() { listed.collect() } else { query.tags.clone() };
        let plain = |tag: &String| fold(tag.trim()).to_lowercase();
        let wanted: BTreeSet<String> = asked.iter().map(plain).filter(|tag| !tag.is_empty()).collect();
        let count = u16::try_from(wanted.len()).unwrap_or(u16::MAX).max(1);
        let hit = |entry: &&Entry| {
            let own: BTreeSet<String> = entry.tags.iter().map(plain).collect();
            let score = 1.0 / f32::from(count);
            let why: Vec<HitReason> = wanted
                .intersection(&own)
                .map(|tag| HitReason { term: tag.clone(), instead_of: None, field: Field::Tags, score })
                .collect();
            let score = f32::from(u16::try_from(why.len()).unwrap_or(u16::MAX)) / f32::from(count);
            (score > 0.0).then(|| Hit { key: entry.key.clone(), score, why })
        };
        Ok(best(among.iter().filter_map(hit).collect(), limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::testing::entry;

    fn keys(hits: &[Hit]) -> Vec<(&str, f32)> {
        hits.iter().map(|hit| (hit.key.as_str(), hit.score)).collect()
    }

    #[test]
    fn keyword_is_the_share_of_distinct_words() {
        let (pdf, git) =
            (entry("pdf-forms", "Fill in forms"), entry("git-commit", "Write messages, fill gaps"));
        let among = [&git, &pdf];
        let select =
            |text: &str, stop_words| Keyword { stop_words }.select(&Query::text(text), &among, 9).unwrap();
        // fill, pdf, form: two of three.
        assert_eq!(
            keys(&select("fill the PDF form", true)),
            [("pdf-forms", 2.0 / 3.0), ("git-commit", 1.0 / 3.0)]
        );
        // With the stop word: two of four.
        assert_eq!(
            keys(&select("fill the PDF form fill", false)),
            [("pdf-forms", 0.5), ("git-commit", 0.25)]
        );
        assert_eq!(keys(&select("FÏLL", true)), [("git-commit", 1.0), ("pdf-forms", 1.0)]);
        assert_eq!(keys(&select("", true)), []);
        let hit = &select("fill pdf", true)[0];
        assert_eq!((hit.why[0].field, hit.why[1].field), (Field::Description, Field::Name));
        assert!((hit.why.iter().map(|reason| reason.score).sum::<f32>() - hit.score).abs() < 1e-6);
    }

    #[test]
    fn a_skill_needs_one_tag_of_the_query() {
        let (mut one, mut two, none) = (entry("one", "d"), entry("two", "d"), entry("none", "d"));
        one.tags = vec!["Web".into(), "api".into()];
        two.tags = vec!["api".into()];
        let query = Query { text: String::new(), tags: vec!["WEB".into(), "api".into()] };
        let among = [&none, &two, &one];
        assert_eq!(keys(&Tags.select(&query, &among, 9).unwrap()), [("one", 1.0), ("two", 0.5)]);
        assert_eq!(keys(&Tags.select(&Query::text("web, x"), &among, 9).unwrap()), [("one", 0.5)]);
        assert_eq!(keys(&Tags.select(&Query::default(), &among, 9).unwrap()), []);
        assert_eq!(keys(&All.select(&query, &among, 2).unwrap()), [("none", 1.0), ("one", 1.0)]);
    }
}
