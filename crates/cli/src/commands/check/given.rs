//! What `prowess check` is given: paths, names of skills, and words that are neither.

use std::path::{Path, PathBuf};

use crate::commands::shown;
use crate::commands::skill_arg::{FilesByName, Prefer, SkillArg};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;
use crate::ui::command::command_for;

/// The paths, with each name of a skill replaced by its SKILL.md. A path that exists is never a name.
pub(super) fn files(
    paths: &[PathBuf],
    by_name: &FilesByName,
    ui: &mut Ui,
) -> Result<Vec<PathBuf>, CommandError> {
    let mut given = Vec::new();
    for path in paths {
        let arg = SkillArg::read(path, Prefer::Path);
        let Some(file) = by_name.file(&arg)? else {
            given.push(path.clone());
            continue;
        };
        let others = by_name.others(&arg, &file)?;
        if others > 0 {
            let (path, name) = (shown(&file), shown(path));
            let others = if others == 1 { "1 other has".to_owned() } else { format!("{others} others have") };
            ui.note(&format!("checking {path}; {others} this name: {}", command_for("why", &name, "")));
        }
        given.push(file);
    }
    Ok(given)
}

/// The failure of a skill of a server, which has no file here.
pub(super) fn of_server(location: &Path) -> Failure {
    let error = format!("a skill of an MCP server has no file here: {}", shown(location));
    let hint = format!("see its problems with: {}", command_for("show", &shown(location), ""));
    Failure { path: Some(shown(location)), ..Failure::new(error, hint) }
}
