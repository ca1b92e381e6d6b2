//! One file for each command.

pub(crate) mod check;
pub(crate) mod eval;
pub(crate) mod rule;
pub(crate) mod show;
pub(crate) mod try_;

use std::path::{Path, PathBuf};

/// The word that means standard input.
const STDIN: &str = "-";

/// A path as people know it: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(&text).to_owned()
}

/// The SKILL.md of a folder, if there is one.
fn skill_file(folder: &Path) -> Option<PathBuf> {
    // A name that differs only in case would be taken on some systems; the folder's own list decides.
    let names: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name()).collect();
    let name =
        prowess::scan::FILE_NAMES.into_iter().find(|wanted| names.iter().any(|name| name == wanted))?;
    Some(folder.join(name))
}
