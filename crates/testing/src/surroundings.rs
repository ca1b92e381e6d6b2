//! What a process inherits that would change what a test sees: variables for git and proxies, the umask,
//! and ignored signals.

use std::process::Command;

/// Removes the caller's variables for git and for proxies from a command.
pub fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let known = name.to_string_lossy().to_ascii_lowercase();
        if known.starts_with("git_") || known.ends_with("_proxy") {
            command.env_remove(name);
        }
    }
    command
}

/// Gives this process and those that it starts what they usually have: a umask that lets other users read what tests write,
/// and signals that end a program although the caller ignores them, as nohup and background jobs of a shell do.
#[cfg(unix)]
pub fn usual_process() {
    use std::sync::{Arc, Once};

    static SIGNALS: Once = Once::new();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    SIGNALS.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        for signal in [1, 2, 15].into_iter().filter(|signal| ignored & (1 << (signal - 1)) != 0) {
            // A handler that does nothing: the signal is still ignored here, but has its effect in a started program.
            let _ = signal_hook::flag::register(signal, Arc::default());
        }
    });
}
