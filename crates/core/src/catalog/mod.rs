//! Many skills as one: the immutable [`Catalog`], what it offers, and why anything is not in it.

mod candidate;
mod delta;
mod found;
mod key;
mod named;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use candidate::{Approved, Candidate, Decision, LayerId, Obstacle, TurnedOffBy};
pub use delta::Delta;
pub use found::{Announced, Appearance, Found, SourceSkill, Stamp};
pub use key::KeyFrom;
pub use named::{Named, WhyNot};

use crate::skill::Entry;
use crate::skill::location::{Location, Scope};

/// Which of two skills with one key is offered. Closed: there is no fourth answer.
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
    /// The location of the first.
    pub first: Location,
    /// The location of the second.
    pub second: Location,
}

/// What became of a candidate. Closed, so that a host shows every state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "standing")]
pub enum Standing {
    /// It is offered.
    Listed,
    /// Another skill with its key is offered in its place.
    Shadowed {
        /// The location of that one.
        by: Location,
    },
    /// Something keeps it from being offered or from being used.
    #[serde(rename = "hindered")]
    Blocked {
        /// What that is.
        obstacle: Obstacle,
    },
}

/// Many skills as one, in a fixed order. A change makes a new catalog.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    candidates: Vec<Arc<Candidate>>,
    standings: Vec<Standing>,
    /// The places of the offered candidates, sorted by key.
    offered: Vec<usize>,
}

impl Catalog {
    /// Decides which candidates are offered. They come in the order of precedence, the strongest first.
    ///
    /// Broken, disabled and untrusted skills never shadow another. An untrusted skill whose key no one
    /// else has is listed, and marked. A skill from another machine never shadows one that is here, and one of a server
    /// never any other that may be used. A skill that anyone asks to preload is preloaded.
    pub fn new(candidates: Vec<Arc<Candidate>>, duplicates: Duplicates) -> Result<Self, DuplicateError> {
        Self::merging(candidates, duplicates, &|_, _| false)
    }

