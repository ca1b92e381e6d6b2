//! [`RelPath`]: a relative path that cannot escape from its folder, and globs over paths.
//!
//! A path is checked once, where it enters, and from then on its type is the proof. The rules are those of the
//! strictest file system that a skill may be copied to, so that a path that is safe here is safe on every machine.
//!
//! A requested path may also have names that only this system can store, such as `a:b.md`: it names an existing file,
//! and is never stored.
//!
//! Each rule is about one component: any run of components of a `RelPath` is a `RelPath` again, and no later step
//! (joining, stripping, changing directory) can make a safe part dangerous.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

mod component;
mod glob;
mod rule;
use component::check_component;
pub use glob::{Glob, GlobError};
pub use rule::{PathError, PathRule};

#[cfg(test)]
mod tests;

/// The longest path, in bytes: `PATH_MAX` of Linux.
pub const MAX_PATH_BYTES: usize = 4096;
/// The longest component, in bytes: `NAME_MAX` of nearly every file system.
pub const MAX_COMPONENT_BYTES: usize = 255;
/// The most components of a path. Deeper trees only exhaust a walk.
pub const MAX_DEPTH: usize = 64;

/// A relative path with `/` between its components that stays below any folder it is joined to.
///
/// ```
/// use prowess_core::path::{PathRule, RelPath};
///
/// let path = RelPath::parse("scripts/run.sh")?;
/// assert_eq!(path.file_name(), "run.sh");
/// assert_eq!(path.extension(), Some("sh"));
/// assert_eq!(RelPath::from_request(r".\scripts\run.sh")?, path);
/// assert_eq!(RelPath::parse("../.ssh/id_rsa").map_err(|e| e.rule()), Err(PathRule::ParentStep));
/// # Ok::<(), prowess_core::path::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RelPath(Box<str>);

impl RelPath {
    /// Reads a stored path (archive, git, lock file) by the strict rules. Nothing is normalised, because a stored path
    /// that needs it would give one file two names.
    pub fn parse(path: &str) -> Result<Self, PathError> {
        match check(path, Names::OfEverySystem) {
            Ok(()) => Ok(Self(path.into())),
            Err(rule) => Err(PathError::new(rule, path)),
        }
    }

    /// Reads a path as a model or a user writes it: `\` becomes `/`, and `./`, `//` and `/./` are collapsed. Then the
    /// strict rules apply, except that names may start with `-` and contain `:<>"|?*` where the system allows it:
    /// everywhere but on Windows.
    ///
    /// ```
    /// use prowess_core::path::RelPath;
    ///
    /// assert_eq!(RelPath::from_request(".//docs/./a.md")?.as_str(), "docs/a.md");
    /// # Ok::<(), prowess_core::path::PathError>(())
    /// ```
    pub fn from_request(path: &str) -> Result<Self, PathError> {
        // A longer path is refused, so do not copy it.
        let slashed = if path.len() <= 2 * MAX_PATH_BYTES && path.contains('\\') {
            Cow::Owned(path.replace('\\', "/"))
        } else {
            Cow::Borrowed(path)
        };
        let collapsed = collapsed(&slashed);
        match check(&collapsed, Names::OfThisSystem) {
            Ok(()) => Ok(Self(collapsed.into())),
            Err(rule) => Err(PathError::new(rule, path)),
        }
    }

