//! The output of `check`: what was checked, and one renderer for each format.

pub(crate) mod concise;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod patch;
pub(crate) mod sarif;
pub(crate) mod statistics;

use std::fmt::Write as _;

use prowess::{Document, Problem, Severity};
use serde::Serialize;

use crate::error::{CommandError, Failure};
use crate::explain::report::NotSeen;
use crate::ui::{Ui, count};

/// The maximum number of edits of a fix in a report; `check --fix` applies all of them.
pub(crate) const MAX_EDITS: usize = 1_000;

/// One checked file.
pub(crate) struct Checked {
    /// Its path as it is shown.
    pub(crate) path: String,
    /// The file as read.
    pub(crate) document: Document,
    /// What is wrong with it, or still is after fixing.
    pub(crate) problems: Vec<Problem>,
    /// What was wrong with it and has been fixed.
    pub(crate) fixed: Vec<Problem>,
}

impl Checked {
    /// The problems to show: when quiet, without notes.
    pub(crate) fn shown(&self, quiet: bool) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(move |problem| !quiet || problem.severity != Severity::Info)
    }
}

/// The sums over all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Files that were checked.
    pub(crate) files: usize,
    /// Files with an error or a warning.
    pub(crate) bad_files: usize,
    /// Files that the configuration ignores.
    pub(crate) ignored: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) infos: usize,
    /// Problems that were fixed.
    pub(crate) fixed: usize,
    /// Problems that `--fix` would fix.
    pub(crate) fixable: usize,
    /// Problems that only `--unsafe-fixes` would fix.
    pub(crate) unsafe_fixable: usize,
    /// Paths that could not be checked.
    pub(crate) failures: usize,
    /// Files that should have been fixed and could not be written.
    pub(crate) unwritten: usize,
}

/// How many problems of a file would be fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promised {
    /// By safe fixes.
    pub(crate) safe: usize,
    /// By all fixes, without these.
    pub(crate) others: usize,
}

impl Summary {
    /// Adds a file.
    pub(crate) fn add(&mut self, problems: &[Problem], removed: usize, fixable: Promised) {
        let of = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
        let (errors, warnings, infos) = (of(Severity::Error), of(Severity::Warning), of(Severity::Info));
        self.files += 1;
        self.bad_files += usize::from(errors + warnings > 0);
        self.errors += errors;
        self.warnings += warnings;
        self.infos += infos;
        self.fixed += removed;
        self.fixable += fixable.safe;
        self.unsafe_fixable += fixable.others;
    }

    /// The line at the end; when quiet, without notes.
    pub(crate) fn line(&self, quiet: bool) -> String {
        let skills = count(self.files, "skill");
        let notes = if quiet { 0 } else { self.infos };
        let mut line = match (self.errors, self.warnings) {
            (0, 0) if self.files == 0 => format!("{skills} checked"),
            (0, 0) if notes == 0 => format!("{skills} checked: no problems"),
            (0, 0) => format!("{skills} checked: no errors or warnings"),
            (errors, warnings) => format!(
                "{skills} checked: {}, {} in {}",
                count(errors, "error"),
                count(warnings, "warning"),
                count(self.bad_files, "file")
            ),
        };
        if notes > 0 {
            let _ = write!(line, ", {}", count(notes, "note"));
        }
        if self.fixed > 0 {
            let _ = write!(line, "; {} fixed", self.fixed);
        }
        let more = match (self.fixable, self.unsafe_fixable) {
            (0, 0) => String::new(),
            (0, others) => format!("; {others} fixable with --unsafe-fixes"),
            (safe, 0) => format!("; {safe} fixable with --fix"),
            (safe, others) => format!("; {safe} fixable with --fix, {others} more with --unsafe-fixes"),
        };
        line.push_str(&more);
        if self.ignored > 0 {
            let _ = write!(line, "; {} ignored", self.ignored);
        }
        if self.failures > 0 {
            let _ = write!(line, "; {} could not be checked", self.failures);
        }
        if self.unwritten > 0 {
            let _ = write!(line, "; {} could not be written", self.unwritten);
        }
        line
    }
}

/// A skill that a client does not list, although it is in one of its folders.
#[derive(Serialize)]
pub(crate) struct Unlisted {
    pub(crate) client: &'static str,
    /// The name of the client.
    #[serde(skip)]
    pub(crate) name: &'static str,
    pub(crate) path: String,
    #[serde(flatten)]
    pub(crate) why: NotSeen,
}

impl Unlisted {
    /// The message, without the path.
    pub(crate) fn message(&self) -> String {
        format!("{} does not list it: {}; {}", self.name, self.why.reason, self.why.fix)
    }
}

/// Writes what was checked, in one format.
pub(crate) trait Reporter {
    /// Takes a checked file.
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError>;
    /// Takes a skill that a client does not list. By default, it is a note.
    fn unlisted(&mut self, skill: &Unlisted, ui: &mut Ui) -> Result<(), CommandError> {
        let Unlisted { name, path, why: NotSeen { reason, fix, .. }, .. } = skill;
        ui.note(&format!("{name} does not list {path}: {reason}; {fix}"));
        Ok(())
    }
    /// Takes what could not be checked. By default, nothing is written: stderr has it already.
    fn failure(&mut self, _: &Failure, _: &mut Ui) -> Result<(), CommandError> {
        Ok(())
    }
    /// Writes the end.
    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError>;
}
