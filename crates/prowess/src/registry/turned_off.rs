//! Which skills are turned off, or offered alone, and where that is set.

use std::path::PathBuf;

use prowess_core::catalog::TurnedOffBy;
use prowess_core::path::Glob;
use prowess_core::{Entry, Location, with_methods};

use super::Registry;
use crate::source::Layer;

/// Skills that are turned off, and what turns them off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disabled {
    /// The keys or names it is about; `*` matches any text.
    pub glob: Glob,
    /// What turns them off.
    pub by: TurnedOffBy,
    /// The folder whose skills it applies to: those in it, and those of sources that a configuration in it names. None
    /// for all skills. A project must be able to hide only its own skills.
    pub within: Option<PathBuf>,
}

with_methods! { Disabled:
    with_within within: Option<PathBuf>;
}

impl Disabled {
    /// The skills with a key or name that a glob matches, wherever they come from.
    pub fn new(glob: Glob, by: TurnedOffBy) -> Self {
        Self { glob, by, within: None }
    }

    pub(super) fn is_about(&self, skill: &Location, layer: &Layer) -> bool {
        self.within.as_ref().is_none_or(|folder| layer.is_of(skill, folder))
    }
}

/// A list of the skills that are offered, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowed {
    /// The keys or names that are offered; `*` matches any text.
    pub globs: Vec<Glob>,
    /// Where the list comes from.
    pub by: TurnedOffBy,
    /// The folder whose skills it applies to, as in [`Disabled`]; none for all skills.
    pub within: Option<PathBuf>,
}

with_methods! { Allowed:
    with_within within: Option<PathBuf>;
}

impl Allowed {
    /// The skills with a key or name that one of these globs matches, and no others.
    pub fn new(globs: Vec<Glob>, by: TurnedOffBy) -> Self {
        Self { globs, by, within: None }
    }

    pub(super) fn is_about(&self, skill: &Location, layer: &Layer) -> bool {
        self.within.as_ref().is_none_or(|folder| layer.is_of(skill, folder))
    }
}

impl Registry {
    /// The names of a skill that the lists of [`Disabled`] and [`Allowed`] may give.
    pub fn names_of<'e>(&self, entry: &'e Entry) -> impl Iterator<Item = &'e str> + use<'e> {
        let folder = entry.origin.folder.as_deref();
        // Installed under another name, a skill has that name alone. A client shows it under its own, and both are meant.
        let renamed = folder == Some(&*entry.key);
        let names = [
            Some(&*entry.key),
            Some(&*entry.name).filter(|_| !renamed),
            folder.filter(|_| self.client.is_some() || self.apart),
        ];
        names.into_iter().flatten()
    }
}