    /// Reads back a requested path that was stored with a session. Nothing is collapsed.
    pub(crate) fn deserialize_request<'de, D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        match check(&path, Names::OfThisSystem) {
            Ok(()) => Ok(Self(path.into_boxed_str())),
            Err(rule) => Err(serde::de::Error::custom(PathError::new(rule, &path))),
        }
    }

    /// Reads the raw name of a file by the strict rules; bytes that are not UTF-8 are refused.
    pub fn from_bytes(path: &[u8]) -> Result<Self, PathError> {
        match std::str::from_utf8(path) {
            Ok(path) => Self::parse(path),
            Err(_) => Err(PathError::not_utf8(path)),
        }
    }

    /// The path by which a skill's own file is requested.
    pub(crate) fn skill_file() -> Self {
        Self("SKILL.md".into())
    }

    /// Reads a single name, such as that of a skill's folder, which must not contain a separator.
    pub fn from_name(name: &str) -> Result<Self, PathError> {
        if name.contains('/') { Err(PathError::new(PathRule::Separator, name)) } else { Self::parse(name) }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names between the slashes, outermost first; there is at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.0.split('/')
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The text after the last dot of the file name; none when the only dot is the first character.
    pub fn extension(&self) -> Option<&str> {
        self.file_name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
    }

    /// The path without its last component; none when there is only one.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.into()))
    }

    /// The path `below` inside this one, by the strict rules.
    pub fn join(&self, below: &str) -> Result<Self, PathError> {
        Self::parse(&format!("{self}/{below}"))
    }

    /// Whether it is `folder` or below it; whole components count, so `skills-evil` is not in `skills`.
    pub fn starts_with(&self, folder: &Self) -> bool {
        self.0.strip_prefix(&*folder.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The part below `folder`; none when it is not below it.
    pub fn strip_prefix(&self, folder: &Self) -> Option<Self> {
        self.0.strip_prefix(&*folder.0)?.strip_prefix('/').map(|rest| Self(rest.into()))
    }

    /// A form that is equal for two paths that some file system treats as one: compatibility forms folded (NFKC, so that
    /// NFC and NFD agree) and letter case removed. Only for comparing.
    pub fn collision_key(&self) -> String {
        if self.0.is_ascii() {
            return self.0.to_ascii_lowercase();
        }
        // Upper case first makes `ß` equal `ss` and `ς` equal `σ`, as the folding of APFS does.
        self.0.nfkc().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
    }
}

/// The first two paths that cannot both be stored everywhere: the same path twice, a pair that differs only
/// in case or in Unicode form (also in a folder's name), or a file where the other path needs a folder.
///
/// ```
/// use prowess_core::path::{RelPath, first_collision};
///
/// let paths = [RelPath::parse("docs/a.md")?, RelPath::parse("b.md")?, RelPath::parse("Docs/c.md")?];
/// assert_eq!(first_collision(&paths), Some((&paths[0], &paths[2])));
/// # Ok::<(), prowess_core::path::PathError>(())
/// ```
pub fn first_collision<'p>(
    paths: impl IntoIterator<Item = &'p RelPath>,
) -> Option<(&'p RelPath, &'p RelPath)> {
    let mut seen: BTreeMap<String, (&str, bool, &RelPath)> = BTreeMap::new();
    for path in paths {
        let key = path.collision_key();
        // Folding does not change slashes, so the two texts have the same number of components.
        let ends = |text: &str| -> Vec<usize> {
            text.match_indices('/').map(|(at, _)| at).chain([text.len()]).collect()
        };
        for (key_end, end) in ends(&key).into_iter().zip(ends(&path.0)) {
            let (Some(key), Some(prefix)) = (key.get(..key_end), path.0.get(..end)) else { continue };
            let is_file = end == path.0.len();
            match seen.get(key) {
                Some(&(known, file, owner)) if known != prefix || file || is_file => {
                    return Some((owner, path));
                }
                Some(_) => {}
                None => {
                    seen.insert(key.to_owned(), (prefix, is_file, path));
                }
            }
        }
    }
    None
}

/// Which names a path may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Names that every system can store.
    OfEverySystem,
    /// Names that this system can store.
    OfThisSystem,
}

impl Names {
    /// Whether a name may start with `-` and contain the characters that have a meaning on Windows. An unknown system,
    /// as in WebAssembly, may be Windows.
    fn is_wide(self) -> bool {
        self == Self::OfThisSystem && cfg!(unix)
    }
}

/// A path without `.` and empty components. An absolute path stays absolute, and the last name stays.
fn collapsed(path: &str) -> Cow<'_, str> {
    let idle = path.starts_with("./") || path.contains("//") || path.contains("/./");
    if !idle || path.starts_with('/') || path.len() > 2 * MAX_PATH_BYTES {
        return Cow::Borrowed(path);
    }
    let (folders, last) = path.rsplit_once('/').unwrap_or(("", path));
    let mut names: Vec<&str> = folders.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    names.push(last);
    Cow::Owned(names.join("/"))
}

/// The rules for a whole path; an ordinary ASCII path costs one pass and no allocation.
fn check(path: &str, names: Names) -> Result<(), PathRule> {
    if path.is_empty() {
        return Err(PathRule::Empty);
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(PathRule::TooLong);
    }
    if path.starts_with('/') {
        return Err(PathRule::Absolute);
    }
    for (depth, component) in path.split('/').enumerate() {
        if depth >= MAX_DEPTH {
            return Err(PathRule::TooDeep);
        }
        check_component(component, names)?;
    }
    Ok(())
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for RelPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for RelPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for RelPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        Self::parse(path)
    }
}

impl TryFrom<String> for RelPath {
    type Error = PathError;

    fn try_from(path: String) -> Result<Self, PathError> {
        match check(&path, Names::OfEverySystem) {
            Ok(()) => Ok(Self(path.into_boxed_str())),
            Err(rule) => Err(PathError::new(rule, &path)),
        }
    }
}
