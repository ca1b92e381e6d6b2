//! The environment of the process: the only room that reads it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::error::escape_control;

/// The variable that may hold the token of our own server. No program that is started gets to see it.
pub const TOKEN: &str = "PROWESS_TOKEN";

/// The absolute form of a path, by its letters alone: `.` and `..` are resolved, links are not.
///
/// Configuration is looked for above the path as the user wrote it, not above where a link leads.
pub fn absolute(path: &Path) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The place that a path means: a leading `~` is the user's folder, and a relative path is relative to the current folder
/// as it is now. When the user's folder is not known, the path keeps its `~`, and a source reports that.
pub fn place(path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(below) => match Environment::current().home() {
            Some(home) => absolute(&home.join(below)),
            None => path.to_owned(),
        },
        Err(_) => absolute(path),
    }
}

/// Whether a path begins with the folder of a user who has none.
pub(crate) fn is_homeless(path: &Path) -> bool {
    path.starts_with("~")
}

/// A variable that should hold an absolute path and does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this variable is no absolute path: {name}={}", escape_control(.value))]
pub struct RelativePath {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl RelativePath {
    /// What to do about it.
    pub fn hint(&self) -> String {
        format!("set {} to an absolute path, or unset it", self.name)
    }
}

/// The variables that say where the files of the user are.
const FOLDERS: [&str; 5] = ["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// The variables of the environment that Prowess looks at, taken once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// That of this process.
    pub fn current() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self { variables: variables.collect() }
    }

    /// One with exactly these variables.
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self { variables: variables.map(|(name, value)| (name.to_owned(), value.into())).into() }
    }

    /// A variable that says something.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(name)
            .map(OsString::as_os_str)
            .filter(|value| !value.to_str().is_some_and(|text| text.trim().is_empty()) && !value.is_empty())
    }

    /// A variable that holds an absolute path. Relative to the current folder it would name what a repository brings
    /// along, and take that for the user's own.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// An error when a variable that says where the user's files are is no absolute path. Without it such a variable
    /// would silently count for nothing.
    pub fn check(&self) -> Result<(), RelativePath> {
        for name in FOLDERS {
            if let Some(value) = self.get(name).filter(|value| !Path::new(value).is_absolute()) {
                let value = value.to_string_lossy().into_owned();
                return Err(RelativePath { name: name.to_owned(), value });
            }
        }
        Ok(())
    }

    /// The user's folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.folder("HOME").or_else(|| self.folder("USERPROFILE"))
    }

    /// A folder of the XDG specification, such as `XDG_STATE_HOME`, or its default below the user's folder.
    pub fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        // A relative path is to be ignored, says the specification.
        self.folder(variable).or_else(|| Some(self.home()?.join(default)))
    }

    /// Where files go that are not kept.
    #[cfg(feature = "install")]
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        let windows = || self.folder("TEMP").filter(|_| cfg!(windows));
        self.folder("TMPDIR").or_else(windows).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// A path with a leading `~`, `${VARIABLE}` or `${VARIABLE:-default}` written out; nothing when that is not known,
    /// or is no absolute path.
    pub fn expand(&self, path: &str) -> Option<PathBuf> {
        if let Some(rest) = path.strip_prefix("${") {
            let (inside, below) = rest.split_once('}')?;
            let (name, default) =
                inside.split_once(":-").map_or((inside, None), |(name, or)| (name, Some(or)));
            let default = || self.expand(default?).filter(|path| path.is_absolute());
            return Some(self.folder(name).or_else(default)?.join(below.trim_start_matches('/')));
        }
        match path.strip_prefix('~') {
            Some("") => self.home(),
            Some(below) if below.starts_with('/') => Some(self.home()?.join(below.trim_start_matches('/'))),
            _ => Some(PathBuf::from(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_up_are_resolved_and_the_root_has_no_parent() {
        assert_eq!(absolute(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/../..")), Path::new("/"));
        assert!(absolute(Path::new("x")).is_absolute());
    }

    #[test]
    fn a_place_is_absolute_and_only_a_whole_tilde_is_the_users_folder() {
        assert!(place(Path::new("x")).is_absolute() && place(Path::new("~x/y")).is_absolute());
        assert!(place(Path::new("~x/y")).ends_with("~x/y"));
        let home = Environment::current().home();
        assert_eq!(place(Path::new("~/a")), home.map_or("~/a".into(), |home| absolute(&home.join("a"))));
    }

    #[test]
    fn a_variable_that_is_no_absolute_path_names_nothing() {
        let environment = Environment::of([("HOME", "."), ("CODEX_HOME", "here"), ("GOOD", "/g")]);
        assert_eq!(environment.home(), None);
        assert_eq!(environment.xdg("XDG_STATE_HOME", ".local/state"), None);
        for path in ["~", "~/x", "${CODEX_HOME}/x", "${CODEX_HOME:-~/.codex}/x", "${NONE}", "${NONE:-x}"] {
            assert_eq!(environment.expand(path), None, "{path}");
        }
        assert_eq!(environment.expand("${GOOD}/x"), Some("/g/x".into()));
        assert_eq!(environment.expand("${NONE:-/d}/x"), Some("/d/x".into()));
        assert_eq!(environment.check().unwrap_err().name, "HOME");
        let relative = Environment::of([("HOME", "/h"), ("XDG_STATE_HOME", "state")]);
        assert_eq!(
            relative.check().unwrap_err().to_string(),
            "this variable is no absolute path: XDG_STATE_HOME=state"
        );
        assert_eq!(Environment::of([("HOME", "/h")]).check(), Ok(()));
    }
}
