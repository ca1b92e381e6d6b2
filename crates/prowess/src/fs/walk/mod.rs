//! The walk: finds every SKILL.md below a folder, in a fixed order, within named limits.

mod ahead;
mod changes;
mod ignore;
mod probe;
mod steps;
mod visitor;

use std::io;
use std::path::{Path, PathBuf};

use prowess_core::Origin;
use prowess_core::path::MAX_DEPTH;

use crate::env;
use crate::error::SourceError;
use crate::fs::atomic::is_temporary;
use crate::fs::stamp::FileStamp;
use crate::library::clients::DOT_FOLDERS;
pub use changes::ScanChanges;
pub(crate) use steps::walk;
pub(crate) use visitor::{Opened, Visitor};

/// The names of the file that makes a folder a skill; the first wins when both are there.
pub const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// Folders that hold other people's history and packages, never skills of this tree.
pub const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// The most threads that a walk uses unless it is told a number: more would mostly wait for the file system.
pub const MAX_THREADS: usize = 4;

/// Which file makes a folder a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileName {
    /// `SKILL.md`, or else `skill.md`.
    Either,
    /// A file of exactly this name.
    Exact(String),
    /// A file of this name in any case.
    AnyCase(String),
}

/// What a start that is not there means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRoot {
    /// Nothing is found, and that is fine.
    Skip,
    /// It is an error.
    Error,
}

/// What becomes of a file or folder that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The walk ends there.
    Fail,
    /// It is reported; the rest stands.
    Report,
    /// It is left out without a word.
    Ignore,
}

/// What a walk looks at, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanOptions {
    /// How many folders below the start are looked into.
    pub max_depth: usize,
    /// Whether it is reported that there are deeper folders. A depth that the user chose is no problem to report.
    pub report_deeper: bool,
    /// How many folders are looked into in all.
    pub max_folders: usize,
    /// How many entries are looked at in all.
    pub max_entries: usize,
    /// How many folders are looked into that only links lead to.
    pub max_outside: usize,
    /// Folders whose name begins with one of these are left out.
    pub skip_prefixes: Vec<String>,
    /// Whether folders whose name begins with a dot are left out, other than those where clients keep skills.
    pub skip_hidden: bool,
    /// Whether what `.gitignore` files name is left out.
    pub gitignore: bool,
    /// Whether the walk ends at a skill, so that skills inside it are not found. What lies beside a SKILL.md right in
    /// the start is then not found either.
    pub stop_at_skill: bool,
    /// How many entries are looked at inside skills, in search of more skills. They count for no other limit.
    pub max_inside: usize,
    /// A folder that nothing may lead out of: what really lies elsewhere, wherever links say it is, is not looked at and
    /// is reported. For the folders of a project that is not trusted.
    pub within: Option<PathBuf>,
    /// How many threads read the skills of large folders; none for as many as the machine has, up to [`MAX_THREADS`].
    /// Folders with few skills are read on one. What is found does not depend on the number.
    pub threads: Option<usize>,
    /// Which file makes a folder a skill.
    pub file_name: FileName,
    /// What a start that is not there means.
    pub missing_root: MissingRoot,
    /// What becomes of what cannot be read.
    pub on_error: OnError,
}

impl ScanOptions {
    /// The limits for a folder that the user named: no limit of folders, a depth that no real tree reaches, and what links
    /// may add. A link to `/` must not become a walk over the whole disk.
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

impl Default for ScanOptions {
    /// The limits for a folder that is searched by itself.
    fn default() -> Self {
        Self {
            max_depth: 6,
            report_deeper: true,
            max_folders: 2_000,
            max_entries: 20_000,
            max_outside: 2_000,
            skip_prefixes: Vec::new(),
            skip_hidden: true,
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
    /// What could not be looked into, and the limits that were reached.
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

    /// Where the skill comes from; the folder's name is found even when the path is just `SKILL.md`.
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

/// A path or name as text. Bytes that are no UTF-8 become `\xNN`, so that two names never come to the same text.
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
/// Links to folders are followed. What has been reached without links is not reported again through one, so
/// a link back up the tree ends there.
pub fn scan(root: &Path, options: &ScanOptions) -> Scan {
    let mut collect = Collect(Vec::new());
    let problems = walk(root, options, &mut collect);
    let mut skills = collect.0;
    skills.sort();
    Scan { skills, problems }
}

/// The folders whose changes may change what a walk finds or what its skills hold: those it lists, those of the skills
/// with what lies below them, and where links to a SKILL.md lead.
#[cfg(feature = "watch")]
pub(crate) fn folders(root: &Path, options: &ScanOptions) -> Vec<PathBuf> {
    /// The folders, and whether nothing may lead out of one.
    struct Folders(Vec<PathBuf>, bool);
    impl Visitor for Folders {
        type Skill = ();
        fn known(&self, _: &Path, _: &FileStamp) -> Option<usize> {
            Some(0)
        }
        fn read(&self, _: &Path, _: Opened, _: &mut Vec<u8>) {}
        fn entered(&mut self, path: &Path) {
            self.0.push(path.to_owned());
        }
        fn linked(&mut self, path: &Path) {
            self.0.push(path.to_owned());
        }
        fn found(&mut self, path: PathBuf, (): ()) -> Result<(), SourceError> {
            let found = SkillFile { path };
            crate::fs::read::folders_below(found.folder(), &mut self.0);
            if found.path.is_symlink() {
                if !self.1
                    && let Ok(target) = std::fs::canonicalize(&found.path)
                {
                    self.0.extend(target.parent().map(Path::to_owned));
                }
                // The way to a file is followed as that to a folder is.
                self.0.push(found.path);
            }
            Ok(())
        }
    }
    let mut folders = Folders(vec![root.to_owned()], options.within.is_some());
    walk(root, options, &mut folders);
    // A skill inside another is below both.
    folders.0.sort();
    folders.0.dedup();
    folders.0
}

/// Only the paths matter.
struct Collect(Vec<SkillFile>);

impl Visitor for Collect {
    type Skill = ();

    fn known(&self, _: &Path, _: &FileStamp) -> Option<usize> {
        Some(0)
    }

    fn read(&self, _: &Path, _: Opened, _: &mut Vec<u8>) {}

    fn found(&mut self, path: PathBuf, (): ()) -> Result<(), SourceError> {
        self.0.push(SkillFile { path });
        Ok(())
    }
}

/// Whether a folder of this name is never looked into, unless it is the start.
fn is_left_out(name: &std::ffi::OsStr, options: &ScanOptions) -> bool {
    let Some(name) = name.to_str() else { return false };
    LEFT_OUT.contains(&name)
        || is_temporary(name)
        || (options.skip_hidden && name.starts_with('.') && DOT_FOLDERS.binary_search(&name).is_err())
        || options.skip_prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

/// A name below a path. `Path::join` makes the path first and then a longer one, and a walk joins very often.
fn joined(path: &Path, name: &std::ffi::OsStr) -> PathBuf {
    let mut joined = PathBuf::with_capacity(path.as_os_str().len() + 1 + name.len());
    joined.push(path);
    joined.push(name);
    joined
}

/// Whether an error only says that there is nothing.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
