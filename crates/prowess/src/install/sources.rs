//! [`SyncSource`]: where `sync` must fetch from, and which of these sources need the user's consent.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::records::{InstallScope, InstallTarget, LockedSkill};
use super::spec::{InstallPlace, InstallSpec, host_of, is_on_this_machine};
use crate::env;
use crate::source::spec::public_address::is_private;

/// The source of a skill that must be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyncSource {
    /// The skill, by the name of its folder.
    pub skill: String,
    /// The URL of a repository, or a folder.
    pub place: String,
    /// The branch, tag or commit that `skills.toml` asks for; none for the default branch.
    pub reference: Option<String>,
    /// The commit that the lock names.
    pub commit: Option<String>,
    /// Whether it is a repository.
    pub is_git: bool,
    /// Why it needs the user's consent, if it does.
    pub private: Option<PrivateSource>,
}

/// A kind of source with which the author of a project could reach what only its user can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrivateSource {
    /// A folder outside the project.
    OutsideFolder,
    /// A repository on this machine.
    LocalRepository,
    /// This machine, or a host in the local network.
    LocalHost,
}

impl PrivateSource {
    /// Why it needs consent, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::OutsideFolder => "it is outside of the project",
            Self::LocalRepository => "it is a repository on this machine",
            Self::LocalHost => "it is a host of this machine or of your network",
        }
    }
}

impl SyncSource {
    /// The source of a skill. `asked` is the entry of `skills.toml`, `spec` what it resolves to.
    pub(super) fn of(
        place: &InstallTarget,
        name: &str,
        (asked, spec): (&InstallSpec, &InstallSpec),
        locked: Option<&LockedSkill>,
    ) -> Self {
        // A source that the user's own file names, directly or by a mapping of organisations, is the user's choice.
        let own = place.scope == InstallScope::User || matches!(asked.place, InstallPlace::Reference(_));
        let private = private(place, spec).filter(|_| !own);
        let (shown, is_git) = match &spec.place {
            InstallPlace::Git(url) => (url.clone(), true),
            InstallPlace::Folder(folder) => (real(&env::place(folder)).to_string_lossy().into_owned(), false),
            InstallPlace::Reference(skill) => (skill.to_string(), false),
        };
        Self {
            skill: name.to_owned(),
            place: shown,
            reference: spec.reference.clone().or_else(|| spec.tree.clone()),
            commit: locked.and_then(|locked| locked.commit.clone()),
            is_git,
            private,
        }
    }
}

fn private(place: &InstallTarget, spec: &InstallSpec) -> Option<PrivateSource> {
    match &spec.place {
        InstallPlace::Folder(folder) => {
            (!is_inside(&env::place(folder), &place.base)).then_some(PrivateSource::OutsideFolder)
        }
        InstallPlace::Git(url) if is_on_this_machine(url) => Some(PrivateSource::LocalRepository),
        InstallPlace::Git(url) => is_local_host(host_of(url)).then_some(PrivateSource::LocalHost),
        InstallPlace::Reference(_) => None,
    }
}

/// Whether a folder is in another one, also through links.
fn is_inside(folder: &Path, base: &Path) -> bool {
    real(folder).starts_with(real(base))
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| env::absolute(path))
}

/// Whether a host, with or without a port, is this machine or in a network that is not public. This includes names that
/// only such a network or the configuration of ssh can resolve, and numbers that are not usual addresses.
fn is_local_host(host: &str) -> bool {
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_private(address);
    }
    let Some((_, last)) = host.rsplit_once('.') else { return true };
    let number = last.strip_prefix("0x").unwrap_or(last).bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = number && last.starts_with(|c: char| c.is_ascii_digit());
    number || host.ends_with(".home.arpa") || ["localhost", "local", "internal", "lan"].contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_and_of_private_networks_are_told_from_public_ones() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "x.localhost",
            "printer",
            "nas.local",
            "git.internal.",
            "127.0.0.1",
            "127.1:80",
            "0x7f.1",
            "2130706433",
            "1.2.3.0x4",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1:3000",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "[fd00::1]",
            "[fe80::1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[ff02::1]",
            "224.0.0.1",
            "192.0.0.8",
            "198.18.0.1",
        ] {
            assert!(is_local_host(host), "{host}");
        }
        for host in ["github.com", "git.example.org:8443", "1.1.1.1", "[2606:4700::1111]", "abc.de", "x.ac"] {
            assert!(!is_local_host(host), "{host}");
        }
    }
}
