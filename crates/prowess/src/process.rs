//! Other programs: the only room that starts one, always by its arguments and never through a shell.

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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

/// A program that runs beside this one. When it is let go of, it has a moment to end by itself; then it is ended with
/// all it has started, and waited for.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    /// The beginning of what it wrote to standard error.
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Told when it can complain no more.
    silent: Mutex<Receiver<()>>,
}

impl Companion {
    /// Starts a program in a folder, or in the current one, and gives its standard input and output. What it writes to standard error reaches nobody's
    /// terminal.
    pub fn start(
        argv: &[String],
        folder: Option<&Path>,
    ) -> Result<(Self, ChildStdin, ChildStdout), ProcessError> {
        let mut child = {
            // Held while it starts, so that none starts unseen by who ends all.
            let mut running = running();
            let running =
                running.as_mut().ok_or(ProcessError::Start(std::io::ErrorKind::Interrupted.into()))?;
            let child = spawn(argv, folder)?;
            running.push(child.id());
            child
        };
        let complaints: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (sender, silent) = mpsc::channel();
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&complaints);
            thread::spawn(move || {
                keep_beginning(pipe, &kept);
                let _ = sender.send(());
            });
        }
        let pipes = child.stdin.take().zip(child.stdout.take());
        let companion = Self { child, complaints, silent: Mutex::new(silent) };
        // Both were asked for; without them the companion is ended here.
        let (stdin, stdout) =
            pipes.ok_or_else(|| ProcessError::Start(std::io::ErrorKind::BrokenPipe.into()))?;
        Ok((companion, stdin, stdout))
    }

    /// Ends it, and gives the beginning of all it wrote to standard error.
    pub fn last_words(mut self) -> String {
        end(&mut self.child);
        // Something that left its group may hold the pipe open.
        let _ = self.silent.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(GRACE);
        self.complaints()
    }

    /// The beginning of what it has written to standard error so far.
    pub fn complaints(&self) -> String {
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&complaints).into_owned()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = wait(&mut self.child, Instant::now() + GRACE, GRACE);
        // Also when it has ended by itself: what it started may be there still.
        end(&mut self.child);
        if let Some(running) = running().as_mut() {
            running.retain(|id| *id != self.child.id());
        }
    }
}

/// The companions that run now; nothing when no more are to be started.
fn running() -> MutexGuard<'static, Option<Vec<u32>>> {
    static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every companion that nobody let go of, and lets no other start, for a process that is about to end itself:
/// threads that hold one are not waited for then.
pub fn end_companions() {
    running().take().into_iter().flatten().for_each(end_group);
}

/// Reads a pipe to its end, so that nobody who writes to it has to wait, and keeps the beginning.
fn keep_beginning(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(got) = pipe.read(&mut buffer) {
        if got == 0 {
            return;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_ERROR_TEXT.saturating_sub(kept.len()).min(got);
        kept.extend_from_slice(buffer.get(..room).unwrap_or(&[]));
    }
}

/// Starts a program in a group of its own, with a pipe at each end.
fn spawn(argv: &[String], folder: Option<&Path>) -> Result<Child, ProcessError> {
    let (program, arguments) = argv.split_first().ok_or(ProcessError::Nothing)?;
    #[expect(clippy::disallowed_methods, reason = "this is the one starter")]
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Whoever has it may ask our own server, which is none of their business.
    command.env_remove(crate::env::TOKEN);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // A group of its own, so that what it starts can be ended with it.
        command.process_group(0);
    }
    command.spawn().map_err(ProcessError::Start)
}

/// Runs a program with this standard input until it ends.
pub fn run(argv: &[String], input: Vec<u8>, limits: ProcessLimits) -> Result<Finished, ProcessError> {
    let mut child = spawn(argv, None)?;
    let deadline = Instant::now() + limits.timeout;
    if let Some(mut stdin) = child.stdin.take() {
        // On a thread of its own: a program may write before it has read all. One that reads nothing is no fault.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let stdout = child.stdout.take().map(|pipe| read(pipe, limits.max_output));
    let stderr = child.stderr.take().map(|pipe| read(pipe, MAX_ERROR_TEXT));
    let ended = wait(&mut child, deadline, limits.timeout);
    if ended.is_err() {
        end(&mut child);
    }
    let status = ended?;
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
    Ok(Finished { status, stdout, stderr: text(stderr).unwrap_or_default() })
}

fn wait(child: &mut Child, deadline: Instant, timeout: Duration) -> Result<ExitStatus, ProcessError> {
    loop {
        if let Some(status) = child.try_wait().map_err(ProcessError::Wait)? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(ProcessError::Timeout(timeout));
        }
        thread::sleep(PAUSE);
    }
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

fn end_group(id: u32) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Ends the program and all of its group.
fn end(child: &mut Child) {
    end_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
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
    fn a_companion_is_ended_with_all_it_started_when_it_is_let_go_of() {
        // It starts another, says so, and complains; neither would ever end by itself.
        let script = "sleep 600 & echo $!; echo oops >&2; cat >/dev/null; sleep 600";
        let argv = ["sh", "-c", script].map(str::to_owned);
        let (companion, stdin, stdout) = Companion::start(&argv, None).unwrap();
        let mut lines = std::io::BufReader::new(stdout);
        let mut started = String::new();
        std::io::BufRead::read_line(&mut lines, &mut started).unwrap();
        while companion.complaints() != "oops\n" {
            thread::yield_now();
        }
        drop(companion);
        drop(stdin);
        // The pipe ends when nobody holds it any more: the one it started is gone too.
        assert_eq!(lines.read_to_end(&mut Vec::new()).unwrap(), 0, "{started}");
        assert!(matches!(
            Companion::start(&["/no/such/program".to_owned()], None),
            Err(ProcessError::Start(_))
        ));
    }

    #[test]
    fn output_without_end_and_programs_that_are_not_there_are_errors() {
        assert!(matches!(shell("yes | head -c 5000", 10_000), Err(ProcessError::TooMuch(1_000))));
        let limits = ProcessLimits { timeout: Duration::from_secs(1), max_output: 1 };
        assert!(matches!(run(&["/no/such/program".to_owned()], vec![], limits), Err(ProcessError::Start(_))));
        assert!(matches!(run(&[], vec![], limits), Err(ProcessError::Nothing)));
    }
}
