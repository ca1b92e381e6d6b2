//! What a process inherits that would change what a test sees: variables for git and proxies, and the umask.

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

/// Sets the umask that most users have, for this process and those that it starts: other users may read what tests write.
#[cfg(unix)]
pub fn usual_umask() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
}
