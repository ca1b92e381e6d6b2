//! Folders without a library: where their SKILL.md files are, and the contents of their files.

use std::path::PathBuf;

use prowess::fs::read::{read_of_skill, read_skill};
use prowess::fs::walk::{FileName, SkillFile};
use prowess::{RelPath, ScanOptions, SourceErrorKind, scan};
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
        "scan" => Ok(scanned(input(text)?)?.to_string()),
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

/// The paths of the SKILL.md files in and below a folder, sorted; none if there is no folder.
fn scanned(asked: Scanned) -> Result<Value, Failure> {
    let options = ScanOptions::default()
        .with_max_depth(asked.max_depth)
        .with_report_deeper(false)
        .with_max_folders(usize::MAX)
        .with_max_entries(usize::MAX)
        .with_skip_prefixes(asked.skip_prefixes)
        .with_skip_hidden(!asked.hidden)
        .with_skip_modules(!asked.hidden)
        .with_file_name(FileName::Exact(asked.file_name));
    let found = scan(&asked.root, &options);
    if let Some(error) = found.problems.first().filter(|_| found.skills.is_empty()) {
        return Err(prowess_native::source_failure(error));
    }
    let deep = |skill: &SkillFile| {
        let below = skill.path.strip_prefix(&asked.root).ok();
        below.is_some_and(|below| below.components().count() > asked.min_depth)
    };
    let paths: Vec<&str> =
        found.skills.iter().filter(|skill| deep(skill)).filter_map(|skill| skill.path.to_str()).collect();
    Ok(json!(paths))
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
        Read::Skill { file } => Ok(read_skill(&file).map_err(failed)?.bytes),
        Read::InFolder { folder, path, limit } => {
            let path =
                RelPath::from_request(&path).map_err(|error| Failure::new("outside", error.to_string()))?;
            let skill = SkillFile { path: folder.join("SKILL.md") };
            let bytes = read_of_skill(&skill, &path, limit.unwrap_or(MAX_READ)).map_err(failed)?;
            bytes.ok_or_else(|| failed(SourceErrorKind::Missing.at(folder.join(path.as_str()))))
        }
    }
}
