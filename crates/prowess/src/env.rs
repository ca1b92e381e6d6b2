//! The environment of the process. Only this module reads it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::error::escape_control;

/// The variable with the token of our own server. It is removed from the environment of every child process.
pub const TOKEN: &str = "PROWESS_TOKEN";

/// The most links that lead to something that does not exist.
const MAX_LINKS: usize = 40;

/// The absolute form of a path. `.` and `..` are resolved textually, and links are not followed.
///
/// Configurations are searched for above the path as the user wrote it, not above the target of a link.
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

/// A path as an absolute one: a leading `~` is the user's home folder, and a relative path is relative to the current
/// folder. If the home folder is not known, the path keeps its `~`, and a source reports that.
pub fn place(path: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(below) => match Environment::current().home() {
            Some(home) => absolute(&home.join(below)),
            None => path.to_owned(),
        },
        Err(_) => absolute(path),
    }
}

/// A path without links; the path itself if it does not exist.
pub(crate) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A path without links, also if what it leads to does not exist now: it may exist again, such as on another branch. None
/// if links lead in a circle.
pub(crate) fn resolved(path: &Path) -> Option<PathBuf> {
    fn follow(path: &Path, links: &mut usize) -> Option<PathBuf> {
        if let Ok(real) = std::fs::canonicalize(path) {
            return Some(real);
        }
        let above = follow(path.parent()?, links)?;
        let Some(name) = path.file_name() else { return above.parent().map(Path::to_owned) };
        let at = above.join(name);
        let Ok(target) = std::fs::read_link(&at) else { return Some(at) };
        *links = links.checked_sub(1)?;
        follow(&above.join(target), links)
    }
    follow(path, &mut MAX_LINKS.clone())
}

/// Whether a path still begins with `~`, since the home folder is not known.
pub(crate) fn is_homeless(path: &Path) -> bool {
    path.starts_with("~")
}

/// A variable that must be an absolute path of a folder and is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this variable is not {}: {name}={}", if *.file { "a folder" } else { "an absolute path" }, escape_control(.value))]
pub struct RelativePath {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it is an absolute path of something other than a folder.
    pub file: bool,
}

impl RelativePath {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let wanted = if self.file { "a folder" } else { "an absolute path" };
        format!("set {} to {wanted}, or unset it", self.name)
    }
}

/// The variables that say where the user's files are.
const FOLDERS: [&str; 5] = ["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// The variables of the environment that Prowess uses, read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// The environment of this process.
    pub fn current() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self { variables: variables.collect() }
    }

    /// An environment with exactly these variables.
    pub fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self { variables: variables.map(|(name, value)| (name.to_owned(), value.into())).into() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(name)
            .map(OsString::as_os_str)
            .filter(|value| !value.to_str().is_some_and(|text| text.trim().is_empty()) && !value.is_empty())
    }

    /// Whether a variable is set, and has nothing but spaces.
    pub fn is_empty(&self, name: &str) -> bool {
        self.variables.contains_key(name) && self.get(name).is_none()
    }

    /// A variable with an absolute path. A relative one would be in the current folder, and a repository could pass its
    /// files for the user's own.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// An error if a variable that says where the user's files are is not an absolute path, or HOME is no folder. Otherwise
    /// the first would be ignored silently, and the second reported by each client's folder.
    pub fn check(&self) -> Result<(), RelativePath> {
        for name in FOLDERS {
            if let Some(value) = self.get(name).filter(|value| !Path::new(value).is_absolute()) {
                let value = value.to_string_lossy().into_owned();
                return Err(RelativePath { name: name.to_owned(), value, file: false });
            }
        }
        // Services often run as a user whose HOME is no folder. A folder that does not exist yet is fine.
        if let Some(home) = self.folder("HOME")
            && home.metadata().is_ok_and(|home| !home.is_dir())
        {
            let value = home.to_string_lossy().into_owned();
            return Err(RelativePath { name: "HOME".to_owned(), value, file: true });
        }
        Ok(())
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.folder("HOME").or_else(|| self.folder("USERPROFILE"))
    }

    /// Whether the user's home is this folder, also if one of the two paths leads through a link.
    pub fn is_home(&self, folder: &Path) -> bool {
        self.home().is_some_and(|home| home == folder || real(&home) == real(folder))
    }

    /// Whether the user's home is this folder or below it, also if one of the two paths leads through a link.
    pub fn has_home_in(&self, folder: &Path) -> bool {
        self.home().is_some_and(|home| home.starts_with(folder) || real(&home).starts_with(real(folder)))
    }

    /// A folder of the XDG specification, such as `XDG_STATE_HOME`, or its default in the home folder.
    pub fn xdg(&self, variable: &str, default: &str) -> Option<PathBuf> {
        // The specification says to ignore relative paths.
        self.folder(variable).or_else(|| Some(self.home()?.join(default)))
    }

    /// The folders in which programs are searched: those of `PATH` with an absolute path. A relative one would be in the
    /// current folder, and a repository could pass its files for the user's programs. Without a `PATH` they are those
    /// that the system uses then.
    #[cfg(feature = "install")]
    pub(crate) fn program_folders(&self) -> Vec<PathBuf> {
        let path = self.get("PATH").unwrap_or(OsStr::new(if cfg!(unix) { "/bin:/usr/bin" } else { "" }));
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect()
    }

    /// A program of the user, searched in the absolute folders of PATH.
    #[cfg(feature = "install")]
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let name = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
        self.program_folders().into_iter().map(|folder| folder.join(&name)).find(|file| can_run(file))
    }

    /// The folder for temporary files.
    #[cfg(feature = "install")]
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        let windows = || self.folder("TEMP").filter(|_| cfg!(windows));
        self.folder("TMPDIR").or_else(windows).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Expands a leading `~`, `${VARIABLE}` or `${VARIABLE:-default}`; `None` if that is not set to an absolute path.
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

