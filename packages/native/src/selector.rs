//! The selector of some skills: one of the library, one of the host, or one by the vectors of the host's model.

use std::collections::BTreeSet;
use std::sync::{Arc, LockResult, PoisonError, RwLock};

use prowess::search::LazyIndex;
use prowess::select::{
    All, Field, Fused, Hit, HitReason, Keyword, MEANING_WEIGHT, Query, SelectError, Selector, Tags, Vectors,
    best, embedded_text, in_given_order,
};
use prowess::{Candidate, Entry, Registry};
use prowess_engine::{Failure, candidate_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::asked::Rules;
use crate::foreign::{Foreign, ForeignEmbedder, ForeignError, ForeignSelector};

/// How many vectors of texts that are gone may be kept, beside as many as there are skills.
const KEPT: usize = 16;

/// The value of a lock, also after a thread that held it panicked: every change under these locks is whole.
pub(crate) fn locked<G>(guard: LockResult<G>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}

/// The selector with this name.
pub(crate) fn named(
    name: Option<&str>,
    registry: &Arc<Registry>,
    index: LazyIndex<Arc<Registry>>,
    foreign: &Foreign,
    rules: &Rules,
) -> Result<Arc<dyn Selector>, Failure> {
    let usual = if foreign.selector.is_some() {
        "host"
    } else if foreign.embedder.is_some() {
        "fused"
    } else {
        "bm25"
    };
    let name = name.unwrap_or(usual);
    let meaning = || {
        let model = foreign.embedder.clone();
        let model =
            model.ok_or_else(|| Failure::argument(format!("the selector {name} needs an embedder")))?;
        let (model, registry) = (Model { model, rules: rules.clone() }, Arc::clone(registry));
        Ok(Meaning { model, registry, known: RwLock::default(), searches: RwLock::default() })
    };
    Ok(match name {
        "bm25" => Arc::new(index),
        "keyword" => Arc::new(Keyword::default()),
        "tags" => Arc::new(Tags),
        "all" => Arc::new(All),
        "embedding" => Arc::new(meaning()?),
        "fused" => Arc::new(Fused::new(index, meaning()?, MEANING_WEIGHT)),
        "host" => match &foreign.selector {
            Some(selector) => Arc::new(HostSelector {
                selector: Arc::clone(selector),
                registry: Arc::clone(registry),
                rules: rules.clone(),
            }),
            None => return Err(Failure::argument("the host has no selector")),
        },
        other => {
            let names = "bm25, keyword, tags, all, embedding, fused";
            let message = format!("there is no such selector: {other}; the selectors are {names}");
            return Err(Failure::argument(message));
        }
    })
}

/// A selector of the host.
struct HostSelector {
    selector: Arc<dyn ForeignSelector>,
    registry: Arc<Registry>,
    rules: Rules,
}

/// A hit as the host gives it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    Key(String),
    Whole {
        key: String,
        #[serde(default)]
        score: f32,
        #[serde(default)]
        why: Vec<Value>,
    },
}

fn failed(error: &ForeignError) -> SelectError {
    SelectError::Command { program: "selector".to_owned(), reason: error.message.clone() }
}

impl Selector for HostSelector {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let catalog = self.registry.catalog();
        let listed =
            |entry: &&Entry| catalog.get(&entry.key).map(|skill: &Candidate| candidate_json(skill, None));
        let skills: Vec<Value> = among.iter().filter_map(listed).collect();
        let asked = json!({"query": query.text, "tags": query.tags, "limit": limit.min(among.len())});
        let selector = Arc::clone(&self.selector);
        let given = self
            .rules
            .ask("the selector", move || selector.select(asked, skills))
            .map_err(|error| failed(&error))?;
        let known: BTreeSet<&str> = among.iter().map(|entry| entry.key.as_str()).collect();
        let mut hits = Vec::new();
        for hit in given {
            let shown = hit.to_string();
            let hit = serde_json::from_value(hit).ok().and_then(|given| match given {
                Given::Key(key) => Some(Hit::new(key, 0.0, Vec::new())),
                Given::Whole { key, score, why } => {
                    let why = why.into_iter().map(serde_json::from_value).collect::<Result<_, _>>().ok()?;
                    (!score.is_nan()).then(|| Hit::new(key, score, why))
                }
            });
            let Some(hit) = hit else {
                let reason = format!("it returned a hit without a key and a score: {shown}");
                return Err(SelectError::Command { program: "selector".to_owned(), reason });
            };
            if known.contains(hit.key.as_str()) {
                hits.push(hit);
            }
        }
        Ok(in_given_order(hits, limit))
    }
}

/// The model of the host.
struct Model {
    model: Arc<dyn ForeignEmbedder>,
    rules: Rules,
}

impl Model {
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let model = Arc::clone(&self.model);
        self.rules.ask("the embedder", move || model.embed(texts)).map_err(|error| error.message)
    }
}

/// A selector by vectors. Each skill is embedded once.
struct Meaning {
    model: Model,
    registry: Arc<Registry>,
    known: RwLock<Vectors>,
    /// Held by each search, which may be about a text that is gone.
    searches: RwLock<()>,
}

impl Meaning {
    /// Forgets the vectors of texts that are gone, once there are many and no search uses them.
    fn prune(&self) -> Result<(), SelectError> {
        let catalog = self.registry.catalog();
        let many = 2 * catalog.len() + KEPT;
        let Ok(_alone) = self.searches.try_write() else { return Ok(()) };
        if locked(self.known.read()).len() <= many {
            return Ok(());
        }
        let mut known = locked(self.known.write());
        let mut kept = Vectors::default();
        for skill in catalog.iter() {
            let text = embedded_text(&skill.entry);
            if let Some(vector) = known.get(&text) {
                kept.insert(text.clone(), vector.to_vec())?;
            }
        }
        *known = kept;
        Ok(())
    }
}

impl Selector for Meaning {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        if query.text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let searching = locked(self.searches.read());
        let texts: Vec<String> = among.iter().map(|entry| embedded_text(entry)).collect();
        let missing: Vec<&str> = {
            let known = locked(self.known.read());
            texts.iter().map(String::as_str).filter(|text| known.get(text).is_none()).collect()
        };
        // The model runs without the lock. The vector of the query is not kept.
        let mut new = Vectors::default();
        let asked: Vec<&str> = missing.iter().copied().chain([query.text.as_str()]).collect();
        new.complete(&asked, &|texts: &[&str]| self.model.embed(texts))?;
        for text in missing {
            let vector = new.get(text).unwrap_or_default().to_vec();
            locked(self.known.write()).insert(text.to_owned(), vector)?;
        }
        let known = locked(self.known.read());
        let asked = new.get(&query.text).unwrap_or_default();
        let mut hits = Vec::with_capacity(among.len());
        for (entry, text) in among.iter().zip(&texts) {
            let vector = known.get(text).unwrap_or_default();
            if vector.len() != asked.len() {
                return Err(SelectError::Width { found: asked.len(), wanted: vector.len() });
            }
            let score = asked.iter().zip(vector).map(|(one, other)| one * other).sum();
            let why = vec![HitReason::new("similarity", Field::Skill, score)];
            hits.push(Hit::new(entry.key.clone(), score, why));
        }
        drop((known, searching));
        self.prune()?;
        Ok(best(hits, limit))
    }
}
