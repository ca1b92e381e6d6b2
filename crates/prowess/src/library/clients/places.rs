//! Where a client looks from a folder: its row names the folders, and this module goes upwards as far as the client
//! does.

use std::path::{Path, PathBuf};

use prowess_core::Scope;
use prowess_core::client::{Climb, Reads};

use super::Root;
use crate::env::Environment;

/// The largest `.git` file of a worktree.
const MAX_GIT_FILE: usize = 4096;

/// The current folder, and what decides how far clients go upwards from it.
pub(super) struct Here<'h> {
    pub(super) from: &'h Path,
    pub(super) environment: &'h Environment,
    repository: Option<&'h Path>,
    home: Option<PathBuf>,
}

impl<'h> Here<'h> {
    pub(super) fn new(from: &'h Path, environment: &'h Environment) -> Self {
        Self { from, environment, repository: repository(from), home: environment.home() }
    }

    /// The folder and those above it up to the root of its git repository. Outside of one, only the folder itself.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &'h Path> + use<'h> {
        let top = self.repository.unwrap_or(self.from);
        self.from.ancestors().take_while(move |folder| folder.starts_with(top))
    }
}

/// The folders that a client looks into from a folder, in the order of precedence.
pub(super) fn roots(id: &'static str, reads: &Reads, here: &Here<'_>) -> Vec<Root> {
    let Here { from, environment, repository, home } = here;
    let (from, repository) = (*from, *repository);
    let depth = usize::from(reads.depth);
    let root = |path: PathBuf, scope, project| Root { path, scope, readers: vec![id], depth, project };
    let mut project = Vec::new();
    let mut in_folder = |folder: &Path, is_there: &dyn Fn(Climb) -> bool| {
        let places = reads.project.iter().filter(|place| is_there(place.climb));
        let top = repository.filter(|top| folder.starts_with(top)).unwrap_or(folder);
        project
            .extend(places.map(|place| root(folder.join(place.path), Scope::Project, Some(top.to_owned()))));
    };
    for folder in from.ancestors() {
        let at = At {
            here: folder == from,
            top: repository == Some(folder),
            inside: repository.is_some_and(|top| folder.starts_with(top)),
            outside: repository.is_none(),
            home: home.as_deref() == Some(folder),
            below_home: home.as_deref().is_none_or(|home| folder != home && !home.starts_with(folder)),
        };
        in_folder(folder, &|climb| at.is_looked_at(climb));
    }
    if reads.main_checkout
        && let Some(main) = repository.and_then(main_checkout)
    {
        in_folder(&main, &|_| true);
    }
    let expand = |path: &&str| Some(root(environment.expand(path)?, Scope::User, None));
    let user: Vec<Root> = reads.user.iter().filter_map(expand).collect();
    let admin: Vec<Root> = reads.admin.iter().filter_map(expand).collect();
    // In the user's home, a folder is the user's own.
    project.retain(|root| !user.iter().any(|own| own.path == root.path));
    let mut roots = if reads.user_first {
        // These clients give the administrator's skills precedence over all others.
        [admin, user, project].concat()
    } else {
        [project, user, admin].concat()
    };
    let mut seen = std::collections::BTreeSet::new();
    roots.retain(|root| seen.insert(root.path.clone()));
    roots
}

/// Where a folder is, seen from the current one below it.
struct At {
    here: bool,
    /// It is the root of the repository.
    top: bool,
    /// It is in the repository.
    inside: bool,
    /// There is no repository.
    outside: bool,
    home: bool,
    /// It is below the user's home, or beside it.
    below_home: bool,
}

impl At {
    fn is_looked_at(&self, climb: Climb) -> bool {
        match climb {
            Climb::Repository => self.top || (self.outside && self.here),
            Climb::RepositoryOnly => self.top,
            Climb::HereAndRepository => self.here || self.top,
            Climb::Upwards => self.here || self.inside,
            Climb::UpwardsBelowHome => self.here || self.inside || (self.outside && self.below_home),
            Climb::UpwardsToHome => {
                self.here || self.inside || (self.outside && (self.below_home || self.home))
            }
            Climb::BeyondRepository => self.here || self.inside || self.below_home,
            // Also for a variant that is not known here.
            _ => self.here,
        }
    }
}

/// The root of the git repository of a folder.
pub(super) fn repository(from: &Path) -> Option<&Path> {
    from.ancestors().find(|folder| folder.join(".git").exists())
}

/// The main checkout of a git worktree. Its `.git` is a file that names a folder of the main repository.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let file = crate::fs::read::open_regular(&worktree.join(".git")).ok()?;
    let text = crate::fs::read::read_text(file, MAX_GIT_FILE)?;
    let folder = worktree.join(text.trim().strip_prefix("gitdir:")?.trim());
    // `main/.git/worktrees/name`
    let git = folder.parent()?.parent()?;
    let is_git = git.ends_with(".git") && folder.parent()?.ends_with("worktrees");
    is_git.then(|| git.parent().map(Path::to_owned)).flatten()
}
