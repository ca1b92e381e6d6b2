//! The files that `prowess check --fix` may write: the given ones, and those that installers link to.

use std::fs;
use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::internal::{is_inside, leads_out};
use prowess::library::clients::{self, CLIENTS};

use super::confined::is_led_out;

/// The real paths where files may be written.
#[derive(Debug, Default)]
pub(super) struct Fixable {
    /// Folders, with everything below them.
    folders: Vec<PathBuf>,
    /// Files that were given themselves.
    files: Vec<PathBuf>,
    /// The user's own folders of skills.
    own: Vec<PathBuf>,
}

impl Fixable {
    /// What may be written when these paths are given: the files and folders themselves, the git repositories of the
    /// folders, and the user's own folders of skills, to which installers link.
    pub(super) fn of(named: &[PathBuf], environment: &Environment) -> Self {
        let mut fixable = Self::default();
        for (named, path) in named.iter().filter_map(|path| Some((path, fs::canonicalize(path).ok()?))) {
            // A named link is as good as its target, except one of a project that leads to the files of git.
            if leads_out(&env::absolute(named), clients::project(&env::absolute(named)))
                .is_some_and(|out| out.into_git)
            {
                continue;
            }
            if !path.is_dir() {
                fixable.files.push(path);
                continue;
            }
            let repository = path.ancestors().find(|folder| folder.join(".git").exists());
            fixable.folders.extend(repository.map(Path::to_owned));
            fixable.folders.push(path);
        }
        let user = CLIENTS.iter().flat_map(|client| client.user).filter_map(|path| environment.expand(path));
        fixable.own.extend(user.filter_map(|folder| fs::canonicalize(folder).ok()));
        fixable
    }

    /// What may be written in a folder whose links are not the user's own: nothing outside it.
    pub(super) fn within(folder: &Path) -> Self {
        Self { folders: fs::canonicalize(folder).into_iter().collect(), ..Self::default() }
    }

    /// Whether a file may be written, by its path and its real path. Links of a project that is not trusted do not lead
    /// into the user's own folders.
    pub(super) fn allows(&self, file: &Path, target: &Path) -> bool {
        let below = |folder: &PathBuf| is_inside(target, folder);
        self.has(target) || (self.own.iter().any(below) && !is_led_out(file))
    }

    /// Whether a file may be read, by its real path.
    pub(super) fn reads(&self, target: &Path) -> bool {
        self.has(target) || self.own.iter().any(|folder| is_inside(target, folder))
    }

    fn has(&self, target: &Path) -> bool {
        let below = |folder: &PathBuf| is_inside(target, folder);
        self.files.iter().any(|file| file == target) || self.folders.iter().any(below)
    }
}