#[cfg(all(feature = "install", unix))]
fn can_run(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(all(feature = "install", not(unix)))]
fn can_run(file: &Path) -> bool {
    file.is_file()
}

/// The cases of each property: 10³, or as many as `PROWESS_PROPERTY_CASES` says; `.ci/nightly` says 10⁴.
#[cfg(all(test, any(feature = "edit", feature = "install")))]
pub(crate) fn many_cases() -> proptest::test_runner::Config {
    let asked =
        Environment::current().get("PROWESS_PROPERTY_CASES").and_then(|text| text.to_str()?.parse().ok());
    proptest::test_runner::Config {
        cases: asked.unwrap_or(1_000),
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(feature = "install", unix))]
    #[test]
    fn a_program_is_searched_in_absolute_folders_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [plain, good] = ["plain", "good"].map(|name| folder.path().join(name));
        for (place, mode) in [(&plain, 0o644), (&good, 0o755)] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("tool"), "").unwrap();
            std::fs::set_permissions(place.join("tool"), PermissionsExt::from_mode(mode)).unwrap();
        }
        // This test runs in the folder of the crate, in which `src` is.
        let path = format!(":.:./src:src:{}:{}", plain.display(), good.display());
        let environment = Environment::of([("PATH", &path)]);
        assert_eq!(environment.program_folders(), [plain, good.clone()]);
        assert_eq!(environment.program("tool"), Some(good.join("tool")));
        assert_eq!((environment.program("env.rs"), environment.program("none")), (None, None));
        assert_eq!(Environment::of([]).program("tool"), None);
        assert_eq!(Environment::of([]).program_folders(), ["/bin", "/usr/bin"].map(PathBuf::from));
    }

    #[test]
    fn parent_steps_are_resolved_and_the_root_has_no_parent() {
        assert_eq!(absolute(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/../..")), Path::new("/"));
        assert!(absolute(Path::new("x")).is_absolute());
    }

    #[test]
    fn a_place_is_absolute_and_only_a_whole_tilde_is_the_home_folder() {
        assert!(place(Path::new("x")).is_absolute() && place(Path::new("~x/y")).is_absolute());
        assert!(place(Path::new("~x/y")).ends_with("~x/y"));
        let home = Environment::current().home();
        assert_eq!(place(Path::new("~/a")), home.map_or("~/a".into(), |home| absolute(&home.join("a"))));
    }

    #[test]
    fn a_variable_without_an_absolute_path_is_ignored() {
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
            "this variable is not an absolute path: XDG_STATE_HOME=state"
        );
        assert_eq!(Environment::of([("HOME", "/h")]).check(), Ok(()));
    }
}
