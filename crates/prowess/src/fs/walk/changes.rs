//! [`ScanChanges`]: what a person changes about a walk, on the command line or in a configuration.

use prowess_core::path::MAX_DEPTH;

use super::ScanOptions;

/// What a person changes about how folders are walked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanChanges {
    /// How many folders below the start are looked into; never more than a path may have.
    pub depth: Option<usize>,
    /// Whether skills inside a skill are found.
    pub nested: Option<bool>,
    /// Folders whose name begins with one of these are left out.
    pub skip: Vec<String>,
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

    /// Those of these changes that leave something out which these options look at.
    #[must_use]
    pub(crate) fn narrowing(&self, options: &ScanOptions) -> Self {
        Self {
            depth: self.depth.filter(|depth| *depth < options.max_depth),
            nested: self.nested.filter(|nested| !nested),
            skip: self.skip.clone(),
        }
    }

    /// These changes, and where they say nothing those of another.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self {
            depth: self.depth.or(other.depth),
            nested: self.nested.or(other.nested),
            skip: self.skip.iter().chain(&other.skip).cloned().collect(),
        }
    }
}
