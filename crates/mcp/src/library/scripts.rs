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
    let with_scripts: Vec<&str> =
        snapshot.keys().take_while(|_| begun.elapsed() < LOOK_TIME).filter(has_scripts).collect();
    if with_scripts.is_empty() {
        return;
    }
    let more = with_scripts.len().saturating_sub(MAX_NAMED);
    let mut names = with_scripts.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if more > 0 {
        names = format!("{names} and {more} more");
    }
    let hint = "offer these skills on the machine that runs the agent, or leave them out with --except";
    tracing::warn!(target: "prowess", skills = with_scripts.len(), reason = names, hint,
        "clients at this address can read the scripts of skills, but not run them");
}
