//! Why git failed, and what to do about it: read from its messages, which are in English here.

use std::io;
use std::path::Path;
use std::time::Duration;

use prowess_core::text::{cut, similar};

use super::clone::Bare;
use super::watch::Stop;
use crate::error::{first_of, shown, shown_address};
use crate::install::error::{About, InstallError, InstallErrorKind, InstallLimit};
use crate::install::spec::{host_of, without_credentials};
use crate::process::ProcessError;

/// The kind of a failure.
#[derive(Debug)]
pub(super) enum Fault {
    /// There is no git.
    NotInstalled,
    /// The host requires a login, or denies access.
    Access,
    /// The key of the ssh host is not known.
    UnknownHost,
    /// The repository does not exist.
    NoRepository,
    /// No branch, tag or commit has this name.
    NoRef,
    /// The server does not serve objects without a ref.
    NotOffered,
    /// The server uses longer ids.
    OtherIds,
    /// The repository on this machine belongs to another user.
    Owner,
    /// The certificate of the host is not trusted.
    Certificate,
    /// The connection could not be made, or broke.
    Network,
    /// Almost no data was received for a while.
    Slow,
    /// No part of the repository was received for a while, whatever else was.
    NoPart(Duration),
    /// The server redirects; the target, if it is known.
    Redirect(Option<String>),
    /// The server disconnected, or its response is not a repository.
    Server,
    /// The repository has more bytes than this.
    TooLarge(u64),
    /// The command has fetched more bytes than this from all repositories.
    TooMuch(u64),
    /// git may not use as much memory as it needs.
    Memory,
    /// Something else.
    Other,
    /// git gave no result.
    Process(ProcessError),
    /// The folder for the repository could not be changed.
    Folder(Box<InstallError>),
}

/// The prefix of lines that git passes on from the server.
const PASSED_ON: &str = "remote: ";
/// What git says when the connection of another program, such as ssh, ended.
const NOT_READ: &str = "Could not read from remote repository";
/// The longest line of git that is kept, in characters.
const MAX_LINE: usize = 300;

/// A failure, and the messages of git.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) fault: Fault,
    said: String,
}

/// Words in the messages of git and of the programs it uses, and their meaning; the first match counts.
const WORDS: [(&str, Fault); 45] = [
    ("Out of memory", Fault::Memory),
    ("out of memory", Fault::Memory),
    ("mismatched algorithms", Fault::OtherIds),
    ("dubious ownership", Fault::Owner),
    ("terminal prompts disabled", Fault::Access),
    ("could not read Username", Fault::Access),
    ("could not read Password", Fault::Access),
    ("unable to get password from user", Fault::Access),
    ("Authentication failed", Fault::Access),
    ("returned error: 401", Fault::Access),
    ("returned error: 403", Fault::Access),
    ("Access denied", Fault::Access),
    ("access denied", Fault::Access),
    ("Host key verification failed", Fault::UnknownHost),
    ("Permission denied (", Fault::Access),
    ("couldn't find remote ref", Fault::NoRef),
    ("unadvertised object", Fault::NotOffered),
    ("not our ref", Fault::NotOffered),
    ("returned error: 404", Fault::NoRepository),
    ("does not appear to be a git repository", Fault::NoRepository),
    ("Repository not found", Fault::NoRepository),
    ("' not found", Fault::NoRepository),
    ("does not exist", Fault::NoRepository),
    ("repository not exported", Fault::NoRepository),
    ("certificate", Fault::Certificate),
    ("returned error: 30", Fault::Redirect(None)),
    ("Operation too slow", Fault::Slow),
    ("Could not resolve host", Fault::Network),
    ("Failed to connect", Fault::Network),
    ("Couldn't connect", Fault::Network),
    ("unable to connect", Fault::Network),
    ("Connection refused", Fault::Network),
    ("Connection reset", Fault::Network),
    ("Connection timed out", Fault::Network),
    ("Connection closed", Fault::Network),
    ("early EOF", Fault::Network),
    ("hung up unexpectedly", Fault::Network),
    ("RPC failed", Fault::Network),
    ("unexpected disconnect", Fault::Network),
    ("transfer closed", Fault::Network),
    ("Could not read from remote repository", Fault::Network),
    ("unable to access", Fault::Network),
    ("on the remote side", Fault::Server),
    ("bad pack header", Fault::Server),
    ("exceeded maximum allowed tree depth", Fault::Server),
];

impl Problem {
    pub(super) fn process(error: ProcessError) -> Self {
        Self { fault: Fault::Process(error), said: String::new() }
    }

    pub(super) fn not_installed() -> Self {
        Self { fault: Fault::NotInstalled, said: String::new() }
    }

