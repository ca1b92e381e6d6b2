//! [`ChildProcess`]: a program that runs beside this one, and is killed with everything it started when it is dropped.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::{GRACE, MAX_ERROR_TEXT, ProcessError, ask_to_end, end_group, ends_by, kill, orphans, spawn};

use crate::internal::locked;

/// How long it has to exit after its standard input was closed.
const AFTER_INPUT: Duration = Duration::from_secs(1);
/// How long it has to exit after it was asked to.
const AFTER_ASKING: Duration = Duration::from_secs(2);

/// A program that runs beside this one. When it is dropped, its standard input is closed, as the protocol of its pipes
/// requires. If it does not exit soon, it is asked to end, and then killed with everything it started.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    over: bool,
    /// The beginning of what it wrote to standard error.
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Receives a message when its standard error was closed.
    silent: Mutex<Receiver<()>>,
}

impl ChildProcess {
    /// Starts a program in a folder, or in the current one, and returns its standard input and output. Its standard
    /// error is not shown on the terminal.
    pub fn start(
        argv: &[String],
        folder: Option<&Path>,
    ) -> Result<(Self, ChildStdin, ChildStdout), ProcessError> {
        let mut child = registered(|| spawn(argv, folder, &[], None))?;
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
        let process = Self { child, over: false, complaints, silent: Mutex::new(silent) };
        // Both were requested. Without them, the child process is killed here.
        let (stdin, stdout) = pipes.ok_or_else(|| ProcessError::Start(io::ErrorKind::BrokenPipe.into()))?;
        Ok((process, stdin, stdout))
    }

    /// Kills it, and returns the beginning of its standard error.
    pub fn last_words(mut self) -> String {
        self.end();
        // A process that left its group may hold the pipe open.
        let _ = locked(&self.silent).recv_timeout(GRACE);
        self.complaints()
    }

    /// The beginning of what it wrote to standard error so far.
    pub fn complaints(&self) -> String {
        let complaints = locked(&self.complaints);
        String::from_utf8_lossy(&complaints).into_owned()
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        if !ends_by(&mut self.child, Instant::now() + AFTER_INPUT) {
            ask_to_end(self.child.id());
            ends_by(&mut self.child, Instant::now() + AFTER_ASKING);
        }
        // Also if it has exited: programs that it started may still run. This may take a while, and does not block
        // starting others.
        kill(&mut self.child);
        let _ = waited(&mut self.child);
        orphans::end();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// The running child processes; `None` when no more may be started.
fn running() -> MutexGuard<'static, Option<Vec<u32>>> {
    static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));
    locked(&RUNNING)
}

/// Starts a child process, which [`end_children`] kills until it is [`waited`] for.
pub(super) fn registered(start: impl FnOnce() -> Result<Child, ProcessError>) -> Result<Child, ProcessError> {
    // Locked while it starts, so that it is registered before it runs.
    let mut running = running();
    let running = running.as_mut().ok_or(ProcessError::Start(io::ErrorKind::Interrupted.into()))?;
    let child = start()?;
    running.push(child.id());
    Ok(child)
}

/// Waits for a registered child process that has exited. Its id may be reused afterwards.
pub(super) fn waited(child: &mut Child) -> io::Result<ExitStatus> {
    // Locked until the child is waited for: its id could be reused, and killing all children would hit another process.
    let mut running = running();
    let status = orphans::wait(child);
    if let Some(running) = running.as_mut() {
        running.retain(|id| *id != child.id());
    }
    status
}

/// Kills every child process and prevents new ones, before this process ends: threads that own one are not waited for
/// then. All are asked to end at once, so only the slowest one is waited for.
pub fn end_children() {
    let mut running = running();
    let Some(ids) = running.take() else { return };
    ids.iter().copied().for_each(ask_to_end);
    #[cfg(unix)]
    {
        let deadline = Instant::now() + AFTER_ASKING;
        while !ids.iter().copied().all(super::is_over) && Instant::now() < deadline {
            thread::sleep(super::PAUSE);
        }
    }
    ids.into_iter().for_each(end_group);
    orphans::end_all();
}

/// Reads a pipe to its end, so that its writer never blocks, and keeps the beginning.
fn keep_beginning(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(got) = pipe.read(&mut buffer) {
        if got == 0 {
            return;
        }
        let mut kept = locked(kept);
        let room = MAX_ERROR_TEXT.saturating_sub(kept.len()).min(got);
        kept.extend_from_slice(buffer.get(..room).unwrap_or(&[]));
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// A shell script, and its pipes after it wrote its first line.
    fn shell(script: &str) -> (ChildProcess, ChildStdin, BufReader<ChildStdout>) {
        let argv = ["sh", "-c", script].map(str::to_owned);
        let (process, stdin, stdout) = ChildProcess::start(&argv, None).unwrap();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut String::new()).unwrap();
        (process, stdin, stdout)
    }

    fn rest(mut stdout: BufReader<ChildStdout>) -> String {
        // The pipe is closed when no process holds it any more: everything that the program started is gone too.
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_dropped_child_process_is_killed_with_everything_it_started() {
        // It starts another program, says so, and writes to standard error. Neither would end, or reacts to being
        // asked.
        let script = "trap '' TERM; sleep 600 & echo ready; echo oops >&2; while :; do sleep 600; done";
        let (process, stdin, stdout) = shell(script);
        while process.complaints() != "oops\n" {
            thread::yield_now();
        }
        drop(stdin);
        drop(process);
        assert_eq!(rest(stdout), "");
        assert!(matches!(
            ChildProcess::start(&["/no/such/program".to_owned()], None),
            Err(ProcessError::Start(_))
        ));
    }

    #[test]
    fn a_child_process_sees_its_input_closed_then_is_asked_to_end_and_can_clean_up() {
        let (process, stdin, stdout) = shell("echo ready; cat >/dev/null; echo closed");
        drop(stdin);
        drop(process);
        assert_eq!(rest(stdout), "closed\n");
        // This one ignores its input.
        let script = "trap 'echo asked; exit' TERM; sleep 600 & echo ready; wait; sleep 600";
        let (process, stdin, stdout) = shell(script);
        drop(stdin);
        drop(process);
        assert_eq!(rest(stdout), "asked\n");
    }

    #[test]
    fn programs_that_a_child_process_left_behind_are_killed_before_its_id_is_reused() {
        let (mut process, stdin, stdout) = shell("sleep 600 & echo ready");
        drop(stdin);
        while !super::super::has_ended(&mut process.child) {
            thread::yield_now();
        }
        // It was not waited for, so the system still has it as our child.
        let id = process.child.id();
        assert!(super::super::is_over(id));
        assert!(rustix::process::test_kill_process(super::super::group(id).unwrap()).is_ok());
        drop(process);
        assert_eq!(rest(stdout), "");
    }
}
