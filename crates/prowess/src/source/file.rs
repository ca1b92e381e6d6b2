//! [`SkillsFile`]: a file that contains many skills, such as an archive or a JSONL file, and its scope.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use prowess_core::{Location, Origin, Scope};

use super::{SourceTraits, Watched};
use crate::env;
use crate::error::SourceError;
use crate::fs::confine;
use crate::source::budget::ProjectBudget;

/// A file that holds skills.
#[derive(Debug)]
pub(super) struct SkillsFile {
    /// Its path as text.
    pub(super) id: Arc<str>,
    pub(super) path: PathBuf,
    pub(super) scope: Scope,
    /// The folder that the file must be in, also through links.
    pub(super) project: Option<PathBuf>,
    pub(super) budget: Option<Arc<ProjectBudget>>,
}

impl SkillsFile {
    /// A file that the user named.
    pub(super) fn new(path: PathBuf) -> Self {
        let path = env::place(&path);
        let id = path.to_string_lossy().into();
        Self { id, path, scope: Scope::Explicit, project: None, budget: None }
    }

    /// Opens it, unless it is outside its project.
    pub(super) fn open(&self) -> Result<File, SourceError> {
        confine::open_regular(&self.path, self.project.as_deref())
    }

    /// Where a skill in it comes from.
    pub(super) fn origin(&self, location: Location) -> Origin {
        Origin::at(location).with_scope(self.scope)
    }

    /// The traits of a source that is this file.
    pub(super) fn traits(&self) -> SourceTraits {
        SourceTraits::watching(self.path.parent().map(Watched::folder).into_iter().collect())
    }
}

/// The methods that every source over a [`SkillsFile`] has.
macro_rules! file_source {
    ($source:ty, $limits:ty, $within:literal) => {
        impl $source {
            /// Sets the scope of the skills.
            #[must_use]
            pub fn with_scope(mut self, scope: Scope) -> Self {
                self.file.scope = scope;
                self
            }

            /// Refuses a file that is outside the folder of a project, also through links: for a project that is not
            /// trusted.
            #[must_use]
            pub fn with_project(mut self, folder: Option<PathBuf>) -> Self {
                self.file.project = folder;
                self
            }

            #[doc = $within]
            #[must_use]
            pub fn with_limits(mut self, limits: $limits) -> Self {
                self.limits = limits;
                self
            }

            /// Sets a budget that each list spends. What exceeds it is left out, and the owner of the budget reports
            /// that.
            pub(crate) fn spending(mut self, budget: Option<Arc<ProjectBudget>>) -> Self {
                self.file.budget = budget;
                self
            }
        }
    };
}
pub(super) use file_source;
