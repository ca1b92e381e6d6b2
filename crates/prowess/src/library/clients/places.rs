//! Where a client looks from a folder: its row names the folders, and this module goes upwards as far as the client
//! does.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use prowess_core::Scope;
use prowess_core::client::{Climb, Reads};

use super::{Root, own_folders};
use crate::env::{self, Environment};

/// The largest `.git` file of a worktree.
const MAX_GIT_FILE: usize = 4096;

/// The current folder, and what decides how far clients go upwards from it.
pub(super) struct Here<'h> {
    pub(super) from: &'h Path,
    pub(super) environment: &'h Environment,
    repository: Option<&'h Path>,
    home: Option<Home<'h>>,
    /// The folders of all clients in which users keep their own skills. Ordering paths is slower than hashing them.
    own: HashSet<PathBuf>,
}

/// The home of the user, which may be reached through a link.
struct Home<'h> {
    /// Its path as the environment says it.
    path: PathBuf,
    /// Its path without links.
    real: PathBuf,
    /// Its path as seen from the current folder, if that is in it.
    here: Option<&'h Path>,
}

impl<'h> Home<'h> {
    fn of(path: PathBuf, from: &'h Path) -> Self {
        let real = env::real(&path);
        let here = match from.ancestors().find(|folder| *folder == path) {
            // Most homes are reached without a link.
            None if env::real(from).starts_with(&real) => {
                from.ancestors().find(|folder| env::real(folder) == real)
            }
            here => here,
        };
        Self { path, real, here }
    }

    fn is(&self, folder: &Path) -> bool {
        self.here.is_some_and(|here| here == folder)
    }

    /// Whether a folder is neither the home nor above it.
    fn is_below(&self, folder: &Path) -> bool {
        let paths = [self.path.as_path(), self.real.as_path()].into_iter().chain(self.here);
        !paths.into_iter().any(|home| home.starts_with(folder))
    }
}

impl<'h> Here<'h> {
    pub(super) fn new(from: &'h Path, environment: &'h Environment) -> Self {
        let home = environment.home().map(|home| Home::of(home, from));
        let own = own_folders(environment).collect();
        Self { from, environment, repository: repository(from), home, own }
    }

    /// The folder and those above it up to the root of its git repository. Outside of one, only the folder itself.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &'h Path> + use<'h> {
        let top = self.repository.unwrap_or(self.from);
        self.from.ancestors().take_while(move |folder| folder.starts_with(top))
    }

    /// The place of a folder of skills in a project, and its scope. Where users keep their own skills, as in the home,
    /// it is theirs, whichever client looks there.
    pub(super) fn place(&self, folder: &Path, path: &str) -> (PathBuf, Scope) {
        let home = self.home.as_ref().filter(|home| home.is(folder)).map(|home| home.path.join(path));
        let here = || folder.join(path);
        match home.into_iter().chain([here()]).find(|place| self.own.contains(place)) {
            Some(own) => (own, Scope::User),
            None => (here(), Scope::Project),
        }
    }
}

/// The folders that a client looks into from a folder, in the order of precedence.
pub(super) fn roots(id: &'static str, reads: &Reads, here: &Here<'_>) -> Vec<Root> {
    let Here { from, environment, repository, home, .. } = here;
    let (from, repository) = (*from, *repository);
    let depth = usize::from(reads.depth);
    let root = |path: PathBuf, scope, project| Root { path, scope, readers: vec![id], depth, project };
    let mut project = Vec::new();
    let mut in_folder = |folder: &Path, is_there: &dyn Fn(Climb) -> bool| {
        let top = repository.filter(|top| folder.starts_with(top)).unwrap_or(folder);
        for place in reads.project.iter().filter(|place| is_there(place.climb)) {
            let (path, scope) = here.place(folder, place.path);
            project.push(root(path, scope, (scope == Scope::Project).then(|| top.to_owned())));
        }
    };
    for folder in from.ancestors() {
        let at = At {
            here: folder == from,
            top: repository == Some(folder),
            inside: repository.is_some_and(|top| folder.starts_with(top)),
            outside: repository.is_none(),
            home: home.as_ref().is_some_and(|home| home.is(folder)),
            below_home: home.as_ref().is_none_or(|home| home.is_below(folder)),
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
    let mut seen = HashSet::new();
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
    let named = Path::new(text.trim().strip_prefix("gitdir:")?.trim());
    let folder = if named.is_absolute() {
        named.to_owned()
    } else {
        // Relative to the folder of the file, without the links that lead to it.
        let folder = worktree.join(named);
        std::fs::canonicalize(&folder).unwrap_or_else(|_| env::absolute(&folder))
    };
    // `main/.git/worktrees/name`
    let git = folder.parent()?.parent()?;
    let is_git = git.ends_with(".git") && folder.parent()?.ends_with("worktrees");
    is_git.then(|| git.parent().map(Path::to_owned)).flatten()
}
