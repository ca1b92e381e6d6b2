//! The walk: finds every SKILL.md below a folder, in a fixed order, within named limits.

mod ahead;
mod changes;
mod hidden;
mod ignore;
mod limits;
mod probe;
mod steps;
mod visitor;

use std::io;
use std::path::{Path, PathBuf};

use prowess_core::internal::is_never_listed;
use prowess_core::path::MAX_DEPTH;
use prowess_core::with_methods;
use prowess_core::{Origin, Scope};

use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::is_temporary;
pub use changes::ScanChanges;
pub use hidden::DOT_FOLDERS;
pub(crate) use steps::walk;
use visitor::OnlyPaths;
pub(crate) use visitor::{Opened, Reader, Visitor};

/// The names of the file that makes a folder a skill. If both exist, the first one counts.
pub const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// The folder with third-party packages. Some clients look there.
pub(crate) const MODULES: &str = "node_modules";

/// The maximum number of threads of a walk unless an option sets it: more would mostly wait for the file system.
pub const MAX_THREADS: usize = 4;

/// Which file makes a folder a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileName {
    /// `SKILL.md`, or else `skill.md`.
    Either,
    /// A file of exactly this name.
    Exact(String),
    /// A file of this name, ignoring case.
    AnyCase(String),
}

/// What to do if the root of a walk does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingRoot {
    /// The walk finds nothing.
    Skip,
    /// It is an error.
    Error,
}

/// What to do with a file or folder that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The walk ends there.
    Fail,
    /// It is reported, and the walk goes on.
    Report,
    /// It is ignored.
    Ignore,
}

/// The options and limits of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The maximum depth below the root.
    pub max_depth: usize,
    /// Whether deeper folders are reported. If the user chose the depth, they are not a problem.
    pub report_deeper: bool,
    /// The maximum number of folders to visit.
    pub max_folders: usize,
    /// The maximum number of entries to look at.
    pub max_entries: usize,
    /// The maximum number of folders to visit that are only reachable through links.
    pub max_outside: usize,
    /// Folders whose name begins with one of these are skipped.
    pub skip_prefixes: Vec<String>,
    /// Whether hidden folders are skipped, except those where clients keep skills.
    pub skip_hidden: bool,
    /// Whether folders named `node_modules` are skipped.
    pub skip_modules: bool,
    /// Whether a skill that is found by its own path is found again through a link to it.
    pub repeat_linked: bool,
    /// Whether only a file named exactly `SKILL.md` makes the folders beside it part of a skill. Clients that do not
    /// know another spelling look into these folders as into any other.
    pub exact_insides: bool,
    /// Whether folders that `.gitignore` files name are skipped.
    pub gitignore: bool,
    /// Whether the walk stops at a skill, so that skills inside it are not found. If the root itself has a SKILL.md,
    /// skills beside it are not found either.
    pub stop_at_skill: bool,
    /// The maximum number of entries to look at inside skills, which may contain more skills. They count towards no
    /// other limit.
    pub max_inside: usize,
    /// A folder that the walk must not leave. What is outside of it, also through links, is reported and not visited.
    /// Used for the folders of an untrusted project.
    pub within: Option<PathBuf>,
    /// The number of threads that read the skills of large folders; `None` for as many as the machine has, up to
    /// [`MAX_THREADS`]. Small folders are read on one thread. The results do not depend on the number.
    pub threads: Option<usize>,
    /// Which file makes a folder a skill.
    pub file_name: FileName,
    /// What to do if the root does not exist.
    pub missing_root: MissingRoot,
    /// What to do with what cannot be read.
    pub on_error: OnError,
}

with_methods! { ScanOptions:
    with_max_depth max_depth: usize;
    with_report_deeper report_deeper: bool;
    with_max_folders max_folders: usize;
    with_max_entries max_entries: usize;
    with_max_outside max_outside: usize;
    with_skip_prefixes skip_prefixes: Vec<String>;
    with_skip_hidden skip_hidden: bool;
    with_skip_modules skip_modules: bool;
    with_repeat_linked repeat_linked: bool;
    with_exact_insides exact_insides: bool;
    with_gitignore gitignore: bool;
    with_stop_at_skill stop_at_skill: bool;
    with_max_inside max_inside: usize;
    with_within within: Option<PathBuf>;
    with_threads threads: Option<usize>;
    with_file_name file_name: FileName;
    with_missing_root missing_root: MissingRoot;
    with_on_error on_error: OnError;
}

/// The maximum number of folders in a user's own folder of skills.
const MAX_OWN_FOLDERS: usize = 100_000;

impl ScanOptions {
    /// The options for a folder that the user named: no limit of folders, a depth that no real tree reaches, and a
    /// limit on what links add. A link to `/` must not become a walk over the whole disk.
    pub fn unbounded() -> Self {
        Self {
            max_depth: MAX_DEPTH,
            max_folders: usize::MAX,
            max_entries: usize::MAX,
            max_inside: 1_000_000,
            missing_root: MissingRoot::Error,
            ..Self::default()
        }
    }
}

