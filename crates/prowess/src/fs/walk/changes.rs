//! [`ScanChanges`]: the options of a walk that a user sets on the command line or in a configuration.

use prowess_core::path::MAX_DEPTH;
use prowess_core::with_methods;

use super::ScanOptions;

/// Options of a walk that a user sets. `None` and an empty list leave the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanChanges {
    /// The depth, at most the maximum depth of a path.
    pub depth: Option<usize>,
    /// Whether skills inside a skill are found.
    pub nested: Option<bool>,
    /// Folders whose name begins with one of these are skipped.
    pub skip: Vec<String>,
}

with_methods! { ScanChanges:
    with_depth depth: Option<usize>;
    with_nested nested: Option<bool>;
    with_skip skip: Vec<String>;
}

impl ScanChanges {
    /// The options with these changes.
    pub fn apply(&self, mut options: ScanOptions) -> ScanOptions {
        if let Some(depth) = self.depth {
            options.max_depth = depth.min(MAX_DEPTH);
            options.report_deeper = depth > MAX_DEPTH;
        }
        options.stop_at_skill = self.nested.map_or(options.stop_at_skill, |nested| !nested);
        options.skip_prefixes.extend(self.skip.iter().cloned());
        options
    }

    /// The part of these changes that counts before the project that asks for them is trusted: what finds less than the
    /// defaults do. The one place that decides it, also for what is said about such settings.
    #[must_use]
    pub(crate) fn of_untrusted(&self) -> Self {
        self.narrowing(&ScanOptions::default())
    }

    /// The part of these changes that makes a walk with these options visit less.
    #[must_use]
    pub(crate) fn narrowing(&self, options: &ScanOptions) -> Self {
        Self {
            depth: self.depth.filter(|depth| *depth < options.max_depth),
            nested: self.nested.filter(|nested| !nested),
            skip: self.skip.clone(),
        }
    }

    /// These changes, completed by another set of changes.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self {
            depth: self.depth.or(other.depth),
            nested: self.nested.or(other.nested),
            skip: self.skip.iter().chain(&other.skip).cloned().collect(),
        }
    }
}
