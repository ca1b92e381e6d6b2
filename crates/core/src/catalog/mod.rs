//! Many skills as one: the immutable [`Catalog`], what it offers, and why anything is not in it.

mod candidate;
mod delta;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use candidate::{Candidate, Obstacle, Stamp};
pub use delta::Delta;

use crate::skill::Entry;

/// Which of two skills with one key is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// The first, in the order of precedence.
    #[default]
    First,
    /// The last.
    Last,
    /// Neither: a duplicate is an error.
    Error,
}

/// Two skills have one key, and that was to be an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two skills have the name {key}: {first} and {second}; rename one, or let the first or the last win")]
pub struct DuplicateError {
    /// The key.
    pub key: String,
    /// Where the first lies.
    pub first: String,
    /// Where the second lies.
    pub second: String,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "standing")]
pub enum Standing {
    /// It is offered.
    Listed,
    /// Another skill with its key is offered in its place.
    Shadowed {
        /// Where that one lies.
        by: String,
    },
    /// Something keeps it from being offered or from being used.
    Hindered {
        /// What that is.
        obstacle: Obstacle,
    },
}

/// Many skills as one, in a fixed order. A change makes a new catalog.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    candidates: Vec<Candidate>,
    standings: Vec<Standing>,
    /// The offered candidates by key.
    offered: BTreeMap<String, usize>,
}

impl Catalog {
    /// Decides which candidates are offered. They come in the order of precedence, the strongest first.
    ///
    /// Broken, disabled and untrusted skills never stand in the way of another. An untrusted skill whose key nobody
    /// else has is listed, and marked. A skill that anyone asks to preload is preloaded.
    pub fn new(candidates: Vec<Candidate>, duplicates: Duplicates) -> Result<Self, DuplicateError> {
        let mut catalog = Self {
            standings: vec![Standing::Listed; candidates.len()],
            candidates,
            offered: BTreeMap::new(),
        };
        let mut preload: BTreeMap<String, bool> = BTreeMap::new();
        // Skills that may be used come before those that may only be seen.
        for only_seen in [false, true] {
            for at in 0..catalog.candidates.len() {
                let Some(candidate) = catalog.candidates.get(at) else { continue };
                match &candidate.obstacle {
                    None if only_seen => continue,
                    Some(Obstacle::Untrusted) if !only_seen => continue,
                    Some(obstacle @ (Obstacle::Broken { .. } | Obstacle::Disabled { .. })) => {
                        let obstacle = obstacle.clone();
                        catalog.set(at, Standing::Hindered { obstacle });
                        continue;
                    }
                    None | Some(Obstacle::Untrusted) => {}
                }
                *preload.entry(candidate.entry.key.clone()).or_default() |= candidate.preload;
                catalog.offer(at, duplicates, only_seen)?;
            }
        }
        for (key, at) in &catalog.offered {
            if let Some(candidate) = catalog.candidates.get_mut(*at) {
                candidate.preload = preload.get(key).copied().unwrap_or(false);
            }
        }
        Ok(catalog)
    }

    fn set(&mut self, at: usize, standing: Standing) {
        if let Some(slot) = self.standings.get_mut(at) {
            *slot = standing;
        }
    }

    fn location(&self, at: usize) -> String {
        self.candidates.get(at).map(|candidate| candidate.entry.origin.location.clone()).unwrap_or_default()
    }

    /// Offers a candidate unless its key is taken.
    fn offer(&mut self, at: usize, duplicates: Duplicates, only_seen: bool) -> Result<(), DuplicateError> {
        let key = self.candidates.get(at).map(|candidate| candidate.entry.key.clone()).unwrap_or_default();
        let Some(&taken) = self.offered.get(&key) else {
            self.offered.insert(key, at);
            return Ok(());
        };
        let usable = self.candidates.get(taken).is_some_and(|candidate| candidate.obstacle.is_none());
        let may_replace = !(only_seen && usable);
        let remote =
            |at: usize| self.candidates.get(at).is_some_and(|c| c.entry.origin.scope == crate::Scope::Remote);
        match duplicates {
            // What comes from another machine never takes the place of what is here.
            Duplicates::Last if may_replace && (!remote(at) || remote(taken)) => {
                let by = self.location(at);
                self.set(taken, Standing::Shadowed { by });
                self.offered.insert(key, at);
            }
            Duplicates::Error if may_replace => {
                return Err(DuplicateError { key, first: self.location(taken), second: self.location(at) });
            }
            Duplicates::First | Duplicates::Last | Duplicates::Error => {
                let by = self.location(taken);
                self.set(at, Standing::Shadowed { by });
            }
        }
        Ok(())
    }

    /// The offered skill with this key.
    pub fn get(&self, key: &str) -> Option<&Candidate> {
        self.offered.get(key).and_then(|at| self.candidates.get(*at))
    }

    /// Whether a skill with this key is offered.
    pub fn has(&self, key: &str) -> bool {
        self.offered.contains_key(key)
    }

    /// How many skills are offered.
    pub fn len(&self) -> usize {
        self.offered.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// The offered skills, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.offered.values().filter_map(|at| self.candidates.get(*at))
    }

    /// The entries of the offered skills, sorted by key.
    pub fn list(&self) -> Vec<&Entry> {
        self.iter().map(|candidate| &candidate.entry).collect()
    }

    /// The offered skills in or below a virtual folder; all of them for an empty one.
    pub fn list_for_dir(&self, folder: &str) -> Vec<&Entry> {
        let folder = folder.trim_matches('/');
        self.iter().filter(|candidate| is_below(&candidate.virtual_path, folder)).map(|c| &c.entry).collect()
    }

    /// The skills that are to be active from the start.
    pub fn preloaded(&self) -> Vec<&Entry> {
        self.iter().filter(|candidate| candidate.preload).map(|candidate| &candidate.entry).collect()
    }

    /// Every candidate and what became of it, in the order of precedence.
    pub fn all(&self) -> impl Iterator<Item = (&Candidate, &Standing)> {
        self.candidates.iter().zip(&self.standings)
    }

    /// Every candidate with this key or name and what became of it: the answer to "why is it not there".
    pub fn why(&self, key: &str) -> Vec<(&Candidate, &Standing)> {
        self.all().filter(|(candidate, _)| candidate.answers_to(key)).collect()
    }

    /// The keys that resemble one that is not there, the closest first.
    pub fn similar(&self, key: &str) -> Vec<&str> {
        let mut near: Vec<(usize, &str)> = self
            .all()
            .map(|(candidate, _)| candidate.entry.key.as_str())
            .filter_map(|other| {
                let distance = crate::check::distance(key, other);
                let contains = !key.is_empty() && (other.contains(key) || key.contains(other));
                (contains || distance <= 2.max(key.len() / 4)).then_some((distance, other))
            })
            .collect();
        near.sort_unstable();
        near.dedup();
        near.into_iter().map(|(_, key)| key).take(5).collect()
    }

    /// What is different here from an earlier catalog.
    pub fn since(&self, before: &Self) -> Delta {
        Delta::between(before, self)
    }

    /// The candidates, to make another catalog from.
    pub fn into_candidates(self) -> Vec<Candidate> {
        self.candidates
    }
}

/// Whether a virtual path lies in a folder; every path lies in the empty one.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .trim_start_matches('/')
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
