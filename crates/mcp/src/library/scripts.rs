//! The warning about scripts that clients cannot run, because they do not see the folders of skills.

use std::time::{Duration, Instant};

use prowess::FileKind;

use crate::library::snapshot::Snapshot;

/// How long the files of skills are looked at.
const LOOK_TIME: Duration = Duration::from_secs(2);
/// The maximum number of skills that are named.
const MAX_NAMED: usize = 10;

/// Logs the local skills with scripts. Their clients may be on other machines: they can read a script, and have no path to
/// run it.
pub(crate) fn warn(snapshot: &Snapshot) {
    let begun = Instant::now();
    let registry = &snapshot.sessions.registry;
    let has_scripts = |key: &&str| {
        let skill = snapshot.candidate(key).filter(|skill| !registry.is_remote(skill));
        let files = skill.and_then(|skill| registry.files_of(skill).ok());
        files.is_some_and(|files| files.files.iter().any(|file| file.kind == FileKind::Script))
    };
    let mut looked_at = 0;
    let in_time = |_: &&str| begun.elapsed() < LOOK_TIME;
    let with_scripts: Vec<&str> =
        snapshot.keys().take_while(in_time).inspect(|_| looked_at += 1).filter(has_scripts).collect();
    if with_scripts.is_empty() {
        return;
    }
    let names = named(&with_scripts, snapshot.len().saturating_sub(looked_at));
    let hint = "offer these skills on the machine that runs the agent, or leave them out with --except";
    tracing::warn!(target: "prowess", skills = with_scripts.len(), reason = names, hint,
        "clients at this address can read the scripts of skills, but not run them");
}

/// The names of skills, with the numbers of those that are not named and of those that were not looked at.
fn named(skills: &[&str], not_looked_at: usize) -> String {
    let mut names = skills.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if let Some(more) = skills.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        names = format!("{names} and {more} more");
    }
    if not_looked_at > 0 {
        names = format!("{names}; not looked at: {not_looked_at}");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skills_that_are_not_named_are_counted() {
        assert_eq!(named(&["a", "b"], 0), "a, b");
        assert_eq!(named(&["a"; MAX_NAMED + 2], 0), format!("{} and 2 more", ["a"; MAX_NAMED].join(", ")));
        assert_eq!(named(&["a"], 3), "a; not looked at: 3");
    }
}
