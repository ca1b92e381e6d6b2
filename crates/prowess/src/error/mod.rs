//! [`SourceError`]: why a place could not be read.

mod hints;
mod words;

use std::io;
use std::path::{Path, PathBuf};

use prowess_core::catalog::WhyNot;

use crate::library::config::ConfigError;
use crate::source::PLUGIN_FILES;

pub(crate) use words::shown;
use words::{after_colon, also, called};
pub use words::{check_command, command_for, escape_control, plain_cause, shell_word};

/// Why a place could not be read. Each variant names the path and knows what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is nothing at the path.
    #[error("there is no such file or folder: {}", shown(.path))]
    Missing {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A folder was given where skills are wanted, and there are none.
    #[error("there is no SKILL.md in this folder or below it: {}", shown(.path))]
    NoSkill {
        /// The folder.
        path: PathBuf,
    },
    /// A folder stands where a file is wanted.
    #[error("this is a folder, not a file: {}", shown(.path))]
    Folder {
        /// The path.
        path: PathBuf,
    },
    /// A file stands where a folder is wanted.
    #[error("this is a file, not a folder: {}", shown(.path))]
    NotFolder {
        /// The path.
        path: PathBuf,
    },
    /// A path or link leads out of the skill.
    #[error("this leads out of the skill: {}", shown(.path))]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// No skill has this key.
    #[error("there is no such skill: {key}{}", also(.similar))]
    Unknown {
        /// The key.
        key: String,
        /// Keys that resemble it.
        similar: Vec<String>,
        /// The key as a path, for those who ask every error for one.
        path: PathBuf,
    },
    /// A skill of this name was found, and is not offered.
    #[error("this skill is {}: {}{}", .why.state, called(.name, .key), after_colon(&.why.reason))]
    NotOffered {
        /// The name that was asked for.
        name: String,
        /// The key of the skill.
        key: String,
        /// Why it is not offered.
        why: Box<WhyNot>,
        /// Where it lies.
        path: PathBuf,
    },
    /// Several skills have this name.
    #[error("several skills have this name: {name}: {}", .keys.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The keys of the skills.
        keys: Vec<String>,
        /// The name as a path, for those who ask every error for one.
        path: PathBuf,
    },
    /// A path from outside breaks a rule of paths.
    #[error("{error}")]
    BadPath {
        /// What is wrong with it.
        error: prowess_core::path::PathError,
        /// The path, made harmless.
        path: PathBuf,
    },
    /// A skill holds something that no digest of its files covers.
    #[error("this is in no digest of the skill's files, so the skill cannot be approved as it is: {}", shown(.path))]
    Uncovered {
        /// What it is.
        path: PathBuf,
    },
    /// A project that is not trusted names a place outside of itself, or a link in it leads there.
    #[error("this leads out of a project that is not trusted, and was not looked into: {}", shown(.path))]
    OutsideProject {
        /// The place.
        path: PathBuf,
    },
    /// A path begins with `~`, and nothing says which folder that is.
    #[error("the user's folder is not known, so this path cannot be looked up: {}", shown(.path))]
    NoHome {
        /// The path.
        path: PathBuf,
    },
    /// Virtual paths were to be relative to a folder that their source is not in.
    #[error("this folder is not in the one that its virtual paths are to be relative to: {}: {}", shown(.path), shown(.base))]
    NotBelow {
        /// The folder with the skills.
        path: PathBuf,
        /// The folder that it should be in.
        base: PathBuf,
    },
    /// A file is not what it should be.
    #[error("this file is not understood: {}: {reason}", shown(.path))]
    Damaged {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An archive was given where a SKILL.md is wanted.
    #[error("this is an archive, not a SKILL.md: {}", shown(.path))]
    IsArchive {
        /// The file.
        path: PathBuf,
    },
    /// A folder was given as that of a plugin, and it has no manifest.
    #[error("this folder is no plugin: {}: it has no file {}", shown(.path), PLUGIN_FILES.join(" or "))]
    NotPlugin {
        /// The folder.
        path: PathBuf,
    },
    /// A path in a project's configuration begins with a variable.
    #[error("a project's configuration has no variables: {}", shown(.path))]
    NoVariables {
        /// The path as it is written.
        path: PathBuf,
    },
    /// A path begins with a variable or `~`, and that has no value that could stand for it.
    #[error("what this path begins with is not set to an absolute path: {}", shown(.path))]
    NoValue {
        /// The path as it is written.
        path: PathBuf,
    },
    /// A source that a configuration names cannot be used.
    #[error("this source is not used: {}: {error}", shown(.path))]
    Entry {
        /// The configuration and the entry in it.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<SourceError>,
    },
    /// The path is neither a file nor a folder: a FIFO, a device, a socket.
    #[error("this is {kind}, not a regular file: {}", shown(.path))]
    NotRegular {
        /// The path.
        path: PathBuf,
        /// What it is, with its article: `a FIFO`.
        kind: &'static str,
    },
    /// The file is larger than what is read of its kind.
    #[error("the file is too large: {}: {size} bytes, at most {limit}", shown(.path))]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// Files were to be read, and the time for it was over or it was called off.
    #[error("the files were not all read before the time was over: {}", shown(.path))]
    Stopped {
        /// What was to be read.
        path: PathBuf,
    },
    /// What is there now is not the skill that was listed.
    #[error("this is no longer the skill that was listed: {}", shown(.path))]
    Changed {
        /// The path.
        path: PathBuf,
    },
    /// What is there now is no skill, where one was listed.
    #[error("this was a skill when it was listed, and cannot be loaded any more: {}", shown(.path))]
    Broken {
        /// The path.
        path: PathBuf,
    },
    /// A SKILL.md is a link to a file outside of its folder that goes by another name.
    #[error("this is a link to a file outside of the skill with another name, which is not read: {}", shown(.path))]
    OtherFile {
        /// The link.
        path: PathBuf,
    },
    /// The walk stopped at its limit of depth.
    #[error("folders this deep are not looked into: {}: more than {limit} below the start", shown(.path))]
    TooDeep {
        /// The first folder that was left out.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The walk stopped at its limit of folders or entries.
    #[error("the walk stopped here: {}: more than {limit} {what}", shown(.path))]
    TooMany {
        /// The first folder that was left out.
        path: PathBuf,
        /// What was counted: `folders`, `entries` or `lines`.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A project that is not trusted is larger than what is looked at before it is.
    #[error("this project is not trusted and has more than {limit} {what}, so the rest was not looked at: {}", shown(.path))]
    ProjectTooLarge {
        /// Where the limit was reached.
        path: PathBuf,
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// An archive cannot be unpacked.
    #[cfg(feature = "archive")]
    #[error("this archive is refused: {}: {error}", shown(.path))]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        error: crate::archive::ArchiveError,
    },
    /// Something could not be fetched.
    #[cfg(feature = "http")]
    #[error("could not fetch: {}: {error}", .path.display())]
    Http {
        /// The address.
        path: PathBuf,
        /// What went wrong.
        error: crate::net::HttpError,
    },
    /// A site has no index of skills.
    #[cfg(feature = "http")]
    #[error("there is no index of skills at this site: {}", .path.display())]
    NoIndex {
        /// The address.
        path: PathBuf,
    },
    /// This build of the library cannot read such a place.
    #[error("this was built without support for {feature}: {}", shown(.path))]
    NotBuilt {
        /// The place.
        path: PathBuf,
        /// The feature of the crate that it needs.
        feature: &'static str,
    },
    /// A project that is not trusted names a site, and the site was not asked.
    #[error("this site is named by a project that is not trusted, and was not asked: {}", shown(.path))]
    NotAsked {
        /// The address.
        path: PathBuf,
    },
    /// A project's configuration names an MCP server, and that was neither started nor asked.
    #[error("a project names an MCP server, which was neither started nor asked: {}", .path.display())]
    ServerOfProject {
        /// Where it is, or how it is started.
        path: PathBuf,
    },
    /// An MCP server has the label of another.
    #[error("two MCP servers have one label, and this one was left out: {}", .path.display())]
    SameLabel {
        /// The label, and where the server is or how it is started.
        path: PathBuf,
    },
    /// Something could not be had from an MCP server, or was not what the server had said.
    #[error("could not take this from an MCP server: {}: {reason}", .path.display())]
    Server {
        /// The label of the server, and what it was asked for.
        path: PathBuf,
        /// What went wrong, and what was expected.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// What came from an MCP server is not what the server had listed.
    #[error("could not take this from an MCP server: {}: {reason}", .path.display())]
    NotAsListed {
        /// The label of the server, and what it was asked for.
        path: PathBuf,
        /// What is not as listed.
        reason: String,
    },
    /// A configuration above this folder belongs to another user.
    #[error("this configuration belongs to another user, and was ignored: {}", shown(.path))]
    OtherOwner {
        /// The file.
        path: PathBuf,
    },
    /// A configuration could not be used.
    #[error(transparent)]
    Config(Box<ConfigError>),
    /// The system refused or failed.
    #[error("could not read: {}", shown(.path))]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl SourceError {
    /// The error of an operation at a path.
    pub fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }

    /// What went wrong and why, in one text: for those who have room for one.
    pub fn with_cause(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {}", plain_cause(&cause.to_string())),
            None => self.to_string(),
        }
    }

    /// A key that no skill has.
    pub(crate) fn unknown(key: &str, similar: Vec<String>) -> Self {
        Self::Unknown { key: escape_control(key), similar, path: PathBuf::from(key) }
    }

    /// The path it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Missing { path }
            | Self::NoSkill { path }
            | Self::Folder { path }
            | Self::NotFolder { path }
            | Self::Outside { path }
            | Self::Unknown { path, .. }
            | Self::NotOffered { path, .. }
            | Self::Ambiguous { path, .. }
            | Self::BadPath { path, .. }
            | Self::Damaged { path, .. }
            | Self::NotPlugin { path }
            | Self::IsArchive { path }
            | Self::Entry { path, .. }
            | Self::NoVariables { path }
            | Self::NoValue { path }
            | Self::NotRegular { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Stopped { path }
            | Self::Changed { path }
            | Self::Broken { path }
            | Self::OtherFile { path }
            | Self::TooDeep { path, .. }
            | Self::TooMany { path, .. }
            | Self::ProjectTooLarge { path, .. }
            | Self::NotBuilt { path, .. }
            | Self::NotAsked { path }
            | Self::ServerOfProject { path }
            | Self::SameLabel { path }
            | Self::Server { path, .. }
            | Self::NotAsListed { path, .. }
            | Self::Uncovered { path }
            | Self::OutsideProject { path }
            | Self::NoHome { path }
            | Self::NotBelow { path, .. }
            | Self::OtherOwner { path }
            | Self::Io { path, .. } => path,
            #[cfg(feature = "archive")]
            Self::Archive { path, .. } => path,
            #[cfg(feature = "http")]
            Self::Http { path, .. } | Self::NoIndex { path } => path,
            Self::Config(error) => error.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_its_cause_is_one_text() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(
            SourceError::io(Path::new("a"), denied).with_cause(),
            "could not read: a: permission denied"
        );
    }
}
