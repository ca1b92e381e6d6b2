//! Runs other programs. Only this module starts any, always by their arguments and never through a shell.

pub(crate) mod child_process;
mod memory;
mod orphans;
#[cfg(feature = "install")]
pub(crate) mod tied;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

pub use self::child_process::end_children;
pub use self::orphans::adopt_orphans;

/// The limits of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessLimits {
    /// The timeout. After it, the program is killed with everything it started.
    pub timeout: Duration,
    /// The maximum size of its output, in bytes.
    pub max_output: usize,
    /// The most bytes of memory of each of its processes, where the system can limit that: on Linux. A lower
    /// limit of the user stays. What the program starts before the limit is set, just after its own start, has none.
    pub max_memory: Option<u64>,
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error: of a long text, the beginning and the end.
    pub stderr: Vec<u8>,
}

/// Why a program has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// No program was named.
    #[error("no program is named")]
    Nothing,
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(std::io::Error),
    /// The timeout was reached.
    #[error("it took more than {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It wrote too much.
    #[error("it wrote more than {0} bytes")]
    TooMuch(usize),
    /// Waiting for it failed.
    #[error("it could not be waited for: {0}")]
    Wait(std::io::Error),
    /// The caller stopped it.
    #[error("it was stopped")]
    Stopped,
}

/// How often to check whether a program has exited.
const PAUSE: Duration = Duration::from_millis(5);
/// How long to wait for output after a program has exited.
const GRACE: Duration = Duration::from_millis(500);
/// How often the caller is asked whether a program may go on.
const WATCH: Duration = Duration::from_millis(100);
const MAX_ERROR_TEXT: usize = 8 * 1024;

/// Says whether a running program may go on.
pub(crate) type Watch<'w> = &'w mut dyn FnMut() -> bool;

/// Variables of the environment that a program gets, and those that it does not get: the ones without a value.
pub(crate) type Variables = [(&'static str, Option<OsString>)];

/// Starts a program in its own process group, with its standard streams as pipes. `held` takes the place of its standard
/// output: a file that stays open, and locked, until the program ends, even if this process is killed before.
fn spawn(
    argv: &[String],
    folder: Option<&Path>,
    variables: &Variables,
    held: Option<&File>,
) -> Result<Child, ProcessError> {
    let (program, arguments) = argv.split_first().ok_or(ProcessError::Nothing)?;
    #[expect(clippy::disallowed_methods, reason = "this is the one starter")]
    let mut command = Command::new(program);
    let stdout = match held {
        Some(file) => file.try_clone().map_err(ProcessError::Start)?.into(),
        None => Stdio::piped(),
    };
    command.args(arguments).stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped());
    // With this token, the program could use our server.
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
        // Its own group, so that everything it starts can be killed with it.
        command.process_group(0);
    }
    orphans::start(|| command.spawn()).map_err(ProcessError::Start)
}

/// Runs a program with this standard input until it exits.
pub(crate) fn run(argv: &[String], input: Vec<u8>, limits: ProcessLimits) -> Result<Finished, ProcessError> {
    run_with(argv, (None, &[]), input, None, limits, &mut || true)
}

