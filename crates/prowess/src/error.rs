//! [`SourceError`]: why a place could not be read.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::catalog::WhyNot;
use prowess_core::finding::rule::Preset;
use prowess_core::path::MAX_DEPTH;

use crate::library::config::{ConfigError, FILE_NAME};
use crate::source::PLUGIN_FILES;

/// A path as people know it: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> std::path::Display<'_> {
    path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).display()
}

/// A text from outside on one line, with nothing in it that controls a terminal or is hidden. What is made harmless
/// twice does not grow.
pub fn escape_control(text: &str) -> String {
    prowess_core::text::inline(text).into_owned()
}

/// A text as a shell takes it for one word, so that a command that names it can be copied and run.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '/');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    let quoted = format!("'{}'", escape_control(text).replace('\'', r"'\''"));
    if text.starts_with('-') { format!("-- {quoted}") } else { quoted }
}

/// A command about a skill, to be copied and run. The options, each after a space, say again where the skill was found.
pub fn command_for(verb: &str, name: &str, options: &str) -> String {
    let word = shell_word(name);
    // Behind `--` nothing is an option any more.
    if name.starts_with('-') {
        format!("prowess {verb}{options} {word}")
    } else {
        format!("prowess {verb} {word}{options}")
    }
}

/// A message of the system without its number and its capital letter.
pub fn plain_cause(message: &str) -> String {
    let words = message.split(" (os error").next().unwrap_or(message);
    let mut characters = words.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => words.to_owned(),
    }
}

/// Whether links that lead to each other are the reason.
fn is_loop(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether a path is the address of a page.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with("https://") || path.starts_with("http://"))
}

/// The keys that may have been meant.
fn also(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(" or ")) }
}

/// The next step for a skill that is not offered.
fn not_offered_hint(key: &str, why: &WhyNot, path: &Path, options: &str) -> String {
    let command = |verb| command_for(verb, key, options);
    match why.state {
        // What lies in an archive or elsewhere is no file that could be checked.
        "broken" if path.is_file() => {
            format!("see every problem with: {}", check_command(&path.to_string_lossy(), why.profile))
        }
        "turned off" if why.reason.ends_with("which unregistered it") => {
            "the host puts it back with Registry::restore".to_owned()
        }
        "turned off" if why.reason.starts_with("by --") => "run the command without that option".to_owned(),
        "turned off" => "change skills.disable or skills.enable in that file to use it".to_owned(),
        "not trusted" => {
            format!("look at it with: {}; then trust it with: {}", command("show"), command("trust"))
        }
        _ => format!("see all skills of this name with: {}", command("why")),
    }
}

/// The command that shows every problem of a SKILL.md, by the profile that found it broken.
pub fn check_command(path: &str, profile: Option<Preset>) -> String {
    let options = profile.map(|profile| format!(" --profile {}", profile.name())).unwrap_or_default();
    command_for("check", path, &options)
}

/// A name, and the key of the skill when that is another.
fn called(name: &str, key: &str) -> String {
    if name == key {
        escape_control(key)
    } else {
        format!("{}, which is called {}", escape_control(name), escape_control(key))
    }
}

