//! The levels of rules that the command line sets.

use prowess::check::rules;
use prowess::settings::refuse_level;
use prowess::{Level, Problem, Profile, Severity};

use crate::args::Check;
use crate::commands::hints;
use crate::error::{CommandError, Failure};

/// The word that means every warning, where a code is expected.
const WARNINGS: &str = "warnings";

/// The levels from the command line; the stricter one wins.
pub(super) struct Levels {
    levels: Vec<(String, Level)>,
    /// Whether every warning is an error.
    deny_warnings: bool,
}

impl Levels {
    pub(super) fn of(args: &Check) -> Result<Self, CommandError> {
        let mut levels = Vec::new();
        if !args.select.is_empty() {
            known("--select", &args.select, Level::Error)?;
            // Rules without which a skill is not loaded stay errors, also for the fixes.
            let others =
                rules().filter(|rule| !rule.refuses() && !args.select.iter().any(|code| code == rule.code));
            levels.extend(others.map(|rule| (rule.code.to_owned(), Level::Off)));
        }
        let denied: Vec<String> = args.deny.iter().filter(|code| *code != WARNINGS).cloned().collect();
        let groups = [
            ("--allow", &args.allow, Level::Off),
            ("--ignore", &args.ignore, Level::Off),
            ("--warn", &args.warn, Level::Warning),
            ("--deny", &denied, Level::Error),
        ];
        for (option, codes, level) in groups {
            known(option, codes, level)?;
            levels.extend(codes.iter().map(|code| (code.clone(), level)));
        }
        Ok(Self { levels, deny_warnings: denied.len() < args.deny.len() })
    }

    /// The profile with these levels.
    pub(super) fn apply(&self, mut profile: Profile) -> Profile {
        for (code, level) in &self.levels {
            // Every code was looked up when the command line was read.
            if let Ok(changed) = profile.clone().with_level(code, *level) {
                profile = changed;
            }
        }
        profile
    }

    /// The problems, with warnings as errors if that was asked for.
    pub(super) fn denied(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in problems.iter_mut().filter(|_| self.deny_warnings) {
            if problem.severity == Severity::Warning {
                problem.severity = Severity::Error;
            }
        }
        problems
    }
}

/// An error for a code that is unknown, or that cannot have the level.
fn known(option: &str, codes: &[String], level: Level) -> Result<(), CommandError> {
    for code in codes {
        refuse_level(code, level).map_err(|(error, hint)| {
            Failure::new(format!("{option}: {error}"), hints::of(&hint, "", None))
        })?;
    }
    Ok(())
}
