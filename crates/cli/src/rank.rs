//! Which skills fit a task: selectors of the command line, the place of one skill in a ranking and why, skills that
//! compete, and those that are nearest where none fits.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use prowess::env::Environment;
use prowess::library::terms_file;
use prowess::search::{LazyIndex, SearchIndex, analyse, threads};
use prowess::select::{
    Bm25, Field, Hit, HitReason, Query, SelectError, SelectOptions, Selector, Settings, Texts, TypedWords,
    search,
};
use prowess::{Candidate, Catalog, Entry, HostTools, Registry};
use serde::Serialize;

use crate::args::{Places, Selection};
use crate::error::Failure;

/// How many skills are named as the nearest ones.
const NEAREST: usize = 3;
/// How many pairs of letters a similar name shares with the task at least.
const MIN_PAIRS: usize = 3;
/// How many skills each skill is compared with.
const COMPARED: usize = 5;
/// The share of its own score from which `eval --overlap` lists a pair: the author of a skill wants to see every one.
pub(crate) const OVERLAPS: f32 = 0.5;
/// The share from which `doctor` reports a pair: it names only those that are likely to be confused.
pub(crate) const CONFUSED: f32 = 0.8;

/// The skills that fit, the best first.
pub(crate) type Hits<'c> = Vec<(&'c Candidate, Hit)>;

/// What all selectors have in common, as the command line says it.
pub(crate) fn options(selection: &Selection) -> SelectOptions {
    SelectOptions::default()
        .with_top_k(selection.limit.0)
        .with_min_score(selection.min_score)
        .with_available_tools(selection.tools.as_deref().map_or(HostTools::Unlimited, HostTools::parse))
}

/// The selector that the command line names. It reads no body before it is asked for something.
pub(crate) fn selector<'r>(
    selection: &Selection,
    places: &Places,
    registry: &'r Registry,
) -> Box<dyn Selector + 'r> {
    selection.selector.without_index().unwrap_or_else(|| Box::new(search_index(places, registry)))
}

/// The search index of these skills, with its cache. It reads no body before the first search.
pub(crate) fn search_index<'r>(places: &Places, registry: &'r Registry) -> LazyIndex<&'r Registry> {
    let cache = if places.no_cache { None } else { terms_file(&Environment::current(), registry) };
    LazyIndex::new(registry).with_cache(cache)
}

/// An index of texts by their keys.
pub(crate) fn index<'t>(texts: impl Iterator<Item = (&'t str, Texts<'t>)>, settings: Settings) -> Bm25 {
    let (keys, texts): (Vec<String>, Vec<Texts<'t>>) =
        texts.map(|(key, texts)| (key.to_owned(), texts)).unzip();
    Bm25::new(keys, analyse(&texts, threads()), settings)
}

/// A selector that failed, in words.
pub(crate) fn failed(error: &SelectError) -> Failure {
    Failure::new(error.to_string(), "correct the program, or take another selector: prowess help search")
}

/// The skills that fit, by the selector that the command line names. They are given sorted by key.
pub(crate) fn rank<'c>(
    registry: &Registry,
    skills: &[&'c Candidate],
    query: &Query,
    (selection, places): (&Selection, &Places),
) -> Result<Hits<'c>, Failure> {
    rank_namesakes(registry, skills, query, &options(selection), |apart| match apart {
        None => selector(selection, places, registry),
        Some(catalog) => selection
            .selector
            .without_index()
            .unwrap_or_else(|| Box::new(SearchIndex::of_catalog(registry, catalog))),
    })
}

/// The skills that fit, several of which may have one name, as a client can list them. A selector tells skills apart by
/// their keys, so namesakes get keys of their own for the ranking, and the selector is made for the catalog with these.
fn rank_namesakes<'c, 's>(
    registry: &Registry,
    skills: &[&'c Candidate],
    query: &Query,
    options: &SelectOptions,
    selector: impl FnOnce(Option<&Catalog>) -> Box<dyn Selector + 's>,
) -> Result<Hits<'c>, Failure> {
    if registry.client().is_none() || !has_namesakes(skills) {
        // The process ends after the search, and freeing an index would take as long as asking it.
        return rank_by_key(&**ManuallyDrop::new(selector(None)), skills, query, options);
    }
    let mut taken = BTreeSet::new();
    let apart: Vec<Arc<Candidate>> =
        skills.iter().map(|skill| Arc::new(with_own_key(skill, &mut taken))).collect();
    let entries: Vec<&Entry> = apart.iter().map(|skill| &skill.entry).collect();
    let catalog = Catalog::apart(apart.clone());
    let hits =
        search(&*selector(Some(&catalog)), query, &entries, options).map_err(|error| failed(&error))?;
    let of = |hit: Hit| {
        let at = apart.iter().position(|skill| skill.entry.key == hit.key)?;
        let skill = *skills.get(at)?;
        Some((skill, Hit::new(skill.entry.key.clone(), hit.score, hit.why)))
    };
    Ok(hits.into_iter().filter_map(of).collect())
}

