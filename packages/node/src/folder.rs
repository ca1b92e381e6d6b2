//! Folders without a library: where their SKILL.md files are, and the contents of their files.

use std::path::PathBuf;

use prowess::fs::read::{read_of_skill, read_skill};
use prowess::fs::walk::{FileName, MissingRoot, SkillFile};
use prowess::limits::MAX_FILE_BYTES;
use prowess::{RelPath, ScanOptions, SourceError, SourceErrorKind, scan};
use prowess_native::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The largest file that is read whole unless the caller sets a limit.
const MAX_READ: usize = 64 << 20;

fn input<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    prowess_native::read(text)
}

/// Runs an operation that reads files: `scan`, and those of the shared crate.
pub(crate) fn run(operation: &str, text: &str) -> Result<String, Failure> {
    match operation {
        "scan" => Ok(scanned(input(text)?).to_string()),
        other => prowess_native::run(other, text, &[]),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Scanned {
    root: PathBuf,
    file_name: String,
    #[serde(default)]
    min_depth: usize,
    max_depth: usize,
    skip_prefixes: Vec<String>,
    /// Whether folders that begin with a dot, and those of packages, are visited.
    #[serde(default)]
    hidden: bool,
}

/// The paths of the SKILL.md files in and below a folder, and what could not be read. A folder comes before those below
/// it. If there is no folder, there are none.
fn scanned(asked: Scanned) -> Value {
    let options = ScanOptions::unbounded()
        .with_missing_root(MissingRoot::Skip)
        .with_max_depth(asked.max_depth)
        .with_report_deeper(false)
        .with_skip_prefixes(asked.skip_prefixes)
        .with_skip_hidden(!asked.hidden)
        .with_skip_modules(!asked.hidden)
        .with_file_name(FileName::Exact(asked.file_name));
    let mut found = scan(&asked.root, &options);
    found.skills.sort_by(|one, other| one.folder().cmp(other.folder()));
    let deep = |skill: &SkillFile| {
        let below = skill.path.strip_prefix(&asked.root).ok();
        below.is_some_and(|below| below.components().count() > asked.min_depth)
    };
    let (named, unnamed): (Vec<&SkillFile>, Vec<&SkillFile>) =
        found.skills.iter().filter(|skill| deep(skill)).partition(|skill| skill.path.to_str().is_some());
    let paths: Vec<&str> = named.iter().filter_map(|skill| skill.path.to_str()).collect();
    let not_text = |skill: &SkillFile| {
        let path = skill.path.to_string_lossy();
        json!({"path": path, "message": format!("the path is not UTF-8: {path}")})
    };
    let problem =
        |error: &SourceError| json!({"path": error.at.to_string(), "message": error.full_message()});
    let unread = unnamed.into_iter().map(not_text).chain(found.problems.iter().map(problem));
    json!({"files": paths, "problems": unread.collect::<Vec<Value>>()})
}

/// A SKILL.md, or a file in the folder of a skill.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Read {
    Skill { file: PathBuf },
    InFolder { folder: PathBuf, path: String, limit: Option<usize> },
}

/// The contents of a file. No path and no link leads out of a skill.
pub(crate) fn read(text: &str) -> Result<Vec<u8>, Failure> {
    let failed = |error| prowess_native::source_failure(&error);
    match input(text)? {
        Read::Skill { file } => {
            let head = read_skill(&file).map_err(failed)?;
            if head.is_whole() {
                return Ok(head.bytes);
            }
            Err(failed(SourceErrorKind::TooLarge { size: head.size, limit: MAX_FILE_BYTES as u64 }.at(file)))
        }
        Read::InFolder { folder, path, limit } => {
            let path =
                RelPath::from_request(&path).map_err(|error| Failure::new("outside", error.to_string()))?;
            let skill = SkillFile { path: folder.join("SKILL.md") };
            let bytes = read_of_skill(&skill, &path, limit.unwrap_or(MAX_READ)).map_err(failed)?;
            bytes.ok_or_else(|| failed(SourceErrorKind::Missing.at(folder.join(path.as_str()))))
        }
    }
}
