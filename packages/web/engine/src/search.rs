//! Search over given skills: by their words, by tags, and by the vectors of a model that JavaScript asked.

use prowess_core::Entry;
use prowess_core::select::{
    All, Bm25, Embedding, Fused, Hit, Keyword, MEANING_WEIGHT, Query, Reader, SelectError, Selector,
    Settings, Tags, Texts, Vectors, embedded_text, search,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::Narrowing;
use crate::output;
use crate::render::GivenSkill;

/// How skills are ranked.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ranking {
    #[default]
    Bm25,
    Keyword,
    Tags,
    All,
    Embedding,
    Fused,
}

/// The vectors that a model gave for some texts.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenVectors {
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

impl GivenVectors {
    fn vectors(self) -> Result<Vectors, SelectError> {
        if self.texts.len() != self.vectors.len() {
            return Err(SelectError::Count { found: self.vectors.len(), wanted: self.texts.len() });
        }
        let mut vectors = Vectors::default();
        for (text, vector) in self.texts.into_iter().zip(self.vectors) {
            vectors.insert(text, vector)?;
        }
        Ok(vectors)
    }
}

/// A query.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) query: String,
    pub(crate) tags: Vec<String>,
    pub(crate) selector: Ranking,
    pub(crate) vectors: Option<GivenVectors>,
    pub(crate) narrowing: Narrowing,
}

pub(crate) fn failed(error: SelectError) -> Failure {
    Failure::new("select", error.to_string())
}

/// Ranks entries. `words` returns the index over their words, if it is needed.
pub(crate) fn ranked<'w>(
    asked: Asked,
    among: &[&Entry],
    words: impl Fn() -> &'w dyn Selector,
) -> Result<Vec<Hit>, Failure> {
    let query = Query::text(asked.query).with_tags(asked.tags);
    let options = asked.narrowing.options();
    let meaning = || -> Result<Embedding, Failure> {
        let known =
            asked.vectors.ok_or_else(|| Failure::argument("this selector needs the vectors of a model"))?;
        // JavaScript asked the model before, so a text without a vector is a mistake there.
        let asks_again = |_: &[&str]| Err("a text has no vector".to_owned());
        Embedding::new(among, Box::new(asks_again), known.vectors().map_err(failed)?).map_err(failed)
    };
    let hits = match asked.selector {
        Ranking::Bm25 => search(words(), &query, among, &options),
        Ranking::Keyword => search(&Keyword::default(), &query, among, &options),
        Ranking::Tags => search(&Tags, &query, among, &options),
        Ranking::All => search(&All, &query, among, &options),
        Ranking::Embedding => search(&meaning()?, &query, among, &options),
        Ranking::Fused => {
            let both = Fused::new(Shared(words()), meaning()?, MEANING_WEIGHT);
            search(&both, &query, among, &options)
        }
    };
    hits.map_err(failed)
}

/// An index that is used beside another selector.
struct Shared<'w>(&'w dyn Selector);

impl Selector for Shared<'_> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        self.0.select(query, among, limit)
    }
}

/// An index over the words of skills and their bodies.
pub(crate) fn index<'s>(skills: impl Iterator<Item = (&'s Entry, Option<&'s str>)>) -> Bm25 {
    let (mut reader, mut keys) = (Reader::new(), Vec::new());
    for (entry, body) in skills {
        reader.add(&Texts::of(entry, body));
        keys.push(entry.key.clone());
    }
    Bm25::new(keys, reader.finish(), Settings::default())
}

#[derive(Deserialize)]
pub(crate) struct OverSkills {
    skills: Vec<GivenSkill>,
    asked: Asked,
}

pub(crate) fn over_skills(input: OverSkills) -> Result<Value, Failure> {
    let skills = input.skills.into_iter().map(GivenSkill::skill).collect::<Result<Vec<_>, _>>()?;
    let among: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    let made = std::sync::OnceLock::new();
    let words = || -> &dyn Selector {
        made.get_or_init(|| {
            index(skills.iter().map(|skill| (&skill.entry, Some(skill.instructions.as_str()))))
        })
    };
    Ok(output::hits(&ranked(input.asked, &among, words)?))
}

pub(crate) fn embedded_texts(skills: Vec<GivenSkill>) -> Result<Value, Failure> {
    let texts = skills.into_iter().map(|skill| skill.skill().map(|skill| embedded_text(&skill.entry)));
    Ok(json!(texts.collect::<Result<Vec<_>, _>>()?))
}
