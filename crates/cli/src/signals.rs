//! Signals that end the process: the programs that were started for it end first.

use std::sync::Arc;
#[cfg(unix)]
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess::source::open::OpenServer;
use prowess::source::spec::Server;
use prowess::{Source, SourceError};
use prowess_mcp::Servers;

/// The most that is read of what the system says of this process.
#[cfg(unix)]
const MAX_STATUS: usize = 64 * 1024;

/// Opens MCP servers. Once one of them is a program, a signal that ends the process ends that program too: it has a
/// process group of its own, so no terminal reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndingServers {
    /// Whether the command looks after the signals that ask it to end by itself, as a server does.
    pub(crate) ends_by_itself: bool,
}

impl OpenServer for EndingServers {
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError> {
        // Without programs, signals do what they always do.
        if matches!(server, Server::Started { .. }) {
            watch(self.ends_by_itself);
            // What a program leaves behind in a session of its own is ended too; this command starts no others.
            prowess::process::adopt_orphans();
        }
        Servers::default().open(server, label)
    }
}

#[cfg(unix)]
fn watch(ends_by_itself: bool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let all = if ends_by_itself { &[SIGHUP][..] } else { &[SIGHUP, SIGINT, SIGTERM] };
        let ignored = ignored();
        let heard = all.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
        let Ok(mut signals) = signal_hook::iterator::Signals::new(heard) else { return };
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                ENDING.store(true, Ordering::SeqCst);
                prowess::process::end_children();
                // As without a handler, so that the parent process sees which signal ended this one.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    });
}

#[cfg(not(unix))]
fn watch(_ends_by_itself: bool) {}

/// Whether a signal is about to end the process. It is so before the programs end, so code that sees one of them end by
/// the signal sees this too.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Leaves the end of the process to the signal that ends it, if there is one.
pub(crate) fn give_way() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// The signals that the parent process has set to be ignored, as `nohup` does: the first bit is the first signal. Only Linux
/// says.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = prowess::fs::read::read_small("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
