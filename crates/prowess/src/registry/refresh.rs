//! How a registry is made anew: near sources are listed each time, far ones when they are asked, all of them at once.
//!
//! A server may take half a minute to say that it has nothing to say. So servers are asked side by side and without
//! holding anything up, and what each last said counts until it is asked again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use prowess_core::{Candidate, Catalog, Delta, Obstacle, Stamp};

use super::read::take_approved;
use super::{Registry, RegistryError, Seen, damage};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::OnError;
use crate::registry::digests;
use crate::registry::trust::{Trust, Verdict};
use crate::source::{Layer, Offer};
use prowess_core::path::glob::Glob;

/// What far sources last said, by the number of their layer.
pub(super) type Known = BTreeMap<usize, Said>;

/// What a far source last said.
#[derive(Clone, Default)]
pub(super) struct Said {
    candidates: Vec<Arc<Candidate>>,
    problems: Vec<Arc<SourceError>>,
}

/// Who turned off a skill that was unregistered.
pub(super) const UNREGISTERED: &str = "the host, which unregistered it";

/// Whether two skills are one folder that was found by two paths, one of them through a link.
fn is_same_folder(one: &Candidate, other: &Candidate) -> bool {
    // The stamps tell most apart without another look at the disk.
    if one.stamp != other.stamp || one.stamp == Stamp::default() || one.overrides || other.overrides {
        return false;
    }
    let real = |skill: &Candidate| {
        let folder = Path::new(skill.entry.origin.location.path()?).parent()?;
        std::fs::canonicalize(folder).ok()
    };
    real(one).is_some_and(|folder| Some(folder) == real(other))
}

impl Registry {
    /// Asks every source anew, makes a new catalog and says what changed. On an error the old one stays.
    pub fn refresh(&self) -> Result<Delta, RegistryError> {
        self.ask_far()?;
        self.refresh_near()
    }

    /// The same without asking sources elsewhere: of these, what they last said counts, and nothing before they were
    /// first asked. It waits for no server.
    pub fn refresh_near(&self) -> Result<Delta, RegistryError> {
        let _one_at_a_time = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut candidates = Vec::new();
        let mut problems = Vec::new();
        if let Some(budget) = &self.budget {
            budget.reset();
        }
        let trust = self.trust.read().unwrap_or_else(PoisonError::into_inner).clone();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let mut said = if layer.is_far() {
                known.get(&at).cloned().unwrap_or_default()
            } else {
                self.said(layer.list(self.profile.as_ref()))?
            };
            problems.append(&mut said.problems);
            for candidate in &mut said.candidates {
                self.judge(Arc::make_mut(candidate), layer, &trust);
            }
            candidates.append(&mut said.candidates);
        }
        problems.extend(self.budget.as_ref().and_then(|budget| budget.problem()).map(Arc::new));
        if let Some(call) = &self.on_problem {
            self.noted.iter().chain(&problems).for_each(|problem| call(problem));
            candidates.iter().filter_map(|candidate| damage(candidate)).for_each(|damage| call(&damage));
        }
        let catalog = Catalog::merging(candidates, self.duplicates, &is_same_folder)?;
        let delta = catalog.since(&self.catalog());
        *self.seen.write().unwrap_or_else(PoisonError::into_inner) =
            Seen { catalog: Arc::new(catalog), problems };
        Ok(delta)
    }

    /// Whether there are sources elsewhere, which are asked and not looked at.
    pub fn has_far(&self) -> bool {
        self.layers.iter().any(Layer::is_far)
    }

    /// Whether a skill is read from elsewhere, which may take its time.
    pub fn is_far(&self, candidate: &Candidate) -> bool {
        self.layer(candidate).is_ok_and(Layer::is_far)
    }

    /// Asks all far sources, side by side.
    fn ask_far(&self) -> Result<(), RegistryError> {
        let far: Vec<(usize, &Layer)> =
            self.layers.iter().enumerate().filter(|(_, layer)| layer.is_far()).collect();
        if far.is_empty() {
            return Ok(());
        }
        let _one_at_a_time = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let offers: Vec<Result<Offer, SourceError>> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                far.iter().map(|(_, layer)| scope.spawn(|| layer.list(self.profile.as_ref()))).collect();
            let reason = || "its source panicked".to_owned();
            let broken = |layer: &Layer| SourceErrorKind::Damaged { reason: reason() }.at(layer.label());
            let answers = asked.into_iter().zip(&far);
            answers.map(|(asked, (_, layer))| asked.join().unwrap_or_else(|_| Err(broken(layer)))).collect()
        });
        let mut known = Known::new();
        for ((at, _), offer) in far.into_iter().zip(offers) {
            known.insert(at, self.said(offer)?);
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// An offer, or what becomes of a source that has none.
    fn said(&self, offer: Result<Offer, SourceError>) -> Result<Said, SourceError> {
        match offer {
            Ok(Offer { candidates, problems }) => {
                Ok(Said { candidates, problems: problems.into_iter().map(Arc::new).collect() })
            }
            Err(error) => match self.on_error {
                OnError::Fail => Err(error),
                OnError::Report => Ok(Said { problems: vec![Arc::new(error)], ..Said::default() }),
                OnError::Ignore => Ok(Said::default()),
            },
        }
    }

    /// Decides whether a skill that loads may be offered and used.
    fn judge(&self, candidate: &mut Candidate, layer: &Layer, trust: &Trust) {
        if candidate.obstacle.is_some() {
            return;
        }
        let names = [&candidate.entry.key, &candidate.entry.name];
        let off = self.disabled.iter().find(|disabled| {
            disabled.is_about(candidate, layer) && names.iter().any(|name| disabled.glob.matches(name))
        });
        let unlisted = self.allowed.iter().find(|allowed| {
            let listed = |glob: &Glob| names.iter().any(|name| glob.matches(name));
            allowed.is_about(candidate, layer) && !allowed.globs.iter().any(listed)
        });
        let unregistered = self.unregistered.read().unwrap_or_else(PoisonError::into_inner);
        if !candidate.overrides && unregistered.contains(&candidate.entry.key) {
            candidate.obstacle = Some(Obstacle::Disabled { by: UNREGISTERED.to_owned() });
        } else if let Some(by) = off.map(|off| &off.by).or_else(|| unlisted.map(|allowed| &allowed.by)) {
            candidate.obstacle = Some(Obstacle::Disabled { by: by.clone() });
        } else if layer.needs_trust(candidate) {
            let mut counted = None;
            let verdict = trust.judge(candidate, || {
                let files = layer.approvable(candidate, &self.limits)?;
                let digest = digests::of_skill(candidate, &files)?;
                counted = Some(files);
                Ok(digest)
            });
            match verdict {
                Verdict::Yes => {}
                Verdict::No => candidate.obstacle = Some(Obstacle::Untrusted),
                Verdict::AsApproved(digest) => {
                    take_approved(candidate, layer, counted.unwrap_or_default(), digest);
                }
            }
        }
    }
}
