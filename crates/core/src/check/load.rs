//! Loading: a [`Document`] becomes an [`Entry`] unless a profile reports an error.

use crate::check::profile::Profile;
use crate::document::Document;
use crate::files::manifest::Manifest;
use crate::finding::{Problem, Severity};
use crate::skill::Entry;
use crate::skill::location::{Location, Origin};

/// Why a document does not load under a profile: every problem, not just the first.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {}", self.location, self.headline())]
#[non_exhaustive]
pub struct LoadError {
    /// The location of the file.
    pub location: Location,
    /// All problems that the profile reports, also warnings and notes.
    pub problems: Vec<Problem>,
}

impl LoadError {
    fn headline(&self) -> String {
        let errors: Vec<&str> = self.errors().map(|problem| problem.message.as_str()).collect();
        errors.join("; ")
    }

    pub(super) fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error)
    }
}

impl Document {
    /// The skill, or every problem when the profile reports an error.
    pub fn load(&self, at: &Origin, files: Option<&Manifest>, profile: &Profile) -> Result<Entry, LoadError> {
        let is_error = |problem: &Problem| problem.severity == Severity::Error;
        if profile.check_only(self, files, at).iter().any(is_error) {
            // Fixes cost more than the check, so only a skill that does not load gets them.
            return Err(LoadError {
                location: at.location.clone(),
                problems: profile.check(self, files, at),
            });
        }
        Ok(self.entry(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    #[test]
    fn load_returns_every_problem() {
        let document = parse(b"---\nname: De_mo\ndescription: d\ncompatibility: ''\n---\n");
        let error = document.load(&Origin::at("x/other/SKILL.md"), None, &Profile::spec()).unwrap_err();
        assert!(error.problems.len() >= 3, "{error}");
        assert!(document.load(&Origin::at("x/other/SKILL.md"), None, &Profile::lenient()).is_ok());
    }
}