/// A reason behind a colon, if there is one.
fn after_colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", escape_control(reason)) }
}

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

    /// What to do about it.
    pub fn hint(&self) -> Cow<'static, str> {
        self.hint_with("")
    }

    /// The same after a search with options, such as ` --in team`: the commands in the hint repeat them.
    pub fn hint_with(&self, options: &str) -> Cow<'static, str> {
        match self {
            Self::Config(error) => error.hint().into_owned().into(),
            Self::Entry { error, .. } => error.hint_with(options),
            Self::NotOffered { key, why, path, .. } => not_offered_hint(key, why, path, options).into(),
            Self::Unknown { .. } => format!("list the skills with: prowess list{options}").into(),
            _ => self.usual_hint().into(),
        }
    }

    fn usual_hint(&self) -> &'static str {
        match self {
            Self::Config(_) | Self::NotOffered { .. } | Self::Unknown { .. } | Self::Entry { .. } => "",
            Self::Ambiguous { .. } => "name one of them by its whole key",
            Self::Missing { .. } => "check the spelling, and that a link does not lead nowhere",
            Self::NoSkill { .. } => {
                "a skill is a folder with a file SKILL.md; give such a folder or one above it"
            }
            Self::NotFolder { .. } => {
                "give the folder that holds the skills, a .skill, .zip, .tar.gz or .tgz archive, or a .jsonl file"
            }
            Self::Outside { .. } => "only files below the skill's own folder can be read",
            Self::BadPath { error, .. } => error.hint(),
            Self::Damaged { path, .. } if is_address(path) => "tell the people who run the site",
            Self::Damaged { .. } => "correct it, or restore it from a copy",
            Self::IsArchive { .. } => {
                "see its skills with: prowess list --in and the archive; unpack it to check them"
            }
            Self::NotPlugin { .. } => "give the folder of a plugin; skills without one are named by dir=",
            Self::NoVariables { .. } => "write the path itself",
            Self::NoValue { .. } => "set it to an absolute path, or write the path in full",
            Self::Folder { path } if path.file_name().is_some_and(|name| name == "SKILL.md") => {
                "SKILL.md must be a file; rename or remove the folder"
            }
            Self::Folder { path } if path.file_name().is_some_and(|name| name == FILE_NAME) => {
                "a file is wanted here; rename or remove the folder"
            }
            Self::Folder { .. } => "name a file, such as one in this folder",
            Self::NotRegular { kind: "a FIFO", .. } => {
                "put a regular file in its place, or pipe the text into: prowess check -"
            }
            Self::NotRegular { .. } => "put a regular file in its place, or leave it out",
            Self::TooLarge { .. } => "make the file smaller, or split it",
            Self::Stopped { .. } => "try again with more time, or make the skill smaller",
            Self::Changed { .. } => "list the skills again",
            Self::Broken { .. } => "check it, then list the skills again",
            Self::OtherFile { .. } => "put the file itself there, or link to a file of the same name",
            #[cfg(feature = "archive")]
            Self::Archive { .. } => "pack the skill's folder anew, as plain files",
            #[cfg(feature = "http")]
            Self::Http { .. } => "check the address and the network, or report it to the owner of the site",
            #[cfg(feature = "http")]
            Self::NoIndex { .. } => "a site offers skills at /.well-known/agent-skills/index.json",
            Self::NotBuilt { feature: "mcp", .. } => {
                "open it with the crate prowess-mcp: its Servers belong into the options of the library"
            }
            Self::NotBuilt { .. } => "turn the feature on where the crate prowess is depended on",
            Self::Uncovered { .. } => "remove it, or trust the folder that the skill lies in",
            Self::OutsideProject { .. } => "trust the project's folder with: prowess trust .",
            Self::ProjectTooLarge { .. } => {
                "trust the project's folder with: prowess trust ., or name the folders you want with --in"
            }
            Self::NoHome { .. } => "set HOME, or write the path in full",
            Self::NotBelow { .. } => {
                "give a folder above it; its virtual paths are relative to itself until then"
            }
            Self::OtherOwner { .. } => "write a prowess.toml of your own in a folder below it",
            Self::NotAsked { .. } => "trust the project's folder with: prowess trust .",
            Self::ServerOfProject { .. } => "name it in your own prowess.toml, or with --in",
            Self::SameLabel { .. } => "give one of them a prefix of its own",
            Self::Server { hint, .. } => hint,
            Self::NotAsListed { .. } => "list the skills anew; if it persists, do not use them",
            Self::TooDeep { limit, .. } if *limit < MAX_DEPTH => {
                "look deeper with --depth or with depth in [scan] of prowess.toml, or give a folder nearer to the skills"
            }
            Self::TooDeep { .. } => "give a folder nearer to the skills",
            Self::TooMany { what: "lines", .. } => "split the file, and name each part",
            Self::TooMany { .. } => "give a folder with fewer entries below it, or raise the limit",
            Self::Io { source, .. } if is_loop(source) => {
                "the link leads in a circle; remove it, or let it lead to a file"
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    "make it readable for this user, or leave it out of what you name"
                }
                _ => "try again; if it persists, the disk or its connection may be at fault",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_must_be() {
        assert_eq!(shell_word("team:pdf-tools"), "team:pdf-tools");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("-x"), "-- '-x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(command_for("why", "pdf", " --in team"), "prowess why pdf --in team");
        assert_eq!(command_for("why", "-x", " --in team"), "prowess why --in team -- '-x'");
    }

    #[test]
    fn causes_are_lower_case_and_carry_no_numbers() {
        assert_eq!(plain_cause("Permission denied (os error 13)"), "permission denied");
        assert_eq!(plain_cause("YAML is hard"), "YAML is hard");
        assert_eq!(plain_cause(""), "");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(
            SourceError::io(Path::new("a"), denied).with_cause(),
            "could not read: a: permission denied"
        );
    }

    #[test]
    fn what_is_made_harmless_twice_is_as_after_the_first_time() {
        let text = "\u{1b}[31m it's \"C:\\x\"\n\u{202e}é\\";
        let safe = escape_control(text);
        assert_eq!(safe, "\\u{1b}[31m it's \"C:\\x\"\\n\\u{202e}é\\");
        assert_eq!(escape_control(&safe), safe);
        assert_eq!(escape_control(""), "");
    }
}
