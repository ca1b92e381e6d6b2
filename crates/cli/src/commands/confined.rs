//! Links that lead out of a project: `check` and `eval` do not follow them if it is not trusted, and no command writes
//! through them.

use std::path::{Path, PathBuf};

use prowess::SourceError;
use prowess::env::{self, Environment};
use prowess::fs::walk::{DOT_FOLDERS, FILE_NAMES};
use prowess::library::clients::{self, CLIENTS};
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
    let (environment, approvals) = (Environment::current(), approvals());
    let real = std::fs::canonicalize(folder).ok()?;
    let project = clients::project(&real);
    let is_trusted = approvals.folder_of(&real).or(approvals.folder_of(&env::absolute(folder))).is_some();
    let real_of = |path: PathBuf| std::fs::canonicalize(path).ok();
    let is_above_home = || environment.home().and_then(real_of).is_some_and(|home| home.starts_with(project));
    let is_own = || {
        let own = CLIENTS.iter().flat_map(|client| client.user.iter().chain(client.admin));
        let mut own = own.filter_map(|path| real_of(environment.expand(path)?));
        own.any(|own| real.starts_with(own))
    };
    (!is_trusted && !is_above_home() && !is_own()).then(|| project.to_owned())
}

/// Whether a SKILL.md in a project is a link to a file outside it. The walk opens the folders, not these files. A link to
/// a device or a FIFO is left to reading, which refuses it by its kind: trusting the project would not help.
pub(super) fn leads_out(file: &Path, project: &Path) -> bool {
    let is_outside = |target: PathBuf| !target.starts_with(project) && target.is_file();
    file.is_symlink() && std::fs::canonicalize(file).is_ok_and(is_outside)
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
