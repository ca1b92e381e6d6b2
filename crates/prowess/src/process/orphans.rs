//! Programs that a child process leaves behind outside of its group: they are adopted and killed, where the system can.
//!
//! A child process may start others in a session of their own, which no signal to its group reaches. When their parent
//! ends, Linux reparents them to the nearest ancestor that asked for it. This process asks for it if all its children
//! are started here; any other child is then such an orphan.

use std::io;
use std::process::{Child, ExitStatus};

/// Lets this process adopt orphans, so that they are killed when the last child process ends. Only for a process that
/// starts programs with nothing but this crate: other children would be taken for orphans.
///
/// A process that already has other children, as after `sidecar & exec prowess`, and the first process of a container
/// adopt nothing: their orphans may belong to others. Returns whether orphans are adopted, which is only possible on
/// Linux.
pub fn adopt_orphans() -> bool {
    system::adopt()
}

/// Starts a program, and registers it as ours before it runs.
pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    system::start(spawn)
}

/// Waits for a child process. Its id may be reused afterwards.
pub(super) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    system::wait(child)
}

/// Kills all orphans, unless another child process still runs: then it is not known to which one they belong.
pub(super) fn end() {
    system::end(false);
}

/// Kills all orphans and child processes, before this process ends.
pub(super) fn end_all() {
    system::end(true);
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::io;
    use std::process::{Child, ExitStatus};
    use std::sync::{Mutex, MutexGuard};

    use rustix::io::Errno;
    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper, waitid,
        waitpid,
    };

    use crate::fs::read;
    use crate::internal::locked;

    /// How often to look for orphans that killed ones left behind.
    const LOOKS: usize = 64;
    /// The maximum size of a status that is read.
    const MAX_STATUS: usize = 4096;

    #[derive(Default)]
    struct Known {
        adopting: bool,
        /// The child processes that were started and not waited for.
        ours: BTreeSet<u32>,
    }

    /// Locked while one is started or waited for, so that no child process is taken for an orphan.
    fn known() -> MutexGuard<'static, Known> {
        static KNOWN: Mutex<Known> = Mutex::new(Known { adopting: false, ours: BTreeSet::new() });
        locked(&KNOWN)
    }

    pub(super) fn adopt() -> bool {
        let mut known = known();
        if !known.adopting && !getpid().is_init() && !has_others(&known.ours) {
            known.adopting = set_child_subreaper(Some(getpid())).is_ok();
        }
        known.adopting
    }

    /// Whether this process has running children that were not started here. Those that have exited leave nothing
    /// behind.
    fn has_others(ours: &BTreeSet<u32>) -> bool {
        let is_ours = |id: Pid| u32::try_from(id.as_raw_nonzero().get()).is_ok_and(|id| ours.contains(&id));
        children().into_iter().any(|(id, ended)| !ended && !is_ours(id))
    }

    pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
        let mut known = known();
        let child = spawn()?;
        known.ours.insert(child.id());
        Ok(child)
    }

    pub(super) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
        // First without the lock, which every start needs: a killed process may take a while to exit. This only peeks
        // at its status, so its id is not reused.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if let Some(id) = super::super::group(child.id()) {
            while matches!(waitid(WaitId::Pid(id), look), Err(Errno::INTR)) {}
        }
        let mut known = known();
        let waited = child.wait();
        known.ours.remove(&child.id());
        waited
    }

    pub(super) fn end(all: bool) {
        let known = known();
        if !known.adopting || (!known.ours.is_empty() && !all) {
            return;
        }
        // The children of an orphan become orphans when it ends.
        for _ in 0..LOOKS {
            let orphans = children();
            if orphans.is_empty() {
                return;
            }
            for (orphan, _) in orphans {
                let _ = kill_process(orphan, Signal::KILL);
                let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
            }
            std::thread::sleep(super::super::PAUSE);
        }
    }

    /// The children of this process, and whether each has exited.
    fn children() -> Vec<(Pid, bool)> {
        let own = getpid().as_raw_nonzero().get();
        let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let child = |id| state_of(id).filter(|(_, parent)| *parent == own).map(|(ended, _)| (id, ended));
        ids.filter_map(child).filter_map(|(id, ended)| Some((Pid::from_raw(id)?, ended))).collect()
    }

    /// Whether a process has exited, and its parent.
    fn state_of(id: i32) -> Option<(bool, i32)> {
        let path = format!("/proc/{id}/stat");
        let bytes = read::read_small(path.as_ref(), MAX_STATUS).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // The name of the program is in parentheses and may contain any character. Its state and its parent follow.
        let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let ended = matches!(words.next()?, "Z" | "X");
        Some((ended, words.next()?.parse().ok()?))
    }

    #[cfg(test)]
    mod tests {
        use std::process::{Command, Stdio};
        use std::time::Duration;

        use super::*;

        #[test]
        fn the_parent_of_a_process_is_read_from_its_status() {
            let own = i32::try_from(std::process::id()).unwrap();
            let above = rustix::process::getppid().map(|above| above.as_raw_nonzero().get());
            assert_eq!(state_of(own).map(|(ended, parent)| (ended, Some(parent))), Some((false, above)));
            assert_eq!(state_of(i32::MAX), None);
        }

        #[test]
        #[expect(clippy::disallowed_methods, reason = "it is about programs that are started in other ways")]
        fn programs_start_while_another_is_waited_for() {
            let mut waiting = start(|| Command::new("cat").stdin(Stdio::piped()).spawn()).unwrap();
            let input = waiting.stdin.take();
            let waiter = std::thread::spawn(move || wait(&mut waiting));
            let (sender, receiver) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                for _ in 0..20 {
                    let mut other = start(|| Command::new("true").spawn()).unwrap();
                    wait(&mut other).unwrap();
                }
                sender.send(()).unwrap();
            });
            let started = receiver.recv_timeout(Duration::from_secs(60));
            drop(input);
            waiter.join().unwrap().unwrap();
            started.expect("others start meanwhile");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::process::{Child, ExitStatus};

    pub(super) fn adopt() -> bool {
        false
    }

    pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
        spawn()
    }

    pub(super) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
        child.wait()
    }

    pub(super) fn end(_: bool) {}
}