    pub(super) fn folder(bare: &Bare, error: io::Error) -> Self {
        let error = InstallError::io("write the repository to fetch into", &bare.folder, error);
        Self { fault: Fault::Folder(Box::new(error)), said: String::new() }
    }

    /// git was stopped.
    pub(super) fn stopped(stop: Stop) -> Self {
        let fault = match stop {
            Stop::TooLarge(limit) => Fault::TooLarge(limit),
            Stop::TooMuch(limit) => Fault::TooMuch(limit),
            Stop::Quiet(time) => Fault::NoPart(time),
        };
        Self { fault, said: String::new() }
    }

    /// Reads the messages of git. Passwords that the user's configuration adds to addresses are left out, and so are
    /// lines that git passes on from the server: they do not say what went wrong here.
    pub(super) fn said(stderr: &[u8]) -> Self {
        let text = without_credentials(&String::from_utf8_lossy(stderr));
        let own: Vec<&str> = text.lines().filter(|line| !line.starts_with(PASSED_ON)).collect();
        let fault = WORDS
            .into_iter()
            .find(|(words, _)| own.iter().any(|line| line.contains(words)))
            .map_or(Fault::Other, |(_, fault)| fault);
        let said: Vec<_> = own.into_iter().map(|line| cut(line, Some(MAX_LINE))).collect();
        Self { fault, said: said.join("\n") }
    }

    /// Sets the target of the redirect.
    pub(super) fn leading_to(self, to: String) -> Self {
        Self { fault: Fault::Redirect(Some(to)), ..self }
    }

    /// Whether creating the repository again may help: it may be damaged, or hold too much history.
    pub(super) fn may_be_old(&self) -> bool {
        matches!(self.fault, Fault::Other | Fault::TooLarge(_))
    }

    /// Whether git may have left a part of a commit: it was killed, or ended in a way that is not known.
    pub(super) fn may_be_partial(&self) -> bool {
        use Fault::{NoPart, Other, Process, Slow, TooLarge, TooMuch};
        matches!(self.fault, Other | TooLarge(_) | TooMuch(_) | Slow | NoPart(_) | Process(_))
    }

    /// The most informative line of git.
    fn line(&self) -> String {
        let lines: Vec<&str> = self.said.lines().collect();
        let at = |start: &str| lines.iter().position(|line| line.starts_with(start));
        let Some(at) = at("fatal: ").or_else(|| at("error: ")) else {
            return lines.first().map_or("it said nothing", |line| line.trim()).to_owned();
        };
        let said = |at: usize| lines.get(at).map(|line| line.trim()).filter(|line| !line.is_empty());
        let line = said(at).and_then(|line| line.split_once(": ")).map_or("", |(_, line)| line);
        let before = (0..at).rev().find_map(said);
        match (before, said(at + 1)) {
            // ssh said why, in a line of its own.
            (Some(why), _) if line.starts_with(NOT_READ) => why.to_owned(),
            // The reason is in the next line.
            (_, Some(why)) if line.ends_with(':') => format!("{line} {why}"),
            _ => line.to_owned(),
        }
    }