impl ScanOptions {
    /// The options for a folder of this scope that is searched by default. The user decides what is in folders of their
    /// own, so that these may have many more skills than a project.
    pub(crate) fn of(scope: Scope) -> Self {
        match scope {
            Scope::User => {
                Self { max_folders: MAX_OWN_FOLDERS, max_entries: MAX_OWN_FOLDERS, ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

impl Default for ScanOptions {
    /// The options for a folder that is searched by default.
    fn default() -> Self {
        Self {
            max_depth: 6,
            report_deeper: true,
            max_folders: 2_000,
            max_entries: 20_000,
            max_outside: 2_000,
            skip_prefixes: Vec::new(),
            skip_hidden: true,
            skip_modules: true,
            repeat_linked: false,
            exact_insides: false,
            gitignore: false,
            stop_at_skill: false,
            max_inside: 20_000,
            within: None,
            threads: None,
            file_name: FileName::Either,
            missing_root: MissingRoot::Skip,
            on_error: OnError::Report,
        }
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The skills, sorted by path, each once.
    pub skills: Vec<SkillFile>,
    /// What could not be read, and the limits that were reached.
    pub problems: Vec<SourceError>,
}

/// One SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillFile {
    /// The path of the file, beginning with the path the walk was given.
    pub path: PathBuf,
}

impl SkillFile {
    /// The folder of the skill.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Where the skill comes from. The folder's name is found even if the path is only `SKILL.md`.
    pub fn origin(&self) -> Origin {
        origin(&self.path)
    }
}

/// Where the skill at a path comes from.
pub(crate) fn origin(path: &Path) -> Origin {
    let mut origin = match path.to_str() {
        Some(text) => Origin::at(text),
        None => Origin::at(text_of(path.as_os_str())),
    };
    if origin.folder.is_none() {
        let folder = SkillFile { path: path.to_owned() };
        origin.folder = env::absolute(folder.folder()).file_name().map(text_of);
    }
    origin
}

/// A path or name as text. Bytes that are not UTF-8 become `\xNN`, so that two names never become the same text.
pub(crate) fn text_of(name: &std::ffi::OsStr) -> String {
    let mut text = String::new();
    for part in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(part.valid());
        text.extend(part.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// Finds every SKILL.md in a folder and below it.
///
/// Links to folders are followed. A folder that was reached without links is not visited again through one, so a link
/// to a parent folder ends there.
pub fn scan(root: &Path, options: &ScanOptions) -> Scan {
    let mut collect = Collect(Vec::new());
    let problems = walk(root, options, &OnlyPaths, &mut collect);
    let mut skills = collect.0;
    skills.sort();
    Scan { skills, problems }
}

/// The folders whose changes may change the result of a walk or the files of its skills: the folders that it lists,
/// those of the skills with everything below them, and the targets of links to a SKILL.md.
#[cfg(feature = "watch")]
pub(crate) fn folders(root: &Path, options: &ScanOptions) -> Vec<PathBuf> {
    /// The folders, and whether each one confines the walk.
    struct Folders(Vec<PathBuf>, bool);
    impl Visitor<PathBuf> for Folders {
        fn entered(&mut self, path: &Path) {
            self.0.push(path.to_owned());
        }
        fn linked(&mut self, path: &Path) {
            self.0.push(path.to_owned());
        }
        fn found(&mut self, path: PathBuf) -> Result<(), SourceError> {
            let found = SkillFile { path };
            crate::fs::read::folders_below(found.folder(), &mut self.0);
            if found.path.is_symlink() {
                if !self.1
                    && let Ok(target) = std::fs::canonicalize(&found.path)
                {
                    self.0.extend(target.parent().map(Path::to_owned));
                }
                // A path to a file is watched like a path to a folder.
                self.0.push(found.path);
            }
            Ok(())
        }
    }
    let mut folders = Folders(vec![root.to_owned()], options.within.is_some());
    walk(root, options, &OnlyPaths, &mut folders);
    // A skill inside another is below both.
    folders.0.sort();
    folders.0.dedup();
    folders.0
}

struct Collect(Vec<SkillFile>);

impl Visitor<PathBuf> for Collect {
    fn found(&mut self, path: PathBuf) -> Result<(), SourceError> {
        self.0.push(SkillFile { path });
        Ok(())
    }
}

/// Whether no walk enters a folder of this name, unless it is the root: the history of a repository, and what is
/// unfinished.
pub(crate) fn is_never_entered(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| is_never_listed(name) || is_temporary(name))
}

/// Whether an entry of this name is no part of a skill: the history of a repository, third-party packages, and what is
/// unfinished.
pub(crate) fn is_no_part(name: &str) -> bool {
    name == MODULES || is_never_listed(name) || is_temporary(name)
}

/// Whether a walk with these options skips folders of this name, unless it is the root.
fn is_left_out(name: &std::ffi::OsStr, options: &ScanOptions) -> bool {
    if is_never_entered(name) {
        return true;
    }
    let Some(name) = name.to_str() else { return false };
    (options.skip_modules && name == MODULES)
        || (options.skip_hidden && name.starts_with('.') && DOT_FOLDERS.binary_search(&name).is_err())
        || options.skip_prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

/// A name below a path. `Path::join` allocates twice, and a walk joins very often.
fn joined(path: &Path, name: &std::ffi::OsStr) -> PathBuf {
    let mut joined = PathBuf::with_capacity(path.as_os_str().len() + 1 + name.len());
    joined.push(path);
    joined.push(name);
    joined
}

/// Why a folder that is searched by default cannot be opened. The reason may be in a folder above it.
fn in_place(root: &Path, error: io::Error) -> SourceError {
    let mut at = root;
    for folder in root.ancestors() {
        match std::fs::metadata(folder) {
            Ok(metadata) if metadata.is_dir() => break,
            Ok(_) => return SourceErrorKind::FileInPlace.at(folder),
            // The folder above must not be entered.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                at = folder.parent().unwrap_or(folder);
            }
            Err(_) => at = folder,
        }
    }
    SourceError::io(at, error)
}

/// Whether an error means that there is nothing at the path.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