    /// The same, where two candidates with one key may be one skill that was found twice, through links. They become
    /// one, which knows both places and the readers of both. `same` is asked only about candidates with one key.
    pub fn merging(
        candidates: Vec<Arc<Candidate>>,
        duplicates: Duplicates,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Self, DuplicateError> {
        let standings = vec![Standing::Listed; candidates.len()];
        let mut catalog = Self { candidates, standings, offered: Vec::new() };
        let mut merged = Vec::new();
        // By key, and within a key in the order of precedence.
        let mut order: Vec<usize> = (0..catalog.candidates.len()).collect();
        order.sort_by(|a, b| catalog.key(*a).cmp(catalog.key(*b)));
        let mut rest = order.as_slice();
        while let Some(first) = rest.first() {
            let key = catalog.key(*first);
            let same_key = rest.iter().take_while(|at| catalog.key(**at) == key).count();
            let (namesakes, after) = rest.split_at(same_key);
            if let Some((winner, preload)) = catalog.settle(namesakes, duplicates, same)? {
                catalog.offered.push(winner);
                catalog.merge(winner, preload, namesakes, same, &mut merged);
            }
            rest = after;
        }
        catalog.without(merged);
        Ok(catalog)
    }

    fn is_same(&self, one: usize, other: usize, same: &dyn Fn(&Candidate, &Candidate) -> bool) -> bool {
        let both = (self.candidates.get(one), self.candidates.get(other));
        matches!(both, (Some(one), Some(other)) if same(one, other))
    }

    /// Puts one candidate in the place of the winner and what is the same skill, and notes what thereby goes.
    fn merge(
        &mut self,
        winner: usize,
        preload: bool,
        namesakes: &[usize],
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
        merged: &mut Vec<usize>,
    ) {
        let is_merged = |at: &usize| {
            *at != winner
                && matches!(self.standings.get(*at), Some(Standing::Shadowed { .. }))
                && self.is_same(winner, *at, same)
        };
        let gone: Vec<usize> = namesakes.iter().copied().filter(is_merged).collect();
        let others: Vec<_> = gone.iter().filter_map(|at| self.candidates.get(*at).cloned()).collect();
        if let Some(skill) = self.candidates.get_mut(winner)
            && (skill.preload != preload || !others.is_empty())
        {
            *skill = Arc::new(skill.merged(&others, preload));
        }
        merged.extend(gone);
    }

    /// Takes candidates out.
    fn without(&mut self, mut gone: Vec<usize>) {
        if gone.is_empty() {
            return;
        }
        gone.sort_unstable();
        let stays = |at: usize| gone.binary_search(&at).is_err();
        let mut at = 0..;
        self.candidates.retain(|_| at.next().is_some_and(stays));
        let mut at = 0..;
        self.standings.retain(|_| at.next().is_some_and(stays));
        for offered in &mut self.offered {
            *offered -= gone.partition_point(|at| at < offered);
        }
    }

    fn key(&self, at: usize) -> &str {
        self.candidates.get(at).map_or("", |candidate| candidate.entry.key.as_str())
    }

    fn set(&mut self, at: usize, standing: Standing) {
        if let Some(slot) = self.standings.get_mut(at) {
            *slot = standing;
        }
    }

    fn location(&self, at: usize) -> Location {
        self.candidates.get(at).map(|candidate| candidate.entry.origin.location.clone()).unwrap_or_default()
    }

    /// How far away a candidate comes from. What comes from another machine never takes the place of what is here, and
    /// what a server says now never the place of anything else.
    fn distance(&self, at: usize) -> u8 {
        match self.candidates.get(at) {
            Some(candidate) if candidate.wants_approval => 2,
            Some(candidate) if candidate.entry.origin.scope == Scope::Remote => 1,
            _ => 0,
        }
    }

    /// Decides which of the candidates with one key is offered and whether it is preloaded, and notes what becomes of the
    /// others.
    fn settle(
        &mut self,
        namesakes: &[usize],
        duplicates: Duplicates,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<(usize, bool)>, DuplicateError> {
        let mut usable = Vec::with_capacity(1);
        let mut only_seen = Vec::new();
        let mut preload = false;
        for at in namesakes {
            let Some(candidate) = self.candidates.get(*at) else { continue };
            preload |= candidate.preload && candidate.obstacle.is_none();
            match &candidate.obstacle {
                None => usable.push(*at),
                Some(Obstacle::Untrusted) => only_seen.push(*at),
                Some(obstacle @ (Obstacle::Broken { .. } | Obstacle::Disabled { .. })) => {
                    let obstacle = obstacle.clone();
                    self.set(*at, Standing::Blocked { obstacle });
                }
            }
        }
        // Skills that may be used come before those that may only be seen.
        let rivals = if usable.is_empty() { &only_seen } else { &usable };
        let overrides = |at: &&usize| self.candidates.get(**at).is_some_and(|candidate| candidate.overrides);
        let registered = rivals.iter().find(overrides);
        if let (Duplicates::Error, None, [first, others @ ..]) = (duplicates, registered, rivals.as_slice())
            && let Some(second) = others.iter().find(|other| !self.is_same(*first, **other, same))
        {
            let key = self.key(*first).to_owned();
            return Err(DuplicateError { key, first: self.location(*first), second: self.location(*second) });
        }
        let nearest = rivals.iter().map(|at| self.distance(*at)).min();
        let is_nearest = |at: &&usize| Some(self.distance(**at)) == nearest;
        let winner = match duplicates {
            Duplicates::First | Duplicates::Error => rivals.iter().find(is_nearest),
            Duplicates::Last => rivals.iter().rfind(is_nearest),
        };
        let Some(winner) = registered.or(winner).copied() else { return Ok(None) };
        if namesakes.len() > 1 {
            let by = self.location(winner);
            for at in usable.iter().chain(&only_seen).filter(|at| **at != winner) {
                self.set(*at, Standing::Shadowed { by: by.clone() });
            }
        }
        Ok(Some((winner, preload)))
    }

    fn position(&self, key: &str) -> Option<usize> {
        let found = self.offered.binary_search_by(|at| self.key(*at).cmp(key)).ok()?;
        self.offered.get(found).copied()
    }

    /// The offered skill with this key.
    pub fn get(&self, key: &str) -> Option<&Candidate> {
        self.candidates.get(self.position(key)?).map(AsRef::as_ref)
    }

    /// The same, to be kept longer than the catalog.
    pub fn shared(&self, key: &str) -> Option<Arc<Candidate>> {
        self.candidates.get(self.position(key)?).cloned()
    }

    /// Whether a skill with this key is offered.
    pub fn has(&self, key: &str) -> bool {
        self.position(key).is_some()
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
        self.offered.iter().filter_map(|at| self.candidates.get(*at)).map(AsRef::as_ref)
    }

    /// The entries of the offered skills, sorted by key.
    pub fn list(&self) -> Vec<&Entry> {
        self.iter().map(|candidate| &candidate.entry).collect()
    }

    /// The offered skills in or below a virtual folder; all of them for an empty one.
    pub fn list_for_dir(&self, folder: &str) -> Vec<&Entry> {
        self.iter().filter(|candidate| is_below(&candidate.virtual_path, folder)).map(|c| &c.entry).collect()
    }

    /// The skills that are to be active from the start.
    pub fn preloaded(&self) -> Vec<&Entry> {
        self.iter().filter(|candidate| candidate.preload).map(|candidate| &candidate.entry).collect()
    }

    /// Every candidate and what became of it, in the order of precedence.
    pub fn all(&self) -> impl Iterator<Item = (&Candidate, &Standing)> {
        self.candidates.iter().map(AsRef::as_ref).zip(&self.standings)
    }

    /// What is different here from an earlier catalog.
    pub fn since(&self, before: &Self) -> Delta {
        Delta::between(before, self)
    }
}

/// Whether a virtual path lies in a folder, written with or without slashes around it; every path lies in the empty one.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_matches('/');
    folder.is_empty()
        || path
            .trim_start_matches('/')
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
