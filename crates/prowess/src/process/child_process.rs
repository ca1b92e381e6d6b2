//! [`ChildProcess`]: a program that runs beside this one, and is gone with all it has started when it is let go of.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{GRACE, MAX_ERROR_TEXT, ProcessError, ask_to_end, end_group, ends_by, kill, orphans, spawn};

/// How long it has to end by itself when its standard input has ended.
const AFTER_INPUT: Duration = Duration::from_secs(1);
/// How long it has to end when it was asked to.
const AFTER_ASKING: Duration = Duration::from_secs(2);

/// A program that runs beside this one. When it is let go of, it has a moment to end by itself; then it is asked to, as
/// the protocol of its pipes wants it; then it is ended with all it has started, and waited for.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    over: bool,
    /// The beginning of what it wrote to standard error.
    complaints: Arc<Mutex<Vec<u8>>>,
    /// Told when it can complain no more.
    silent: Mutex<Receiver<()>>,
}

impl ChildProcess {
    /// Starts a program in a folder, or in the current one, and gives its standard input and output. What it writes to
    /// standard error reaches no terminal.
    pub fn start(
        argv: &[String],
        folder: Option<&Path>,
    ) -> Result<(Self, ChildStdin, ChildStdout), ProcessError> {
        let mut child = {
            // Held while it starts, so that none starts unseen by who ends all.
            let mut running = running();
            let running =
                running.as_mut().ok_or(ProcessError::Start(std::io::ErrorKind::Interrupted.into()))?;
            let child = spawn(argv, folder, &[])?;
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
        let process = Self { child, over: false, complaints, silent: Mutex::new(silent) };
        // Both were asked for; without them the child process is ended here.
        let (stdin, stdout) =
            pipes.ok_or_else(|| ProcessError::Start(std::io::ErrorKind::BrokenPipe.into()))?;
        Ok((process, stdin, stdout))
    }

    /// Ends it, and gives the beginning of all it wrote to standard error.
    pub fn last_words(mut self) -> String {
        self.end();
        // Something that left its group may hold the pipe open.
        let _ = self.silent.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(GRACE);
        self.complaints()
    }

    /// The beginning of what it has written to standard error so far.
    pub fn complaints(&self) -> String {
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
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
        // Also when it has ended by itself: what it started may be there still. This may take its time, and others start
        // meanwhile.
        kill(&mut self.child);
        {
            // Held until the child is waited for: its id could be reused, and ending all children would hit another process.
            let mut running = running();
            let _ = orphans::wait(&mut self.child);
            if let Some(running) = running.as_mut() {
                running.retain(|id| *id != self.child.id());
            }
        }
        orphans::end();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// The child processes that run now; nothing when no more are to be started.
fn running() -> MutexGuard<'static, Option<Vec<u32>>> {
    static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every child process that is still held, and prevents new ones, before this process ends itself:
/// threads that hold one are not waited for then. All are asked at once, so that the slowest alone is waited for.
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

/// Reads a pipe to its end, so that its writer never has to wait, and keeps the beginning.
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

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// A script of the shell, and its pipes once it has said its first line.
    fn shell(script: &str) -> (ChildProcess, ChildStdin, BufReader<ChildStdout>) {
        let argv = ["sh", "-c", script].map(str::to_owned);
        let (process, stdin, stdout) = ChildProcess::start(&argv, None).unwrap();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut String::new()).unwrap();
        (process, stdin, stdout)
    }

    fn rest(mut stdout: BufReader<ChildStdout>) -> String {
        // The pipe ends when no process holds it any more: what the program started is gone too.
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_child_process_is_ended_with_all_it_started_when_it_is_let_go_of() {
        // It starts another, says so, and complains; neither would ever end by itself, or hears that it should.
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
    fn a_child_process_hears_the_end_of_its_input_then_a_request_and_can_put_things_in_order() {
        let (process, stdin, stdout) = shell("echo ready; cat >/dev/null; echo closed");
        drop(stdin);
        drop(process);
        assert_eq!(rest(stdout), "closed\n");
        // This one takes no notice of its input.
        let script = "trap 'echo asked; exit' TERM; sleep 600 & echo ready; wait; sleep 600";
        let (process, stdin, stdout) = shell(script);
        drop(stdin);
        drop(process);
        assert_eq!(rest(stdout), "asked\n");
    }

    #[test]
    fn what_a_child_process_leaves_behind_is_ended_before_its_id_can_be_anybody_elses() {
        let (mut process, stdin, stdout) = shell("sleep 600 & echo ready");
        drop(stdin);
        while !super::super::has_ended(&mut process.child) {
            thread::yield_now();
        }
        // It was looked at and not waited for, so the system still knows it as ours.
        let id = process.child.id();
        assert!(super::super::is_over(id));
        assert!(rustix::process::test_kill_process(super::super::group(id).unwrap()).is_ok());
        drop(process);
        assert_eq!(rest(stdout), "");
    }
}
