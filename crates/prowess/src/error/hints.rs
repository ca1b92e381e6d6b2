//! What to do about each error: the hints.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use prowess_core::catalog::WhyNot;
use prowess_core::path::MAX_DEPTH;

use super::{SourceError, check_command, command_for};
use crate::library::config::FILE_NAME;

impl SourceError {
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
