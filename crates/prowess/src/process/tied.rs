//! Programs that end when this process is killed.
//!
//! A process that is killed cannot end its children. On Linux, a program can ask for a signal at the death of its parent,
//! and the command `setpriv` of util-linux asks for it before it becomes the program. Elsewhere, and without that
//! command, such a program runs on.

use std::path::Path;
use std::time::Duration;

use super::{ProcessLimits, Variables, run_with};
use crate::env::Environment;

/// How long the test of `setpriv` may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes that it may write.
const MAX_OUTPUT: usize = 64 * 1024;

/// The beginning of a command line that ties a program to this process; empty where that is not possible. `probe` is a
/// command that succeeds.
pub(crate) fn tie(
    environment: &Environment,
    probe: &[String],
    (folder, variables): (Option<&Path>, &Variables),
) -> Vec<String> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let Some(program) = environment.program("setpriv") else { return Vec::new() };
    let tie = vec![
        program.to_string_lossy().into_owned(),
        "--pdeathsig".to_owned(),
        // So that git removes its temporary files, and ends the programs that it started.
        "TERM".to_owned(),
        "--".to_owned(),
    ];
    // Some programs of this name have no such option.
    let argv: Vec<String> = tie.iter().chain(probe).cloned().collect();
    let limits = ProcessLimits { timeout: TIMEOUT, max_output: MAX_OUTPUT, max_memory: None };
    let tried = run_with(&argv, (folder, variables), Vec::new(), None, limits, &mut || true);
    if tried.is_ok_and(|done| done.status.success()) { tie } else { Vec::new() }
}
