//! Other programs: the only room that starts one, always by its arguments and never through a shell.

mod child_process;
mod orphans;

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

pub use self::child_process::{ChildProcess, end_children};
pub use self::orphans::adopt_orphans;

/// How long and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// How long the program may take; then it is ended, with all it has started.
    pub timeout: Duration,
    /// The most bytes of its output that are taken.
    pub max_output: usize,
}

/// What a program left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, of which only the beginning is kept.
    pub stderr: Vec<u8>,
}

/// Why a program has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// No program was named.
    #[error("no program is named")]
    Nothing,
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(std::io::Error),
    /// It took too long.
    #[error("it took more than {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It wrote too much.
    #[error("it wrote more than {0} bytes")]
    TooMuch(usize),
    /// The system could not say how it ended.
    #[error("it could not be waited for: {0}")]
    Wait(std::io::Error),
}

/// How often a running program is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How long output may still come after the end.
const GRACE: Duration = Duration::from_millis(500);
const MAX_ERROR_TEXT: usize = 8 * 1024;

/// Variables of the environment that a program gets, and those that it does not get: the ones without a value.
pub(crate) type Variables = [(&'static str, Option<OsString>)];

/// Starts a program in a group of its own, with a pipe at each end.
fn spawn(argv: &[String], folder: Option<&Path>, variables: &Variables) -> Result<Child, ProcessError> {
    let (program, arguments) = argv.split_first().ok_or(ProcessError::Nothing)?;
    #[expect(clippy::disallowed_methods, reason = "this is the one starter")]
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A program that has it could use our own server.
    command.env_remove(crate::env::TOKEN);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // A group of its own, so that what it starts can be ended with it.
        command.process_group(0);
    }
    orphans::start(|| command.spawn()).map_err(ProcessError::Start)
}

/// Runs a program with this standard input until it ends.
pub fn run(argv: &[String], input: Vec<u8>, limits: ProcessLimits) -> Result<Finished, ProcessError> {
    run_with(argv, &[], input, limits)
}

/// The same with variables of the environment.
pub(crate) fn run_with(
    argv: &[String],
    variables: &Variables,
    input: Vec<u8>,
    limits: ProcessLimits,
) -> Result<Finished, ProcessError> {
    let mut child = spawn(argv, None, variables)?;
    let deadline = Instant::now() + limits.timeout;
    if let Some(mut stdin) = child.stdin.take() {
        // On a thread of its own: a program may write before it has read all. One that reads nothing is no fault.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let stdout = child.stdout.take().map(|pipe| read(pipe, limits.max_output));
    let stderr = child.stderr.take().map(|pipe| read(pipe, MAX_ERROR_TEXT));
    if !ends_by(&mut child, deadline) {
        end(&mut child);
        return Err(ProcessError::Timeout(limits.timeout));
    }
    let text = |pipe: Option<Receiver<Vec<u8>>>| {
        let left = deadline.saturating_duration_since(Instant::now()).max(GRACE);
        pipe.and_then(|pipe| pipe.recv_timeout(left).ok())
    };
    // Something that it started may hold the pipe open; its group is ended, and the text is what came until then.
    let Some(stdout) = text(stdout) else {
        end(&mut child);
        return Err(ProcessError::Timeout(limits.timeout));
    };
    if stdout.len() > limits.max_output {
        end(&mut child);
        return Err(ProcessError::TooMuch(limits.max_output));
    }
    let stderr = text(stderr).unwrap_or_default();
    let status = orphans::wait(&mut child).map_err(ProcessError::Wait)?;
    Ok(Finished { status, stdout, stderr })
}

/// Waits until a program ends, and no longer than this; says whether it did.
fn ends_by(child: &mut Child, deadline: Instant) -> bool {
    loop {
        if has_ended(child) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
}

/// Whether a program has ended. It is only looked at: until it is waited for, no other process gets its id, and a signal to
/// its group reaches no other process.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> bool {
    is_over(child.id())
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(unix)]
fn is_over(id: u32) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    group(id).is_none_or(|id| match waitid(WaitId::Pid(id), look) {
        Ok(state) => state.is_some(),
        Err(error) => error != rustix::io::Errno::INTR,
    })
}

/// Reads at most one byte more than the limit, on a thread of its own.
fn read(pipe: impl Read + Send + 'static, limit: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// The group that a program leads.
#[cfg(unix)]
fn group(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}

/// Asks all of a group to end.
fn ask_to_end(id: u32) {
    #[cfg(unix)]
    if let Some(group) = group(id) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Ends all of a group.
fn end_group(id: u32) {
    #[cfg(unix)]
    if let Some(group) = group(id) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Ends the program and all of its group: first the group, since its id may belong to another process once it is waited for.
fn end(child: &mut Child) {
    kill(child);
    let _ = orphans::wait(child);
    orphans::end();
}

/// The same without waiting for it, but it has ended.
fn kill(child: &mut Child) {
    end_group(child.id());
    let _ = child.kill();
    while !has_ended(child) {
        thread::sleep(PAUSE);
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, millis: u64) -> Result<Finished, ProcessError> {
        let argv = ["sh", "-c", script].map(str::to_owned);
        let limits = ProcessLimits { timeout: Duration::from_millis(millis), max_output: 1_000 };
        run(&argv, b"in\n".to_vec(), limits)
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        let done = shell("cat; echo oops >&2; exit 3", 10_000).unwrap();
        assert_eq!((done.stdout.as_slice(), done.stderr.as_slice()), (&b"in\n"[..], &b"oops\n"[..]));
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_it_started() {
        let start = Instant::now();
        assert!(matches!(shell("sleep 60 & sleep 60", 200), Err(ProcessError::Timeout(_))));
        assert!(matches!(shell("sleep 60 & exit 0", 200), Err(ProcessError::Timeout(_))));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn output_without_end_and_programs_that_are_not_there_are_errors() {
        assert!(matches!(shell("yes | head -c 5000", 10_000), Err(ProcessError::TooMuch(1_000))));
        let limits = ProcessLimits { timeout: Duration::from_secs(1), max_output: 1 };
        assert!(matches!(run(&["/no/such/program".to_owned()], vec![], limits), Err(ProcessError::Start(_))));
        assert!(matches!(run(&[], vec![], limits), Err(ProcessError::Nothing)));
    }
}
