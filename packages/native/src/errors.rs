//! The errors of the library as [`Failure`]s, each with its code.

use std::error::Error as _;
use std::io;

use prowess::catalog::DuplicateError;
use prowess::select::SelectError;
use prowess::{LookupError, RegistryError, SkillsError, SourceError, SourceErrorKind};
use prowess_engine::Failure;
use serde_json::Value;

use crate::asked::{threw_at, thrown, thrown_at};
use crate::foreign::ForeignError;

/// What to do about a source that is an MCP server.
const NO_SERVERS: &str = "connect to it yourself, and give its skills as a source of your own";

/// The failure of a callback that an operation cannot do without.
pub(crate) fn of_callback(error: ForeignError, code: &'static str) -> Failure {
    let code = if error.code == "failed" { code } else { error.code };
    Failure { cause: error.cause, ..Failure::new(code, error.message) }
}

/// The callback that a source error comes from.
fn callback_of(error: &SourceError) -> Option<&ForeignError> {
    match &error.kind {
        SourceErrorKind::Io(cause) => cause.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// The error of a source that a callback threw. `at` makes the error of a kind at the place.
pub(crate) fn source_error(
    error: ForeignError,
    at: impl FnOnce(SourceErrorKind) -> SourceError,
) -> SourceError {
    let thrown = error.clone();
    let error = at(match error.code {
        "missing" => SourceErrorKind::Missing,
        "outside" => SourceErrorKind::Outside,
        "not-a-file" => SourceErrorKind::Folder,
        "broken" => SourceErrorKind::Broken,
        "not-as-listed" => SourceErrorKind::NotAsListed { reason: error.message },
        // By their kinds, a search knows that it ends.
        "timeout" => SourceErrorKind::Io(io::Error::new(io::ErrorKind::TimedOut, error)),
        "cancelled" | "closed" | "busy" => {
            SourceErrorKind::Io(io::Error::new(io::ErrorKind::Interrupted, error))
        }
        _ => SourceErrorKind::Io(io::Error::other(error)),
    });
    threw_at(thrown, &error.at);
    error
}

/// The callback by which an operation ended: cancelled, closed or too slow.
pub(crate) fn callback(error: &SourceError) -> Option<ForeignError> {
    callback_of(error).cloned()
}

/// The failure of a source.
pub fn of_source(error: &SourceError) -> Failure {
    if let Some(callback) = callback_of(error) {
        let code = if callback.code == "failed" { "source" } else { callback.code };
        // What the callback said is quoted as it is.
        let said = &callback.message;
        let message = if callback.ends_operation() { said.clone() } else { format!("{error}: {said}") };
        return Failure { cause: callback.cause.clone(), ..Failure::new(code, message) };
    }
    let code = match &error.kind {
        SourceErrorKind::Missing | SourceErrorKind::NotListed | SourceErrorKind::NoSkill => "missing",
        SourceErrorKind::Lookup(_) => "not-found",
        SourceErrorKind::Outside | SourceErrorKind::BadPath(_) => "outside",
        SourceErrorKind::Folder
        | SourceErrorKind::NotFolder
        | SourceErrorKind::FileInPlace
        | SourceErrorKind::NotRegular { .. } => "not-a-file",
        SourceErrorKind::TooLarge { .. } => "too-large",
        SourceErrorKind::Broken => "broken",
        SourceErrorKind::NotAsListed { .. } | SourceErrorKind::Changed => "not-as-listed",
        SourceErrorKind::Config(_) => "config",
        _ => "source",
    };
    let cause = thrown_at(&error.at).and_then(|error| error.cause);
    let (message, hint) = match &error.kind {
        SourceErrorKind::NoServers => {
            (format!("this package opens no MCP servers: {}", error.at), NO_SERVERS.into())
        }
        _ => (error.full_message(), error.hint()),
    };
    Failure { hint: Some(hint.to_string()), cause, ..Failure::new(code, message) }
}

pub(crate) fn of_lookup(error: &LookupError) -> Failure {
    Failure { hint: Some(error.hint().to_string()), ..Failure::new("not-found", error.to_string()) }
}

/// The failure of a selection; what a callback threw counts before what the selector made of it.
pub(crate) fn of_select(error: &SelectError) -> Failure {
    match thrown() {
        Some(error) => of_callback(error, "select"),
        None => Failure::new("select", error.to_string()),
    }
}

fn of_duplicate(error: &DuplicateError) -> Failure {
    Failure::new("duplicate", error.to_string())
}

pub(crate) fn of_registry(error: RegistryError) -> Failure {
    of_skills(SkillsError::from(error))
}

pub(crate) fn of_skills(error: SkillsError) -> Failure {
    match error {
        SkillsError::Source(error) => of_source(&error),
        SkillsError::Lookup(error) => of_lookup(&error),
        SkillsError::Load(error) => {
            // The text is not at hand, so the problems have no places.
            let problems: Vec<Value> = error.problems.iter().map(prowess_engine::problem_json).collect();
            Failure { problems: Some(Box::new(problems.into())), ..Failure::new("load", error.to_string()) }
        }
        SkillsError::Duplicate(error) => of_duplicate(&error),
        SkillsError::Taken(_) => Failure::new("taken", error.to_string()),
        SkillsError::Library(error) => {
            Failure { hint: Some(error.hint().to_string()), ..Failure::new("config", error.to_string()) }
        }
        SkillsError::Select(error) => of_select(&error),
        SkillsError::Restore(error) => Failure::new("restore", error.to_string()),
        SkillsError::Nested => {
            Failure { hint: Some(error.hint().to_string()), ..Failure::new("busy", error.to_string()) }
        }
        SkillsError::Watch(ref cause) => Failure::new("watch", format!("{error}: {cause}")),
        _ => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Failure::new("failed", format!("{error}{cause}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_refreshes_its_own_skills_is_busy() {
        let failure = of_registry(RegistryError::Nested);
        assert_eq!(failure.code, "busy");
        assert!(failure.hint.is_some_and(|hint| !hint.is_empty()));
    }
}
