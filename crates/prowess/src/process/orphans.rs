//! What a started program leaves behind outside of its group: adopted and ended, where the system can.
//!
//! A program may start others in a session of their own, which no signal to its group reaches. When their parent ends,
//! Linux gives them to the nearest process above that asked for it. One that has no children but those we start asks for
//! it, and then everything below it that is none of ours is such an orphan.

use std::io;
use std::process::{Child, ExitStatus};

/// Lets this process adopt what programs leave behind, so that it is ended with the last program that runs. It is for a
/// process that starts no programs in any other way than with this crate: those would be taken for orphans too.
///
/// Nothing is adopted by a process that has other children already, as after `sidecar & exec prowess`, nor by the first
/// process of a container: what comes to them may be left behind by others. It does something on Linux only; says
/// whether it does.
pub fn adopt_orphans() -> bool {
    system::adopt()
}

/// Starts a program, and knows it as ours from its first moment.
pub(super) fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    system::start(spawn)
}

/// Waits for a program that was started here. Its id may be that of another process afterwards.
pub(super) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    system::wait(child)
}

/// Ends all orphans, unless another program still runs: whose they are cannot be told then.
pub(super) fn end() {
    system::end(false);
}

/// Ends all orphans and all programs, for a process that is about to end itself.
pub(super) fn end_all() {
    system::end(true);
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::io;
    use std::process::{Child, ExitStatus};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::io::Errno;
    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper, waitid,
        waitpid,
    };

    use crate::fs::read;

    /// How often it is looked for those that the ended ones left behind in turn.
    const LOOKS: usize = 64;
    /// The most that is read of what the system says of a process.
    const MAX_STATUS: usize = 4096;

    #[derive(Default)]
    struct Known {
        adopting: bool,
        /// The programs that were started and not waited for.
        ours: BTreeSet<u32>,
    }

    /// Held while one starts or is waited for, so that none of ours is ever taken for an orphan.
    fn known() -> MutexGuard<'static, Known> {
        static KNOWN: Mutex<Known> = Mutex::new(Known { adopting: false, ours: BTreeSet::new() });
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn adopt() -> bool {
        let mut known = known();
        if !known.adopting && !getpid().is_init() && !has_others(&known.ours) {
            known.adopting = set_child_subreaper(Some(getpid())).is_ok();
        }
        known.adopting
    }

    /// Whether this process has living children that were not started here. Those that have ended leave nothing behind
    /// any more.
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
        // First without the lock, which every start needs: one that was killed may take its time. It is only looked at,
        // so its id stays its own.
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
        // What an orphan has started is an orphan too once that has ended.
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

    /// The processes whose parent is this one, and whether each has ended.
    fn children() -> Vec<(Pid, bool)> {
        let own = getpid().as_raw_nonzero().get();
        let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let child = |id| state_of(id).filter(|(_, parent)| *parent == own).map(|(ended, _)| (id, ended));
        ids.filter_map(child).filter_map(|(id, ended)| Some((Pid::from_raw(id)?, ended))).collect()
    }

    /// Whether a process has ended, and its parent.
    fn state_of(id: i32) -> Option<(bool, i32)> {
        let path = format!("/proc/{id}/stat");
        let bytes = read::read_small(path.as_ref(), MAX_STATUS).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // The name of the program is in parentheses and may hold any character; its state and its parent follow.
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
        fn the_parent_of_a_process_is_read_from_what_the_system_says() {
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
