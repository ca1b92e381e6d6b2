//! [`Offered`]: the skills that were offered at one moment, each read out when it is needed.

use std::fmt;
use std::sync::Arc;

use prowess::Catalog;
use prowess_engine::{Failure, candidate_json};

use crate::skills::Skills;

/// The skills that were offered at one moment, sorted by key. A later refresh does not change it.
pub struct Offered {
    catalog: Arc<Catalog>,
}

impl fmt::Debug for Offered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Offered").field(&self.catalog.len()).finish()
    }
}

impl Skills {
    /// The skills that are offered now: those of the operation `list`, without making JSON of all of them.
    pub fn offered(&self) -> Result<Offered, Failure> {
        let _in_use = self.enter()?;
        Ok(Offered { catalog: self.catalog() })
    }
}

impl Offered {
    /// The number of skills.
    pub fn len(&self) -> usize {
        self.catalog.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.catalog.is_empty()
    }

    /// The key of a skill.
    pub fn key(&self, at: usize) -> Option<&str> {
        self.catalog.at(at).map(|skill| skill.entry.key.as_str())
    }

    /// The name of a skill.
    pub fn name(&self, at: usize) -> Option<&str> {
        self.catalog.at(at).map(|skill| skill.entry.name.as_str())
    }

    /// The description of a skill.
    pub fn description(&self, at: usize) -> Option<&str> {
        self.catalog.at(at).map(|skill| skill.entry.description.as_str())
    }

    /// A skill as it is listed, as JSON.
    pub fn whole(&self, at: usize) -> Option<String> {
        self.catalog.at(at).map(|skill| candidate_json(skill, None).to_string())
    }
}
