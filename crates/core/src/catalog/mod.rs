//! The immutable [`Catalog`] of all skills: which ones are offered, and why the others are not.

pub(crate) mod candidate;
mod delta;
pub(crate) mod found;
mod key;
mod named;
pub(crate) mod state;
pub(crate) mod wide;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use candidate::{Approved, Candidate, LayerId, Obstacle, TurnedOffBy};
pub use delta::Delta;
pub use found::{Announced, Found, SourceSkill, Stamp};
pub use key::KeyFrom;
pub use named::{Named, WhyNot};

use crate::client::NotListed;
use crate::skill::Entry;
use crate::skill::location::{Location, Scope};

/// Which of two skills with one key is offered. Exhaustive: there is no fourth answer.
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

/// Two skills have the same key, and [`Duplicates::Error`] was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two skills have the name {key}: {first} and {second}; rename one, or let the first or the last win")]
#[non_exhaustive]
pub struct DuplicateError {
    /// The key.
    pub key: String,
    /// The location of the first.
    pub first: Location,
    /// The location of the second.
    pub second: Location,
}

/// Whether a candidate is offered. Exhaustive, so that a host shows every state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "standing")]
pub enum Standing {
    /// It is offered.
    Listed,
    /// Another skill with the same key is offered instead.
    Shadowed {
        /// The location of the other skill.
        by: Location,
    },
    /// The client whose view this is does not list it.
    Unseen {
        /// The code of the reason.
        code: &'static str,
        /// The reason, as a sentence without a full stop.
        reason: String,
        /// The reason as data, for what to do about it.
        #[serde(skip)]
        why: NotListed,
    },
    /// It cannot be offered or used.
    #[serde(rename = "hindered")]
    Blocked {
        /// The reason.
        obstacle: Obstacle,
    },
}

/// An immutable set of skills in a fixed order. A change makes a new catalog.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    candidates: Vec<Arc<Candidate>>,
    standings: Vec<Standing>,
    /// The places of the offered candidates, sorted by key.
    offered: Vec<usize>,
    duplicates: Duplicates,
}

impl Catalog {
    /// Makes a catalog, and decides which candidates are offered. They are given in order of precedence, the strongest
    /// first.
    ///
    /// Broken, disabled and untrusted skills never shadow another. An untrusted skill whose key no
    /// other skill has is listed, and marked. A remote skill never shadows a local one, and a skill of an MCP server never
    /// shadows another that may be used. A skill is preloaded if any of its sources asks for it.
    pub fn new(candidates: Vec<Arc<Candidate>>, duplicates: Duplicates) -> Result<Self, DuplicateError> {
        Self::merging(candidates, duplicates, &|_, _| false)
    }

