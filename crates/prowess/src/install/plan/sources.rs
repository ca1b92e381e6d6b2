//! [`SyncSource`]: where `sync` must fetch from, and which of these sources need the user's consent.

use std::path::{Path, PathBuf};

use crate::env;
use crate::install::records::{InstallScope, InstallTarget, LockedSkill};
use crate::install::source::InstallSource;
use crate::install::spec::{InstallPlace, InstallSpec, host_of, is_on_this_machine};
use crate::source::spec::hosts::is_private_host;

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
    /// The source of a skill, which an entry of `skills.toml` asks for.
    pub(crate) fn of(
        place: &InstallTarget,
        name: &str,
        InstallSource { asked, spec }: &InstallSource,
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
        InstallPlace::Git(url) => is_private_host(host_of(url)).then_some(PrivateSource::LocalHost),
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
