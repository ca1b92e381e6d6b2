//! What to do about each [`SourceError`]. A host that has commands of its own can give better hints for some kinds.

use std::io;
use std::path::Path;

use prowess_core::Location;
use prowess_core::path::MAX_DEPTH;

use super::{Counted, SourceError, SourceErrorKind};
use crate::advice::{Hint, HintAction};
use crate::settings::FILE_NAME;

impl SourceError {
    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match &self.kind {
            SourceErrorKind::Config(error) => error.hint(),
            SourceErrorKind::Entry { error, .. } => error.hint(),
            SourceErrorKind::Lookup(error) => error.hint(),
            #[cfg(feature = "install")]
            SourceErrorKind::Install(error) => error.hint().clone(),
            SourceErrorKind::TooDeep { limit } if *limit < MAX_DEPTH => HintAction::LookDeeper.into(),
            SourceErrorKind::TooMany { what: Counted::Files | Counted::EntriesOfSkill, .. } => {
                Hint::from(HintAction::TrustProjectOfSkill).before("remove files that it does not need, or ")
            }
            SourceErrorKind::TooMany { what, .. } if *what != Counted::Lines => {
                Hint::from(HintAction::NameFolder).before("give a folder with fewer entries below it, or ")
            }
            SourceErrorKind::OutsideProject | SourceErrorKind::SiteOfProject => {
                HintAction::TrustProject.into()
            }
            SourceErrorKind::ProjectTooLarge { .. } => HintAction::TrustLargeProject.into(),
            SourceErrorKind::ServerOfProject => HintAction::NameServer.into(),
            SourceErrorKind::Busy => Hint::from(HintAction::RunAgain).before("wait until it is done, then "),
            SourceErrorKind::Unwritable(error) if is_full(error) => {
                Hint::from(HintAction::RunAgain).before("make room on the disk, then ")
            }
            kind => words(kind, &self.at).into(),
        }
    }
}

/// The hints without an action.
fn words(kind: &SourceErrorKind, at: &Location) -> &'static str {
    use SourceErrorKind as Kind;
    let is_called = |name| at.path().is_some_and(|path| Path::new(path).ends_with(name));
    match kind {
        Kind::Missing => "check the spelling, and that a link is not broken",
        Kind::NotListed => "list the skills again",
        Kind::NoSkill => "a skill is a folder with a file SKILL.md; give such a folder or one above it",
        Kind::Folder if is_called("SKILL.md") => "SKILL.md must be a file; rename or remove the folder",
        Kind::Folder if is_called(FILE_NAME) => "a file is required here; rename or remove the folder",
        Kind::Folder => "name a file, such as one in this folder",
        Kind::NotFolder => {
            "give the folder that holds the skills, or name a .skill, .zip, .tar.gz or .tgz archive or a .jsonl file as a source"
        }
        Kind::FileInPlace => "move the file away, or make a folder of it",
        Kind::NotRegular { .. } => "put a regular file in its place, or leave it out",
        Kind::NotPlugin => "give the folder of a plugin; skills without one are named by dir=",
        Kind::Damaged { .. } if matches!(at, Location::Url(_)) => "report it to the operator of the site",
        Kind::Damaged { .. } | Kind::OtherVersion { .. } | Kind::DamagedLine { .. } => {
            "correct it, or restore it from a copy"
        }
        Kind::TooLarge { .. } => "make the file smaller, or split it",
        Kind::BadPath(error) => error.hint(),
        Kind::Outside => "only files below the skill's own folder can be read",
        Kind::OtherFile => "put the file itself there, or link to a file of the same name",
        Kind::Uncovered => "remove it, or trust the folder that the skill is in",
        Kind::Changed => "list the skills again",
        Kind::Broken => "check it, then list the skills again",
        Kind::Stopped => "try again with more time, or make the skill smaller",
        Kind::TooDeep { .. } => "give a folder closer to the skills",
        Kind::TooMany { .. } => "split the file, and name each part",
        Kind::SameLabel => "give one of them a prefix of its own",
        Kind::NoHome => "set HOME, or write the path in full",
        Kind::NoVariables => "write the path itself",
        Kind::NoValue => "set it to an absolute path, or write the path in full",
        Kind::NotBelow { .. } => {
            "give a folder above it; its virtual paths are relative to itself until then"
        }
        Kind::OtherOwner => "write a prowess.toml of your own in a folder below it",
        Kind::Distrusted { .. } => {
            "look at it; if it is yours, let no other user write it and its folder (chmod go-w), else move it away"
        }
        Kind::NoServers => {
            "open it with the crate prowess-mcp: pass its Servers in the options of the library"
        }
        Kind::NotBuilt { .. } => "turn the feature on where the crate prowess is depended on",
        #[cfg(feature = "archive")]
        Kind::Archive(_) => "pack the skill's folder again, as plain files",
        #[cfg(feature = "http")]
        Kind::Http(_) | Kind::NotFetched { .. } => {
            "check the address and the network, or report it to the owner of the site"
        }
        #[cfg(feature = "http")]
        Kind::NoIndex => "a site offers skills at /.well-known/agent-skills/index.json",
        Kind::Server { hint, .. } => hint,
        Kind::NotAsListed { .. } => "list the skills again; if it persists, do not use them",
        Kind::Unwritable(_) => "make its folder writable for this user, or set XDG_STATE_HOME to one that is",
        Kind::Io(error) if is_loop(error) => {
            "the link leads in a circle; remove it, or let it lead to a file"
        }
        Kind::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "make it readable for this user, or leave it out of what you name"
        }
        Kind::Io(_) => "try again; if it persists, the disk or its connection may be at fault",
        _ => "",
    }
}

/// Whether the cause is a full disk.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether the cause is a cycle of links.
fn is_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}