    /// Makes a catalog in which two candidates with one key may be one skill that was found twice, through links. They
    /// are merged into one with both locations and the readers of both. `same` is called only for candidates with the
    /// same key.
    pub fn merging(
        candidates: Vec<Arc<Candidate>>,
        duplicates: Duplicates,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Self, DuplicateError> {
        let standings = vec![Standing::Listed; candidates.len()];
        let mut catalog = Self { candidates, standings, offered: Vec::new(), duplicates };
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

    /// Makes a catalog in which every candidate is listed, also when several have one key. For callers that decide
    /// themselves which of them count.
    pub fn apart(candidates: Vec<Arc<Candidate>>) -> Self {
        let standings = vec![Standing::Listed; candidates.len()];
        Self::decided(candidates, standings)
    }

    /// Makes a catalog of candidates with known standings. A listed one may have an obstacle, and several may have one
    /// key; then [`get`](Self::get) returns the first.
    pub fn decided(candidates: Vec<Arc<Candidate>>, standings: Vec<Standing>) -> Self {
        let listed = |(at, standing): (usize, &Standing)| (*standing == Standing::Listed).then_some(at);
        let offered = standings.iter().take(candidates.len()).enumerate().filter_map(listed).collect();
        let mut catalog = Self { candidates, standings, offered, duplicates: Duplicates::First };
        let mut offered = std::mem::take(&mut catalog.offered);
        offered.sort_by(|a, b| catalog.key(*a).cmp(catalog.key(*b)));
        catalog.offered = offered;
        catalog
    }

    /// The catalog for a client that may see only some of the skills: where it may not see the offered skill with a key,
    /// the one that it may see among those that this skill shadows is offered. `None` if that changes nothing.
    pub fn among(&self, may_see: impl Fn(&Candidate) -> bool) -> Option<Self> {
        let sees = |at: usize| self.candidates.get(at).is_some_and(|candidate| may_see(candidate));
        let mut shadowed: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, standing) in self.standings.iter().enumerate() {
            if matches!(standing, Standing::Shadowed { .. }) && sees(at) {
                shadowed.entry(self.key(at)).or_default().push(at);
            }
        }
        // Two skills that could win were an error before, so what is left of them has an order.
        let duplicates = match self.duplicates {
            Duplicates::Error => Duplicates::First,
            other => other,
        };
        let mut own: Option<Self> = None;
        for (key, rivals) in shadowed {
            let Some(place) = self.place(key) else { continue };
            let Some(hidden) = self.offered.get(place).copied().filter(|hidden| !sees(*hidden)) else {
                continue;
            };
            let own = own.get_or_insert_with(|| self.clone());
            let Ok(Some((winner, preload))) = own.settle(&rivals, duplicates, &|_, _| false) else {
                continue;
            };
            own.merge(winner, preload, &rivals, &|_, _| false, &mut Vec::new());
            own.set(winner, Standing::Listed);
            own.set(hidden, Standing::Shadowed { by: own.location(winner) });
            if let Some(slot) = own.offered.get_mut(place) {
                *slot = winner;
            }
        }
        own
    }

    fn is_same(&self, one: usize, other: usize, same: &dyn Fn(&Candidate, &Candidate) -> bool) -> bool {
        let both = (self.candidates.get(one), self.candidates.get(other));
        matches!(both, (Some(one), Some(other)) if same(one, other))
    }

    /// Merges the winner with the candidates that are the same skill, and records which candidates go.
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

    /// Removes candidates.
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

    /// The rank of a candidate by its origin: a remote skill never shadows a local one, and a skill of an MCP server
    /// never shadows any other.
    fn distance(&self, at: usize) -> u8 {
        match self.candidates.get(at) {
            Some(candidate) if candidate.wants_approval => 2,
            Some(candidate) if candidate.entry.origin.scope == Scope::Remote => 1,
            _ => 0,
        }
    }

    /// Decides which of the candidates with one key is offered and whether it is preloaded, and records the state of the
    /// others.
    fn settle(
        &mut self,
        namesakes: &[usize],
        duplicates: Duplicates,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<(usize, bool)>, DuplicateError> {
        let candidate = |at: &usize| self.candidates.get(*at);
        let is_usable = |at: &usize| candidate(at).is_some_and(|it| it.obstacle.is_none());
        let is_untrusted =
            |at: &usize| candidate(at).is_some_and(|it| it.obstacle == Some(Obstacle::Untrusted));
        // Skills that may be used precede those that may only be listed.
        let any_usable = namesakes.iter().any(is_usable);
        let rivals =
            || namesakes.iter().filter(|at| if any_usable { is_usable(at) } else { is_untrusted(at) });
        let registered = rivals().find(|at| candidate(at).is_some_and(|it| it.overrides));
        if duplicates == Duplicates::Error
            && registered.is_none()
            && let Some(first) = rivals().next()
            && let Some(second) =
                rivals().find(|other| *other != first && !self.is_same(*first, **other, same))
        {
            let key = self.key(*first).to_owned();
            return Err(DuplicateError { key, first: self.location(*first), second: self.location(*second) });
        }
        let nearest = rivals().map(|at| self.distance(*at)).min();
        let is_nearest = |at: &&usize| Some(self.distance(**at)) == nearest;
        let winner = match duplicates {
            Duplicates::First | Duplicates::Error => rivals().find(is_nearest),
            Duplicates::Last => rivals().rfind(is_nearest),
        };
        let winner = registered.or(winner).copied();
        let preload = any_usable && rivals().any(|at| candidate(at).is_some_and(|it| it.preload));
        for at in namesakes.iter().filter(|at| Some(**at) != winner) {
            let obstacle = self.candidates.get(*at).and_then(|it| it.obstacle.clone());
            let blocked = obstacle.filter(|obstacle| *obstacle != Obstacle::Untrusted);
            let shadowed = || winner.map(|winner| Standing::Shadowed { by: self.location(winner) });
            let standing = blocked.map(|obstacle| Standing::Blocked { obstacle }).or_else(shadowed);
            if let Some(standing) = standing {
                self.set(*at, standing);
            }
        }
        Ok(winner.map(|winner| (winner, preload)))
    }

    /// The place of a key among the offered ones.
    fn place(&self, key: &str) -> Option<usize> {
        let found = self.offered.partition_point(|at| self.key(*at) < key);
        self.offered.get(found).filter(|at| self.key(**at) == key).map(|_| found)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.offered.get(self.place(key)?).copied()
    }

    /// The offered skill with this key.
    pub fn get(&self, key: &str) -> Option<&Candidate> {
        self.candidates.get(self.position(key)?).map(AsRef::as_ref)
    }

    /// The offered skill with this key, shared, so that it can outlive the catalog.
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

    /// Whether no skill is offered.
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// The offered skills, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.offered.iter().filter_map(|at| self.candidates.get(*at)).map(AsRef::as_ref)
    }

    /// The offered skill at a position in the order of keys.
    pub fn at(&self, position: usize) -> Option<&Candidate> {
        self.offered.get(position).and_then(|at| self.candidates.get(*at)).map(AsRef::as_ref)
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

    /// Every candidate and its state, in order of precedence.
    pub fn all(&self) -> impl Iterator<Item = (&Candidate, &Standing)> {
        self.candidates.iter().map(AsRef::as_ref).zip(&self.standings)
    }

    /// The changes since an earlier catalog.
    pub fn since(&self, before: &Self) -> Delta {
        Delta::between(before, self)
    }
}

/// Whether a virtual path is in a folder, which may begin or end with a slash; every path is in the empty folder.
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
