//! [`Disabled`]: which skills are turned off, and where that is set.

use crate::catalog::TurnedOffBy;
use crate::path::Glob;
use crate::skill::Entry;

/// Skills that are turned off, and what turns them off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disabled {
    /// Keys or names; `*` matches any text.
    pub globs: Vec<Glob>,
    /// Whether all skills are turned off that the globs do not match, not those that they match.
    pub others: bool,
    /// What turns them off.
    pub by: TurnedOffBy,
    /// The folder whose skills it applies to: those in it, and those of sources that a configuration in it names. None
    /// for all skills. A project must be able to hide only its own skills.
    pub within: Option<String>,
}

with_methods! { Disabled:
    with_within within: Option<String>;
}

impl Disabled {
    /// The skills with a key or name that a glob matches, wherever they come from.
    pub fn new(glob: Glob, by: TurnedOffBy) -> Self {
        Self { globs: vec![glob], others: false, by, within: None }
    }

    /// All skills but those with a key or name that one of these globs matches.
    pub fn all_but(globs: Vec<Glob>, by: TurnedOffBy) -> Self {
        Self { globs, others: true, by, within: None }
    }

    /// Whether it turns a skill off by its names, wherever that comes from.
    pub(super) fn names(&self, entry: &Entry, by_folder: bool) -> bool {
        let matches = |glob: &Glob| names_of(entry, by_folder).any(|name| glob.matches(name));
        self.globs.iter().any(matches) != self.others
    }
}

/// The names of a skill that a list may give: with `by_folder`, that of its folder too.
pub fn names_of(entry: &Entry, by_folder: bool) -> impl Iterator<Item = &str> {
    let folder = entry.origin.folder.as_deref();
    // Installed under another name, a skill has that name alone. A client shows it under its own, and both are meant.
    let renamed = folder == Some(&*entry.key);
    let names = [Some(&*entry.key), Some(&*entry.name).filter(|_| !renamed), folder.filter(|_| by_folder)];
    names.into_iter().flatten()
}
