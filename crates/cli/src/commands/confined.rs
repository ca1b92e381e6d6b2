//! Links that lead out of a project: `check` and `eval` do not follow them if it is not trusted, and no command writes
//! through them.

use std::path::{Path, PathBuf};

use prowess::SourceError;
use prowess::env::{self, Environment};
use prowess::fs::walk::{DOT_FOLDERS, FILE_NAMES};
use prowess::library::{clients, confining_project};
use prowess::registry::trust::Approvals;

use crate::error::Failure;
use crate::ui::command::trust_command;

/// What the user trusts; nothing if the approvals cannot be read, which the commands about trust report.
pub(crate) fn approvals() -> Approvals {
    let file = Approvals::file(&Environment::current());
    file.and_then(|file| Approvals::load(&file).ok()).unwrap_or_default()
}

/// The project that links below a given folder must not lead out of. The folder itself may be a link: the user named it.
///
/// `None` in a trusted project, in the user's own folders of skills, and for the home or a folder above it.
pub(super) fn project_of(folder: &Path) -> Option<PathBuf> {
    confining_project(folder, &Environment::current(), &approvals())
}

/// Whether a SKILL.md in a project is a link to a file outside it. The walk opens the folders, not these files. A link to
/// a device or a FIFO is left to reading, which refuses it by its kind: trusting the project would not help.
pub(super) fn leads_out(file: &Path, project: &Path) -> bool {
    let is_outside = |target: PathBuf| !target.starts_with(project) && target.is_file();
    file.is_symlink() && std::fs::canonicalize(file).is_ok_and(is_outside)
}

/// Whether a link of a repository that is not trusted leads a path out of it. In a project that holds the home, such as one
/// of dotfiles, the links are the user's own.
pub(super) fn is_led_out(path: &Path) -> bool {
    let path = env::absolute(path);
    let home = Environment::current().home();
    let holds_home = |folder: &Path| home.as_ref().is_some_and(|home| home.starts_with(folder));
    let leads_out = |folder: &Path| prowess::internal::leads_out(&path, folder).is_some();
    // The link may itself lead to a repository, which is then the nearest one.
    let mut repositories = path.ancestors().skip(1).filter(|above| above.join(".git").exists());
    repositories.any(|above| !holds_home(above) && leads_out(above)) && approvals().folder_of(&path).is_none()
}

/// What to say about a link that leads out of a project.
pub(super) fn failure(problem: &SourceError, project: &Path) -> Failure {
    let trust = format!("trust the project's folder with: {}", trust_command(project));
    Failure { hints: vec![trust.into()], ..Failure::from(problem) }
}

/// Whether a link is where a project keeps skills, so that it is one or contains some. Other links, such as those to the
/// output of a build, may lead anywhere.
pub(super) fn is_for_skills(link: &Path, project: &Path) -> bool {
    let link = env::absolute(link);
    let kept = |name: &str| name == "skills" || FILE_NAMES.contains(&name) || DOT_FOLDERS.contains(&name);
    let names = link.strip_prefix(project).unwrap_or(&link);
    names.iter().filter_map(|name| name.to_str()).any(kept)
}

/// An error if a link of a project leads the path of a new file out of the project, or into its `.git`. In a project
/// that holds the home, such as one of dotfiles, the links are the user's own.
pub(super) fn check_written(path: &Path) -> Result<(), Failure> {
    let path = env::absolute(path);
    let project = clients::project(path.parent().unwrap_or(&path));
    let holds_home = Environment::current().home().is_some_and(|home| home.starts_with(project));
    let is_repository = project.join(".git").exists();
    let refused = prowess::internal::leads_out(&path, project)
        .filter(|out| is_repository && (out.into_git || !holds_home));
    refused.map_or(Ok(()), |out| Err(Failure::new(out.to_string(), out.hint())))
}