/// The skills that fit, each of which has a key of its own. They are given sorted by key.
fn rank_by_key<'c>(
    selector: &dyn Selector,
    skills: &[&'c Candidate],
    query: &Query,
    options: &SelectOptions,
) -> Result<Hits<'c>, Failure> {
    let entries: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    let hits = search(selector, query, &entries, options).map_err(|error| failed(&error))?;
    let of = |hit: Hit| {
        let at = skills.binary_search_by(|skill| skill.entry.key.cmp(&hit.key)).ok()?;
        Some((*skills.get(at)?, hit))
    };
    Ok(hits.into_iter().filter_map(of).collect())
}

/// Whether two skills have one key.
pub(crate) fn has_namesakes(skills: &[&Candidate]) -> bool {
    let keys: BTreeSet<&str> = skills.iter().map(|skill| &*skill.entry.key).collect();
    keys.len() < skills.len()
}

/// A skill with a key that no other one has.
fn with_own_key(skill: &Candidate, taken: &mut BTreeSet<String>) -> Candidate {
    let mut own = skill.clone();
    let mut number = 1;
    while !taken.insert(own.entry.key.clone()) {
        number += 1;
        own.entry.key = format!("{}#{number}", skill.entry.key);
    }
    own
}

/// A selector that returns what was ranked before.
pub(crate) struct Ranking(pub(crate) Vec<Hit>);

impl Selector for Ranking {
    fn select(&self, _: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let is_among = |hit: &&Hit| among.iter().any(|entry| entry.key == hit.key);
        Ok(self.0.iter().filter(is_among).take(limit).cloned().collect())
    }
}

/// The rankings for a query in which `prowess why` finds the place of a skill.
pub(crate) struct Rankings<'r> {
    query: &'r str,
    prompt: Hits<'r>,
    /// By the search of Prowess; none for a client.
    search: Option<Hits<'r>>,
}

/// How well a skill fits a query, and what fits better.
#[derive(Serialize)]
pub(crate) struct Ranked<'q> {
    /// What was ranked.
    by: RankedBy,
    /// Its place, from 1; nothing when it does not fit at all.
    rank: Option<usize>,
    /// How many skills fit.
    of: usize,
    score: Option<f32>,
    winner: Option<Winner>,
    /// The words of the query in its name or description, as they were typed.
    found: Vec<&'q str>,
    /// The words that are in neither.
    missing: Vec<&'q str>,
}

/// What is ranked of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum RankedBy {
    /// Everything, also the instructions, as the search of Prowess does.
    Search,
    /// What a prompt has: the name and the description.
    Prompt,
}

/// The skill that fits best.
#[derive(Serialize)]
struct Winner {
    key: String,
    score: f32,
}

impl<'r> Rankings<'r> {
    /// Ranks what a prompt has of the skills that are in it, which are given with the descriptions that it has; and with
    /// a selector everything in them.
    pub(crate) fn new(
        query: &'r str,
        registry: &Registry,
        prompt: &'r Catalog,
        selector: Option<&dyn Selector>,
    ) -> Result<Self, Failure> {
        let text = Query::text(query);
        let skills: Vec<&Candidate> = prompt.iter().collect();
        let options = SelectOptions::default().with_top_k(None);
        let search = selector.map(|selector| rank_by_key(selector, &skills, &text, &options)).transpose()?;
        let prompt = rank_namesakes(registry, &skills, &text, &options, |apart| {
            let entries = apart.unwrap_or(prompt).iter().map(|skill| &skill.entry);
            let texts = entries.map(|Entry { key, name, description, .. }| {
                (&**key, Texts { name, about: vec![description], body: None })
            });
            Box::new(index(texts, Settings::default()))
        })?;
        Ok(Self { query, prompt, search })
    }

    /// The place of a skill, and if that is one in the search, also the one by what prompts have.
    pub(crate) fn of(&self, skill: &Candidate) -> (Ranked<'r>, Option<Ranked<'r>>) {
        let prompt = Ranked::new(RankedBy::Prompt, skill, self.query, &self.prompt);
        match &self.search {
            Some(hits) => (Ranked::new(RankedBy::Search, skill, self.query, hits), Some(prompt)),
            None => (prompt, None),
        }
    }
}

impl<'q> Ranked<'q> {
    fn new(by: RankedBy, skill: &Candidate, query: &'q str, hits: &[(&Candidate, Hit)]) -> Self {
        let is_it =
            |(other, _): &(&Candidate, Hit)| other.entry.origin.location == skill.entry.origin.location;
        let place = hits.iter().position(is_it);
        let own = place.and_then(|place| hits.get(place)).map(|(_, hit)| hit);
        let words = described_by(query, own.map_or(&[], |hit| &hit.why));
        Self {
            by,
            rank: place.map(|place| place + 1),
            of: hits.len(),
            score: own.map(|hit| hit.score),
            winner: hits.first().map(|(_, hit)| Winner { key: hit.key.clone(), score: hit.score }),
            found: words.found,
            missing: words.missing,
        }
    }

