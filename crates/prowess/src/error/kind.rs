//! [`SourceErrorKind`]: what can go wrong with a source.

use std::fmt;
use std::io;

use prowess_core::Location;
use prowess_core::path::PathError;

use super::LookupError;
use super::SourceError;
use crate::settings::ConfigError;

/// What went wrong at the place of a [`SourceError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// There is nothing at this place.
    Missing,
    /// The source does not list this skill any more.
    NotListed,
    /// There is no skill in this folder or archive.
    NoSkill,
    /// This is a folder, and a file is required.
    Folder,
    /// This is a file, and a folder is required.
    NotFolder,
    /// This is a file where a folder with skills is looked for.
    FileInPlace,
    /// This is neither a file nor a folder.
    NotRegular {
        /// What it is.
        found: SpecialFile,
    },
    /// This folder was named as a plugin, and it has no manifest.
    NotPlugin,
    /// The content of this file is invalid.
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
    /// This file of Prowess itself has another version than this program knows.
    OtherVersion {
        /// Its version.
        version: u32,
    },
    /// A line of this file is invalid.
    DamagedLine {
        /// The line, starting at one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// This file is larger than the limit for its kind.
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// This path, which comes from outside, breaks a rule of paths.
    BadPath(PathError),
    /// This path or link leads out of its skill.
    Outside,
    /// This SKILL.md is a link to a file with another name outside of its folder.
    OtherFile,
    /// This is part of a skill, and no digest of the skill's files covers it.
    Uncovered,
    /// This is not the skill that was listed here.
    Changed,
    /// A skill was listed here, and what is there now does not load.
    Broken,
    /// Reading the files took too long or was cancelled.
    Stopped,
    /// This folder is deeper than the walk goes.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The walk reached a limit here.
    TooMany {
        /// What was counted.
        what: Counted,
        /// The limit.
        limit: usize,
    },
    /// An untrusted project names this place outside of itself, or a link in it leads here.
    OutsideProject,
    /// An untrusted project reached one of its limits here.
    ProjectTooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// An untrusted project names this site, which was not contacted.
    SiteOfProject,
    /// A project names this MCP server, which was neither started nor contacted.
    ServerOfProject,
    /// This MCP server has the label of another.
    SameLabel,
    /// This path begins with `~`, and the user's home folder is not known.
    NoHome,
    /// This path in a project's configuration begins with a variable.
    NoVariables,
    /// This path begins with a variable or `~` that is not set to an absolute path.
    NoValue,
    /// The virtual paths of this folder should be relative to a folder that it is not in.
    NotBelow {
        /// The folder that it should be in.
        base: Location,
    },
    /// This configuration belongs to another user.
    OtherOwner,
    /// This file of the user's own is not believed: another user wrote it, or can.
    Distrusted {
        /// Why.
        why: &'static str,
    },
    /// This configuration could not be used.
    Config(Box<ConfigError>),
    /// A source that this configuration names could not be used.
    Entry {
        /// Its index in `skills.sources`.
        entry: usize,
        /// What is wrong with it.
        error: Box<SourceError>,
    },
    /// The installed skill that this source names could not be found.
    #[cfg(feature = "install")]
    Install(Box<crate::install::InstallError>),
    /// The host gave the library nothing that opens MCP servers.
    NoServers,
    /// This build of the library cannot read such a place.
    NotBuilt {
        /// The feature of the crate that is needed.
        feature: &'static str,
    },
    /// This archive could not be unpacked.
    #[cfg(feature = "archive")]
    Archive(crate::archive::ArchiveError),
    /// This address could not be fetched.
    #[cfg(feature = "http")]
    Http(crate::net::HttpError),
    /// Some skills of this site could not be fetched.
    #[cfg(feature = "http")]
    NotFetched {
        /// How many.
        skills: usize,
        /// Why.
        error: Box<crate::net::HttpError>,
    },
    /// This site has no index of skills.
    #[cfg(feature = "http")]
    NoIndex,
    /// A request to an MCP server failed, or its result is invalid.
    Server {
        /// The request, when it is not about the resource at that place.
        request: Option<Box<str>>,
        /// What went wrong, and what was expected.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// An MCP server sent something other than what it had listed.
    NotAsListed {
        /// The difference.
        reason: String,
    },
    /// No skill could be found by its key.
    Lookup(Box<LookupError>),
    /// Another process is changing this file.
    Busy,
    /// The system did not let this file be written.
    Unwritable(io::Error),
    /// The system returned an error.
    Io(io::Error),
}

impl SourceErrorKind {
    /// The stable code, for programs. That of an error inside of it counts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotListed => "not-listed",
            Self::NoSkill => "no-skill",
            Self::Folder | Self::NotRegular { .. } => "not-a-file",
            Self::NotFolder | Self::FileInPlace => "not-a-folder",
            Self::NotPlugin => "not-a-plugin",
            Self::Damaged { .. } | Self::DamagedLine { .. } => "damaged",
            Self::OtherVersion { .. } => "other-version",
            Self::TooLarge { .. } => "too-large",
            Self::BadPath(_) => "bad-path",
            Self::Outside => "outside",
            Self::OtherFile => "other-file",
            Self::Uncovered => "uncovered",
            Self::Changed => "changed",
            Self::Broken => "broken",
            Self::Stopped => "stopped",
            Self::TooDeep { .. } => "too-deep",
            Self::TooMany { .. } => "too-many",
            Self::OutsideProject => "outside-project",
            Self::ProjectTooLarge { .. } => "project-too-large",
            Self::SiteOfProject => "site-of-project",
            Self::ServerOfProject => "server-of-project",
            Self::SameLabel => "same-label",
            Self::NoHome | Self::NoValue => "not-set",
            Self::NoVariables => "no-variables",
            Self::NotBelow { .. } => "not-below",
            Self::OtherOwner => "other-owner",
            Self::Distrusted { .. } => "distrusted",
            Self::Config(error) => error.code(),
            Self::Entry { error, .. } => error.kind.code(),
            #[cfg(feature = "install")]
            Self::Install(error) => error.kind().code(),
            Self::NoServers | Self::NotBuilt { .. } => "not-built",
            #[cfg(feature = "archive")]
            Self::Archive(_) => "damaged",
            #[cfg(feature = "http")]
            Self::Http(_) | Self::NotFetched { .. } => "not-fetched",
            #[cfg(feature = "http")]
            Self::NoIndex => "no-index",
            Self::Server { .. } => "server",
            Self::NotAsListed { .. } => "not-as-listed",
            Self::Lookup(error) => error.code(),
            Self::Busy => "busy",
            Self::Unwritable(_) => "unwritable",
            Self::Io(_) => "io",
        }
    }
}

/// A file that is neither regular nor a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecialFile {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Anything else.
    Other,
}

/// With its article: `a FIFO`.
impl fmt::Display for SpecialFile {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "a special file",
        })
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counted {
    /// Folders.
    Folders,
    /// Folders that are only reachable through links.
    FoldersBehindLinks,
    /// Entries of folders.
    Entries,
    /// Entries of folders inside skills.
    EntriesInsideSkills,
    /// Files of a skill.
    Files,
    /// Entries in the folder of a skill.
    EntriesOfSkill,
    /// Lines of a file.
    Lines,
}

impl fmt::Display for Counted {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Folders => "folders",
            Self::FoldersBehindLinks => "folders behind links",
            Self::Entries | Self::EntriesOfSkill => "entries",
            Self::EntriesInsideSkills => "entries inside skills",
            Self::Files => "files",
            Self::Lines => "lines",
        })
    }
}
