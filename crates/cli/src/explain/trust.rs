//! Advice for a skill that is not trusted: what trusts it, or why nothing does.

use std::borrow::Cow;

use prowess::{Candidate, Catalog, Entry, Obstacle, Registry, SourceError, SourceErrorKind};

/// What makes a skill trusted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// `prowess trust` with this name.
    Trust(String),
    /// Trust alone is not enough: another skill has its key, and keeps it.
    Behind,
    /// Nothing: it cannot be approved, for this reason.
    Never(String),
}

impl Advice {
    /// The advice on a skill; none when trust is not what it lacks.
    pub(crate) fn on(skill: &Candidate, registry: &Registry, catalog: &Catalog) -> Option<Self> {
        if skill.obstacle != Some(Obstacle::Untrusted) {
            return None;
        }
        if let Some(reason) = never(skill, registry) {
            return Some(Self::Never(reason));
        }
        if kept_from_its_key_by(skill, catalog).is_some() {
            return Some(Self::Behind);
        }
        Some(Self::Trust(name_of(skill, catalog).into_owned()))
    }
}

/// Why a skill of a server can never be approved. For other skills this is not checked, since it would read their files.
pub(crate) fn never(skill: &Candidate, registry: &Registry) -> Option<String> {
    if !skill.wants_approval || skill.obstacle != Some(Obstacle::Untrusted) {
        return None;
    }
    registry.approvable(skill).err().map(|error| match error {
        SourceError { kind: SourceErrorKind::Server { reason, .. }, .. } => reason,
        other => other.to_string(),
    })
}

/// The argument of `prowess trust` for a skill. A skill of a server is named by its key, or by its location when another
/// skill has the key; a local skill is always named by its key.
pub(crate) fn name_of<'c>(skill: &'c Candidate, catalog: &Catalog) -> Cow<'c, str> {
    let Entry { key, origin, .. } = &skill.entry;
    let holds = catalog.get(key).is_some_and(|holder| holder.entry.origin.location == origin.location);
    if holds || !skill.wants_approval { key.into() } else { origin.location.text() }
}

/// The skill that has the key of a skill of a server, and keeps it whether that one is trusted or not.
pub(crate) fn kept_from_its_key_by<'c>(skill: &Candidate, catalog: &'c Catalog) -> Option<&'c Candidate> {
    let place = |candidate: &Candidate| candidate.entry.origin.location.clone();
    let holder = catalog.get(&skill.entry.key).filter(|holder| holder.is_usable())?;
    let either = [place(skill), place(holder)];
    let first = catalog.all().map(|(candidate, _)| place(candidate)).find(|place| either.contains(place));
    let stronger = !holder.wants_approval || first == Some(place(holder));
    (skill.wants_approval && stronger && place(holder) != place(skill)).then_some(holder)
}
