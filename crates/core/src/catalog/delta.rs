//! What changed between two catalogs.

use serde::Serialize;

use super::{Catalog, Obstacle, Standing};
use crate::skill::location::Location;

/// What changed between two catalogs, each list sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Delta {
    /// Offered now and not before.
    pub added: Vec<String>,
    /// Offered before and now, with another text, location or file.
    pub changed: Vec<String>,
    /// Offered before and not now.
    pub removed: Vec<String>,
    /// Broken now and not before.
    pub newly_broken: Vec<String>,
}

impl Delta {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn between(before: &Catalog, after: &Catalog) -> Self {
        let broken = |catalog: &Catalog| {
            let mut keys: Vec<(String, Location)> = catalog
                .all()
                .filter(|(_, standing)| {
                    matches!(standing, Standing::Blocked { obstacle: Obstacle::Broken { .. } })
                })
                .map(|(candidate, _)| (candidate.entry.key.clone(), candidate.entry.origin.location.clone()))
                .collect();
            keys.sort();
            keys
        };
        let was_broken = broken(before);
        let mut delta = Self::default();
        for candidate in after.iter() {
            let key = &candidate.entry.key;
            match before.get(key) {
                None => delta.added.push(key.clone()),
                Some(old) if old != candidate => delta.changed.push(key.clone()),
                Some(_) => {}
            }
        }
        delta.removed = before.iter().map(|c| &c.entry.key).filter(|key| !after.has(key)).cloned().collect();
        let newly = broken(after).into_iter().filter(|skill| was_broken.binary_search(skill).is_err());
        delta.newly_broken = newly.map(|(key, _)| key).collect();
        delta
    }
}
