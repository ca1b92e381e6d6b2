//! Skills that are checked by their names: only folders of skills on this machine are searched.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::library::clients;
use prowess::source::Source as _;
use prowess::{DirSource, ScanOptions};

/// The paths, with each name of a skill replaced by its SKILL.md. A path that exists is never a name.
pub(super) fn resolved(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| named(path).unwrap_or_else(|| path.clone())).collect()
}

/// The SKILL.md of the first skill with this name, in the folders where agents keep skills.
fn named(path: &Path) -> Option<PathBuf> {
    let name = path.to_str().filter(|name| is_name(name) && path.symlink_metadata().is_err())?;
    let roots = clients::common_roots(&env::absolute(Path::new(".")), &Environment::current());
    roots.into_iter().find_map(|root| {
        let options = ScanOptions::default().with_max_depth(root.depth);
        let found = DirSource::new(root.path, options).list().ok()?.skills;
        let skill = found.into_iter().find(|skill| skill.entry.name == name)?;
        skill.entry.origin.location.path().map(PathBuf::from)
    })
}

fn is_name(word: &str) -> bool {
    word != "-" && !word.contains(['/', '\\', '.'])
}
