//! The folder that the paths of `prowess check --diff` are relative to: `patch` refuses paths that lead out of it.

use std::path::{Component, Path, PathBuf};

use prowess::env;

use crate::commands::shown;
use crate::ui::command::shell_word;

/// The folder to apply a diff in.
#[derive(Debug)]
pub(super) struct PatchBase {
    /// A folder above all paths; `None` if all are relative and below the current folder.
    above: Option<PathBuf>,
}

impl PatchBase {
    /// The folder for the given paths.
    pub(super) fn of(named: &[PathBuf]) -> Self {
        let plain = |path: &PathBuf| {
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        if named.iter().all(plain) {
            return Self { above: None };
        }
        let mut above = env::absolute(Path::new("."));
        for path in named {
            let path = absolute(path);
            while !path.starts_with(&above) && above.pop() {}
        }
        Self { above: Some(above) }
    }

    /// The path of a file in the header of its diff; text from standard input has only the shown path.
    pub(super) fn header(&self, file: Option<&Path>, shown_as: &str) -> PathBuf {
        let Some(file) = file else { return shown_as.into() };
        let below = self.above.as_ref().and_then(|above| {
            let file = absolute(file.parent()?).join(file.file_name()?);
            Some(file.strip_prefix(above).ok()?.to_owned())
        });
        below.unwrap_or_else(|| match file.strip_prefix(".") {
            Ok(rest) => rest.to_owned(),
            Err(_) => file.to_owned(),
        })
    }

    /// The command that applies the diff, if `patch -p0` alone would not.
    pub(super) fn command(&self) -> Option<String> {
        let above = self.above.as_ref()?;
        Some(format!("patch -p0 -d {}", shell_word(&shown(above))))
    }
}

/// The absolute path. After a name, which may be a link, `..` is relative to the target of the link.
fn absolute(path: &Path) -> PathBuf {
    let mut after_names = path.components().skip_while(|part| !matches!(part, Component::Normal(_)));
    match std::fs::canonicalize(path) {
        Ok(real) if after_names.any(|part| part == Component::ParentDir) => real,
        _ => env::absolute(path),
    }
}
