//! Refreshing a registry: local sources are listed each time, remote ones in parallel and only on request.
//!
//! A server may take half a minute to respond. So servers are listed in parallel without blocking anything else, and the
//! last list of each is used until it is listed again.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use prowess_core::assembly::{Accepted, Assembly, Questions};
use prowess_core::catalog::{Approved, LayerId, TurnedOffBy};
use prowess_core::{Candidate, Delta, Found, Location, Origin};

use super::read::read_approved;
use super::{Inside, LeaveOut, Operation, Registry, RegistryError, Seen, damage};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::OnError;
use crate::internal::{locked, read_locked, write_locked};
use crate::registry::digests;
use crate::registry::trust::{InstalledFolders, InstalledRecords, Trust};
use crate::source::{Layer, Listing};

/// The last lists of remote sources, by the number of their layer.
pub(super) type Known = BTreeMap<usize, Listed>;

/// The last list of a source.
#[derive(Clone, Default)]
pub(super) struct Listed {
    #[expect(clippy::vec_box, reason = "as in a listing")]
    skills: Vec<Box<Found>>,
    problems: Vec<Arc<SourceError>>,
    passed_over: bool,
    /// Whether the source could not be listed at all; the only problem says why, unless it is ignored.
    failed: bool,
}

/// What a refresh answers the assembly of its catalog.
struct Answers<'r> {
    registry: &'r Registry,
    trust: Trust,
    /// Read when the first skill of the user needs it.
    installed: OnceCell<InstalledFolders>,
    leave_out: Option<LeaveOut>,
}

impl Questions for Answers<'_> {
    fn is_of(&self, skill: &Found, layer: LayerId, folder: &str) -> bool {
        let layer = self.registry.layers.get(layer.at);
        layer.is_some_and(|layer| layer.is_of(&skill.entry.origin.location, Path::new(folder)))
    }

    fn left_out(&self, skill: &Found) -> Option<TurnedOffBy> {
        self.leave_out.as_ref()?(skill)
    }

    /// The records show it, and so does an approval in its folder or above, which outlives them: ending an approval must
    /// not widen trust. One that was given by the path of another folder counts if that is the user's too: a link to a
    /// skill of a project is the user's own.
    fn is_installed(&self, origin: &Origin) -> bool {
        let Some(file) = origin.location.path() else { return false };
        let records = self.registry.installed.as_deref();
        let read = || records.map(InstalledRecords::read).unwrap_or_default();
        self.trust.has_approval_above(file)
            || self.installed.get_or_init(read).hold(file)
            || self
                .trust
                .approvals_by_links(&origin.location)
                .any(|approval| records.is_none_or(|records| records.is_in_own_folder(&approval.location)))
    }

    fn accepted(&self, origin: &Origin) -> Accepted {
        self.trust.accepted(origin)
    }

    fn approved(&self, found: &mut Found, layer: LayerId, accepted: &Accepted) -> Option<Approved> {
        let layer = self.registry.layers.get(layer.at)?;
        let skill = found.source_skill();
        let files = layer.source().manifest(skill, &self.registry.limits.binding()).ok()?;
        let digest = digests::of_skill(skill, &files).ok().filter(|digest| accepted.covers(*digest))?;
        read_approved(found, layer, files, digest)
    }

    fn is_same_folder(&self, one: &Location, other: &Location) -> bool {
        let real = |location: &Location| {
            let folder = Path::new(location.path()?).parent()?;
            std::fs::canonicalize(folder).ok()
        };
        real(one).is_some_and(|folder| Some(folder) == real(other))
    }
}

/// Whether a source did not fail by itself: the operation was cancelled, or what it uses was closed.
fn is_interrupted(error: &SourceError) -> bool {
    matches!(&error.kind, SourceErrorKind::Io(error) if error.kind() == io::ErrorKind::Interrupted)
}

