//! Signals that end the process: its child processes are ended first.

#[cfg(unix)]
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prowess::source::open::OpenServer;
use prowess::source::spec::Server;
use prowess::{Source, SourceError};
use prowess_mcp::Servers;

/// The maximum number of bytes read from `/proc/self/status`.
#[cfg(unix)]
const MAX_STATUS: usize = 64 * 1024;

/// Opens MCP servers. Once one of them is a program, a signal that ends this process ends that program too: the program
/// has its own process group, so it gets no signals from the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndingServers {
    /// The signals that the command handles itself.
    pub(crate) own_signals: OwnSignals,
}

/// The signals that a command handles itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OwnSignals {
    /// None of them.
    None,
    /// SIGINT and SIGTERM, as a server on a pipe does.
    Stop,
    /// SIGHUP too, as a server at an address does.
    All,
}

impl OpenServer for EndingServers {
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError> {
        // Without child processes, signals have their default effect.
        if matches!(server, Server::Started { .. }) {
            watch(self.own_signals);
            // Processes that a program leaves running in another session are ended too; this command starts no others.
            prowess::process::adopt_orphans();
        }
        Servers::default().open(server, label)
    }
}

/// Lets a signal that ends this process end the programs that it runs too, for a command that runs git.
pub(crate) fn end_programs_too() {
    watch(OwnSignals::None);
}

#[cfg(unix)]
fn watch(own: OwnSignals) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all = match own {
            OwnSignals::None => &[SIGHUP, SIGINT, SIGTERM][..],
            OwnSignals::Stop => &[SIGHUP],
            OwnSignals::All => return,
        };
        let ignored = ignored();
        let heard = all.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
        let Ok(mut signals) = signal_hook::iterator::Signals::new(heard) else { return };
        std::thread::spawn(move || {
            // The default effect, so that the parent process sees which signal ended this one.
            let end = |signal| drop(signal_hook::low_level::emulate_default_handler(signal));
            for signal in signals.forever() {
                // A second signal does not wait for the last action.
                if ENDING.swap(true, Ordering::SeqCst) {
                    end(signal);
                }
                prowess::process::end_children();
                std::thread::spawn(move || {
                    if let Some(action) = &*LAST_ACTION.lock().unwrap_or_else(PoisonError::into_inner) {
                        action();
                    }
                    end(signal);
                });
            }
        });
    });
}

#[cfg(not(unix))]
fn watch(_own: OwnSignals) {}

/// Whether a signal is about to end the process. It is set before the child processes are ended, so code that sees one
/// of them end also sees this.
static ENDING: AtomicBool = AtomicBool::new(false);

/// What is done before a signal ends the process.
static LAST_ACTION: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// What is done if a signal ends the process while this is held.
pub(crate) struct LastAction(());

impl LastAction {
    /// Holds an action, for a command that hears signals.
    pub(crate) fn new(action: impl Fn() + Send + 'static) -> Self {
        *LAST_ACTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(action));
        Self(())
    }
}

impl Drop for LastAction {
    fn drop(&mut self) {
        *LAST_ACTION.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Waits for the signal to end the process, if there is one.
pub(crate) fn give_way() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// The signals that the parent process has set to be ignored, as `nohup` does: the first bit is the first signal. Only Linux
/// reports them.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = prowess::fs::read::read_small("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
