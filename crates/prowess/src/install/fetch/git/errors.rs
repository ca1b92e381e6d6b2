//! What went wrong when git failed, and what to do about it: read from its messages, which are in English here.

use std::io;

use super::clone::Bare;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::spec::{host_of, without_credentials};
use crate::process::ProcessError;
use prowess_core::text::similar;

/// The kind of a failure.
#[derive(Debug)]
pub(super) enum Fault {
    /// The host does not know who asks, or does not let them.
    Access,
    /// The host of ssh is not known.
    UnknownHost,
    /// There is no repository.
    NoRepository,
    /// There is no branch, tag or commit of that name.
    NoRef,
    /// The server does not give what has no name of its own.
    NotOffered,
    /// The server has longer ids.
    OtherIds,
    /// The repository on this machine belongs to another user.
    Owner,
    /// The certificate of the host is not trusted.
    Certificate,
    /// The connection could not be made, or broke.
    Network,
    /// Something else.
    Other,
    /// git had no result.
    Process(ProcessError),
    /// The folder for the repository could not be changed.
    Folder(InstallError),
}

/// A failure, and what git said.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) fault: Fault,
    said: String,
}

/// Words of git and of what it uses, and what they mean; the first that are there count.
const WORDS: [(&str, Fault); 38] = [
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
];

impl Problem {
    pub(super) fn process(error: ProcessError) -> Self {
        Self { fault: Fault::Process(error), said: String::new() }
    }

    pub(super) fn folder(bare: &Bare, error: io::Error) -> Self {
        let error = InstallError::io("write the repository to fetch into", &bare.folder, error);
        Self { fault: Fault::Folder(error), said: String::new() }
    }

    /// Reads what git said. Passwords that the user's configuration adds to addresses are left out.
    pub(super) fn said(stderr: &[u8]) -> Self {
        let said = without_credentials(&String::from_utf8_lossy(stderr));
        let fault = WORDS
            .into_iter()
            .find(|(words, _)| said.contains(words))
            .map_or(Fault::Other, |(_, fault)| fault);
        Self { fault, said }
    }

    /// Whether a repository that is made again may help.
    pub(super) fn may_be_damage(&self) -> bool {
        matches!(self.fault, Fault::Other)
    }

    /// The line of git's that says most.
    fn line(&self) -> String {
        let is_said = |start: &str| self.said.lines().find_map(|line| line.strip_prefix(start));
        let line = is_said("fatal: ").or_else(|| is_said("error: ")).or_else(|| self.said.lines().next());
        line.unwrap_or("it said nothing").trim().to_owned()
    }

    pub(super) fn error(self, url: &str) -> InstallError {
        let host = host_of(url);
        let line = self.line();
        let failed =
            |kind, message: String, hint: &str| InstallError::new(kind, message, hint).because(line.clone());
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
                "if you trust it, run: git config --global --add safe.directory PATH",
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
            Fault::Other | Fault::OtherIds => failed(
                git,
                format!("git could not fetch: {url}"),
                "nothing was changed; try the same with: git ls-remote URL",
            ),
            Fault::Process(ProcessError::Start(error)) if error.kind() == io::ErrorKind::NotFound => {
                InstallError::new(
                    git,
                    "git is not installed",
                    "install git 2.30 or newer, then run the command again",
                )
            }
            Fault::Process(ProcessError::Timeout(time)) => InstallError::new(
                git,
                format!("git took more than {} s: {url}", time.as_secs()),
                "check the network, or allow more time; nothing was changed",
            ),
            Fault::Process(error) => {
                InstallError::new(git, format!("git could not fetch: {url}"), "run the command again")
                    .because(error)
            }
            Fault::Folder(error) => error,
        }
    }
}

/// A branch, tag or commit that is not there.
pub(in crate::install::fetch) fn unknown_ref(url: &str, wanted: &str, names: &[String]) -> InstallError {
    let short = |name: &'_ str| -> String {
        ["refs/heads/", "refs/tags/"]
            .iter()
            .find_map(|start| name.strip_prefix(start))
            .unwrap_or(name)
            .to_owned()
    };
    let names: Vec<String> = names.iter().map(|name| short(name)).collect();
    if names.is_empty() {
        let message = format!("the repository is empty: {url}");
        return InstallError::new(InstallErrorKind::NotFound, message, "check the address");
    }
    let near = similar(&short(wanted), names.iter().map(String::as_str));
    let shown: Vec<&str> =
        if near.is_empty() { names.iter().map(String::as_str).take(3).collect() } else { near };
    let message = format!("the repository has no such branch or tag: {url}: {wanted}");
    let hint = format!("there is {}; a commit is written with all its digits", shown.join(", "));
    InstallError::new(InstallErrorKind::NotFound, message, hint)
}

/// Something that git wrote is not as documented.
pub(super) fn not_understood(url: &str, what: &str) -> InstallError {
    let message = format!("git did not give {what}: {url}");
    InstallError::new(
        InstallErrorKind::Git,
        message,
        "run the command again; if it persists, use a newer git",
    )
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