    pub(super) fn error(self, url: &str) -> InstallError {
        let host = host_of(url);
        let line = self.line();
        let failed = |kind, message: String, hint: &str| {
            InstallError::new(kind, message, hint.to_owned()).because(line.clone())
        };
        let git = InstallErrorKind::Git;
        match self.fault {
            Fault::Access => failed(
                git,
                format!("{host} does not give access to this repository: {url}"),
                "check the address; if it is right, sign in to the host: set up a credential helper (git help credentials), \
                 or an SSH key and the address git@host:path",
            ),
            Fault::UnknownHost => failed(
                git,
                format!("ssh does not know this host yet: {host}"),
                "connect to it once with ssh and compare its key, then run the command again",
            ),
            Fault::NoRepository => failed(
                InstallErrorKind::NotFound,
                format!("there is no such repository, or you may not see it: {url}"),
                "check the address; a private repository needs a credential helper (git help credentials) or an SSH key",
            ),
            Fault::NoRef | Fault::NotOffered => failed(
                InstallErrorKind::NotFound,
                format!("the repository does not have this version any more: {url}"),
                "choose another branch, tag or commit",
            ),
            Fault::Owner => failed(
                git,
                format!("git does not read a repository of another user: {url}"),
                &format!(
                    "if you trust it, run: git config --global --add safe.directory {}",
                    line.split_once(" at ").map_or("PATH", |(_, path)| path)
                ),
            ),
            Fault::Certificate => failed(
                git,
                format!("the certificate of the host is not trusted: {host}"),
                "if the host is yours, tell git its certificate: git config http.sslCAInfo",
            ),
            Fault::Network => failed(
                git,
                format!("the connection failed: {url}"),
                "check the network and the address, then run the command again; nothing was changed",
            ),
            Fault::Slow => failed(
                git,
                format!("the server sends next to nothing: {url}"),
                "run the command again later, or use another address; nothing was changed",
            ),
            Fault::NoPart(time) => InstallError::new(
                git,
                format!("the server sent no part of the repository within {} s: {url}", time.as_secs()),
                "it sends nothing, or a list of branches without end; nothing was changed; run the command again later, \
                 or use another address",
            ),
            Fault::Redirect(Some(to)) => InstallError::new(
                git,
                format!("the server leads to another address, which was not asked: {url}: {}", shown_address(&to)),
                "if you trust that address, install from it",
            ),
            Fault::Redirect(None) => failed(
                git,
                format!("the server leads to another address: {url}"),
                "find out where the repository is now, and install from there",
            ),
            Fault::Server => failed(
                git,
                format!("the server did not give the repository as git expects it: {url}"),
                "nothing was changed; the repository may be damaged: its owner can check it with: git fsck",
            ),
            Fault::TooLarge(limit) => InstallError::new(
                InstallErrorKind::TooLarge,
                format!("the repository is too large: {url}: more than {limit} bytes"),
                "nothing was changed; install from a smaller repository, or from a folder",
            ),
            Fault::TooMuch(limit) => InstallError::new(
                InstallErrorKind::TooLarge,
                format!("the repositories are too large together: {url}: more than {limit} bytes were fetched"),
                "nothing was changed; install from fewer repositories at once, or raise the limit of fetched bytes",
            )
            .about(About::Limit(InstallLimit::FetchedBytes)),
            Fault::Memory => failed(
                InstallErrorKind::TooLarge,
                format!("git needs too much memory for this repository: {url}"),
                "nothing was changed; the server may send a list of branches without end; install from another address",
            ),
            Fault::Other | Fault::OtherIds => failed(
                git,
                format!("git could not fetch: {url}"),
                &format!("nothing was changed; try the same with: git ls-remote {}", word(url)),
            ),
            Fault::NotInstalled => InstallError::new(
                git,
                "git is not installed",
                "install git 2.36 or newer; only folders with an absolute path in PATH are searched for it",
            ),
            Fault::Process(ProcessError::Timeout(time)) => InstallError::new(
                git,
                format!("git took more than {} s: {url}", time.as_secs()),
                "check the network, then run the command again; nothing was changed",
            ),
            Fault::Process(error) => {
                InstallError::new(git, format!("git could not fetch: {url}"), "run the command again")
                    .because(error)
            }
            Fault::Folder(error) => *error,
        }
    }
}

/// An address as one word of a shell.
fn word(url: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_:./@%+".contains(c);
    if url.chars().all(plain) { url.to_owned() } else { format!("'{}'", url.replace('\'', r"'\''")) }
}

/// The error for output of git that is not as documented.
pub(super) fn not_understood(url: &str, what: &str) -> InstallError {
    let message = format!("git did not give {what}: {url}");
    InstallError::new(
        InstallErrorKind::Git,
        message,
        "run the command again; if it persists, use a newer git",
    )
}

/// The error for an object that is not what its id says.
pub(super) fn changed_object(url: &str, id: &str, cache: &Path) -> InstallError {
    let message = format!("the stored copy of a repository is not what was fetched: {url}: {id}");
    let hint = format!("delete the copies, then run the command again: {}", shown(cache));
    InstallError::new(InstallErrorKind::Damaged, message, hint)
}

pub(super) fn too_many_files(url: &str) -> InstallError {
    let message = format!("the repository has more files than can be listed: {url}");
    InstallError::new(
        InstallErrorKind::TooLarge,
        message,
        "install from a smaller repository, or from a folder",
    )
}

pub(super) fn too_many_bytes(limit: usize) -> InstallError {
    let message = format!("the files are larger together than {limit} bytes");
    InstallError::new(
        InstallErrorKind::TooLarge,
        message,
        "raise the limit of bytes, or install fewer at once",
    )
}

/// The most branches and tags that are named.
const MAX_NAMED: usize = 3;

