//! [`SourceError`]: why something in a source could not be read. [`LookupError`]: why no skill could be found by a name.

pub mod advice;
mod hints;
mod kind;
mod lookup;
mod words;

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use prowess_core::Location;
use prowess_core::path::PathError;

use crate::fs::location::location_of;
use crate::settings::ConfigError;
use crate::source::PLUGIN_FILES;

pub use kind::{Counted, SourceErrorKind, SpecialFile};
pub use lookup::LookupError;
use words::Shown;
pub(crate) use words::shown;
pub use words::{escape_control, plain_cause, shown_address};
#[cfg(feature = "install")]
pub(crate) use words::{first_of, quoted};

/// Why something in a source could not be read: what went wrong, and where.
///
/// A source of a host makes one of a kind and a place:
///
/// ```
/// use prowess::{Location, SourceErrorKind};
///
/// let error = SourceErrorKind::TooLarge { size: 300, limit: 200 }.at("skills/pdf/logo.png");
/// assert_eq!(error.to_string(), "the file is too large: skills/pdf/logo.png: 300 bytes, at most 200");
/// assert_eq!(error.hint().to_string(), "make the file smaller, or split it");
///
/// let at = Location::Memory { source: "database".into(), key: "pdf".into() };
/// let error = SourceErrorKind::NotListed.at_location(at);
/// assert_eq!(error.to_string(), "the source no longer lists this skill: database:pdf");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct SourceError {
    /// The place it is about.
    pub at: Location,
    /// The file of the skill at that place, if it is about a file that has no place of its own.
    pub file: Option<Box<str>>,
    /// What went wrong there.
    pub kind: SourceErrorKind,
}

impl SourceErrorKind {
    /// The error of this kind at a file or a folder.
    pub fn at(self, path: impl AsRef<Path>) -> SourceError {
        self.at_location(location_of(path.as_ref()))
    }

    /// The error of this kind at an address.
    pub fn at_url(self, url: &str) -> SourceError {
        self.at_location(Location::Url(url.into()))
    }

    /// The error of this kind at any place.
    pub fn at_location(self, at: Location) -> SourceError {
        SourceError { at, file: None, kind: self }
    }

    /// The error of this kind at a whole skill: at its folder, if it has one.
    pub(crate) fn at_skill(self, skill: &Location) -> SourceError {
        match skill.path().and_then(|path| Path::new(path).parent()) {
            Some(folder) => self.at(folder),
            None => self.at_location(skill.clone()),
        }
    }

    /// The error of this kind at a file of a skill. A file of a skill in a folder has a path of its own.
    pub fn at_file(self, skill: &Location, file: &str) -> SourceError {
        match skill.path().and_then(|path| Path::new(path).parent()) {
            Some(folder) => self.at(folder.join(file)),
            None => SourceError { at: skill.clone(), file: Some(file.into()), kind: self },
        }
    }
}

