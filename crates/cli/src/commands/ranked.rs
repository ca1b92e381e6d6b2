//! The place of a skill in the ranking for a query, for `prowess why --query`.

use prowess::finding::Preset;
use prowess::select::{
    Bm25, Field, Hit, HitReason, Query, SelectError, SelectOptions, Selector, Settings, Texts, TypedWords,
    search,
};
use prowess::{Candidate, Catalog, Entry, Problem, Profile, Registry};
use serde::Serialize;

use super::by_place::ranked_by;

/// How well a skill fits a query, and what fits better.
#[derive(Serialize)]
pub(super) struct Ranked<'q> {
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
pub(super) enum RankedBy {
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

impl<'q> Ranked<'q> {
    /// The place by everything in a skill.
    pub(super) fn by_search(
        key: &str,
        query: &'q str,
        selector: &dyn Selector,
        among: &[&Entry],
    ) -> Result<Self, SelectError> {
        let options = SelectOptions::default().with_top_k(None);
        let hits = search(selector, &Query::text(query), among, &options)?;
        let place = hits.iter().position(|hit| hit.key == key);
        Ok(Self::at(RankedBy::Search, place, query, &hits.iter().collect::<Vec<_>>()))
    }

    /// The place by what a prompt has of the skills that are in it, which are given with the descriptions that it has.
    pub(super) fn by_prompt(
        skill: &Candidate,
        query: &'q str,
        registry: &Registry,
        prompt: &Catalog,
    ) -> Result<Self, SelectError> {
        let skills: Vec<&Candidate> = prompt.iter().collect();
        let options = SelectOptions::default().with_top_k(None);
        let hits = ranked_by(registry, &skills, &Query::text(query), &options, |apart| {
            Box::new(prompt_index(apart.unwrap_or(prompt)))
        })?;
        let is_it = |other: &Candidate| other.entry.origin.location == skill.entry.origin.location;
        let place = hits.iter().position(|(other, _)| is_it(other));
        Ok(Self::at(RankedBy::Prompt, place, query, &hits.iter().map(|(_, hit)| hit).collect::<Vec<_>>()))
    }

    /// The place of the hit at this index.
    fn at(by: RankedBy, place: Option<usize>, query: &'q str, hits: &[&Hit]) -> Self {
        let own = place.and_then(|place| hits.get(place));
        let words = described_by(query, own.map_or(&[], |hit| &hit.why));
        Self {
            by,
            rank: place.map(|place| place + 1),
            of: hits.len(),
            score: own.map(|hit| hit.score),
            winner: hits.first().map(|hit| Winner { key: hit.key.clone(), score: hit.score }),
            found: words.found,
            missing: words.missing,
        }
    }

    pub(super) fn rank(&self) -> Option<usize> {
        self.rank
    }

    /// The place in a line.
    pub(super) fn place(&self) -> String {
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

    /// The words of the query in lines.
    pub(super) fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.found.is_empty() {
            lines.push(format!("words in its name or description: {}", self.found.join(", ")));
        }
        if !self.missing.is_empty() {
            lines.push(format!("words missing from its description: {}", self.missing.join(", ")));
        }
        lines
    }
}

/// An index of what a prompt has of each skill.
fn prompt_index(catalog: &Catalog) -> Bm25 {
    let entries = || catalog.iter().map(|skill| &skill.entry);
    let texts: Vec<Texts<'_>> = entries()
        .map(|entry| Texts { name: &entry.name, about: vec![entry.description.as_str()], body: None })
        .collect();
    let keys = entries().map(|entry| entry.key.clone()).collect();
    Bm25::new(keys, prowess::search::analyse(&texts, prowess::search::threads()), Settings::default())
}

/// The words of a query, sorted by whether the name or the description of a skill has them.
pub(super) fn described_by<'q>(query: &'q str, why: &[HitReason]) -> TypedWords<'q> {
    let described = |reason: &&HitReason| matches!(reason.field, Field::Name | Field::Description);
    TypedWords::of(query, &why.iter().filter(described).cloned().collect::<Vec<_>>())
}

/// What `prowess check` says about the description of a skill, which is all that most models choose it by.
pub(super) fn notes_on_description(skill: &Candidate, registry: &Registry) -> Vec<Problem> {
    // The files of a skill on a server must not be read just to explain it.
    let Some(head) = registry.head_of(skill).ok().filter(|_| skill.announced.is_none()) else {
        return Vec::new();
    };
    let mut problems = Profile::new(Preset::Spec).check(&head.document(), None, &skill.entry.origin);
    let is_known =
        |problem: &Problem| skill.problems.iter().flatten().any(|other| other.code == problem.code);
    problems.retain(|problem| problem.code.starts_with("description-") && !is_known(problem));
    problems
}
