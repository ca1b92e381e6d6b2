//! The settings and the environment of git: what it must not do, whatever the user's environment and configuration say.

use std::ffi::OsString;
use std::path::Path;

use crate::env::Environment;
use crate::install::spec::is_on_this_machine;

/// Settings for every command. The user's own configuration applies to everything else.
pub(super) const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "credential.interactive=false",
    // Only the host that was named is contacted. On the same host, the caller follows redirects.
    "http.followRedirects=false",
    "fetch.writeCommitGraph=false",
    // No process is left running, and fetched objects are never removed.
    "maintenance.auto=false",
    "gc.auto=0",
    // Objects are fetched only from the place that was named.
    "transfer.bundleURI=false",
];

/// Variables that would make git use another repository.
const REMOVED: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_DEFAULT_HASH",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The environment of git for an address and the repository that it is fetched into.
pub(super) fn of(url: &str, folder: &Path) -> Vec<(&'static str, Option<OsString>)> {
    let mut variables: Vec<(&'static str, Option<OsString>)> = vec![
        ("GIT_DIR", Some(folder.into())),
        // A file in the repository cannot name another folder for its configuration.
        ("GIT_COMMON_DIR", Some(folder.into())),
        ("GIT_ALLOW_PROTOCOL", Some(protocols(url).into())),
        // Nothing is asked: there may be no user at the terminal. An empty helper disables all others.
        ("GIT_TERMINAL_PROMPT", Some("0".into())),
        ("GIT_ASKPASS", Some(OsString::new())),
        ("SSH_ASKPASS", Some("false".into())),
        ("SSH_ASKPASS_REQUIRE", Some("force".into())),
        ("GCM_INTERACTIVE", Some("never".into())),
        // A missing file is fetched with the others, never by itself.
        ("GIT_NO_LAZY_FETCH", Some("1".into())),
        ("GIT_NO_REPLACE_OBJECTS", Some("1".into())),
        ("GIT_LFS_SKIP_SMUDGE", Some("1".into())),
        // Its messages are parsed, and shown to users who may have set another language.
        ("LC_ALL", Some("C".into())),
    ];
    variables.extend(REMOVED.map(|name| (name, None)));
    variables
}

/// Whether git uses ssh for an address, and the environment does not set the ssh command.
pub(super) fn needs_ssh(environment: &Environment, url: &str) -> bool {
    let is_ssh = url.starts_with("ssh://") || !url.contains("://");
    is_ssh && ["GIT_SSH_COMMAND", "GIT_SSH"].iter().all(|name| environment.get(name).is_none())
}

/// Makes ssh fail instead of asking.
pub(super) fn without_questions() -> (&'static str, Option<OsString>) {
    ("GIT_SSH_COMMAND", Some("ssh -o BatchMode=yes".into()))
}

/// The transports that an address needs. The user's `insteadOf` may lead from one network transport to another, or to a
/// mirror on this machine; a server never can, since `http` is only allowed to this machine.
fn protocols(url: &str) -> &'static str {
    match url.split_once("://") {
        _ if is_on_this_machine(url) => "file",
        Some(("http", _)) => "http",
        Some(("git", _)) => "git",
        _ => "https:ssh:file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_allows_only_the_transports_it_needs() {
        for (url, allowed) in [
            ("https://h/x", "https:ssh:file"),
            ("git@h:x", "https:ssh:file"),
            ("file:///x", "file"),
            ("http://127.0.0.1/x", "http"),
            ("git://localhost/x", "git"),
        ] {
            assert_eq!(protocols(url), allowed, "{url}");
        }
    }

    #[test]
    fn an_ssh_command_of_the_user_counts() {
        let own = Environment::of([("GIT_SSH_COMMAND", "ssh -i key")]);
        assert!(needs_ssh(&Environment::of([]), "git@h:x") && !needs_ssh(&own, "git@h:x"));
        assert!(
            needs_ssh(&Environment::of([]), "ssh://h/x") && !needs_ssh(&Environment::of([]), "https://h/x")
        );
    }
}