impl SourceError {
    /// The error of an operation of the system at a file or a folder.
    pub fn io(path: impl AsRef<Path>, error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SourceErrorKind::Missing,
            _ => SourceErrorKind::Io(error),
        };
        kind.at(path)
    }

    /// Whether a source names a skill that is not installed.
    pub(crate) fn is_not_installed(&self) -> bool {
        #[cfg(feature = "install")]
        if let SourceErrorKind::Install(error) = &self.kind {
            use crate::install::InstallErrorKind::{Missing, NotFound};
            return matches!(error.kind(), Missing | NotFound);
        }
        false
    }

    /// What went wrong and why, as one text.
    pub fn full_message(&self) -> String {
        match self.source() {
            Some(cause) => format!("{self}: {}", plain_cause(&cause.to_string())),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SourceErrorKind as Kind;
        let at = Shown(&self.at, self.file.as_deref());
        match &self.kind {
            Kind::Missing => write!(to, "there is no such file or folder: {at}"),
            Kind::NotListed => write!(to, "the source no longer lists this skill: {at}"),
            Kind::NoSkill => write!(to, "there is no SKILL.md in this folder or below it: {at}"),
            Kind::Folder => write!(to, "this is a folder, not a file: {at}"),
            Kind::NotFolder => write!(to, "this is a file, not a folder: {at}"),
            Kind::FileInPlace => {
                write!(to, "this is a file, and a folder is looked for in its place: {at}")
            }
            Kind::NotRegular { found } => write!(to, "this is {found}, not a regular file: {at}"),
            Kind::NotPlugin => {
                let files = PLUGIN_FILES.join(" or ");
                write!(to, "this folder is no plugin: {at}: it has no file {files}")
            }
            Kind::Damaged { reason } => write!(to, "this file is not understood: {at}: {reason}"),
            Kind::OtherVersion { version } => {
                write!(to, "this file is not understood: {at}: version {version} is not known")
            }
            Kind::DamagedLine { line, reason } => {
                write!(to, "this file is not understood: {at}:{line}: {reason}")
            }
            Kind::TooLarge { size, limit } => {
                write!(to, "the file is too large: {at}: {size} bytes, at most {limit}")
            }
            Kind::BadPath(error) => error.fmt(to),
            Kind::Outside => write!(to, "this leads out of the skill: {at}"),
            Kind::OtherFile => {
                let why =
                    "this is a link to a file outside of the skill with another name, which is not read";
                write!(to, "{why}: {at}")
            }
            Kind::Uncovered => {
                let why =
                    "this is in no digest of the skill's files, so the skill cannot be approved as it is";
                write!(to, "{why}: {at}")
            }
            Kind::Changed => write!(to, "this is no longer the skill that was listed: {at}"),
            Kind::Broken => {
                write!(to, "this was a skill when it was listed, and cannot be loaded any more: {at}")
            }
            Kind::Stopped => write!(to, "the files were not all read before the time was over: {at}"),
            Kind::TooDeep { limit } => {
                write!(to, "folders this deep are not looked into: {at}: more than {limit} below the start")
            }
            Kind::TooMany { what: what @ (Counted::Files | Counted::EntriesOfSkill), limit } => {
                write!(to, "the skill has more than {limit} {what}: {at}")
            }
            Kind::TooMany { what, limit } => {
                write!(to, "the walk stopped here: {at}: more than {limit} {what}")
            }
            Kind::OutsideProject => {
                write!(to, "this leads out of a project that is not trusted, and was not looked into: {at}")
            }
            Kind::ProjectTooLarge { what, limit } => {
                let why = format_args!("has more than {limit} {what}, so the rest was not looked at");
                write!(to, "this project is not trusted and {why}: {at}")
            }
            Kind::SiteOfProject => {
                write!(to, "this site is named by a project that is not trusted, and was not asked: {at}")
            }
            Kind::ServerOfProject => {
                write!(to, "a project names an MCP server, which was neither started nor asked: {at}")
            }
            Kind::SameLabel => write!(to, "two MCP servers have one label, and this one was left out: {at}"),
            Kind::NoHome => {
                write!(to, "the user's folder is not known, so this path cannot be looked up: {at}")
            }
            Kind::NoVariables => write!(to, "a project's configuration has no variables: {at}"),
            Kind::NoValue => {
                write!(to, "what this path begins with is not set to an absolute path: {at}")
            }
            Kind::NotBelow { base } => {
                let why = "this folder is not in the one that its virtual paths are to be relative to";
                write!(to, "{why}: {at}: {}", Shown(base, None))
            }
            Kind::OtherOwner => {
                write!(to, "this configuration belongs to another user, and was ignored: {at}")
            }
            Kind::Distrusted { why } => write!(to, "ignored, since {why}: {at}"),
            Kind::Config(error) => error.fmt(to),
            Kind::Entry { entry, error } => {
                write!(to, "this source is not used: {at}: skills.sources[{entry}]: {error}")
            }
            #[cfg(feature = "install")]
            Kind::Install(error) => error.fmt(to),
            Kind::NoServers => write!(to, "this was built without support for mcp: {at}"),
            Kind::NotBuilt { feature } => write!(to, "this was built without support for {feature}: {at}"),
            #[cfg(feature = "archive")]
            Kind::Archive(error) => write!(to, "this archive is refused: {at}: {error}"),
            #[cfg(feature = "http")]
            Kind::Http(error) => write!(to, "could not fetch: {at}: {error}"),
            #[cfg(feature = "http")]
            Kind::NotFetched { skills, error } => {
                write!(to, "could not fetch: {at}: {skills} of its skills: {error}")
            }
            #[cfg(feature = "http")]
            Kind::NoIndex => write!(to, "there is no index of skills at this site: {at}"),
            Kind::Server { request, reason, .. } => {
                let request = request.as_ref().map(|request| format!(": {request}")).unwrap_or_default();
                write!(to, "could not take this from an MCP server: {}{request}: {reason}", at.of_server())
            }
            Kind::NotAsListed { reason } => {
                write!(to, "could not take this from an MCP server: {}: {reason}", at.of_server())
            }
            Kind::Lookup(error) => error.fmt(to),
            Kind::Busy => write!(to, "another process is changing this file: {at}"),
            Kind::Unwritable(_) => write!(to, "could not write: {at}"),
            Kind::Io(_) => write!(to, "could not read: {at}"),
        }
    }
}

impl Error for SourceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            SourceErrorKind::Io(error) | SourceErrorKind::Unwritable(error) => Some(error),
            // The configuration's text is the text of this error, so the cause is the next one.
            SourceErrorKind::Config(error) => error.source(),
            #[cfg(feature = "install")]
            SourceErrorKind::Install(error) => error.source(),
            _ => None,
        }
    }
}

/// A path that breaks a rule of paths.
impl From<PathError> for SourceError {
    fn from(error: PathError) -> Self {
        let at = Location::from(error.path());
        SourceErrorKind::BadPath(error).at_location(at)
    }
}

/// A configuration that could not be used.
impl From<ConfigError> for SourceError {
    fn from(error: ConfigError) -> Self {
        let at = error.path().to_owned();
        SourceErrorKind::Config(Box::new(error)).at(at)
    }
}

/// A skill that could not be found by its key.
impl From<LookupError> for SourceError {
    fn from(error: LookupError) -> Self {
        let at = match &error {
            LookupError::NotOffered { location, .. } => location.clone(),
            LookupError::Unknown { key: name, .. } | LookupError::Ambiguous { name, .. } => {
                Location::Text(name.as_str().into())
            }
        };
        SourceErrorKind::Lookup(Box::new(error)).at_location(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SettingsError;

    #[test]
    fn an_error_with_its_cause_is_one_text() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(SourceError::io("a", denied).full_message(), "could not read: a: permission denied");
    }

    #[test]
    fn an_error_is_small_enough_to_return() {
        assert!(size_of::<SourceError>() < 128, "{}", size_of::<SourceError>());
        assert!(size_of::<SettingsError>() < 128, "{}", size_of::<SettingsError>());
    }
}