/// The same in a folder and with variables of the environment, and with a file that the program holds in place of its
/// standard output. When `watch` says no, the program is killed with everything it started.
pub(crate) fn run_with(
    argv: &[String],
    (folder, variables): (Option<&Path>, &Variables),
    input: Vec<u8>,
    held: Option<&File>,
    limits: ProcessLimits,
    watch: Watch<'_>,
) -> Result<Finished, ProcessError> {
    let mut child = child_process::registered(|| spawn(argv, folder, variables, held))?;
    if let Some(most) = limits.max_memory {
        memory::limit(&child, most);
    }
    let deadline = Instant::now() + limits.timeout;
    if let Some(mut stdin) = child.stdin.take() {
        // On its own thread, since a program may write before it has read everything. One that reads nothing is not an
        // error.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let stdout = child.stdout.take().map(|pipe| read(pipe, limits.max_output));
    let stderr = child.stderr.take().map(read_ends);
    loop {
        let next = Instant::now() + WATCH;
        if ends_by(&mut child, next.min(deadline)) {
            break;
        }
        let stopped = !watch();
        if stopped || Instant::now() >= deadline {
            end(&mut child);
            return Err(if stopped { ProcessError::Stopped } else { ProcessError::Timeout(limits.timeout) });
        }
    }
    let text = |pipe: Option<Receiver<Vec<u8>>>| {
        let left = deadline.saturating_duration_since(Instant::now()).max(GRACE);
        pipe.and_then(|pipe| pipe.recv_timeout(left).ok())
    };
    // A program that it started may hold the pipe open. Its group is killed, and the output is what was read until
    // then.
    let stdout = if held.is_some() { Some(Vec::new()) } else { text(stdout) };
    let Some(stdout) = stdout else {
        end(&mut child);
        return Err(ProcessError::Timeout(limits.timeout));
    };
    if stdout.len() > limits.max_output {
        end(&mut child);
        return Err(ProcessError::TooMuch(limits.max_output));
    }
    let stderr = text(stderr).unwrap_or_default();
    let status = child_process::waited(&mut child).map_err(ProcessError::Wait)?;
    Ok(Finished { status, stdout, stderr })
}

/// Waits until a program exits, at most this long. Returns whether it did.
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

/// Whether a program has exited. It is not waited for, so its id is not reused, and a signal to its group reaches no
/// other process.
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

/// Reads at most one byte more than the limit, on its own thread.
fn read(pipe: impl Read + Send + 'static, limit: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Reads all of a pipe, so that its writer never waits or fails, and keeps the beginning and the end.
fn read_ends(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    const HALF: usize = MAX_ERROR_TEXT / 2;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut bytes, mut tail): (Vec<u8>, VecDeque<u8>) = Default::default();
        let mut buffer = [0; 4096];
        while let Ok(got) = pipe.read(&mut buffer) {
            let read = buffer.get(..got).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            let (first, rest) = read.split_at(HALF.saturating_sub(bytes.len()).min(read.len()));
            bytes.extend_from_slice(first);
            tail.extend(rest);
            tail.drain(..tail.len().saturating_sub(HALF));
        }
        bytes.extend(tail);
        let _ = sender.send(bytes);
    });
    receiver
}

/// The process group of a program.
#[cfg(unix)]
fn group(id: u32) -> Option<rustix::process::Pid> {
    i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
}

/// Asks all processes of a group to end.
fn ask_to_end(id: u32) {
    #[cfg(unix)]
    signal(id, rustix::process::Signal::TERM);
    #[cfg(not(unix))]
    let _ = id;
}

/// Kills all processes of a group.
fn end_group(id: u32) {
    #[cfg(unix)]
    signal(id, rustix::process::Signal::KILL);
    #[cfg(not(unix))]
    let _ = id;
}