/// Whether a site answered that it gives no list, and not only for a moment: it is gone, or may not be read.
#[cfg(feature = "http")]
fn is_final(error: &SourceError) -> bool {
    use SourceErrorKind::{Http, NoIndex};

    use crate::net::HttpError::Status;
    matches!(error.kind, NoIndex | Http(Status(401 | 403 | 404 | 410)))
}

#[cfg(not(feature = "http"))]
fn is_final(_: &SourceError) -> bool {
    false
}

impl Registry {
    /// Lists every source again, makes a new catalog and returns what changed. On an error the old one stays. A source
    /// that calls this while it is listed gets [`RegistryError::Nested`].
    pub fn refresh(&self) -> Result<Delta, RegistryError> {
        self.ask_remote()?;
        self.refresh_local()
    }

    /// Refreshes without contacting remote sources: their last lists are used, if there are any.
    pub fn refresh_local(&self) -> Result<Delta, RegistryError> {
        let _inside = self.enter_refresh()?;
        let _one_at_a_time = locked(&self.refreshing);
        let (mut problems, mut unlisted, mut passed_over) = (Vec::new(), Vec::new(), false);
        if let Some(budget) = &self.budget {
            budget.reset();
        }
        let trust = read_locked(&self.trust).clone();
        let mut rules = read_locked(&self.rules).clone();
        rules.trusted = trust.trusted();
        let leave_out = self.elsewhere.as_ref().map(|elsewhere| elsewhere.list());
        let answers = Answers { registry: self, trust, installed: OnceCell::new(), leave_out };
        let mut assembly = Assembly::new(rules, answers);
        let mut known = locked(&self.known).clone();
        for (at, layer) in self.layers.iter().enumerate() {
            let mut listed = if layer.traits().remote {
                known.remove(&at).unwrap_or_default()
            } else {
                self.listed(layer.list(self.profile.as_ref()))?
            };
            if listed.failed && !listed.problems.is_empty() {
                unlisted.push((at, problems.len()));
            }
            problems.append(&mut listed.problems);
            passed_over |= listed.passed_over;
            assembly.add(LayerId { registry: self.id, at }, layer.label(), listed.skills);
        }
        if self.none_listed(unlisted.len()) {
            // The errors of remote sources are shared with their last lists, and were returned when they were asked.
            let own = problems.iter().position(|problem| Arc::strong_count(problem) == 1);
            if let Some(error) = own.and_then(|own| Arc::into_inner(problems.swap_remove(own))) {
                return Err(error.into());
            }
        }
        let error = |(layer, at): (usize, usize)| Some((layer, problems.get(at).cloned()?));
        let unlisted = unlisted.into_iter().filter_map(error).collect();
        let installed = assembly.questions().installed.get();
        problems.extend(installed.into_iter().flat_map(|installed| installed.problems.iter().cloned()));
        problems.extend(self.budget.as_ref().and_then(|budget| budget.problem()).map(Arc::new));
        // Several folders may be out of reach for one reason.
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.to_string()));
        if let Some(call) = &self.on_problem {
            self.noted.iter().chain(&problems).for_each(|problem| call(problem));
            let damaged = assembly.candidates().iter().filter_map(|candidate| damage(candidate));
            damaged.for_each(|damage| call(&damage));
        }
        let catalog = match &self.arrange {
            Some(arrange) => arrange(assembly.into_candidates()),
            None => assembly.catalog()?,
        };
        let delta = catalog.since(&self.catalog());
        *write_locked(&self.seen) = Seen { catalog: Arc::new(catalog), problems, unlisted, passed_over };
        Ok(delta)
    }

    /// Whether there are remote sources.
    pub fn has_remote(&self) -> bool {
        self.layers.iter().any(|layer| layer.traits().remote)
    }

    /// Whether a skill is read from a remote source, which may be slow.
    pub fn is_remote(&self, candidate: &Candidate) -> bool {
        self.layer(candidate).is_ok_and(|layer| layer.traits().remote)
    }

    /// Whether a source is read only on the thread of the operation.
    pub(crate) fn has_calling_thread(&self) -> bool {
        self.layers.iter().any(|layer| layer.traits().calling_thread)
    }

    /// Whether a skill is read only on the thread of the operation.
    pub(crate) fn is_calling_thread(&self, candidate: &Candidate) -> bool {
        self.layer(candidate).is_ok_and(|layer| layer.traits().calling_thread)
    }

    /// Enters a refresh. A thread that is inside one would wait for itself.
    fn enter_refresh(&self) -> Result<Inside, RegistryError> {
        match Inside::depth(self.id, Operation::Refresh) {
            0 => Ok(Inside::enter(self.id, Operation::Refresh)),
            _ => Err(RegistryError::Nested),
        }
    }

    /// Lists all remote sources in parallel.
    fn ask_remote(&self) -> Result<(), RegistryError> {
        let remote: Vec<(usize, &Layer)> =
            self.layers.iter().enumerate().filter(|(_, layer)| layer.traits().remote).collect();
        if remote.is_empty() {
            return Ok(());
        }
        let _inside = self.enter_refresh()?;
        let _one_at_a_time = locked(&self.asking);
        let list = |layer: &Layer| {
            let _inside = Inside::enter(self.id, Operation::Refresh);
            layer.list(self.profile.as_ref())
        };
        let listings: Vec<Result<Listing, SourceError>> = std::thread::scope(|scope| {
            let asked: Vec<_> = remote.iter().map(|(_, layer)| scope.spawn(|| list(layer))).collect();
            let reason = || "its source panicked".to_owned();
            let broken = |layer: &Layer| {
                let label = Location::Text(Arc::clone(layer.label()));
                SourceErrorKind::Damaged { reason: reason() }.at_location(label)
            };
            let answers = asked.into_iter().zip(&remote);
            answers.map(|(asked, (_, layer))| asked.join().unwrap_or_else(|_| Err(broken(layer)))).collect()
        });
        let failed = listings.iter().filter(|listing| listing.is_err()).count();
        if self.none_listed(failed) {
            return listings.into_iter().find_map(Result::err).map_or(Ok(()), |error| Err(error.into()));
        }
        let mut last = locked(&self.known).clone();
        let mut known = Known::new();
        for ((at, _), listing) in remote.into_iter().zip(listings) {
            let is_final = listing.as_ref().is_err_and(is_final);
            let mut listed = self.listed(listing)?;
            // A source that fails for a moment keeps its skills: what is read of them fails for itself.
            if let Some(last) = last.remove(&at).filter(|_| listed.failed && !is_final) {
                (listed.skills, listed.passed_over) = (last.skills, last.passed_over);
            }
            known.insert(at, listed);
        }
        *locked(&self.known) = known;
        Ok(())
    }

    /// Whether there is nothing to offer, since this many sources, and so all of them, cannot be listed.
    fn none_listed(&self, failed: usize) -> bool {
        // The first layer has the registered skills.
        self.requires_one && failed > 0 && failed + 1 == self.layers.len() && self.memory.is_empty()
    }

    /// The list of a source, or the handling of one that cannot be listed.
    fn listed(&self, listing: Result<Listing, SourceError>) -> Result<Listed, SourceError> {
        match listing {
            Ok(Listing { skills, problems, passed_over }) => {
                let problems = problems.into_iter().map(Arc::new).collect();
                Ok(Listed { skills, problems, passed_over, failed: false })
            }
            Err(error) if is_interrupted(&error) => Err(error),
            Err(error) => match self.on_error {
                OnError::Fail => Err(error),
                OnError::Report => {
                    Ok(Listed { problems: vec![Arc::new(error)], failed: true, ..Listed::default() })
                }
                OnError::Ignore => Ok(Listed { failed: true, ..Listed::default() }),
            },
        }
    }
}