    /// The place, that by what prompts have, and the words of the query, in lines.
    pub(crate) fn lines(&self, in_prompts: Option<&Self>) -> Vec<String> {
        let mut lines = vec![self.place()];
        lines.extend(in_prompts.filter(|other| other.rank != self.rank).map(Self::place));
        let Self { found, missing, .. } = in_prompts.unwrap_or(self);
        for (words, title) in
            [(found, "words in its name or description"), (missing, "words missing from its description")]
        {
            lines.extend((!words.is_empty()).then(|| format!("{title}: {}", words.join(", "))));
        }
        lines
    }

    /// The place in a line.
    fn place(&self) -> String {
        let winner = self.winner.as_ref().filter(|_| self.rank != Some(1));
        let winner = winner.map(|Winner { key, score }| format!("; the first is {key}, score {score:.3}"));
        let place = match (self.rank, self.score) {
            (Some(rank), Some(score)) => format!("{rank} of {} that fit, score {score:.3}", self.of),
            _ => "does not fit".to_owned(),
        };
        let by = match self.by {
            RankedBy::Search => "for this query",
            RankedBy::Prompt => "for this query, by the names and descriptions in the prompt of an agent",
        };
        format!("{by}: {place}{}", winner.unwrap_or_default())
    }
}

/// The words of a query, sorted by whether the name or the description of a skill has them.
pub(crate) fn described_by<'q>(query: &'q str, why: &[HitReason]) -> TypedWords<'q> {
    let described = |reason: &&HitReason| matches!(reason.field, Field::Name | Field::Description);
    TypedWords::of(query, &why.iter().filter(described).cloned().collect::<Vec<_>>())
}

/// Pairs of skills that compete: the description of one finds the other with at least this share of its own score. The
/// closest pair is the first.
pub(crate) fn rivals(index: &Bm25, among: &[&Entry], least: f32) -> Vec<(String, String, f32)> {
    let mask = index.mask(among);
    let mut pairs: BTreeMap<(&str, &str), f32> = BTreeMap::new();
    for entry in among {
        let ranking = index.ranking(&entry.description, COMPARED + 1, Some(&mask));
        let key = entry.key.as_str();
        // A skill that its own description does not rank this high scores no more than the last that it does.
        let itself = ranking.iter().find(|(found, _)| *found == key).or(ranking.last());
        let Some((_, own)) = itself.copied() else { continue };
        for (other, score) in
            ranking.into_iter().filter(|(other, score)| *other != key && *score >= least * own)
        {
            let share = pairs.entry((key.min(other), key.max(other))).or_default();
            *share = share.max(score / own);
        }
    }
    let mut list: Vec<_> =
        pairs.into_iter().map(|((one, other), share)| (one.to_owned(), other.to_owned(), share)).collect();
    list.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| (&one.0, &one.1).cmp(&(&other.0, &other.1)))
    });
    list
}

/// The nearest skills: those that have words which begin as words of the task do, then those whose names have at least
/// half of its pairs of letters. There may be none.
pub(crate) fn nearest<'c>(task: &str, catalog: &'c Catalog) -> Vec<&'c Candidate> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|character: char| !character.is_alphanumeric());
        // Shorter words say little about a task.
        words.filter(|word| word.chars().count() > 3).map(str::to_lowercase).collect()
    };
    let pairs = |text: &str| -> BTreeSet<(char, char)> {
        let letters: Vec<char> =
            text.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
        letters.windows(2).filter_map(|two| Some((*two.first()?, *two.last()?))).collect()
    };
    let (wanted, wanted_pairs) = (words(task), pairs(task));
    let mut near: Vec<((usize, usize), &Candidate)> = catalog
        .iter()
        .map(|skill| {
            let own = words(&format!("{} {}", skill.entry.name, skill.entry.description));
            let best = |word: &String| own.iter().map(|other| shared(word, other)).max().unwrap_or(0);
            let begins = wanted.iter().map(best).filter(|shared| *shared > 2).sum();
            ((begins, pairs(&skill.entry.name).intersection(&wanted_pairs).count()), skill)
        })
        .collect();
    let is_near = |shared: usize| shared >= MIN_PAIRS && shared * 2 >= wanted_pairs.len();
    near.retain(|((begins, shared), _)| *begins > 0 || is_near(*shared));
    near.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.entry.key.cmp(&b.1.entry.key)));
    near.into_iter().map(|(_, skill)| skill).take(NEAREST).collect()
}

/// How many characters two words share at their beginning.
fn shared(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count()
}