/// Sends a signal to all processes of a group.
#[cfg(unix)]
fn signal(id: u32, signal: rustix::process::Signal) {
    if let Some(group) = group(id) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Kills a program and its group, and then waits for it: after that its id may be reused.
fn end(child: &mut Child) {
    kill(child);
    let _ = child_process::waited(child);
    orphans::end();
}

/// Kills a program and its group, and returns when it has exited. It is not waited for, so its id is not reused.
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
        let limits =
            ProcessLimits { timeout: Duration::from_millis(millis), max_output: 1_000, max_memory: None };
        run(&argv, b"in\n".to_vec(), limits)
    }

    #[test]
    fn input_is_written_and_output_is_read() {
        let done = shell("cat; echo oops >&2; exit 3", 60_000).unwrap();
        assert_eq!((done.stdout.as_slice(), done.stderr.as_slice()), (&b"in\n"[..], &b"oops\n"[..]));
        assert_eq!(done.status.code(), Some(3));
    }

    #[test]
    fn a_program_keeps_the_lock_it_holds_until_it_ends_even_if_its_starter_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::options().create(true).append(true).open(folder.path().join("lock")).unwrap();
        let lock = open();
        lock.lock().unwrap();
        let mut child = spawn(&["cat".to_owned()], None, &[], Some(&lock)).unwrap();
        // As when this process is killed.
        drop(lock);
        assert!(open().try_lock().is_err());
        drop(child.stdin.take());
        orphans::wait(&mut child).unwrap();
        open().try_lock().unwrap();
    }

    #[test]
    fn a_program_that_holds_a_file_has_no_output() {
        let argv = ["sh", "-c", "cat; echo oops >&2"].map(str::to_owned);
        let limits = ProcessLimits { timeout: Duration::from_secs(60), max_output: 1_000, max_memory: None };
        let file = tempfile::tempfile().unwrap();
        let done = run_with(&argv, (None, &[]), b"in\n".to_vec(), Some(&file), limits, &mut || true).unwrap();
        assert_eq!((done.stdout.as_slice(), done.stderr.as_slice()), (&b""[..], &b"oops\n"[..]));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_and_what_it_starts_have_a_limit_of_memory() {
        // It begins once it has read its input, which is written after the limit is set.
        let argv = ["sh", "-c", "read line; sh -c 'ulimit -d'"].map(str::to_owned);
        let limits =
            ProcessLimits { timeout: Duration::from_secs(60), max_output: 100, max_memory: Some(64 << 20) };
        let done = run(&argv, b"in\n".to_vec(), limits).unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{}\n", 64 << 10));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_everything_it_started() {
        use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let mut held = File::from(open(&fifo, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap());
        for rest in ["sleep 600", "exit 0"] {
            let script = format!("exec 9>'{}'; sleep 600 & {rest}", fifo.display());
            assert!(matches!(shell(&script, 200), Err(ProcessError::Timeout(_))), "{rest}");
            // A FIFO that no process has open for writing is at its end.
            let deadline = Instant::now() + Duration::from_secs(60);
            while !matches!(held.read(&mut [0]), Ok(0)) {
                assert!(Instant::now() < deadline, "left alive: {rest}");
                thread::sleep(PAUSE);
            }
        }
    }

    #[test]
    fn a_program_that_its_watcher_stops_is_killed() {
        let argv = ["sh", "-c", "sleep 600 & sleep 600"].map(str::to_owned);
        let limits = ProcessLimits { timeout: Duration::from_secs(300), max_output: 1_000, max_memory: None };
        let mut asked = 0;
        let mut watch = || {
            asked += 1;
            asked < 2
        };
        let stopped = run_with(&argv, (None, &[]), Vec::new(), None, limits, &mut watch);
        assert!(matches!(stopped, Err(ProcessError::Stopped)) && asked == 2);
    }

    #[test]
    fn of_a_long_standard_error_the_beginning_and_the_end_are_kept() {
        let done = shell("echo first >&2; yes | head -c 100000 >&2; echo last >&2", 60_000).unwrap();
        assert!(done.stderr.starts_with(b"first\n") && done.stderr.ends_with(b"last\n"));
        assert!(done.stderr.len() <= MAX_ERROR_TEXT && done.status.success());
    }

    #[test]
    fn endless_output_and_missing_programs_are_errors() {
        assert!(matches!(shell("yes | head -c 5000", 60_000), Err(ProcessError::TooMuch(1_000))));
        let limits = ProcessLimits { timeout: Duration::from_secs(1), max_output: 1, max_memory: None };
        assert!(matches!(run(&["/no/such/program".to_owned()], vec![], limits), Err(ProcessError::Start(_))));
        assert!(matches!(run(&[], vec![], limits), Err(ProcessError::Nothing)));
    }
}