/// The error for a branch or tag that leads to a file or a folder.
pub(in crate::install::source) fn leads_to_no_commit(url: &str, wanted: &str) -> InstallError {
    let message = format!("this branch or tag is no commit: {url}: {wanted}");
    let hint = "it leads to a file or a folder; choose another branch, tag or commit";
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// The error for a branch, tag or commit that does not exist.
pub(in crate::install::source) fn unknown_ref(url: &str, wanted: &str, names: &[String]) -> InstallError {
    let short = |name: &'_ str| -> String {
        ["refs/heads/", "refs/tags/"]
            .iter()
            .find_map(|start| name.strip_prefix(start))
            .unwrap_or(name)
            .to_owned()
    };
    let names: Vec<String> = names.iter().map(|name| short(name)).collect();
    if names.is_empty() {
        let message = format!("the repository is empty, or no git server answers at this address: {url}");
        let hint = "check the address; a page to sign in, or of a proxy, looks like an empty repository";
        return InstallError::new(InstallErrorKind::NotFound, message, hint);
    }
    let near = similar(&short(wanted), names.iter().map(String::as_str));
    let all = || names.iter().map(String::as_str).collect();
    let shown = first_of(if near.is_empty() { all() } else { near }, MAX_NAMED);
    let message = format!("the repository has no such branch or tag: {url}: {wanted}");
    let hint = format!("there is {shown}; a commit is written with all its digits");
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// The error for a commit that does not exist, or no longer does.
pub(in crate::install::source) fn no_commit(url: &str, id: &str) -> InstallError {
    let message = format!("the repository does not have this commit: {url}: {id}");
    let hint = "choose another branch, tag or commit";
    InstallError::new(InstallErrorKind::NotFound, message, hint).about(About::Commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_ssh_and_the_line_after_a_colon_are_the_cause() {
        let cause = |said: &str| Problem::said(said.as_bytes()).line();
        let ssh = "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.\n\n\
                   Please make sure you have the correct access rights\n";
        assert_eq!(cause(ssh), "ssh: connect to host h port 22: Connection refused");
        let daemon =
            "fatal: unable to connect to 127.0.0.1:\n127.0.0.1[0: 127.0.0.1]: errno=Connection refused\n\n";
        assert_eq!(
            cause(daemon),
            "unable to connect to 127.0.0.1: 127.0.0.1[0: 127.0.0.1]: errno=Connection refused"
        );
        assert_eq!(cause("warning: x\nfatal: no path\n"), "no path");
        assert_eq!(
            cause("fatal: Could not read from remote repository.\n"),
            "Could not read from remote repository."
        );
        assert_eq!(cause(""), "it said nothing");
    }

    #[test]
    fn a_hint_about_the_owner_of_a_repository_names_its_folder() {
        let said = b"fatal: detected dubious ownership in repository at '/srv/x y.git'\n";
        let error = Problem::said(said).error("file:///srv/x%20y.git");
        assert!(error.hint().to_string().ends_with("safe.directory '/srv/x y.git'"), "{}", error.hint());
    }

    #[test]
    fn a_git_that_reaches_its_limit_of_memory_says_so() {
        let said = b"fatal: Out of memory, realloc failed (tried to allocate 99 bytes)\n";
        let error = Problem::said(said).error("git://host.example/x.git");
        assert_eq!(error.kind(), InstallErrorKind::TooLarge);
        assert!(error.to_string().contains("too much memory"), "{error}");
    }

    #[test]
    fn a_hint_about_an_unknown_failure_can_be_pasted() {
        for (url, word) in [
            ("https://host.example/x.git", "https://host.example/x.git"),
            ("file:///a/it's & it.git", r"'file:///a/it'\''s & it.git'"),
        ] {
            let error = Problem::said(b"fatal: what?\n").error(url);
            assert!(error.hint().to_string().ends_with(&format!("git ls-remote {word}")), "{}", error.hint());
        }
    }

    #[test]
    fn words_of_a_server_neither_choose_the_kind_of_failure_nor_fill_the_error() {
        let long = "d/".repeat(2_000);
        let said = format!(
            "remote: warning: unable to access '{long}'\nremote: returned error: 401\n\
             fatal: protocol error: bad pack header: {long}\n"
        );
        let problem = Problem::said(said.as_bytes());
        assert!(matches!(problem.fault, Fault::Server), "{problem:?}");
        let error = problem.error("https://host.example/x.git");
        assert!(error.full_message().chars().count() < 500, "{}", error.full_message());
        assert!(error.full_message().contains("bad pack header"));
        // The words that count may come behind a long address.
        let said = format!("fatal: unable to access '{long}': The requested URL returned error: 404\n");
        assert!(matches!(Problem::said(said.as_bytes()).fault, Fault::NoRepository));
    }

    #[test]
    fn branches_that_are_not_named_are_counted() {
        let names = |count: usize| (0..count).map(|at| format!("refs/heads/b{at}")).collect::<Vec<_>>();
        let hint = |count| unknown_ref("https://h/x.git", "zzzzzzzz", &names(count)).hint().to_string();
        assert!(hint(3).starts_with("there is b0, b1, b2; a commit"), "{}", hint(3));
        assert!(hint(10).starts_with("there is b0, b1, b2 and 7 more; a commit"), "{}", hint(10));
    }
}
